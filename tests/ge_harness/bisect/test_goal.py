"""When a trial reaches the goal."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.bisect.goal import parse_goal, reached
from ge_harness.errors import HarnessError
from ge_harness.records.run import (
    Environment,
    FailureKind,
    RunFailure,
    RunRequest,
    RunSuccess,
)
from ge_harness.records.tensor import Case, Port, TensorSpec

ONE = np.array([1.0, 2.0, 3.0], np.float16)
NEXT = np.nextafter(ONE, np.float16(9))
FAR = NEXT + np.float16(0.5)
NAN = np.array([1.0, np.nan, 3.0], np.float16)
ARRAYS = {"one": ONE, "next": NEXT, "far": FAR, "nan": NAN,
          "truth": ONE.astype(np.float64)}
REQUEST = RunRequest(Case("g", "v", 0, "g.pb", (), (
    Port(TensorSpec("y", (3,), "float16"), "y:0"),), ()), "xla")


def ok(name, repeatable=True):
    return RunSuccess(REQUEST, (name,), (), repeatable, "", (), (), (), (), 0.1,
                      Environment("3", "1"))


def failed(kind=FailureKind.RUN):
    return RunFailure(REQUEST, kind, "it broke", 1, "log.txt")


def verdict(goal, candidate, base, reference=None):
    sides = {"candidate": candidate, "eager": base}
    if reference is not None:
        sides["reference"] = reference
    agrees, why = reached(parse_goal(goal), sides, "eager", ARRAYS.__getitem__)
    assert why
    return agrees


@pytest.mark.parametrize(("goal", "candidate", "expected"), [
    ("bits", "one", True), ("bits", "next", False), ("ulp:1", "next", True),
    ("ulp:1", "far", False), ("standard:ulp:1", "next", True),
    ("standard:bits", "next", False), ("ulp:5000", "nan", False)])
def test_a_standard_rules_against_the_base_line(goal, candidate, expected):
    assert verdict(goal, ok(candidate), ok("one")) is expected


@pytest.mark.parametrize(("candidate", "base", "expected"), [
    ("one", "next", True), ("next", "next", True), ("next", "one", False),
    ("far", "next", False), ("nan", "far", False), ("far", "nan", True)])
def test_no_worse_asks_for_the_errors_against_float64_only(candidate, base, expected):
    assert verdict("no-worse", ok(candidate), ok(base), ok("truth")) is expected


def test_a_run_without_outputs_or_unsteady_is_undecided():
    assert verdict("bits", failed(FailureKind.CRASH), ok("one")) is None
    assert verdict("bits", failed(FailureKind.COMPILE), ok("one")) is None
    assert verdict("bits", ok("one", repeatable=False), ok("one")) is None
    assert verdict("bits", ok("one"), failed(FailureKind.TIMEOUT)) is None
    assert verdict("no-worse", ok("one"), ok("one"), failed()) is None


def test_a_check_that_raises_on_both_sides_agrees_and_one_that_is_dropped_differs():
    assert verdict("bits", failed(), failed()) is True
    assert verdict("bits", ok("one"), failed()) is False


@pytest.mark.parametrize("text", ["", "bit", "ulp:", "ulp:x", "standard:", "better",
                                  "standard:no-worse"])
def test_goals_nobody_knows_are_refused(text):
    with pytest.raises(HarnessError):
        parse_goal(text)
