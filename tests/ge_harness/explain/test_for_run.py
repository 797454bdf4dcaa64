"""What the outcomes of a run allow to be explained."""

from __future__ import annotations

import dataclasses

import pytest

from ge_harness.explain.for_run import explain_run
from ge_harness.records.run import (
    Environment,
    FailureKind,
    RunFailure,
    RunRequest,
    RunSuccess,
)
from tests.ge_harness.explain import made


def success(case, paths, backend="eager", **fields):
    return dataclasses.replace(RunSuccess(
        RunRequest(case, backend), tuple(paths), (), True, "", (), (), (), (), 0.0,
        Environment("3.11", "2", tensorflow="2.21.0")), **fields)


@pytest.fixture
def outcomes(tmp_path):
    asked = made.sides(tmp_path)
    return {"candidate": success(asked.case, asked.candidate),
            "eager": success(asked.case, asked.baselines["eager"]),
            "reference": success(asked.case, asked.candidate)}


def test_every_base_line_but_the_reference_is_explained(outcomes, tmp_path):
    outcomes["nodewise"] = outcomes["eager"]
    found = explain_run(outcomes, tmp_path / "kernels")
    assert set(found.vs_baseline) == {"eager", "nodewise"}
    assert found.status == "explained"
    assert not (tmp_path / "kernels").exists()


@pytest.mark.parametrize(("name", "change", "words"), [
    ("candidate", {"repeatable": False}, "the candidate gave no outputs"),
    ("eager", {"repeatable": False}, "no base line gave outputs"),
])
def test_a_side_that_does_not_repeat_itself_is_not_explained(
        outcomes, tmp_path, name, change, words):
    outcomes[name] = dataclasses.replace(outcomes[name], **change)
    found = explain_run(outcomes, tmp_path)
    assert found.status == "not possible"
    assert words in found.notes[0]


def test_a_failed_candidate_is_not_explained(outcomes, tmp_path):
    request = outcomes["candidate"].request
    outcomes["candidate"] = RunFailure(request, FailureKind.CRASH, "died", -11, "")
    assert explain_run(outcomes, tmp_path).status == "not possible"


def test_a_graph_that_cannot_be_read_is_told(outcomes, tmp_path):
    (tmp_path / "graph.pb").write_bytes(b"\xff\xff\xff")
    found = explain_run(outcomes, tmp_path)
    assert found.status == "not possible"
    assert "graph.pb" in found.notes[0]
