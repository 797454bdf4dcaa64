"""The frame of the command line: statuses, one-line errors, speed, what is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_harness.cli import main
from tests.ge_harness.cli.console_run import ROOT, console


@pytest.mark.parametrize(("words", "status"), [
    ([], 2), (["--version"], 0), (["--help"], 0), (["list", "--help"], 0),
    (["bisct"], 2), (["list", "everything"], 2), (["list", "--jsn"], 2),
    (["list", "--verbosity=abc"], 2), (["run"], 2), (["run", "x", "--repeat=1"], 2),
    (["run", "x", "--threads"], 2), (["run", "nosuch", "--backend=xla"], 2),
    (["run", "softmax", "--backend=xal"], 2), (["run", "softmax", "--seed=x"], 2),
    (["run", "softmax", "--backend=xla", "--shape=x"], 2),
    (["run", "softmax", "--backend=xla", "--opt-level=O0"], 2),
    (["run", "softmax", "--backend=grappler", "--xla-flags=--xla_a=1"], 2),
    (["run", "softmax", "--backend=eager", "--disable-pass=fusion"], 2),
    (["run", "softmax", "--backend=xla", "--timeout=-1"], 2),
    (["run", "softmax", "--backend=xla", "--standard=nosuch"], 2),
    (["run", "softmax", "--backend=xla", "--disable-pass= fusion"], 2),
    (["run", "softmax", "--backend=emulator", "--emulator-param=r_tile=512",
      "--emulator-param=r_tile=1024"], 2),
    (["report", "nosuch"], 2), (["compare", "a.npy"], 2),
    (["compare", "nosuch.npy", "nosuch.npy"], 2), (["inspect", "nosuch"], 2),
    (["passes", "algsimpp"], 2), (["run", "softmax", "--flagfile=nosuch"], 2),
])
def test_bad_usage_has_its_status_and_one_line(words, status):
    found, out, err = console(*words)
    assert found == status
    assert "Traceback" not in err + out
    if status == 2 and words:
        assert len(err.strip().split("\n")) <= 3
        assert err.startswith("ge_harness")


def test_a_python_without_the_packages_is_told_so_in_one_line():
    done = subprocess.run([sys.executable, "-S", "-m", "ge_harness", "list"],
                          cwd=str(ROOT), capture_output=True, text=True, check=False,
                          env={"PATH": os.environ.get("PATH", "")})
    assert done.returncode == 3
    assert "scripts/run.sh" in done.stderr
    assert len(done.stderr.strip().split("\n")) == 1


def test_a_misspelt_option_gets_the_nearest_name():
    _, _, err = console("run", "softmax", "--dtyp=float16")
    assert "--dtype" in err


def test_a_misspelt_subgraph_gets_the_nearest_name():
    _, _, err = console("run", "elementwise_chian", "--backend=xla")
    assert "elementwise_chain" in err


def test_every_command_is_built():
    for name in main.COMMANDS.names():
        assert main.COMMANDS.load(name).run, name


@pytest.mark.tf
def test_auto_takes_the_emulator_where_ge_is_not_usable_and_says_so(tmp_path):
    _, out, _ = console("run", "abs_relu_exp", f"--out={tmp_path / 'run'}")
    first = out.splitlines()[0]
    assert first.startswith("EMULATED emulator: ")
    assert "ge is not usable here" in first


@pytest.mark.parametrize("what", ["subgraphs", "backends", "experiments", "stages",
                                  "passes", "standards"])
def test_every_list_answers_with_json_and_without_tensorflow(what):
    code = ("import sys\nfrom ge_harness.cli import main\n"
            f"sys.argv[1:] = ['list', {what!r}, '--json']\n"
            "try:\n    main.main()\nexcept SystemExit as end:\n    status = end.code\n"
            "heavy = {'tensorflow', 'numba', 'matplotlib', 'rich', 'jinja2'}\n"
            "print(status, sorted(heavy & set(sys.modules)), file=sys.stderr)")
    done = subprocess.run([sys.executable, "-c", code], cwd=str(ROOT), text=True,
                          capture_output=True)
    assert done.stderr.strip().split("\n")[-1] == "0 []"
    document = json.loads(done.stdout)
    assert document["schema"] == "ge_harness/list/1"
    assert document["items"]




@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
def test_a_full_disk_under_stdout_is_one_line_and_undecided():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ge_harness", "list", "--json"], stdout=full,
            stderr=subprocess.PIPE, text=True, cwd=str(ROOT))
    assert done.returncode == 4
    assert "no room left" in done.stderr
    assert len(done.stderr.strip().split("\n")) == 1


def test_closed_streams_and_readers_that_left_keep_the_status(tmp_path):
    np.save(str(tmp_path / "a.npy"), np.zeros(3))
    np.save(str(tmp_path / "b.npy"), np.ones(3))
    words = f"'{sys.executable}' -m ge_harness compare a.npy b.npy"
    for ending in (">&-", "2>&-", "| true"):
        done = subprocess.run(
            ["bash", "-c", f"{words} {ending}; echo ${{PIPESTATUS[0]}} >status"],
            capture_output=True, text=True, cwd=str(tmp_path),
            env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert (tmp_path / "status").read_text().strip() == "1", ending
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("text", [
    '{"schema": "ge_harness/run/1"}', '{"schema": "ge_harness/run/1", "verdict": "x"}',
    '{"schema": "ge_harness/run/1", "subgraph": 1, "backend": 3}', "[" * 100000, "{}",
])
def test_a_damaged_run_is_refused_by_its_file(tmp_path, text):
    pytest.importorskip("jinja2")
    (tmp_path / "run.json").write_text(text)
    status, _, err = console("report", tmp_path)
    assert status == 2
    assert "run.json" in err
    assert len(err.strip().split("\n")) == 1
