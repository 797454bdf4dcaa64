"""`report` builds the page of runs or of experiments again from what is on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ge_harness.cli import main
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


def _bisected(path: Path, name: str) -> Path:
    arguments = main._parse(["ge_harness", "bisect", f"--command={name}",
                             "--pass=AddNPass", f"--out={path}"])
    main._guarded(arguments)
    return path


def test_the_report_of_a_bisection_is_built_again(tmp_path):
    folder = _bisected(tmp_path / "one", "false")
    page = (folder / "report.html").read_text(encoding="utf-8")
    (folder / "report.html").unlink()
    assert console("report", folder)[0] == 0
    assert (folder / "report.html").read_text(encoding="utf-8") == page
    other = _bisected(tmp_path / "two", "true")
    status, out, _ = console("report", folder, other, "--json")
    assert (status, json.loads(out)["runs"]) == (0, 2)
    both = (folder / "report.html").read_text(encoding="utf-8")
    assert "NOTHING RESTORES: " in both
    assert "AGREES ALREADY: " in both


def test_a_bisection_is_not_mixed_with_others_nor_read_before_it_has_ended(tmp_path):
    folder = _bisected(tmp_path / "one", "false")
    status, _, error = console("report", _folder(tmp_path / "all"), folder)
    assert (status, "reported apart" in error) == (2, True)
    (folder / "bisect.json").write_text('{"schema": "ge_harness/bisect/1"}')
    status, _, error = console("report", folder)
    assert (status, "bisect.json: damaged" in error) == (2, True)
    (folder / "bisect.json").unlink()
    status, _, error = console("report", folder)
    assert (status, "--resume=" in error) == (2, True)
    assert "Traceback" not in error


def test_a_folder_with_nothing_in_it_is_refused(tmp_path):
    status, _, error = console("report", tmp_path)
    assert status == 2
    assert "no run.json" in error
