from __future__ import annotations

import pytest

from ge_harness.backends.base import Announcement, Probe
from ge_harness.experiment import execute
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.records.tensor import Case, Port, TensorSpec

CASE = Case("s", "", 0, "", (Port(TensorSpec("x", (2,), "bfloat16"), "x:0"),), (), ())


class JobsBeginError(Exception):
    """The first job would start now."""


class Announcing:
    """A backend that knows more once it sees the graph."""

    def announce(self, request):
        later = ("shown by the graph",) if request.case.inputs else ()
        return Announcement((), ("known at once", *later))

    def probe(self):
        return Probe(True, "here", ())


def test_what_only_the_graph_shows_is_said_once_and_before_any_job(
        monkeypatch, tmp_path):
    def begin(*words):
        raise JobsBeginError

    monkeypatch.setattr(execute.BACKENDS, "load", lambda name: Announcing)
    monkeypatch.setattr(execute, "_build", lambda *words: None)
    monkeypatch.setattr(execute.case_inputs, "make_case", lambda *words: CASE)
    monkeypatch.setattr(execute, "_outcomes", begin)
    said = []
    with pytest.raises(JobsBeginError):
        execute.run(RunOptions("s", "ge"), RunFolder.create(
            str(tmp_path / "run"), "run", "s"), lambda text: None, say=said.append)
    assert said == ["known at once", "shown by the graph"]
