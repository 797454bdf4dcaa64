"""A run's folder is never overwritten, and says plainly when it cannot be written."""

from __future__ import annotations

import pytest

from ge_harness.errors import UsageError
from ge_harness.experiment.store import ASKED_FILE, RunFolder, read_run


def test_an_existing_folder_gets_a_number(tmp_path):
    first = RunFolder.create(str(tmp_path / "out"), "run", "g")
    second = RunFolder.create(str(tmp_path / "out"), "run", "g")
    assert first.path.name == "out"
    assert second.path.name == "out-2"


@pytest.mark.parametrize("subject", [
    "softmax", "../../evil.py", "a\nb", "x" * 5000, ""])
def test_the_default_folder_stays_below_runs(tmp_path, monkeypatch, subject):
    monkeypatch.chdir(tmp_path)
    folder = RunFolder.create("", "run", subject)
    assert folder.path.parent == tmp_path / "runs"
    assert "\n" not in folder.path.name


def test_a_file_in_the_way_is_one_line(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="--out") as caught:
        RunFolder.create(str(tmp_path / "file" / "inner"), "run", "g")
    assert "\n" not in str(caught.value)


def test_resuming_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no run in that folder"):
        RunFolder.resume(str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "ge_harness/run/9"}',
                                  '{"schema": 3}', "\x00\x01"])
def test_a_run_file_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UsageError, match=r"run\.json"):
        read_run(tmp_path)


def test_a_missing_run_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot read a run"):
        read_run(tmp_path)


def test_a_folder_in_which_nothing_was_done_is_removed(tmp_path):
    folder = RunFolder.create(str(tmp_path / "run"), "run", "softmax")
    folder.write(ASKED_FILE, "{}")
    folder.drop_if_empty()
    assert not (tmp_path / "run").exists()


def test_a_folder_that_holds_anything_is_kept(tmp_path):
    folder = RunFolder.create(str(tmp_path / "run"), "run", "softmax")
    (folder.jobs_dir / "build").mkdir()
    (folder.jobs_dir / "build" / "log.txt").write_text("said\n", encoding="utf-8")
    folder.drop_if_empty()
    assert (folder.jobs_dir / "build" / "log.txt").read_text() == "said\n"
