"""Ways to fail of backend `ge`, `auto` and `doctor`, against the stand-in adapter."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from ge_harness.backends.base import Probe
from ge_harness.backends.ge_machine import Machine
from ge_harness.backends.ge_probe import probe_active
from ge_harness.experiment import doctor
from ge_harness.records.run import FailureKind, RunFailure, RunRequest, RunSuccess
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.records.tensor import Case
from ge_harness.worker import launch
from graphs.built import BuildOptions

pytestmark = pytest.mark.tf

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "tests" / "standin" / "site"
OPEN_GATE = "--enable_autofuse=true"
AUTOFUSE = SwitchSetting("O3", values=(SwitchValue(
    Switch("autofuse", "AUTOFUSE_FLAGS"), OPEN_GATE),))


@pytest.fixture(scope="module")
def case(stack, tmp_path_factory):
    """Return y = exp(relu(abs(x))) in float16, built once."""
    if stack not in ((1, 15), (2, 6)):
        pytest.skip(f"no adapter for TensorFlow {stack}")
    if not SITE.is_dir():
        pytest.skip("no stand-in adapter in tests/standin")
    folder = tmp_path_factory.mktemp("case")
    built = launch.build("abs_relu_exp", BuildOptions(dtype="float16"), folder)
    port = built.inputs[0]
    x = np.random.RandomState(1).uniform(-2, 2, port.spec.shape).astype(np.float16)
    np.save(str(folder / "x.npy"), x)
    return Case("abs_relu_exp", built.variant, 0, built.graph_path, built.inputs,
                built.outputs, (str(folder / "x.npy"),))


class Stack:
    """Runs requests on the stand-in and keeps its journal."""

    def __init__(self, case, folder, monkeypatch):
        self.case = case
        self.folder = folder
        self._patch = monkeypatch
        path = os.pathsep.join((str(SITE), os.environ.get("PYTHONPATH", "")))
        monkeypatch.setenv("PYTHONPATH", path.rstrip(os.pathsep))
        monkeypatch.syspath_prepend(str(SITE))

    def run(self, setting=None, standin_mode="normal", **fields):
        """Run one request; return its outcome and what the stand-in saw."""
        self._patch.setenv("STANDIN_MODE", standin_mode)
        journal = self.folder / f"journal-{len(list(self.folder.iterdir()))}"
        journal.mkdir()
        self._patch.setenv("STANDIN_JOURNAL", str(journal))
        fields.setdefault("timeout_s", 120.0)
        request = RunRequest(self.case, "ge", setting=setting or SwitchSetting("O3"),
                             **fields)
        outcome = launch.launch([request], self.folder / "jobs")[0]
        return outcome, [json.loads(line) for path in sorted(journal.glob("*.jsonl"))
                         for line in path.read_text().splitlines()]

    def expected(self):
        with np.errstate(all="ignore"):
            return np.exp(np.maximum(np.abs(np.load(self.case.input_paths[0])), 0))


@pytest.fixture
def standin(case, tmp_path, monkeypatch):
    return Stack(case, tmp_path, monkeypatch)


@pytest.mark.parametrize(("standin_mode", "kind", "words"), [
    ("import_fails", FailureKind.UNAVAILABLE, "its native library did not load"),
    ("unsupported", FailureKind.NOT_OFFLOADED, "ran on the host CPU"),
    ("e10001", FailureKind.INVALID_SWITCH, "E10001"),
    ("abort", FailureKind.UNAVAILABLE, "the adapter aborted the process"),
    ("run_fails", FailureKind.RUN, "GE failed while running"),
    ("ignores_option", FailureKind.INVALID_SWITCH, "GE holds ge.oo.level='O1'"),
])
def test_each_way_to_fail_has_its_name(standin, standin_mode, kind, words):
    outcome, _ = standin.run(standin_mode=standin_mode)
    assert isinstance(outcome, RunFailure)
    assert outcome.kind is kind, outcome.message
    assert words in outcome.message
    # TensorFlow itself misses these here, which is not the adapter's trouble.
    assert "libcud" not in outcome.message


def test_a_hang_ends_at_the_limit(standin):
    outcome, journal = standin.run(standin_mode="hang", timeout_s=12.0)
    assert isinstance(outcome, RunFailure)
    assert outcome.kind is FailureKind.TIMEOUT
    assert [one for one in journal if one["event"] == "hang"]


def test_half_written_dumps_cost_evidence_and_never_the_result(standin):
    outcome, _ = standin.run(AUTOFUSE, standin_mode="half_dumps")
    assert isinstance(outcome, RunSuccess), outcome.message
    assert any("not closed" in one for one in outcome.notes), outcome.notes
    assert any(one.status == "unproved" for one in outcome.effects)
    np.testing.assert_allclose(
        np.load(outcome.output_paths[0]).astype(np.float64),
        standin.expected().astype(np.float64), rtol=2e-3)


@pytest.mark.parametrize(("standin_mode", "usable"), [
    ("normal", True), ("plugin_missing", False), ("import_fails", False)])
def test_auto_takes_ge_only_where_its_adapter_is_active(standin, standin_mode, usable):
    environ = {**os.environ, "STANDIN_MODE": standin_mode}
    probe = probe_active(Machine(environ))
    assert probe.usable is usable, probe.reason


@pytest.mark.parametrize(("standin_mode", "usable", "words"), [
    ("unsupported", False, "not_offloaded"), ("no_dumps", True, "not proved")])
def test_doctor_runs_a_small_graph_once_everything_else_is_there(
        standin, monkeypatch, standin_mode, usable, words):
    monkeypatch.setenv("STANDIN_MODE", standin_mode)
    monkeypatch.setattr(doctor, "probe_ge", lambda machine: Probe(True, "all there"))
    report = doctor.examine("ge", dict(os.environ), standin.folder / "doctor",
                            lambda text: None)
    assert report.works is usable
    check = report.backends[0].checks[-1]
    assert check.what == "small run"
    assert words in check.found
