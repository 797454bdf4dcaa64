"""From the outcomes of every side to a verdict, the suspects and a sentence.

Pure: arrays come in through `load`, so a stored run can be judged again by another
standard without running anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

import numpy as np

from ge_harness.compare.compare import compare_tensor
from ge_harness.compare.stats import measure_errors
from ge_harness.records.comparison import ErrorStats, Status, TensorComparison
from ge_harness.records.report import OutputReport, RunVerdict, Suspect
from ge_harness.records.run import FailureKind, RunFailure, RunSuccess
from ge_harness.records.switch import ActivePass
from ge_harness.records.tensor import Port

Load = Callable[[str], np.ndarray]

RAISED = (FailureKind.BUILD, FailureKind.COMPILE, FailureKind.RUN)
_NUMERIC = ("upcast", "instruction", "accumulation", "algorithm", "mixed", "unknown")
_FLOATS = ("float", "bfloat", "bf16", "f16", "f32", "f64", "half", "double")
_KIND_VERDICTS = {
    FailureKind.UNAVAILABLE: RunVerdict.UNAVAILABLE,
    FailureKind.NOT_OFFLOADED: RunVerdict.UNAVAILABLE,
    FailureKind.INVALID_SWITCH: RunVerdict.INVALID_SWITCH,
    FailureKind.UNKNOWN_SWITCH: RunVerdict.INVALID_SWITCH,
}


@dataclass(frozen=True)
class Judgement:
    """What the outcomes of one run come to.

    Attributes:
        verdict: the outcome.
        why: the verdict in one sentence.
        outputs: every output, compared.
        suspects: passes that can account for a difference.
        explanation: where the difference comes from, "" where there is none.
    """

    verdict: RunVerdict
    why: str
    outputs: tuple[OutputReport, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    explanation: str = ""


def judge(sides: Mapping[str, RunSuccess | RunFailure], baseline: str, standard: str,
          load: Load) -> Judgement:
    """Judge one run.

    Args:
        sides: "candidate", base lines by name, and "reference", each with its outcome.
        baseline: the base line the verdict is against.
        standard: name of the rule, e.g. "bits" or "ulp:2".
        load: path of an output -> array [...] in storage dtype, sets stacked.

    Raises:
        UsageError: no such standard.
    """
    outputs = _compare_outputs(sides, baseline, standard, load)
    early = _without_numbers(sides, baseline)
    if early is not None:
        return Judgement(early[0], early[1], outputs)
    verdict, why = _by_standard(outputs, baseline, standard)
    candidate = sides["candidate"]
    passes = candidate.passes if isinstance(candidate, RunSuccess) else ()
    suspects, explanation = _account(outputs, passes)
    return Judgement(verdict, why, outputs, suspects, explanation)


def _without_numbers(sides: Mapping[str, RunSuccess | RunFailure], baseline: str
                     ) -> tuple[RunVerdict, str] | None:
    candidate, base = sides["candidate"], sides[baseline]
    failed = {name: side for name, side in (("candidate", candidate), (baseline, base))
              if isinstance(side, RunFailure)}
    if len(failed) == 1:
        name, failure = next(iter(failed.items()))
        other = baseline if name == "candidate" else "candidate"
        if failure.kind in RAISED:
            return RunVerdict.OUTCOME_MISMATCH, (
                f"{name} raised, {other} returned: {failure.message}")
    for name, failure in failed.items():
        verdict = _KIND_VERDICTS.get(failure.kind, RunVerdict.UNDECIDED)
        if len(failed) == 2 and all(each.kind in RAISED for each in failed.values()):
            other = failed[baseline].message
            also = "the same" if other == failure.message else other
            return verdict, (f"both sides raised, which compares nothing: {name}: "
                             f"{failure.message}; {baseline}: {also}")
        both = " (the other side too)" if len(failed) == 2 else ""
        return verdict, f"{name} gave no outputs{both}: {failure.message}"
    for name, side in (("candidate", candidate), (baseline, base)):
        if isinstance(side, RunSuccess) and not side.repeatable:
            return RunVerdict.NOT_DETERMINISTIC, (
                f"{name} gave different bytes in two executions of the same inputs")
    return None


def _compare_outputs(sides: Mapping[str, RunSuccess | RunFailure], baseline: str,
                     standard: str, load: Load) -> tuple[OutputReport, ...]:
    candidate = sides["candidate"]
    ports = candidate.request.case.outputs
    return tuple(_compare_output(position, port, sides, (baseline, standard, load))
                 for position, port in enumerate(ports))


def _compare_output(position: int, port: Port,
                    sides: Mapping[str, RunSuccess | RunFailure],
                    how: tuple[str, str, Load]) -> OutputReport:
    baseline, standard, load = how
    arrays = {name: load(side.output_paths[position]) for name, side in sides.items()
              if isinstance(side, RunSuccess)}
    reference = arrays.pop("reference", None)
    against = _against_baselines(port, sides, arrays, reference, standard)
    errors = {}
    if reference is not None:
        errors = {name: measure_errors(array, reference, dtype=port.spec.dtype)
                  for name, array in arrays.items()}
    first = against.get(baseline)
    steady = _steady(sides, "candidate") and _steady(sides, baseline)
    shape = port.spec.shape
    if "candidate" in arrays:
        case = sides["candidate"].request.case
        shape = arrays["candidate"].shape[1 if case.set_count > 1 else 0:]
    return OutputReport(
        name=port.spec.name, shape=tuple(shape), dtype=port.spec.dtype,
        bit_equal=first.bit_equal if first is not None and steady else None,
        ulp=first.ulp if first is not None and steady else None,
        vs_baseline=against, vs_reference=errors, nearest=nearest(errors))


def _against_baselines(port: Port, sides: Mapping[str, RunSuccess | RunFailure],
                       arrays: Mapping[str, np.ndarray], reference: np.ndarray | None,
                       standard: str) -> dict[str, TensorComparison]:
    if "candidate" not in arrays or not _steady(sides, "candidate"):
        return {}
    return {name: compare_tensor(
        port.spec.name, arrays["candidate"], array, dtype=port.spec.dtype,
        reference=reference, standards=(standard,))
        for name, array in arrays.items()
        if name != "candidate" and _steady(sides, name)}


def _steady(sides: Mapping[str, RunSuccess | RunFailure], name: str) -> bool:
    side = sides.get(name)
    return isinstance(side, RunSuccess) and side.repeatable


def nearest(errors: Mapping[str, ErrorStats]) -> str:
    """Return the sides with the smallest mean ULP error, "" where all are as far.

    A side whose numbers changed kind against the reference comes after every side with
    fewer of them; integers are ranked by their mean absolute error.
    """
    far = {name: _distance(stats) for name, stats in errors.items()}
    ahead = sorted(name for name in far if far[name] == min(far.values()))
    return ", ".join(ahead) if len(ahead) < len(far) else ""


def _distance(stats: ErrorStats) -> tuple[int, float]:
    mean = stats.ulp.mean if stats.ulp.mean is not None else stats.abs.mean
    return stats.nonfinite.changed, float(mean or 0.0)


def _by_standard(outputs: Sequence[OutputReport], baseline: str, standard: str
                 ) -> tuple[RunVerdict, str]:
    failed, unsaid = [], []
    for output in outputs:
        pair = output.vs_baseline[baseline]
        ruling = pair.standards[0]
        if ruling.passed is None:
            unsaid.append(f"{output.name}: {ruling.reason}")
        elif not ruling.passed:
            failed.append(f"{output.name}: {ruling.reason}{_changed_kind(pair)}")
    if failed:
        more = f" (and {len(failed) - 1} more outputs)" if len(failed) > 1 else ""
        return RunVerdict.DIFFERS, failed[0] + more
    if unsaid:
        return RunVerdict.UNDECIDED, unsaid[0]
    return RunVerdict.AGREES, (
        f"every output is within {standard} of the base line {baseline}")


def _changed_kind(pair: TensorComparison) -> str:
    """Return the changes of kind in words: they are never told as a distance."""
    names = ("nan_vs_finite", "nan_vs_inf", "finite_vs_nan", "inf_vs_nan",
             "inf_vs_finite", "finite_vs_inf", "inf_sign")
    words = [f"{getattr(pair.nonfinite, name)} {name.replace('_vs_', ' against ')}"
             for name in names if getattr(pair.nonfinite, name)]
    return f"; changed kind: {', '.join(words)}" if words else ""


def _account(outputs: Sequence[OutputReport], passes: Sequence[ActivePass]
             ) -> tuple[tuple[Suspect, ...], str]:
    """Name the passes that can account for what differs, and say why or why not."""
    differs = {name for output in outputs
               for name, comparison in output.vs_baseline.items()
               if comparison.status not in (Status.EQUAL, Status.EQUAL_VALUE)}
    if not differs:
        return (), ""
    nodewise = any("nodewise" in output.vs_baseline for output in outputs)
    if nodewise and "nodewise" not in differs:
        return (), (
            "the candidate has the bits of the nodewise base line: passes and fusion "
            "changed no number; the difference comes from the compiler's kernels for "
            "single operators; 'bisect' tells whether a flag that changes those takes "
            "it away")
    suspects = tuple(_suspect(item) for item in passes if can_change_numbers(item))
    if not suspects:
        return (), ("no active pass is known to change numbers; the difference is not "
                    "accounted for")
    isolated = ("isolated from single-operator kernels by the nodewise base line"
                if nodewise else "single-operator kernels can also have a share, since "
                "there is no nodewise base line")
    count = "1 active pass" if len(suspects) == 1 else f"{len(suspects)} active passes"
    return suspects, f"{count} can have changed the numbers, {isolated}"


def can_change_numbers(active: ActivePass) -> bool:
    """Return whether a pass can change numbers: by its class, on what it touched."""
    if active.precision_class not in _NUMERIC:
        return False
    return not active.dtypes or any(
        dtype.lower().startswith(_FLOATS) for dtype in active.dtypes)


def _suspect(active: ActivePass) -> Suspect:
    touched = ", ".join(active.ops[:6]) or "operators not told apart"
    dtypes = ", ".join(active.dtypes) or "dtypes not told"
    if active.precision_class == "unknown":
        reason = f"active and not in the catalogue; touched {touched} in {dtypes}"
    else:
        reason = (f"active, class {active.precision_class} ({active.certainty}); "
                  f"touched {touched} in {dtypes}")
    return Suspect(active.family, active.name, active.precision_class, reason,
                   active.switch_off)
