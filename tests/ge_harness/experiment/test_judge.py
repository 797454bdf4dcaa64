"""The verdict follows the outcomes, and suspects need a reason."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ge_harness.errors import UsageError
from ge_harness.experiment.judge import can_change_numbers, judge
from ge_harness.records.report import RunVerdict
from ge_harness.records.run import (
    Environment,
    FailureKind,
    RunFailure,
    RunRequest,
    RunSuccess,
)
from ge_harness.records.switch import ActivePass
from ge_harness.records.tensor import Case, Port, TensorSpec

FUSION = ActivePass("hlo_pass", "fusion", "", "mixed", "certain", "text changed",
                    "flag", ("float32",), ("add",))
DCE = ActivePass("hlo_pass", "dce", "", "none", "certain", "text changed", "flag",
                 ("float32",), ("add",))
NEW = ActivePass("hlo_pass", "brand-new", "", "unknown", "unknown", "text changed", "",
                 ("float32",), ("add",))
INTS = dataclasses.replace(FUSION, name="ints", dtypes=("int32",))


def _case(count=3, dtype="float32"):
    outputs = (Port(TensorSpec("y", (count,), dtype), "y:0"),)
    return Case("g", "v", 0, "g.pb", (), outputs, ())


def _success(path, passes=(), repeatable=True, case=None):
    return RunSuccess(RunRequest(case or _case(), "xla"), (path,), (), repeatable, "",
                      tuple(passes), (), (), (), 0.1, Environment("3", "1"))


def _failure(kind):
    return RunFailure(RunRequest(_case(), "xla"), kind, f"it was {kind.value}", 1, "")


ARRAYS = {
    "one": np.array([1, 2, 3], np.float32),
    "next": np.array([1, 2, np.nextafter(np.float32(3), np.float32(4))], np.float32),
    "inf": np.array([1, 2, np.inf], np.float32),
    "truth": np.array([1, 2, 3.0000001], np.float64),
}


def _judge(candidate, standard="bits", **others):
    sides = {"candidate": candidate, **others}
    return judge(sides, "eager", standard, ARRAYS.__getitem__)


def test_equal_bits_agree_and_blame_nobody():
    ruling = _judge(_success("one", [FUSION]), eager=_success("one"),
                    nodewise=_success("one"))
    assert ruling.verdict is RunVerdict.AGREES
    assert ruling.suspects == ()
    assert ruling.explanation == ""


def test_a_difference_from_both_base_lines_names_numeric_passes_only():
    ruling = _judge(_success("next", [FUSION, DCE, NEW, INTS]), eager=_success("one"),
                    nodewise=_success("one"), reference=_success("truth"))
    assert ruling.verdict is RunVerdict.DIFFERS
    assert [item.name for item in ruling.suspects] == ["fusion", "brand-new"]
    assert ruling.outputs[0].nearest == "eager, nodewise"
    assert ruling.outputs[0].ulp.max == 1


def test_the_bits_of_the_nodewise_base_line_clear_every_pass():
    ruling = _judge(_success("next", [FUSION]), eager=_success("one"),
                    nodewise=_success("next"))
    assert ruling.verdict is RunVerdict.DIFFERS
    assert ruling.suspects == ()
    assert "single operators" in ruling.explanation


def test_a_change_of_kind_is_said_in_words():
    ruling = _judge(_success("one"), eager=_success("inf"))
    assert ruling.verdict is RunVerdict.DIFFERS
    assert "1 finite against inf" in ruling.why


def test_a_tolerance_of_one_ulp_covers_one_ulp_and_no_change_of_kind():
    assert _judge(_success("next"), "ulp:1",
                  eager=_success("one")).verdict is RunVerdict.AGREES
    assert _judge(_success("inf"), "ulp:1",
                  eager=_success("one")).verdict is RunVerdict.DIFFERS


@pytest.mark.parametrize("kind", [FailureKind.RUN, FailureKind.COMPILE])
def test_one_side_raising_is_an_outcome_mismatch(kind):
    for candidate, eager in ((_success("one"), _failure(kind)),
                             (_failure(kind), _success("one"))):
        ruling = _judge(candidate, eager=eager)
        assert ruling.verdict is RunVerdict.OUTCOME_MISMATCH
        assert "raised" in ruling.why


def test_both_sides_raising_decides_nothing():
    ruling = _judge(_failure(FailureKind.RUN), eager=_failure(FailureKind.RUN))
    assert ruling.verdict is RunVerdict.UNDECIDED
    assert ruling.why == ("both sides raised, which compares nothing: candidate: it "
                          f"was {FailureKind.RUN.value}; eager: the same")


@pytest.mark.parametrize(("kind", "verdict"), [
    (FailureKind.UNAVAILABLE, RunVerdict.UNAVAILABLE),
    (FailureKind.NOT_OFFLOADED, RunVerdict.UNAVAILABLE),
    (FailureKind.INVALID_SWITCH, RunVerdict.INVALID_SWITCH),
    (FailureKind.UNKNOWN_SWITCH, RunVerdict.INVALID_SWITCH),
    (FailureKind.TIMEOUT, RunVerdict.UNDECIDED),
    (FailureKind.CRASH, RunVerdict.UNDECIDED),
    (FailureKind.KILLED, RunVerdict.UNDECIDED),
    (FailureKind.OUT_OF_MEMORY, RunVerdict.UNDECIDED),
    (FailureKind.DISK_FULL, RunVerdict.UNDECIDED),
    (FailureKind.GARBAGE, RunVerdict.UNDECIDED),
])
def test_a_failed_candidate_is_told_by_its_kind(kind, verdict):
    assert _judge(_failure(kind), eager=_success("one")).verdict is verdict


@pytest.mark.parametrize("unsteady", ["candidate", "eager"])
def test_a_side_that_does_not_repeat_itself_gets_no_distance(unsteady):
    sides = {name: _success("one", repeatable=name != unsteady)
             for name in ("candidate", "eager")}
    ruling = judge(sides, "eager", "bits", ARRAYS.__getitem__)
    assert ruling.verdict is RunVerdict.NOT_DETERMINISTIC
    assert unsteady in ruling.why
    assert ruling.outputs[0].ulp is None
    assert ruling.outputs[0].bit_equal is None


def test_an_unknown_standard_is_refused():
    with pytest.raises(UsageError, match="ulps"):
        _judge(_success("one"), "ulps:1", eager=_success("one"))


def test_integers_are_no_reason_to_suspect_a_pass():
    assert can_change_numbers(FUSION)
    assert can_change_numbers(NEW)
    assert not can_change_numbers(INTS)
    assert not can_change_numbers(DCE)
    assert can_change_numbers(dataclasses.replace(FUSION, dtypes=()))
