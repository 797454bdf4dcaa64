"""C3: iterative algorithms, rsqrt and div: iterations against error.

The emulator's Newton steps can be forced. Elsewhere the number of iterations cannot be
set: the framework is compared with NumPy's float32 functions, and Newton's steps in
NumPy float32 show what each number of iterations would give; both are disclosed.
"""

from __future__ import annotations

from typing import Mapping

import numpy as np

from ge_harness.compare.dtypes import round_to, widen
from ge_harness.experiments import bench as benches
from ge_harness.experiments import mechanism, store
from ge_harness.experiments.accumulation import with_parameter
from ge_harness.experiments.bench import Bench, CaseSpec, Outcomes
from ge_harness.experiments.statistics import cdf, ulp_errors
from ge_harness.experiments.verdict import Ruling, all_of, settle
from ge_harness.records.experiment import (
    ExperimentReport,
    ExperimentTable,
    ExperimentVerdict,
    FigureRecord,
    MechanismEvidence,
)
from ge_harness.records.run import RunFailure, RunSuccess
from ge_harness.records.tensor import Case

CLAIM = ("rsqrt and div by Newton's method with another number of iterations give "
         "other bits, and more iterations are no further from float64 (source 4 of the "
         "consistency note)")
FUNCTIONS = {"rsqrt": ("x",), "div": ("x", "y")}
FORCED = ("newton2", "newton3")
_NUMPY_STEPS = (0, 1, 2, 3, 4)
_MAGIC = {"rsqrt": 0x5F3759DF, "div": 0x7EF311C3}
Sides = Mapping[str, np.ndarray]


def run(bench: Bench) -> ExperimentReport:
    """Run both functions in every form that can be had, and judge."""
    dtype = bench.options.dtype or "float16"
    requests, cases = {}, {}
    for name in FUNCTIONS:
        spec = CaseSpec(name, dtype, sets=bench.options.sets or 1)
        case = cases[name] = bench.case(spec)
        requests.update({f"{name} {side}": request for side, request in bench.sides(
            case, "candidate", "eager", "reference").items()})
        if bench.options.backend == "emulator":
            requests.update({
                f"{name} {form}": with_parameter(
                    bench.request(case), f"{name}_form={form}") for form in FORCED})
    return bench.report(judge(bench, bench.run(requests), cases, dtype))


def judge(bench: Bench, outcomes: Outcomes, cases: Mapping[str, Case],
          dtype: str) -> ExperimentReport:
    """Judge finished runs."""
    rows: list[tuple[object, ...]] = []
    rulings, evidence, figures = [], [], []
    for name in FUNCTIONS:
        sides, kinds = _sides(name, outcomes, cases[name], dtype)
        proof = _evidence(bench, name, outcomes)
        evidence += proof
        truth = outcomes[f"{name} reference"]
        if isinstance(truth, RunFailure) or "framework default" not in sides:
            rulings.append((ExperimentVerdict.INCONCLUSIVE, "; ".join(
                benches.failures(outcomes).values())))
            continue
        reference = store.load(truth.output_paths[0])
        errors = {side: ulp_errors(array, reference, dtype)
                  for side, array in sides.items()}
        rows += [_row(name, side, kinds[side], errors[side]) for side in sides]
        rulings.append(_rule(bench, sides, errors, proof))
        places, heights = cdf(errors)
        figures.append(FigureRecord(
            f"{bench.options.backend} {dtype}: {name}, error against float64", "lines",
            "ULP error", "share of elements with at most this", places, heights))
    verdict, why = all_of(rulings, tuple(FUNCTIONS))
    return ExperimentReport(
        "C3", "iterative algorithms: rsqrt and div", CLAIM, verdict, why,
        _method(bench, dtype), _limits(bench), tuple(evidence), ExperimentTable(
            "iterations against error", (
                "function", "side", "iterations", "what it is", "elements", "mean ULP",
                "P50 ULP", "P99 ULP", "max ULP", "share <= 0.5"), tuple(rows)),
        benches.NO_BACKEND, figures=tuple(figures), dtype=dtype,
        artifacts=benches.paths_of(bench.folder, outcomes))


def _sides(name: str, outcomes: Outcomes, case: Case, dtype: str
           ) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, str]]]:
    """Return side -> storage, and side -> (iterations, what it is)."""
    found: dict[str, np.ndarray] = {}
    kinds: dict[str, tuple[str, str]] = {}
    for side, words, steps in (
            ("candidate", "framework default", "not told"),
            ("newton2", "forced Newton", "2"), ("newton3", "forced Newton", "3"),
            ("eager", "eager TensorFlow", "not told")):
        outcome = outcomes.get(f"{name} {side}")
        if isinstance(outcome, RunSuccess):
            label = words if side not in FORCED else f"{words} {steps}"
            found[label] = store.load(outcome.output_paths[0])
            kinds[label] = (steps, "model, forced" if side in FORCED else "run")
    inputs = [widen(store.load(path), dtype).astype(np.float32)
              for path in case.input_paths]
    whole = numpy_function(name, *inputs)
    found["NumPy float32"] = round_to(whole, dtype)
    kinds["NumPy float32"] = ("none", "NumPy, disclosed")
    for count in _NUMPY_STEPS:
        label = f"NumPy Newton {count}"
        found[label] = round_to(newton(name, count, *inputs), dtype)
        kinds[label] = (str(count), "NumPy, disclosed")
    return found, kinds


def numpy_function(name: str, x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """Return [...] float32: 1 / sqrt(x), or x / y."""
    with np.errstate(all="ignore"):
        if y is None:
            return np.asarray(np.float32(1) / np.sqrt(x))
        return np.asarray(x / y)


def newton(name: str, steps: int, x: np.ndarray, y: np.ndarray | None = None
           ) -> np.ndarray:
    """Return the function by Newton's steps from an integer guess, all in float32.

    Args:
        name: "rsqrt" or "div".
        steps: number of iterations.
        x: [...] float32.
        y: [...] float32 divisor, for "div".

    Returns:
        [...] float32.
    """
    of = x if y is None else y
    bits = np.abs(of).view(np.int32)
    with np.errstate(all="ignore"):
        if name == "rsqrt":
            guess = (np.int32(_MAGIC[name]) - (bits >> 1)).view(np.float32)
            for _ in range(steps):
                guess = guess * (np.float32(1.5) - np.float32(0.5) * of * guess * guess)
            return np.asarray(guess)
        guess = (np.int32(_MAGIC[name]) - bits).view(np.float32)
        for _ in range(steps):
            guess = guess * (np.float32(2) - np.abs(of) * guess)
        return np.asarray(x * np.copysign(guess, of))


def _evidence(bench: Bench, name: str, outcomes: Outcomes) -> list[MechanismEvidence]:
    seen = mechanism.read(outcomes[f"{name} candidate"])
    found = [MechanismEvidence(
        f"{name}: what the default compiled to",
        seen.words if seen.present else seen.problem, seen.source, seen.present)]
    if bench.options.backend != "emulator":
        found.append(MechanismEvidence(
            f"{name}: the number of iterations was set", "it cannot be set here; NumPy "
            "float32 stands in", "disclosed fallback", False))
        return found
    forms = {form: mechanism.read(outcomes[f"{name} {form}"]) for form in FORCED}
    hashes = {seen.hashes, *(each.hashes for each in forms.values())}
    found.append(MechanismEvidence(
        f"{name}: the number of iterations was set",
        f"{len(hashes)} different sets of kernel hashes for 3 forms",
        forms["newton2"].source, len(hashes) == 3 and all(
            each.present for each in forms.values())))
    return found


def _rule(bench: Bench, sides: Sides, errors: Sides,
          proof: list[MechanismEvidence]) -> Ruling:
    if bench.options.backend != "emulator":
        same = np.array_equal(sides["framework default"], sides["NumPy float32"])
        mean = float(errors["framework default"].mean()) if (
            errors["framework default"].size) else 0.0
        return ExperimentVerdict.INCONCLUSIVE, (
            "iterations cannot be set; the framework " +
            ("has the bits of" if same else "differs from") +
            f" NumPy's float32 function, mean error {mean:.4g} ULP against float64")
    two, three = sides["forced Newton 2"], sides["forced Newton 3"]
    differing = int(np.count_nonzero(two != three))
    means = [float(errors[f"forced Newton {steps}"].mean()) for steps in (2, 3)]
    return settle(
        differing > 0 and means[1] <= means[0],
        f"{differing} of {two.size} elements differ between 2 and 3 iterations; mean "
        f"error {means[0]:.4g} and {means[1]:.4g} ULP (by forced mechanisms)", proof)


def _row(name: str, side: str, kind: tuple[str, str], errors: np.ndarray
         ) -> tuple[object, ...]:
    ordered = np.sort(errors)

    def at(share: float) -> float | None:
        if not ordered.size:
            return None
        return float(ordered[max(0, int(np.ceil(share * ordered.size)) - 1)])

    within = np.count_nonzero(ordered <= 0.5) / max(1, ordered.size)
    return (name, side, *kind, int(ordered.size),
            float(ordered.mean()) if ordered.size else None, at(0.5), at(0.99), at(1.0),
            float(within))


def _method(bench: Bench, dtype: str) -> str:
    return (f"rsqrt of x from U(0.01, 100) and x / y, {dtype}; the framework's default"
            + (", Newton with 2 and 3 iterations forced in the model"
               if bench.options.backend == "emulator" else "")
            + ", NumPy float32 and Newton's steps in NumPy float32, each rounded once "
            f"to {dtype}, all against float64")


def _limits(bench: Bench) -> tuple[str, ...]:
    if bench.options.backend == "emulator":
        return ("forced forms are mechanisms of a model: AutoFuse itself has no Newton "
                "steps in fused rsqrt (1 / sqrt)",)
    return ("fallback: iterations cannot be set, so the framework is compared with "
            "NumPy's float32 function and the table of iterations is NumPy's",)
