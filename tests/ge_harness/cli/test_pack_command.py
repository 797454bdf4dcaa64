from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def _run(cwd, *words):
    done = subprocess.run(
        [sys.executable, "-m", "ge_harness", "pack", *words], cwd=str(cwd), timeout=120,
        capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


@pytest.fixture
def folder(tmp_path):
    run = tmp_path / "run"
    (run / "jobs").mkdir(parents=True)
    (run / "run.json").write_text('{"a": 1}')
    return run


def test_an_archive_stands_beside_the_run_and_is_never_overwritten(folder):
    for name in ("run.zip", "run-2.zip"):
        status, out, _ = _run(folder.parent, "run", "--no-doctor")
        assert status == 0
        assert f"{folder.parent / name}" in out
        assert "look it through before you send it" in out
    with zipfile.ZipFile(str(folder.parent / "run-2.zip")) as archive:
        assert set(archive.namelist()) == {"run/run.json", "MANIFEST.json"}


def test_json_is_one_document(folder):
    status, out, _ = _run(folder.parent, "run", "--no-doctor", "--json", "--out=a.zip")
    body = json.loads(out)
    assert status == 0
    assert body["schema"] == "ge_harness/pack/1"
    assert body["size_bytes"] == (folder.parent / "a.zip").stat().st_size


def test_a_secret_of_the_shell_and_the_account_are_taken_out(folder, monkeypatch):
    monkeypatch.setenv("LAB_API_TOKEN", "Zq9-not-known")
    monkeypatch.setenv("USER", "marguerite")
    (folder / "notes.txt").write_text("by marguerite with Zq9-not-known")
    assert _run(folder.parent, "run", "--no-doctor", "--out=a.zip")[0] == 0
    with zipfile.ZipFile(str(folder.parent / "a.zip")) as archive:
        assert archive.read("run/notes.txt") == b"by [user] with [removed]"


@pytest.mark.parametrize("words", [
    ("none",), ("run", "--max-mb=0"), ("run", "--max-mb=inf"),
    ("run", "--out=run/jobs"), ("run", "--out=no/such/folder.zip")])
def test_what_cannot_be_packed_ends_with_2_and_one_line(folder, words):
    status, out, err = _run(folder.parent, *words, "--no-doctor")
    assert (status, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
