"""C1: a scalar multiply and a vector multiply by the broadcast scalar.

The two are the same maths. Whether they are two instructions is read from what was
compiled; where both paths became one instruction the comparison has no power.
"""

from __future__ import annotations

from typing import Mapping

import numpy as np

from ge_harness.compare.dtypes import FLOAT_FORMATS
from ge_harness.compare.ulp import ulp_diff
from ge_harness.experiments import bench as benches
from ge_harness.experiments import mechanism, store
from ge_harness.experiments.bench import Bench, CaseSpec, Outcomes
from ge_harness.experiments.mechanism import Mechanism
from ge_harness.experiments.verdict import Ruling, all_of, settle
from ge_harness.records.experiment import (
    ExperimentReport,
    ExperimentTable,
    ExperimentVerdict,
    FigureRecord,
    MechanismEvidence,
)
from ge_harness.records.run import RunFailure

CLAIM = ("x * 0.7 as a scalar multiply and as a vector multiply by the scalar "
         "broadcast to a full tensor are two instructions, and their results differ "
         "in bits (source 2 of the consistency note)")
_FORMS = ("constant", "input")
_PATHS = {"A": "scalar_mul", "B": "broadcast_mul"}
_BINS = 17


def run(bench: Bench) -> ExperimentReport:
    """Run both paths with the scalar as a constant and as an input, and judge."""
    dtype = bench.options.dtype or "float16"
    sets = bench.options.sets or 1
    requests = {}
    for form in _FORMS:
        for path, source in _PATHS.items():
            case = bench.case(CaseSpec(source, dtype, (("scalar", form),), sets=sets))
            requests.update({
                f"{path} {form} {side}": request for side, request in bench.sides(
                    case, "candidate", "reference").items()})
    outcomes = bench.run(requests)
    return bench.report(judge(bench, outcomes, dtype))


def judge(bench: Bench, outcomes: Outcomes, dtype: str) -> ExperimentReport:
    """Judge finished runs by their bits and by the instructions in their dumps."""
    rulings, rows, evidence, figures = [], [], [], []
    for form in _FORMS:
        sides = {path: outcomes[f"{path} {form} candidate"] for path in _PATHS}
        seen = {path: mechanism.read(side) for path, side in sides.items()}
        proof = _proof(form, seen)
        evidence += proof
        distances = _distances(sides, dtype)
        if distances is None:
            rulings.append((ExperimentVerdict.INCONCLUSIVE, "; ".join(
                benches.failures(sides).values())))
            continue
        store.save(bench.folder, f"C1-{bench.options.backend}-{dtype}-{form}-ulp",
                   distances)
        shares = _shares(distances)
        rows.append((form, seen["A"].words, seen["B"].words,
                     _same(seen), distances.size, *shares,
                     int(distances.max(initial=0))))
        rulings.append(_rule(bench, seen, distances, proof))
        figures.append(_histogram(bench, form, distances))
    verdict, why = all_of(rulings, [f"scalar as {form}" for form in _FORMS])
    return ExperimentReport(
        "C1", "instruction selection: tensor times scalar", CLAIM, verdict, why,
        f"x {dtype} from U(-1, 1), scalar 0.7; path A scalar_mul, path B "
        "broadcast_mul; the scalar once as a constant of the graph, once fed; bits of "
        "A against B", _LIMITS, tuple(evidence), ExperimentTable(
            "path A against path B", (
                "scalar", "instructions of A", "instructions of B", "same instruction",
                "elements", "share ULP 0", "share ULP 1", "share ULP >= 2", "max ULP"),
            tuple(rows)), benches.NO_BACKEND, figures=tuple(figures), dtype=dtype,
        artifacts=benches.paths_of(bench.folder, outcomes))


_LIMITS = (
    "equal bits of two instructions on these inputs do not show that they are equal on "
    "all",
    "an instruction is told apart by the compiler's optimized program, not by the "
    "machine code of a device")


def _proof(form: str, seen: Mapping[str, Mechanism]) -> list[MechanismEvidence]:
    found = [MechanismEvidence(
        f"scalar as {form}: what path {path} compiled to", each.words if each.present
        else each.problem, each.source, each.present) for path, each in seen.items()]
    if seen["A"].graph_only:
        found.append(MechanismEvidence(
            f"scalar as {form}: two different instructions were generated",
            "only the optimized graph is known; the instructions of TensorFlow's "
            "kernels are not", seen["A"].source, False))
    elif all(each.present for each in seen.values()):
        same = _same(seen)
        found.append(MechanismEvidence(
            f"scalar as {form}: two different instructions were generated",
            "both paths compiled to the same instruction" if same
            else "the instructions differ", seen["A"].source, not same))
    return found


def _same(seen: Mapping[str, Mechanism]) -> bool:
    """Return whether both paths compute with the same instructions."""
    a, b = seen["A"], seen["B"]
    return a.program == b.program or (bool(a.computing) and a.ops_of == b.ops_of)


def _rule(bench: Bench, seen: Mapping[str, Mechanism], distances: np.ndarray,
          proof: list[MechanismEvidence]) -> Ruling:
    differing = int(np.count_nonzero(distances))
    words = f"{differing} of {distances.size} elements differ"
    known = all(each.present and not each.graph_only for each in seen.values())
    if known and _same(seen):
        return ExperimentVerdict.INCONCLUSIVE, (
            "both paths compiled to the same instruction, so the test has no power "
            f"({words})")
    if bench.options.backend == "emulator" and all(each.ok for each in proof):
        return ExperimentVerdict.INCONCLUSIVE, (
            "two instructions were generated, but whether their bits are equal is a "
            "parameter of the model (muls_equals_mul), not a finding; EMULATED: "
            + words)
    return settle(differing > 0, words, proof)


def _distances(sides: Outcomes, dtype: str) -> np.ndarray | None:
    a, b = sides["A"], sides["B"]
    if isinstance(a, RunFailure) or isinstance(b, RunFailure):
        return None
    return ulp_diff(store.load(a.output_paths[0]), store.load(b.output_paths[0]),
                    dtype=dtype if dtype in FLOAT_FORMATS else None)


def _shares(distances: np.ndarray) -> tuple[float, float, float]:
    size = max(distances.size, 1)
    none = int(np.count_nonzero(distances == 0))
    one = int(np.count_nonzero(distances == 1))
    return none / size, one / size, (distances.size - none - one) / size


def _histogram(bench: Bench, form: str, distances: np.ndarray) -> FigureRecord:
    counts = np.bincount(np.minimum(distances, _BINS - 1).astype(np.int64).ravel(),
                         minlength=_BINS)
    return FigureRecord(
        f"{bench.options.backend}: path A against path B, scalar as {form}", "bars",
        "ULP (the last bar: that and more)", "elements",
        tuple(float(place) for place in range(_BINS)),
        {"A against B": tuple(float(count) for count in counts)})


