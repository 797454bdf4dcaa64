from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from ge_harness.errors import UsageError
from ge_harness.records.run import Environment, FailureKind, RunFailure, RunSuccess
from ge_harness.worker import built, job_folder
from ge_harness.worker.job_folder import Job, JobFolder
from graphs.built import BuildOptions
from tests import fakes


def _success(folder, request):
    return RunSuccess(
        request=request, output_paths=tuple(map(str, folder.output_paths(request))),
        output_hashes=(("a",), ("b",)), repeatable=False,
        dump_dir=str(folder.dumps_dir), passes=(), effects=(), sent=(),
        artifact_hashes=(), duration_s=0.5,
        environment=Environment(python="3", numpy="1"), notes=("n",))


@pytest.fixture
def folder(tmp_path):
    return job_folder.create(tmp_path, "run")


@pytest.fixture
def request_(tmp_path):
    return fakes.scripted_request(fakes.scripted_case(tmp_path / "case"))


def test_a_job_reads_back_as_it_was_written(folder, request_):
    job = Job(job_folder.RUN, (("TF_X", "1"),), request_)
    folder.write_job(job)
    assert folder.read_job() == job
    linked = folder.input_paths(request_)[0]
    assert np.load(str(linked)).tolist() == [0, 1, 2]
    for name in ("inputs", "outputs", "dumps", "log.txt", "request.json"):
        assert (folder.path / name).exists()


def test_build_options_survive_the_trip(folder):
    options = BuildOptions(dtype="float16", shapes=(("x", (2, 3)),), fetch=("a:0",),
                           variants=(("gelu", "tanh"), ("tile", 512)))
    folder.write_job(Job(job_folder.BUILD, source="s",
                         options=built.options_to(options)))
    assert built.options_from(folder.read_job().options) == options


def test_an_outcome_reads_back_with_its_paths_after_a_move(folder, request_, tmp_path):
    outcome = _success(folder, request_)
    folder.write_outcome(outcome)
    assert folder.read_outcome() == outcome
    assert str(folder.path) not in folder.outcome_path.read_text()
    moved = JobFolder(tmp_path / "elsewhere")
    folder.path.rename(moved.path)
    assert moved.read_outcome().output_paths == tuple(
        map(str, moved.output_paths(request_)))


def test_nothing_but_the_outcome_is_left_behind(folder, request_):
    failure = RunFailure(request_, FailureKind.RUN, "m", 0, str(folder.log_path))
    folder.write_outcome(failure)
    assert sorted(path.name for path in folder.path.iterdir()) == ["outcome.json"]


@pytest.mark.parametrize("text", [
    "", "{", "[]", "{}", '{"schema": "ge_harness/outcome/2"}',
    '{"schema": "ge_harness/outcome/1", "kind": "success", "record": {}}',
    '{"schema": "ge_harness/outcome/1", "kind": "success", "record": 3}',
    '{"schema": "ge_harness/outcome/1", "kind": "os.system", "record": {}}',
], ids=range(8))
def test_an_outcome_that_is_none_is_a_usage_error(folder, text):
    folder.outcome_path.write_text(text)
    with pytest.raises(UsageError):
        folder.read_outcome()


def test_every_cut_of_an_outcome_is_refused(folder, request_):
    folder.write_outcome(_success(folder, request_))
    whole = folder.outcome_path.read_text()
    for length in range(0, len(whole) - 2, 37):
        folder.outcome_path.write_text(whole[:length])
        with pytest.raises(UsageError):
            folder.read_outcome()


@pytest.mark.parametrize("name", [
    "../../etc/x", "/abs", "a/b", ".hidden", "", "a" * 300, "new\nline"])
def test_a_port_name_unfit_for_a_file_stays_inside_the_folder(folder, name):
    path = folder.array_path(folder.outputs_dir, name, 4)
    assert path == folder.outputs_dir / "port_4.npy"


def test_folders_are_new_and_their_names_harmless(tmp_path):
    first = job_folder.create(tmp_path, "000-tests.fakes:X/../y\n")
    second = job_folder.create(tmp_path, "000-tests.fakes:X/../y\n")
    assert first.path.parent == second.path.parent == tmp_path
    assert first.path != second.path
    assert first.path.name.isprintable()
    assert "/" not in first.path.name


def test_writable_leaves_nothing_and_makes_the_folder(tmp_path):
    job_folder.writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_missing_input_is_named(folder, request_):
    os.unlink(request_.case.input_paths[0])  # noqa: PTH108 - a path text
    with pytest.raises(FileNotFoundError, match="no such input"):
        folder.write_job(Job(job_folder.RUN, (), request_))


def test_the_request_file_is_strict_json_with_its_schema(folder, request_):
    folder.write_job(Job(job_folder.RUN, (), request_))
    data = json.loads(folder.request_path.read_text())
    assert data["schema"] == "ge_harness/job/1"
    assert Path(data["request"]["case"]["input_paths"][0]).is_absolute()
