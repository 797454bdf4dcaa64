"""A: the compiler repeats itself, in one process and over a cold start.

One process runs 1,000 times, then a new process, which compiles again in an empty job
folder, 1,000 more. Kernel hashes and the hash of every output are compared, then the
same under other thread counts, hash seeds and without dumping (the observer check).
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

import numpy as np

from dumps import graphdef
from dumps.errors import DumpError
from ge_harness.compare.dtypes import FLOAT_FORMATS
from ge_harness.compare.ulp import ulp_diff
from ge_harness.experiments import bench as benches
from ge_harness.experiments import mechanism, store
from ge_harness.experiments.bench import Bench, CaseSpec, Outcomes
from ge_harness.experiments.mechanism import Mechanism
from ge_harness.experiments.verdict import Ruling, settle
from ge_harness.records.experiment import (
    CounterexampleRecord,
    ExperimentReport,
    ExperimentTable,
    ExperimentVerdict,
    FigureRecord,
    MechanismEvidence,
)
from ge_harness.records.run import RunFailure, RunRequest, RunSuccess
from ge_harness.worker.launch import HASH_SEED

CLAIM = ("the same graph, inputs and switches give the same kernels and the same bits, "
         "in every run of a process and after a cold start")
_REPEAT, _FEWER = 1000, 50
_SUBGRAPH = "ffn_front"
_FIRST, _COLD, _QUIET = "one process", "cold start", "without dumps"
_RANDOM = ("Random", "Multinomial", "TruncatedNormal", "Dropout", "Shuffle",
           "Stateless", "Rng", "Unstage", "IteratorGetNext")


class Side(NamedTuple):
    """One row of the table.

    Attributes:
        name: what is different about it.
        request: the run.
        decides: another result refutes the claim; else it is only shown.
    """

    name: str
    request: RunRequest
    decides: bool


def run(bench: Bench) -> ExperimentReport:
    """Run the sides and judge."""
    dtype = bench.options.dtype or ("" if bench.subgraphs else "float16")
    source = bench.subgraphs[0] if bench.subgraphs else _SUBGRAPH
    # A graph that draws random numbers is what this experiment is to catch.
    case = bench.case(CaseSpec(source, dtype, sets=bench.options.sets or 1,
                               allow_random=True))
    sides = _sides(bench, bench.request(case, repeat=bench.options.repeat or _REPEAT))
    outcomes = bench.run({side.name: side.request for side in sides})
    return bench.report(judge(bench, sides, outcomes))


def _sides(bench: Bench, request: RunRequest) -> list[Side]:
    def made(**changes: object) -> RunRequest:
        return dataclasses.replace(request, **changes)  # type: ignore[arg-type]

    fewer = min(request.repeat, _FEWER)
    seeded = [made(repeat=fewer, cold=True, options=tuple(sorted(
        (*request.options, (HASH_SEED, str(seed)))))) for seed in (1, 2)]
    threads = sorted({1, 2, 4} - {request.threads})
    return [
        Side(_FIRST, request, True), Side(_COLD, made(cold=True), True),
        *(Side(f"hash seed {seed}", each, True)
          for seed, each in zip((1, 2), seeded)),
        Side(_QUIET, made(repeat=fewer, want_dumps=False), True),
        *(Side(f"{count} threads", made(repeat=fewer, threads=count), False)
          for count in threads)]


def judge(bench: Bench, sides: list[Side], outcomes: Outcomes) -> ExperimentReport:
    """Judge finished runs."""
    first = outcomes[_FIRST]
    seen = {name: mechanism.read(outcome) for name, outcome in outcomes.items()}
    rows = [_row(side, outcomes, seen) for side in sides]
    evidence = _evidence(bench, seen, outcomes)
    faults = _faults(sides, outcomes)
    ruling = _rule(bench, outcomes, faults, evidence, rows)
    return ExperimentReport(
        "A", "determinism of the compiler itself", CLAIM, *ruling,
        _method(first), (
            "other thread counts are other conditions: they are shown and do not "
            "decide", "a fixed machine; another CPU may compile other kernels"),
        evidence, ExperimentTable(
            "runs, unique hashes, greatest distance to the first process", (
                "condition", "runs", "unique hashes a set", "max ULP",
                "same bits as first", "kernel hash", "same kernels", "decides"),
            tuple(rows)),
        benches.NO_BACKEND,
        more_tables=(_kernels(seen),), counterexamples=tuple(
            _example(bench, fault) for fault in faults),
        figures=(_figure(bench, rows),),
        dtype=first.request.case.inputs[0].spec.dtype if (
            first.request.case.inputs) else "",
        artifacts=benches.paths_of(bench.folder, outcomes))


def _row(side: Side, outcomes: Outcomes, seen: Mapping[str, Mechanism]
         ) -> tuple[object, ...]:
    outcome, first = outcomes[side.name], outcomes[_FIRST]
    if isinstance(outcome, RunFailure):
        return (side.name, 0, None, None, None, outcome.kind.value, None, side.decides)
    repeat = outcome.request.repeat
    unique = max(len(set(outcome.output_hashes[place:place + repeat]))
                 for place in range(0, len(outcome.output_hashes), repeat))
    ulp, same = None, None
    if isinstance(first, RunSuccess):
        ulp = _max_ulp(outcome, first)
        same = _same(outcome, first)
    mine, other = seen[side.name], seen[_FIRST]
    known = mine.present and other.present
    return (side.name, len(outcome.output_hashes), unique, ulp, same,
            mine.digest if mine.present else "no dumps",
            mine.hashes == other.hashes if known else None, side.decides)


def _same(outcome: RunSuccess, first: RunSuccess) -> bool:
    """Return whether every run of every set has the bits of the first process."""
    sides = [[set(side.output_hashes[place:place + side.request.repeat])
              for place in range(0, len(side.output_hashes), side.request.repeat)]
             for side in (outcome, first)]
    return sides[0] == sides[1]


def _figure(bench: Bench, rows: list[tuple[object, ...]]) -> FigureRecord:
    """Return hashes and distance of every condition that ran."""
    ran = [row for row in rows if row[1]]

    def column(place: int) -> tuple[float, ...]:
        return tuple(float(str(row[place] or 0)) for row in ran)

    return FigureRecord(
        f"{bench.options.backend}: every condition against the first process", "bars",
        "condition", "number", tuple(float(place) for place in range(len(ran))),
        {"unique hashes a set": column(2), "max ULP": column(3)},
        x_names=tuple(str(row[0]) for row in ran))


def _max_ulp(outcome: RunSuccess, first: RunSuccess) -> int | None:
    """Return the greatest distance, to the first process and among the repeats."""
    found: list[int] = []
    for place, port in enumerate(outcome.request.case.outputs):
        known = port.spec.dtype in FLOAT_FORMATS
        pairs = [(outcome.output_paths[place], first.output_paths[place])]
        pairs += [(str(path), outcome.output_paths[place])
                  for path in _kept(outcome) if path.stem == port.spec.name]
        for mine, other in pairs:
            a, b = store.load(mine), store.load(other)
            if a.shape == b.shape and known:
                found.append(int(ulp_diff(a, b, dtype=port.spec.dtype).max(initial=0)))
    return max(found) if found else None


def _kept(outcome: RunSuccess) -> list[Path]:
    """Return the outputs that the worker kept because a repeat differed."""
    if not outcome.output_paths:
        return []
    return sorted(Path(outcome.output_paths[0]).parent.glob("differing/*/*.npy"))


class Fault(NamedTuple):
    """Where bits changed.

    Attributes:
        side: condition.
        run: first run that differs, from 0; -1 where only the conditions differ.
        element: output and index of the first element that differs.
        source: what is likely behind it.
        path: graph of the case.
    """

    side: str
    run: int
    element: str
    source: str
    path: str


def _faults(sides: list[Side], outcomes: Outcomes) -> list[Fault]:
    found = []
    first = outcomes[_FIRST]
    for side in sides:
        outcome = outcomes[side.name]
        if isinstance(outcome, RunFailure) or not side.decides:
            continue
        source = _likely(outcome)
        if not outcome.repeatable:
            repeat = outcome.request.repeat
            run = next((place for place, each in enumerate(outcome.output_hashes)
                        if each != outcome.output_hashes[place // repeat * repeat]), -1)
            kept = _kept(outcome)
            element = _element(kept[0], outcome.output_paths) if kept else "not kept"
            found.append(Fault(side.name, run, element, source,
                               outcome.request.case.graph_path))
        elif isinstance(first, RunSuccess) and first.repeatable and (
                not _same(outcome, first)):
            pairs = [(a, b) for a, b in zip(outcome.output_paths, first.output_paths)
                     if not np.array_equal(_bits(store.load(a)), _bits(store.load(b)))]
            element = _element(Path(pairs[0][0]), (pairs[0][1],)) if pairs else "?"
            found.append(Fault(side.name, -1, element, f"{side.name} against {_FIRST}; "
                               f"{source}", outcome.request.case.graph_path))
    return found


def _element(path: Path, others: tuple[str, ...]) -> str:
    other = next((each for each in others if Path(each).name == path.name), others[0])
    a, b = store.load(str(path)), store.load(other)
    b = b if b.shape == a.shape else b[0]
    places = np.argwhere(_bits(a) != _bits(b))
    if not places.size:
        return f"{path.stem}: none"
    return (f"{path.stem}{[int(axis) for axis in places[0]]}, the first of "
            f"{len(places)} of {a.size}")


def _bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _likely(outcome: RunSuccess) -> str:
    """Name what is likely behind bits that change."""
    try:
        nodes = graphdef.read(outcome.request.case.graph_path).nodes
    except DumpError:
        nodes = ()
    random = sorted({node.op for node in nodes
                     if any(word in node.op for word in _RANDOM)})
    if random:
        return f"operators that draw random numbers: {', '.join(random)}"
    sums = sorted({item.name for item in outcome.passes
                   if item.precision_class in ("accumulation", "mixed")})
    if sums:
        return f"order of a sum (passes {', '.join(sums)}), with threads in between"
    return "not known: no random operator in the graph, no pass that reorders a sum"


def _evidence(bench: Bench, seen: Mapping[str, Mechanism], outcomes: Outcomes
              ) -> tuple[MechanismEvidence, ...]:
    found = []
    for name in (_FIRST, _COLD):
        each = seen[name]
        found.append(MechanismEvidence(
            f"{name}: hashes of what was compiled",
            f"{len(each.hashes)} artifacts, {each.digest}" if each.present
            else each.problem, each.source, each.present and bool(each.hashes)))
    first, cold = outcomes[_FIRST], outcomes[_COLD]
    if isinstance(first, RunSuccess) and isinstance(cold, RunSuccess):
        apart = first.output_paths[:1] != cold.output_paths[:1]
        found.append(MechanismEvidence(
            "the cold start compiled again in a process and folder of its own",
            "its dumps are in a job folder of their own" if apart
            else "the two share a folder", bench.folder.relative(cold.dump_dir), apart))
    return tuple(found)


def _rule(bench: Bench, outcomes: Outcomes, faults: list[Fault],
          evidence: tuple[MechanismEvidence, ...], rows: list[tuple[object, ...]]
          ) -> Ruling:
    failed = {name: why for name, why in benches.failures(outcomes).items()
              if name in (_FIRST, _COLD)}
    if failed:
        return ExperimentVerdict.INCONCLUSIVE, "; ".join(
            f"{name} {why}" for name, why in failed.items())
    if bench.options.backend not in benches.COMPILERS and not faults:
        return ExperimentVerdict.NOT_APPLICABLE, (
            f"{bench.options.backend} compiles nothing; its outputs repeat themselves")
    loud = [fault for fault in faults if fault.side != _QUIET]
    if loud:
        fault = loud[0]
        where = f"run {fault.run} differs first" if fault.run >= 0 else "bits differ"
        return ExperimentVerdict.REFUTED, (
            f"{fault.side}: {where}, at {fault.element}; likely {fault.source}")
    if faults:
        return ExperimentVerdict.INCONCLUSIVE, (
            "dumping changes the bits, so the dumps describe another program: "
            f"{faults[0].element}")
    if any(row[6] is False and row[7] for row in rows[:2]):
        return ExperimentVerdict.REFUTED, (
            "the cold start compiled other kernels, although the bits are the same")
    words = " and ".join(
        f"{row[1]} runs / {row[2]} unique hash / "
        f"{'no ULP of integers' if row[3] is None else f'{row[3]} max ULP'}"
        for row in rows[:2])
    return settle(True, f"{words}; kernel hashes equal over the cold start", evidence)


def _kernels(seen: Mapping[str, Mechanism]) -> ExperimentTable:
    first, cold = (_by_name(seen[name].hashes) for name in (_FIRST, _COLD))
    rows = tuple((name, value[:16], cold.get(name, "-")[:16],
                  cold.get(name) == value) for name, value in sorted(first.items()))
    return ExperimentTable("kernel and artifact hashes (sha256, first 16 digits)",
                           ("artifact", _FIRST, _COLD, "equal"), rows)


def _by_name(hashes: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return artifact -> hash; a name that occurs again gets its number."""
    found: dict[str, str] = {}
    for name, value in hashes:
        number = 1
        while (name if number == 1 else f"{name} ({number})") in found:
            number += 1
        found[name if number == 1 else f"{name} ({number})"] = value
    return found


def _example(bench: Bench, fault: Fault) -> CounterexampleRecord:
    source = bench.subgraphs[0] if bench.subgraphs else _SUBGRAPH
    return CounterexampleRecord(
        f"{source}, {fault.side}", fault.source, "the stored inputs",
        f"first element {fault.element}; likely {fault.source}",
        {"first differing run": fault.run}, source if bench.subgraphs else "",
        f"python -m ge_harness run {source} --backend={bench.options.backend} "
        "--repeat=100")


def _method(first: benches.Outcome) -> str:
    case = first.request.case
    shapes = ", ".join(f"{port.spec.name} {port.spec.dtype}"
                       f"[{','.join(map(str, port.spec.shape))}]"
                       for port in case.inputs)
    return (f"{Path(case.subgraph).name} ({case.variant}) with {shapes}; "
            f"{first.request.repeat} runs in one process, as many in a new one that "
            "compiles again in an empty folder; then other hash seeds, no dumps, other "
            "thread counts; MD5 of every output of every run")
