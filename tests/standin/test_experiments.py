"""Experiments on `ge` through the stand-in adapter: the way of a run on a device.

Needs TensorFlow 1.15 or 2.6, the series that have an adapter. Nothing here is GE.
"""

from __future__ import annotations

import json
import shutil

import pytest

from ge_harness.backends import tf_loader
from tests.ge_harness.cli.console_run import ROOT, console
from tests.standin import drive

_SERIES = tuple(int(part) for part in (tf_loader.installed() or "0").split(".")[:2])
pytestmark = [pytest.mark.tf, pytest.mark.skipif(
    _SERIES not in drive.STACKS,
    reason="an adapter exists for TensorFlow 1.15 and 2.6")]


def _experiment(folder, *words, mode="normal"):
    """Return (status, document) of an experiment on the stand-in."""
    (folder / "journal").mkdir(parents=True, exist_ok=True)
    run = folder / "run"
    where = f"--resume={run}" if run.exists() else f"--out={run}"
    status, out, err = console(
        "experiment", *words, "--backend=ge", where, "--json", timeout=400, env={
            "PYTHONPATH": f"{ROOT}:{drive.SITE}", "STANDIN_MODE": mode,
            "STANDIN_JOURNAL": str(folder / "journal")})
    assert "Traceback" not in err
    return status, json.loads(out) if out else err


def test_kernels_are_compared_by_their_hashes_over_a_cold_start(tmp_path):
    words = ("A", "--repeat=3", "--subgraph=softmax")
    status, report = _experiment(tmp_path, *words)
    assert (status, report["verdict"]) == (0, "holds"), report["why"]
    assert report["backend"]["emulated"]
    assert "stand-in" in report["backend"]["label"]
    kernels = [row for row in report["more_tables"][0]["rows"]
               if row[0].startswith("kernel/")]
    assert kernels
    assert all(row[3] for row in kernels)
    for folder in (tmp_path / "run").rglob("jobs/*/dumps"):
        shutil.rmtree(str(folder))
    assert _experiment(tmp_path, *words)[1]["verdict"] == "inconclusive"


def test_one_instruction_on_both_paths_is_inconclusive_on_ge_too(tmp_path):
    status, report = _experiment(tmp_path, "C1")
    assert (status, report["verdict"]) == (4, "inconclusive")
    assert "the same instruction" in report["why"]


def test_work_that_stayed_on_the_host_proves_nothing(tmp_path):
    status, report = _experiment(tmp_path, "C1", mode="plugin_missing")
    assert (status, report["verdict"]) == (4, "inconclusive")
    assert "not_offloaded" in report["why"]
