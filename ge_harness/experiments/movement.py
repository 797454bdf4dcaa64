"""D: pure movement of data is bit-exact.

A grid of single operators and combined subgraphs, dtypes and shapes: odd, with axes of
length one, empty, large; the candidate against eager, bit by bit. A case of the user's
own joins it: a broadcast that promotes its type shows as a counter-example, with the
operators that compute in it as the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, NamedTuple

import numpy as np

from dumps import graphdef
from ge_harness.compare.dtypes import FLOAT_FORMATS, widen
from ge_harness.compare.ulp import bit_equal, infinity_bits
from ge_harness.experiments import bench as benches
from ge_harness.experiments import mechanism, store
from ge_harness.experiments.bench import Bench, CaseSpec, Outcomes
from ge_harness.experiments.mechanism import MOVEMENT, Mechanism
from ge_harness.experiments.verdict import Ruling, settle
from ge_harness.records.experiment import (
    CounterexampleRecord,
    ExperimentReport,
    ExperimentTable,
    ExperimentVerdict,
    FigureRecord,
    MechanismEvidence,
)
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import RunFailure, RunSuccess
from ge_harness.records.tensor import Case, Port

CLAIM = ("pure data movement (transpose, slice, split, broadcast, concat, reshape, "
         "alone and combined) is bit-exact")
DTYPES = ("float16", "bfloat16", "float32")
COMBINED = ("transpose_concat", "slice_broadcast_concat", "split_transpose_concat")
SINGLE = ("transpose", "slice", "split", "concat", "broadcast", "reshape")
# About a million elements at desk size.
LARGE = {
    "transpose_concat": (("x", (2, 512, 513)), ("y", (2, 513, 64))),
    "slice_broadcast_concat": (("x", (512, 1025)), ("b", (1, 256))),
    "split_transpose_concat": (("x", (513, 768)),),
    "transpose": (("x", (8, 256, 257)),), "slice": (("x", (512, 1025)),),
    "split": (("x", (512, 768)),), "broadcast": (("x", (128, 1, 513)),),
    "concat": (("x", (512, 257)), ("y", (512, 257)), ("z", (512, 257))),
    "reshape": (("x", (8, 256, 257)),),
}
# Zeros, subnormals, ends of the range and infinities of both signs, and a NaN.
_SPECIAL = "special values"
# Quiet NaNs with payloads and of both signs. They decide nothing: neither IEEE 754 nor
# XLA promises a payload to whoever converts, so such a cell shows a limit of the claim,
# not a number that changed. Signaling NaNs are left out: NumPy itself may quiet them.
_PAYLOADS = "NaN payloads"
_PLACEHOLDERS = ("Placeholder", "Const", "Identity", "NoOp")


class Cell(NamedTuple):
    """One cell of the grid.

    Attributes:
        source: subgraph or file.
        variants: (name, value) pairs.
        dtype: of its inputs, "" for the file's own.
        label: name of the shape.
        shapes: (input, shape) pairs, () for the declared ones.
    """

    source: str
    variants: tuple[tuple[str, str], ...]
    dtype: str
    label: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def name(self) -> str:
        """Its name in the table."""
        values = ",".join(value for _, value in self.variants)
        return f"{Path(self.source).stem}{f'({values})' if values else ''}"


def grid(bench: Bench) -> list[Cell]:
    """Return every cell, those of the user's files last."""
    dtypes = (bench.options.dtype,) if bench.options.dtype else DTYPES
    cells = [cell for name in (*COMBINED, *SINGLE) for cell in _cells(name, dtypes)]
    for source in bench.subgraphs:
        cells.append(Cell(source, (), bench.options.dtype, "own", ()))
    return cells


def _cells(name: str, dtypes: Iterable[str]) -> Iterable[Cell]:
    import graphs

    subgraph = graphs.load(name)
    several = dict(subgraph.variants)
    forms: list[tuple[tuple[str, str], ...]] = [()]
    for key, values in several.items():
        forms = [(*form, (key, str(value))) for form in forms for value in values]
    shapes = [("odd", ()), *((label.replace("_", " "), shape)
                             for label, shape in subgraph.shapes),
              ("large", LARGE[name]), (_SPECIAL, ()), (_PAYLOADS, ())]
    for form in forms:
        for dtype in dtypes:
            for label, shape in shapes:
                yield Cell(name, form, dtype, label, shape)


def run(bench: Bench) -> ExperimentReport:
    """Run every cell on the candidate and eagerly, and judge."""
    cells = grid(bench)
    cases: dict[Cell, Case] = {}
    for cell in cells:
        spec = CaseSpec(cell.source, cell.dtype, cell.variants, cell.shapes)
        if cell.label in (_SPECIAL, _PAYLOADS):
            cases[cell] = bench.case(spec, cell.label,
                                     _patterns(bench, spec, cell.label))
        else:
            cases[cell] = bench.case(spec)
        bench.say(f"{cell.name} {cell.dtype} {cell.label}: built")
    requests = {}
    for number, cell in enumerate(cells):
        sides = bench.sides(cases[cell], "eager", "candidate")
        requests.update({f"{number} {side}": each for side, each in sides.items()})
    return bench.report(judge(bench, cells, bench.run(requests)))


def _patterns(bench: Bench, spec: CaseSpec, label: str
              ) -> dict[str, np.ndarray] | None:
    """Return inputs that hold the label's bit patterns again and again."""
    built = bench.built(spec)
    if not isinstance(built, BuiltCase):
        return None
    found = {}
    for port in built.inputs:
        form = FLOAT_FORMATS[port.spec.dtype]
        top, sign = infinity_bits(form), 1 << (form.bits - 1)
        quiet = 1 << (form.precision - 2)
        nan = top + quiet
        each = ([0, 1, quiet - 1, 2 * quiet - 1, 2 * quiet, top - 1, top]
                if label == _SPECIAL else [nan, nan + 1, nan + quiet - 1])
        more = [nan] if label == _SPECIAL else [0, top]
        bits = np.array(each + [value + sign for value in each] + more,
                        dtype=form.storage)
        shape = tuple(axis or 0 for axis in port.spec.shape)
        array = np.resize(bits, shape)
        found[port.spec.name] = (array if port.spec.dtype == "bfloat16"
                                 else array.view(port.spec.dtype))
    return found


def judge(bench: Bench, cells: list[Cell], outcomes: Outcomes) -> ExperimentReport:
    """Judge finished runs."""
    rows: list[tuple[object, ...]] = []
    examples: list[CounterexampleRecord] = []
    limits: list[CounterexampleRecord] = []
    evidence, failed = [], []
    for number, cell in enumerate(cells):
        sides = {name: outcomes[f"{number} {name}"] for name in ("candidate", "eager")}
        seen = mechanism.read(sides["candidate"])
        exact, words = _exact(sides)
        decides = cell.label != _PAYLOADS
        evidence.append(_seen(cell, seen))
        rows.append((cell.name, _shape(sides), cell.label, _dtype(sides), _tick(exact),
                     _invented(sides["eager"]) or "exact", decides,
                     seen.words if seen.present else seen.problem))
        if exact is False:
            (examples if decides else limits).append(
                _example(bench, cell, sides, seen, words))
        elif exact is None and decides:
            failed.append(f"{cell.name} {cell.dtype} {cell.label}: {words}")
    verdict, why = _rule(rows, examples, failed, evidence)
    missing = [each for each in evidence if not each.ok]
    return ExperimentReport(
        "D", "pure movement is bit-exact", CLAIM, verdict, why + _apart(rows, limits),
        f"{len(cells)} cells: operators alone and combined, dtypes, shapes with odd "
        "lengths, axes of length one, empty, and large; drawn numbers, special values "
        "(zeros, subnormals, ends of the range, infinities, NaN) and, apart, NaNs with "
        "payloads; every bit of the candidate against eager, and no output bits that "
        "no input holds", _LIMITS, tuple(missing[:20] or _summary(evidence)),
        ExperimentTable(
            "every bit moved", (
                "cell", "output shapes", "inputs", "dtype", "bit-exact", "eager",
                "decides", "computing operations"), tuple(rows)),
        benches.NO_BACKEND, counterexamples=(*examples, *limits),
        figures=(_figure(bench, rows),),
        dtype=bench.options.dtype, artifacts=benches.paths_of(bench.folder, outcomes))


_LIMITS = (
    "one input set a cell",
    "the payload and the sign of a NaN are no number: cells that hold them are shown "
    "and do not decide; signaling NaNs are not tried")


def _apart(rows: list[tuple[object, ...]], limits: list[CounterexampleRecord]) -> str:
    """Say what the cells that do not decide show."""
    count = sum(not row[6] for row in rows)
    if not count:
        return ""
    if not limits:
        return f"; all {count} cells with NaN payloads keep them too"
    return (f"; apart from the verdict, {len(limits)} of {count} cells with NaN "
            f"payloads lose them: {', '.join(each.name for each in limits[:8])}"
            f"{', and others' if len(limits) > 8 else ''}")


def _figure(bench: Bench, rows: list[tuple[object, ...]]) -> FigureRecord:
    """Return the cells of each kind of input by what came of them."""
    kinds = list(dict.fromkeys(str(row[2]) for row in rows))
    counts = {tick: tuple(float(sum(row[2] == kind and row[4] == tick for row in rows))
                          for kind in kinds) for tick in ("yes", "NO", "not known")}
    return FigureRecord(
        f"{bench.options.backend}: cells by their inputs, bit-exact or not", "bars",
        "inputs", "cells", tuple(float(place) for place in range(len(kinds))),
        {tick: values for tick, values in counts.items() if any(values)},
        x_names=tuple(kinds))


def _exact(sides: Outcomes) -> tuple[bool | None, str]:
    """Return whether the candidate moved every bit; None where that is not known."""
    equal, words = _equal(sides)
    if equal is None:
        return None, words
    made = {name: _invented(side) for name, side in sides.items()}
    if made["candidate"]:
        return False, "; ".join(part for part in (words, made["candidate"]) if part)
    if not equal and made["eager"]:
        return None, f"eager itself is not exact, and so no yardstick: {made['eager']}"
    return equal, words


def _equal(sides: Outcomes) -> tuple[bool | None, str]:
    """Return whether all outputs have the same bits; None where one side failed."""
    a, b = sides["candidate"], sides["eager"]
    failures = benches.failures(sides)
    if isinstance(a, RunFailure) or isinstance(b, RunFailure):
        return None, "; ".join(f"{side} {why}" for side, why in failures.items())
    if not (a.repeatable and b.repeatable):
        return None, "a side does not repeat itself"
    wrong = []
    for port, left, right in zip(a.request.case.outputs, a.output_paths,
                                 b.output_paths):
        mine, other = store.load(left), store.load(right)
        if mine.shape != other.shape or mine.dtype != other.dtype:
            wrong.append(f"{port.spec.name}: {mine.dtype.name}{list(mine.shape)} "
                         f"against {other.dtype.name}{list(other.shape)}")
        elif not bit_equal(mine, other, dtype=port.spec.dtype):
            apart = _bits(mine) != _bits(other)
            wrong.append(
                f"{port.spec.name}: {int(np.count_nonzero(apart))} of {mine.size} "
                f"elements differ{_payloads(mine[apart], other[apart], port)}")
    return not wrong, "; ".join(wrong)


def _invented(outcome: benches.Outcome) -> str:
    """Say which output bits no input holds: movement makes none; "" where all do."""
    if isinstance(outcome, RunFailure):
        return ""
    case = outcome.request.case
    held = {port.spec.dtype: set() for port in case.inputs}  # type: ignore[var-annotated]
    for port, path in zip(case.inputs, case.input_paths):
        held[port.spec.dtype].update(np.unique(_bits(store.load(path))).tolist())
    found = []
    for port, path in zip(case.outputs, outcome.output_paths):
        bits, counts = np.unique(_bits(store.load(path)), return_counts=True)
        if not bits.size:
            continue
        if port.spec.dtype not in held:
            found.append(f"{port.spec.name} is {port.spec.dtype}, no input is")
            continue
        new = [place for place, value in enumerate(bits.tolist())
               if value not in held[port.spec.dtype]]
        if new:
            found.append(f"{int(counts[new].sum())} elements of {port.spec.name} hold "
                         f"bits that no input holds, such as {int(bits[new[0]]):#x}")
    return "; ".join(found)


def _payloads(mine: np.ndarray, other: np.ndarray, port: Port) -> str:
    """Say so where nothing but the payload of NaNs changed."""
    if port.spec.dtype not in FLOAT_FORMATS:
        return ""
    nan = [np.isnan(widen(side, port.spec.dtype)) for side in (mine, other)]
    return ", all of them NaNs whose payload changed" if (nan[0] & nan[1]).all() else ""


def _bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _seen(cell: Cell, seen: Mechanism) -> MechanismEvidence:
    what = f"{cell.name} {cell.dtype} {cell.label}: what was compiled"
    return MechanismEvidence(what, seen.words if seen.present else seen.problem,
                             seen.source, seen.present)


def _summary(evidence: list[MechanismEvidence]) -> list[MechanismEvidence]:
    """Return one line for each kind of what was compiled."""
    kinds: dict[str, list[MechanismEvidence]] = {}
    for each in evidence:
        kinds.setdefault(each.found, []).append(each)
    return [MechanismEvidence(
        f"what was compiled, in {len(group)} cells such as {group[0].what}", found,
        group[0].source, True) for found, group in kinds.items()][:40]


def _example(bench: Bench, cell: Cell, sides: Outcomes, seen: Mechanism,
             words: str) -> CounterexampleRecord:
    computing = _computing_ops(sides)
    if computing:
        reason = ("no pure movement: the graph itself computes with "
                  f"{', '.join(computing)}, a hidden promotion or conversion; ")
    elif seen.computing:
        reason = ("the graph only moves, but the compiler computes with "
                  f"{seen.words}; ")
    else:
        reason = "no computing operation is seen on either side; "
    options = "".join(f" --variant={name}={value}" for name, value in cell.variants)
    options += "".join(f" --shape={name}:{','.join(map(str, shape))}"
                       for name, shape in cell.shapes)
    dtype = f" --dtype={cell.dtype}" if cell.dtype else ""
    if cell.label in (_SPECIAL, _PAYLOADS):
        case = sides["candidate"].request.case
        options += f" --inputs={Path(case.input_paths[0]).parent}"
    return CounterexampleRecord(
        f"{cell.name} {cell.dtype} {cell.label}", ", ".join(computing or
                                                           seen.computing[:4]),
        f"{cell.label}, {_shape(sides)}", reason + words, {"outputs": words},
        cell.source if cell.label == "own" else "",
        f"python -m ge_harness run {cell.source} --backend={bench.options.backend}"
        f"{dtype}{options}")


def _computing_ops(sides: Outcomes) -> list[str]:
    """Return the op types of the graph that are no movement."""
    case = next(iter(sides.values())).request.case
    nodes = graphdef.read(case.graph_path).nodes
    return sorted({node.op for node in nodes
                   if node.op not in MOVEMENT and node.op not in _PLACEHOLDERS})


def _rule(rows: list[tuple[object, ...]], examples: list[CounterexampleRecord],
          failed: list[str], evidence: list[MechanismEvidence]) -> Ruling:
    count = sum(bool(row[6]) for row in rows)
    if examples:
        return settle(False, f"{len(examples)} of {count} cells are not bit-exact; "
                      f"{examples[0].name}: {examples[0].reason}", [
                          each for each in evidence if each.ok] or evidence)
    if failed:
        return ExperimentVerdict.INCONCLUSIVE, (
            f"{len(failed)} of {count} cells decide nothing; {failed[0]}")
    return settle(True, f"all {count} cells are bit-exact", evidence)


def _tick(equal: bool | None) -> str:
    return "not known" if equal is None else ("yes" if equal else "NO")


def _shape(sides: Outcomes) -> str:
    side = sides["candidate"]
    if not isinstance(side, RunSuccess):
        return "-"
    return " ".join("x".join(map(str, store.load(path).shape)) or "scalar"
                    for path in side.output_paths)


def _dtype(sides: Outcomes) -> str:
    ports = next(iter(sides.values())).request.case.outputs
    return ", ".join(sorted({port.spec.dtype for port in ports}))


