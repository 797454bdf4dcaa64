"""Goals of a bisection: when the compiled outputs count as restored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Mapping, Union

import numpy as np

from ge_harness.compare.standards import parse_standard
from ge_harness.compare.stats import measure_errors
from ge_harness.errors import UsageError
from ge_harness.experiment import judge
from ge_harness.records.comparison import ErrorStats, ErrorSummary
from ge_harness.records.report import RunVerdict
from ge_harness.records.run import FailureKind, RunFailure, RunSuccess

NO_WORSE = "no-worse"
_STANDARD = "standard:"
Load = Callable[[str], np.ndarray]
Result = Union[RunSuccess, RunFailure]
_VERDICTS = {RunVerdict.AGREES: True, RunVerdict.DIFFERS: False}


@dataclass(frozen=True)
class Goal:
    """A goal.

    Attributes:
        text: as asked for.
        standard: the rule that decides, "" for `NO_WORSE`.
    """

    text: str
    standard: str

    @property
    def needs_reference(self) -> bool:
        """The float64 reference decides."""
        return not self.standard


def parse_goal(text: str) -> Goal:
    """Return the goal that a text names.

    Raises:
        UsageError: no such goal.
        UnknownNameError: no such standard.
    """
    if text == NO_WORSE:
        return Goal(text, "")
    name = text[len(_STANDARD):] if text.startswith(_STANDARD) else text
    if name == text and name != "bits" and not name.startswith("ulp:"):
        raise UsageError(f"--goal={text}: expected bits, ulp:N, standard:NAME or "
                         f"{NO_WORSE}")
    parse_standard(name)
    return Goal(text, name)


def reached(goal: Goal, sides: Mapping[str, Result], baseline: str, load: Load
            ) -> tuple[bool | None, str]:
    """Return whether the candidate reaches the goal, and why, in one line.

    A candidate that gives no outputs is undecided: its switches do not go together. One
    that raises where the base line raised agrees; one that returns there does not.

    Args:
        goal: when it is reached.
        sides: "candidate", the base line, and "reference" where the goal needs it.
        baseline: name of the base line.
        load: path of an output -> array.
    """
    candidate, base = sides["candidate"], sides[baseline]
    if isinstance(candidate, RunFailure):
        if isinstance(base, RunFailure) and base.kind is candidate.kind is (
                FailureKind.RUN):
            return True, f"raises as {baseline} does: {candidate.message}"
        return None, f"{candidate.kind.value}: {candidate.message}"
    if isinstance(base, RunFailure):
        if base.kind in judge.RAISED:
            return False, f"returns where {baseline} raised: {base.message}"
        return None, f"{baseline}: {base.kind.value}: {base.message}"
    if not candidate.repeatable:
        return None, "gave different bytes in two executions of the same inputs"
    if goal.needs_reference:
        return _no_worse(candidate, base, sides["reference"], load)
    ruling = judge.judge({"candidate": candidate, baseline: base}, baseline,
                         goal.standard, load)
    return _VERDICTS.get(ruling.verdict), ruling.why


def _no_worse(candidate: RunSuccess, base: RunSuccess, reference: Result, load: Load
              ) -> tuple[bool | None, str]:
    if isinstance(reference, RunFailure):
        return None, f"the float64 reference failed: {reference.message}"
    for position, port in enumerate(candidate.request.case.outputs):
        truth = load(reference.output_paths[position])
        mine, theirs = (measure_errors(load(side.output_paths[position]), truth,
                                       dtype=port.spec.dtype)
                        for side in (candidate, base))
        worse = _worse(mine, theirs)
        if worse:
            return False, f"{port.spec.name}: {worse}"
    return True, "P99 and greatest error against float64 are no greater"


def _worse(mine: ErrorStats, theirs: ErrorStats) -> str:
    if mine.nonfinite.changed > theirs.nonfinite.changed:
        return (f"{mine.nonfinite.changed} elements changed kind against float64, "
                f"{theirs.nonfinite.changed} of the base line")
    unit, one, other = _comparable(mine, theirs)
    for name in ("p99", "max"):
        a, b = _error(name, mine, one), _error(name, theirs, other)
        if a > b:
            return (f"{name} error against float64 is {a[1]:.6g} {unit}, {b[1]:.6g} of "
                    "the base line")
    return ""


def _error(name: str, stats: ErrorStats, summary: ErrorSummary) -> tuple[int, float]:
    """Return an error that elements of another kind make greater than any number."""
    changed = stats.nonfinite.changed
    if name == "p99" and changed <= summary.count / 100:
        changed = 0
    return changed, float(getattr(summary, name) or 0.0)


def _comparable(mine: ErrorStats, theirs: ErrorStats
                ) -> tuple[str, ErrorSummary, ErrorSummary]:
    if mine.ulp.max is None or theirs.ulp.max is None:
        return "(absolute)", mine.abs, theirs.abs
    return "ULP", mine.ulp, theirs.ulp
