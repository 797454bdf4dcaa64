"""Steps, threads and runs: which dump stands beside which, and in what order."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.compare.folder import Plan, compare_places
from ge_harness.compare.operator_steps import step_order
from ge_harness.errors import UsageError
from ge_harness.records.comparison import Verdict
from ge_harness.records.operators import Reason
from tests.ge_harness.compare.operator_folders import TIME, dump, graph, op

ONE = np.float32([1, 2, 3])
TWO = np.float32([1, 2, 4])
RUN = "20260106120000/0/m/1"


def compare(a, b, **more):
    return compare_places(Plan(a, b, **more))


def statuses(found):
    return [pair.status.value for pair in found.pairs]


def test_what_differs_first_is_in_the_first_step_that_differs(tmp_path):
    """Step 2 differs in the second operator, step 10 in the first already."""
    path = graph(tmp_path / "ge_proto_00000001_graph_1_Build.txt",
                 [op("p", "Add"), op("q", "Add", ["p:0"])])
    for step, p, q in (("0", ONE, ONE), ("2", ONE, TWO), ("10", TWO, TWO)):
        for side, values in (("a", (p, q)), ("b", (ONE, ONE))):
            for name, value in zip("pq", values):
                dump(tmp_path / side / RUN / step, "Add", name, [value])
    found = compare(tmp_path / "a", tmp_path / "b", map=path, against_map=path)
    assert found.first.pair == "2/q.output.0"


def test_steps_are_sorted_by_number_before_devices():
    contexts = [("0", "m", "2"), ("1", "m", "2"), ("0", "m", "10"), ("0", "m", "10b")]
    assert sorted(contexts, key=step_order) == [contexts[3], *contexts[:3]]


def test_other_steps_of_two_runs_are_not_compared(tmp_path):
    dump(tmp_path / "a" / RUN / "3", "Add", "add", [ONE])
    dump(tmp_path / "b" / RUN / "5", "Add", "add", [ONE])
    with pytest.raises(UsageError, match=r"step 3, .* of step 5"):
        compare(tmp_path / "a", tmp_path / "b")
    found = compare(tmp_path / "a" / RUN / "3", tmp_path / "b" / RUN / "5")
    assert found.verdict is Verdict.AGREES


def test_a_reference_of_one_step_is_none_of_another(tmp_path):
    for side in "ab":
        dump(tmp_path / side / RUN / "0", "Add", "add", [ONE])
        dump(tmp_path / side / RUN / "1", "Add", "add", [TWO])
    dump(tmp_path / "r" / RUN / "0", "Add", "add", [ONE.astype(np.float64)])
    found = compare(tmp_path / "a", tmp_path / "b", reference=tmp_path / "r")
    assert found.pairs[0].a_errors.abs.max == 0
    assert found.pairs[1].a_errors is None
    assert "no tensor of this name" in found.pairs[1].notes[0]


def test_a_reference_without_steps_says_so(tmp_path):
    for side in "ab":
        for step in "01":
            dump(tmp_path / side / RUN / step, "Add", "add", [ONE])
    dump(tmp_path / "r", "Add", "add", [ONE.astype(np.float64)])
    found = compare(tmp_path / "a", tmp_path / "b", reference=tmp_path / "r")
    for pair in found.pairs:
        assert pair.a_errors.abs.max == 0
        assert pair.notes == ("the reference names no step, taken for every one",)


def test_threads_are_paired_by_number_whatever_their_times(tmp_path):
    for side, late in (("a", (0, 5)), ("b", (5, 0))):
        for thread, value in enumerate((ONE, TWO)):
            dump(tmp_path / side, "Add", "add", [value], time=TIME + late[thread],
                 tail=(4, thread, thread, 0))
    found = compare(tmp_path / "a", tmp_path / "b")
    assert statuses(found) == ["equal", "equal"]
    assert "thread 1" in found.pairs[1].notes[0]


def test_a_task_cut_into_other_threads_is_not_paired(tmp_path):
    for side, threads in (("a", (0, 1)), ("b", (0, 0))):
        dump(tmp_path / side, "Mul", "mul", [ONE])
        for number, thread in enumerate(threads):
            dump(tmp_path / side, "Add", "add", [ONE], time=TIME + number,
                 tail=(4, thread, thread, 0))
    found = compare(tmp_path / "a", tmp_path / "b")
    assert statuses(found) == ["equal"]
    assert {each.reason for each in found.reasons} == {Reason.AMBIGUOUS}
    assert found.verdict is Verdict.UNDECIDED
