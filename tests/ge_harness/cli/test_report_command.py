"""`report` builds the page of runs or of experiments again from what is on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import store
from ge_harness.records import serialize
from tests.ge_harness.cli.console_run import console
from tests.ge_harness.experiments.test_report import report

pytest.importorskip("jinja2")


def _folder(path: Path) -> Path:
    folder = RunFolder.create(str(path), "experiment", "B")
    store.write(store.inner(folder, "B"), report())
    store.write_all(folder, [serialize.to_plain(report())], ["E on emulator: none"])
    return path


def test_the_report_of_experiments_is_built_again(tmp_path):
    folder = _folder(tmp_path / "all")
    assert console("report", folder)[0] == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Verdicts side by side" in page
    assert "Not run: E on emulator: none" in page


def test_experiments_that_no_call_finished_are_reported_too(tmp_path):
    folder = _folder(tmp_path / "all")
    (folder / "experiments.json").unlink()
    status, out, _ = console("report", folder, "--json")
    assert status == 0
    assert json.loads(out)["runs"] == 1


@pytest.mark.parametrize("text", ["{}", "[", '{"schema": "ge_harness/experiment/1"}',
                                  '{"schema": "ge_harness/experiment/1", "id": 3}'])
def test_a_damaged_experiment_is_named_by_its_file(tmp_path, text):
    folder = _folder(tmp_path / "all")
    (folder / "B" / "experiment-xla.json").write_text(text, encoding="utf-8")
    status, _, error = console("report", folder)
    assert status == 2
    assert "experiment-xla.json" in error
    assert "Traceback" not in error


def test_runs_and_experiments_are_not_mixed(tmp_path):
    folder = _folder(tmp_path / "all")
    (tmp_path / "run").mkdir()
    status, _, error = console("report", folder, tmp_path / "run")
    assert status == 2
    assert "reported apart" in error


def test_a_folder_with_nothing_in_it_is_refused(tmp_path):
    status, _, error = console("report", tmp_path)
    assert status == 2
    assert "no run.json" in error
