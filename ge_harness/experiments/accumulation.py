"""C2: the order of a sum, by tiling where that can be set, else by shape.

The emulator's tile can be set, so the same sum runs in several orders. A compiler that
gives no control of its tiling gets reshaped sums instead, where partial sums are also
rounded to the dtype between the two sums; that fallback is disclosed and proves
nothing of tiling.
"""

from __future__ import annotations

import dataclasses
from typing import Mapping

import numpy as np

from ge_harness.compare.stats import measure_errors
from ge_harness.compare.ulp import ulp_diff
from ge_harness.experiment import judge as run_judge
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

CLAIM = ("another order of accumulation gives other bits, while each order repeats its "
         "own bits in every run (source 3 of the consistency note)")
TILES = ("whole", "512", "1024", "2048")
_REPEAT, _SETS = 1000, 1000
_SUBGRAPH = "reduce_sum"


def run(bench: Bench) -> ExperimentReport:
    """Run every order 1,000 times on one set and twice on many, and judge."""
    dtype = bench.options.dtype or "float16"
    outcomes = bench.run(_requests(bench, dtype))
    return bench.report(judge(bench, outcomes, dtype))


def tiled(bench: Bench) -> bool:
    """Return whether the backend lets the tile be set."""
    return bench.options.backend == "emulator"


def _requests(bench: Bench, dtype: str) -> dict[str, RunRequest]:
    sets = bench.options.sets or _SETS
    found = {}
    for tile in TILES:
        variant = "whole" if tiled(bench) else tile
        for name, count, repeat in (("many", sets, 2),
                                    ("again", 1, bench.options.repeat or _REPEAT)):
            spec = CaseSpec(_SUBGRAPH, dtype, (("tile", variant),), sets=count)
            case = bench.case(spec)
            request = bench.request(case, repeat=repeat)
            if tiled(bench) and tile != "whole":
                request = with_parameter(request, f"r_tile={tile}")
            found[f"{name} {tile}"] = request
    whole = bench.case(CaseSpec(_SUBGRAPH, dtype, (("tile", "whole"),), sets=sets))
    found.update(bench.sides(whole, "reference", "eager"))
    return found


def with_parameter(request: RunRequest, text: str) -> RunRequest:
    """Return a request with one more parameter of the emulator."""
    options = dict(request.options)
    options["emulator_param"] = ";".join(
        part for part in (options.get("emulator_param", ""), text) if part)
    return dataclasses.replace(request, options=tuple(sorted(options.items())))


def judge(bench: Bench, outcomes: Outcomes, dtype: str) -> ExperimentReport:
    """Judge finished runs."""
    sides = {tile: outcomes[f"many {tile}"] for tile in TILES}
    seen = {tile: mechanism.read(side) for tile, side in sides.items()}
    good = {tile: side for tile, side in sides.items() if isinstance(side, RunSuccess)}
    arrays = {tile: store.load(side.output_paths[0]) for tile, side in good.items()}
    matrix = _matrix(arrays, dtype)
    repeats, steady = _repeats(outcomes)
    evidence = _evidence(bench, seen)
    rows, near = _against_truth(arrays, outcomes, dtype)
    differing = int((matrix["share"] > 0).sum()) // 2 if arrays else 0
    ruling = _rule(bench, sides, (differing, steady), evidence)
    if arrays:
        store.save(bench.folder, f"C2-{bench.options.backend}-{dtype}-max-ulp",
                   matrix["max"])
    return ExperimentReport(
        "C2", "accumulation order of a sum", CLAIM, *ruling, _method(bench, dtype),
        _limits(bench), evidence, ExperimentTable(
            "pairwise ULP: greatest, and share of sums that differ",
            ("order", *arrays), tuple(
                (tile, *(f"{int(matrix['max'][i, j])} ({matrix['share'][i, j]:.3g})"
                         for j in range(len(arrays))))
                for i, tile in enumerate(arrays))),
        benches.NO_BACKEND, more_tables=(
            ExperimentTable(
                f"errors against float64; nearest: {near or 'none alone'}",
                ("order", "sums", "mean ULP", "P99 ULP", "max ULP", "max abs"), rows),
            ExperimentTable("each order against itself",
                            ("order", "runs", "unique hashes"), repeats)),
        counterexamples=_examples(bench, dtype, ruling),
        figures=_figures(bench, arrays, outcomes, dtype), dtype=dtype,
        artifacts=benches.paths_of(bench.folder, outcomes))


def _matrix(arrays: Mapping[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    count = len(arrays)
    found = {"max": np.zeros((count, count)), "share": np.zeros((count, count))}
    for i, a in enumerate(arrays.values()):
        for j, b in enumerate(arrays.values()):
            distance = ulp_diff(a, b, dtype=dtype)
            found["max"][i, j] = distance.max(initial=0)
            found["share"][i, j] = np.count_nonzero(distance) / max(1, distance.size)
    return found


def _repeats(outcomes: Outcomes) -> tuple[tuple[tuple[object, ...], ...], bool]:
    rows: list[tuple[object, ...]] = []
    for tile in TILES:
        outcome = outcomes[f"again {tile}"]
        if isinstance(outcome, RunFailure):
            rows.append((tile, 0, outcome.message))
        else:
            rows.append((tile, len(outcome.output_hashes),
                         len(set(outcome.output_hashes))))
    steady = all(isinstance(outcome, RunSuccess) and outcome.repeatable
                 for outcome in outcomes.values())
    return tuple(rows), steady


def _evidence(bench: Bench, seen: Mapping[str, Mechanism]
              ) -> tuple[MechanismEvidence, ...]:
    found = [MechanismEvidence(
        f"what order {tile} compiled to", each.words if each.present else each.problem,
        each.source, each.present) for tile, each in seen.items()]
    if not tiled(bench):
        programs = len({each.program for each in seen.values()})
        found.append(MechanismEvidence(
            "the tiling of one and the same sum was set", "it gives no control of its "
            f"tiling; the shapes stand in, which compile to {programs} programs",
            "disclosed fallback", False))
        return tuple(found)
    hashes = len({each.hashes for each in seen.values()})
    found.append(MechanismEvidence(
        "the tilings are different kernels",
        f"{hashes} different sets of kernel hashes for {len(seen)} tilings",
        next(iter(seen.values())).source, hashes > 1))
    return tuple(found)


def _rule(bench: Bench, sides: Outcomes, outcome: tuple[int, bool],
          evidence: tuple[MechanismEvidence, ...]) -> Ruling:
    differing, steady = outcome
    pairs = len(sides) * (len(sides) - 1) // 2
    words = f"{differing} of {pairs} pairs of orders differ in bits; every order " + (
        "repeats itself" if steady else "does NOT repeat itself")
    failed = benches.failures(sides)
    if failed:
        return ExperimentVerdict.INCONCLUSIVE, "; ".join(failed.values())
    if not tiled(bench):
        return ExperimentVerdict.INCONCLUSIVE, (
            f"{bench.options.backend} gives no control of its tiling; with the shape "
            f"in its place, {words}, but partial sums are rounded between the two sums")
    sets = bench.options.sets or _SETS
    if not differing and steady and sets < _SETS:
        return ExperimentVerdict.INCONCLUSIVE, (
            f"{words}, but {sets} sums are too few to say that none ever does; "
            f"--sets={_SETS} decides")
    return settle(differing > 0 and steady, words + " (by forced tiles)", evidence)


def _examples(bench: Bench, dtype: str, ruling: Ruling
              ) -> tuple[CounterexampleRecord, ...]:
    """Return the orders that gave the same bits, as commands that run them."""
    if ruling[0] is not ExperimentVerdict.REFUTED:
        return ()
    return tuple(CounterexampleRecord(
        f"{_SUBGRAPH} in tiles of {tile}", "Sum", "as the subgraph declares",
        f"the order leaves no trace after the rounding to {dtype}: {ruling[1]}", {}, "",
        f"python -m ge_harness run {_SUBGRAPH} --backend={bench.options.backend} "
        f"--dtype={dtype} --emulator-param=r_tile={tile} --sets="
        f"{bench.options.sets or _SETS}") for tile in TILES if tile != "whole")


def _against_truth(arrays: Mapping[str, np.ndarray], outcomes: Outcomes, dtype: str
                   ) -> tuple[tuple[tuple[object, ...], ...], str]:
    truth = outcomes["reference"]
    if isinstance(truth, RunFailure):
        return (), ""
    reference = store.load(truth.output_paths[0])
    sides = dict(arrays)
    eager = outcomes["eager"]
    if isinstance(eager, RunSuccess):
        sides["eager"] = store.load(eager.output_paths[0])
    errors = {name: measure_errors(array, reference, dtype=dtype)
              for name, array in sides.items()}
    rows = tuple((name, each.count, each.ulp.mean, each.ulp.p99, each.ulp.max,
                  each.abs.max) for name, each in errors.items())
    return rows, run_judge.nearest(errors)


def _figures(bench: Bench, arrays: Mapping[str, np.ndarray], outcomes: Outcomes,
             dtype: str) -> tuple[FigureRecord, ...]:
    truth = outcomes["reference"]
    if isinstance(truth, RunFailure) or not arrays:
        return ()
    from ge_harness.experiments.statistics import cdf, ulp_errors

    reference = store.load(truth.output_paths[0])
    errors = {tile: ulp_errors(array, reference, dtype)
              for tile, array in arrays.items()}
    places, heights = cdf(errors)
    return (FigureRecord(
        f"{bench.options.backend} {dtype}: error of each order against float64",
        "lines", "ULP error", "share of sums with at most this", places, heights),)


def _method(bench: Bench, dtype: str) -> str:
    how = ("emulator parameter r_tile" if tiled(bench) else
           "subgraph reduce_sum with its tile variants: reshape, sum, sum")
    return (f"sum of [1,16384] {dtype} over the last axis in the orders "
            f"{', '.join(TILES)}, by {how}; "
            f"{bench.options.repeat or _REPEAT} runs of one set each, and "
            f"{bench.options.sets or _SETS} sets for the distances")


def _limits(bench: Bench) -> tuple[str, ...]:
    if tiled(bench):
        return ("the tiles are forced mechanisms of a model; which one a device takes "
                "is not known",)
    return ("fallback: the shape stands in for the tiling; a compiler may merge the "
            "two sums, and partial sums are rounded to the dtype between them",)


