"""Puts a counter-example down to an operator, where single kernels account for it.

Where the compiled bits are those of the compiler node by node, fusion did nothing and
fetching intermediate tensors changes nothing: the first one that is further from
float64 than eager's names the operator. Else the roundings, contractions and orders
that reproduce the compiled bits are looked for, and each active pass that can change
numbers is switched off alone, to see which of them makes the case worse.
"""

from __future__ import annotations

import dataclasses
from typing import Mapping

import numpy as np

from dumps import graphdef
from ge_harness.compare.dtypes import FLOAT_FORMATS
from ge_harness.experiment import judge as run_judge
from ge_harness.experiments import bench as benches
from ge_harness.experiments import statistics as stats
from ge_harness.experiments import store
from ge_harness.experiments.bench import Bench, CaseSpec, Outcomes
from ge_harness.experiments.worse import WORSE, figures, score
from ge_harness.explain.for_run import explain_run
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import RunFailure, RunSuccess
from ge_harness.records.switch import Switch
from ge_harness.report import explain_text

_SKIPPED = ("Placeholder", "Const", "Identity", "Shape", "Reshape", "NoOp", "Pack",
            "BroadcastTo", "StridedSlice")
_MOST_SUSPECTS = 8


def blame(bench: Bench, spec: CaseSpec, arrays: Mapping[str, np.ndarray],
          nodewise_equal: bool) -> tuple[str, str]:
    """Return the operator, "" where none alone accounts for it, and the reason."""
    built = bench.built(spec)
    if not isinstance(built, BuiltCase):
        return "", "not looked into: the case does not build again"
    nodes = [node for node in graphdef.read(built.graph_path).nodes
             if node.op not in _SKIPPED]
    if not nodewise_equal:
        return _explained(bench, spec, arrays, {node.name: node.op for node in nodes})
    fetched = CaseSpec(spec.source, spec.dtype, spec.variants, spec.shapes,
                       tuple(f"{node.name}:0" for node in nodes), spec.sets, spec.size)
    case = bench.case(fetched, "localize", {
        name: array[0] if spec.sets == 1 else array for name, array in arrays.items()})
    outcomes = bench.run(bench.sides(case, "nodewise", "eager", "reference"))
    if benches.failures(outcomes):
        return "", ("the compiled bits are those of its single operators; which one "
                    "could not be looked into: "
                    + "; ".join(benches.failures(outcomes).values()))
    return _first(outcomes, [node.op for node in nodes], [node.name for node in nodes])


def _explained(bench: Bench, spec: CaseSpec, arrays: Mapping[str, np.ndarray],
               ops: Mapping[str, str]) -> tuple[str, str]:
    """Name what reproduces bits that single operators do not give."""
    case = bench.case(spec, "explain", {
        name: array[0] if spec.sets == 1 else array for name, array in arrays.items()})
    outcomes = bench.run(bench.sides(
        case, "candidate", "nodewise", "eager", "reference"))
    switched, touched = _switched(bench, outcomes)
    found = explain_run(outcomes, bench.folder.path / "kernels" / store.safe(
        f"{case.subgraph}-{bench.options.backend}-{case.variant}"))
    start = ("the compiled bits are not those of its single operators: passes or "
             "fusion changed them")
    if not found.hypotheses:
        notes = f" ({found.notes[0]})" if found.notes else ""
        return ", ".join(touched), f"{start}; {switched}; bits {found.status}{notes}"
    words = "; ".join(explain_text.hypothesis_words(dataclasses.asdict(each))
                      for each in found.hypotheses[:4])
    blamed = dict.fromkeys(ops.get(each.node, each.node)
                           for each in found.hypotheses[:4])
    return ", ".join(blamed), f"{start}; {switched}; bits {found.status}: {words}"


def _switched(bench: Bench, outcomes: Outcomes) -> tuple[str, tuple[str, ...]]:
    """Switch the passes that can change numbers off, one at a time.

    Args:
        bench: where they run.
        outcomes: of the sides of the case, all switches as asked.

    Returns:
        what came of it in words, and the ops that the curing passes touched.
    """
    candidate = outcomes["candidate"]
    if isinstance(candidate, RunFailure):
        return "no pass was switched off: the candidate failed", ()
    known = bench.switches()
    passes = dict.fromkeys(
        Switch(item.family, item.name) for item in candidate.passes
        if run_judge.can_change_numbers(item))
    suspects = [each for each in passes if each in known][:_MOST_SUSPECTS]
    if not suspects:
        return "no active pass that can change numbers has a switch", ()
    setting = bench.options.setting
    trials = bench.run({each.name: dataclasses.replace(
        candidate.request, want_dumps=False, setting=dataclasses.replace(
            setting, off=(*setting.off, each))) for each in suspects})
    cured = [name for name, trial in trials.items()
             if _worse_by({**outcomes, "candidate": trial}) is False]
    names = ", ".join(each.name for each in suspects)
    if not cured:
        return f"no one of {names} switched off alone cures it", ()
    ops = {op for item in candidate.passes if item.name in cured for op in item.ops}
    return (f"no longer worse with {' or '.join(cured)} off (tried: {names})",
            tuple(sorted(ops)))


def _worse_by(outcomes: Outcomes) -> bool | None:
    """Return whether the candidate is worse than eager; None where a side failed."""
    sides = {name: outcomes[name] for name in ("candidate", "eager", "reference")}
    good = {name: side for name, side in sides.items() if isinstance(side, RunSuccess)}
    if len(good) < len(sides):
        return None
    truth = store.load(good["reference"].output_paths[0])
    dtype = good["eager"].request.case.outputs[0].spec.dtype
    mine, other = (figures(store.load(good[side].output_paths[0]), truth, dtype)
                   for side in ("candidate", "eager"))
    return score(mine, other) > WORSE


def _first(outcomes: Outcomes, ops: list[str], names: list[str]) -> tuple[str, str]:
    sides = {name: outcome for name, outcome in outcomes.items()
             if isinstance(outcome, RunSuccess)}
    ports = sides["nodewise"].request.case.outputs
    ported = {port.tensor.split(":")[0]: place for place, port in enumerate(ports)}
    for op, name in zip(ops, names):
        place = ported.get(name)
        if place is None or ports[place].spec.dtype not in FLOAT_FORMATS:
            continue
        mine, eager, truth = (store.load(sides[side].output_paths[place])
                              for side in ("nodewise", "eager", "reference"))
        if mine.tobytes() == eager.tobytes():
            continue
        dtype = ports[place].spec.dtype
        errors = [stats.ulp_errors(each, truth, dtype) for each in (mine, eager)]
        means = [float(each.mean()) if each.size else 0.0 for each in errors]
        if means[0] > means[1]:
            return op, (
                f"the compiler's kernel for {op} alone: the first tensor that leaves "
                "eager's bits and is further from float64 (mean "
                f"{means[0]:.4g} against {means[1]:.4g} ULP); passes and fusion "
                "changed no bit")
    return "", ("the compiled bits are those of its single operators; none alone is "
                "further from float64")
