"""B: is the fused result no further from float64 than the unfused one?

Five chains, 1,000 input sets each, every set at the chain's own shape in one job a
side. The sides are paired: the same inputs go through float64, eager, the compiler
node by node, and the compiler with its fusion. The ratio of P99 comes with a bootstrap
interval that resamples whole sets; a search then looks for counter-examples.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Mapping, NamedTuple

import numpy as np

from ge_harness.errors import HarnessError, UsageError
from ge_harness.experiments import bench as benches
from ge_harness.experiments import mechanism, paired, search, store
from ge_harness.experiments import statistics as stats
from ge_harness.experiments.bench import Bench, CaseSpec, Outcomes
from ge_harness.experiments.mechanism import Mechanism
from ge_harness.experiments.paired import BASES, Paired
from ge_harness.experiments.verdict import Ruling, all_of, settle
from ge_harness.records.experiment import (
    ExperimentReport,
    ExperimentTable,
    ExperimentVerdict,
    FigureRecord,
    MechanismEvidence,
)
from ge_harness.records.run import RunFailure, RunRequest, RunSuccess
from ge_harness.records.tensor import Case

CLAIM = ("the accumulated error of the fused result is no greater than that of the "
         "unfused one (central claim of the consistency note)")
CHAINS = ("elementwise_chain", "layernorm", "softmax", "matmul_add_layernorm",
          "attention")
_DTYPES = ("float16", "bfloat16", "float32")
_SETS, _GUARD = 1000, 8
_SIDES = ("candidate", *BASES)
_FIGURE_POINTS = 160


class Chain(NamedTuple):
    """One chain's stored outputs, compared.

    Attributes:
        name: the subgraph.
        pair: the candidate against both base lines.
    """

    name: str
    pair: Paired


def run(bench: Bench) -> ExperimentReport:
    """Run every chain, judge it, and search for counter-examples."""
    dtype = bench.options.dtype or ("" if bench.subgraphs else "float16")
    names = bench.subgraphs or CHAINS
    outcomes: dict[str, Outcomes] = {}
    missing: dict[str, str] = {}
    for name in names:
        sets = bench.options.sets or _SETS
        try:
            case = bench.case(CaseSpec(name, dtype, sets=sets))
            _check(name, case)
        except HarnessError as error:
            missing[name] = str(error)  # this stack has no kernel for one of its nodes
            if len(missing) == len(names):
                raise type(error)("; ".join(missing.values())) from error
            continue
        outcomes[name] = bench.run(_requests(bench, case, name, dtype, sets))
        bench.say(f"{name}: {sets} sets")
    found = search.search(bench, tuple(outcomes), dtype)
    report = judge(bench, outcomes, found, dtype)
    if missing:
        report = dataclasses.replace(
            report, why=f"{report.why}; not run: {', '.join(missing)}",
            limits=(*report.limits, *(f"not run: {why}" for why in missing.values())))
    return bench.report(report)


def _check(name: str, case: Case) -> None:
    """Refuse an output that float64 is no truth for.

    Raises:
        UsageError: its dtype is not one of the three.
    """
    found = case.outputs[0].spec
    if found.dtype not in _DTYPES:
        raise UsageError(f"{name}: the first output {found.name!r} is {found.dtype}; B "
                         f"measures {', '.join(_DTYPES)} against float64")


def _requests(bench: Bench, case: Case, name: str, dtype: str, sets: int
              ) -> dict[str, RunRequest]:
    requests = bench.sides(case, *_SIDES, "reference", repeat=1)
    few = min(_GUARD, sets)
    guard = bench.case(CaseSpec(name, dtype, sets=few))
    requests.update({f"guard {side}": each for side, each in bench.sides(
        guard, *_SIDES, want_dumps=False).items()})
    return requests


def judge(bench: Bench, outcomes: Mapping[str, Outcomes],
          found: search.Found, dtype: str) -> ExperimentReport:
    """Judge finished runs by their stored outputs and dumps."""
    evidence, rows, ratios = [], [], []
    by_base: dict[str, dict[str, Ruling]] = {base: {} for base in BASES}
    figures: list[FigureRecord] = []
    for name, sides in outcomes.items():
        proof = _evidence(name, mechanism.read(sides["candidate"]), sides)
        evidence += proof
        failed = benches.failures({side: sides[side] for side in (
            *_SIDES[:2], "reference")})
        if failed:
            by_base[BASES[0]][name] = ExperimentVerdict.INCONCLUSIVE, "; ".join(
                f"{side} {why}" for side, why in failed.items())
            continue
        chain = _chain(bench, name, sides)
        for base in chain.pair.p99:
            by_base[base][name] = _rule(chain, base, proof)
        rows += _rows(chain)
        ratios += _ratio_rows(chain, by_base)
        figures += _figures(bench, chain, dtype)
    verdict, why = _overall(by_base, found, all(each.ok for each in evidence))
    return ExperimentReport(
        "B", "accumulated error: fused against eager", CLAIM, verdict, why,
        _method(bench, outcomes, dtype),
        (*_LIMITS, *_left_out(outcomes), *_lost(found)), tuple(evidence),
        ExperimentTable("fused over unfused, ULP errors against float64", (
            "chain", "base line", "same bits", "P99 ratio", "P99 95 % interval",
            "max ratio", "max 95 % interval", "verdict"), tuple(ratios)),
        benches.NO_BACKEND, more_tables=(_errors(rows), found.table),
        counterexamples=found.examples, figures=tuple(figures), dtype=dtype,
        artifacts={f"{Path(name).stem} {side}": paths
                   for name, sides in outcomes.items()
                   for side, paths in benches.paths_of(bench.folder, sides).items()})


def _lost(found: search.Found) -> tuple[str, ...]:
    """Say which recipes of the search gave no trial."""
    if not found.lost:
        return ()
    more = f", and {len(found.lost) - 6} others" if len(found.lost) > 6 else ""
    return (f"{len(found.lost)} recipes of the search gave no trial, because a side "
            f"failed or the budget was used up: {'; '.join(found.lost[:6])}{more}",)


def _errors(rows: list[tuple[object, ...]]) -> ExperimentTable:
    return ExperimentTable("errors of every side against float64", (
        "chain", "side", "elements", "P50 abs", "P99 abs", "max abs", "P50 rel",
        "P99 rel", "max rel", "P50 ULP", "P99 ULP", "max ULP", "kind changed"),
        tuple(rows))


_LIMITS = (
    "ULP errors near zeros of the output are large on every side; the maximum is often "
    "theirs", "the interval covers the choice of input sets, not other distributions; "
    "the search looks at those", "against eager, kernels of single operators differ "
    "too; only the nodewise base line isolates passes and fusion")


def _left_out(outcomes: Mapping[str, Outcomes]) -> list[str]:
    """Name the outputs that are not looked at."""
    found = []
    for name, sides in outcomes.items():
        first, *more = sides["candidate"].request.case.outputs
        if more:
            found.append(f"{Path(name).stem}: of its {1 + len(more)} outputs only "
                         f"{first.spec.name} is judged")
    return found


def _chain(bench: Bench, name: str, sides: Outcomes) -> Chain:
    good = {side: outcome for side, outcome in sides.items()
            if isinstance(outcome, RunSuccess)}
    case = good["candidate"].request.case
    dtype = case.outputs[0].spec.dtype
    arrays = {side: store.load(good[side].output_paths[0])
              for side in (*_SIDES, "reference") if side in good}
    if case.set_count == 1:
        arrays = {side: array[None] for side, array in arrays.items()}
    pair = paired.compare({side: arrays[side] for side in _SIDES if side in arrays},
                          arrays["reference"], dtype, bench.options.seed)
    stem = f"B-{bench.options.backend}-{dtype}-{Path(name).stem}"
    for side, most in pair.most_of_each.items():
        store.save(bench.folder, f"{stem}-{side}-max-ulp-of-each-set", most)
    return Chain(name, pair)


def _evidence(name: str, seen: Mechanism, sides: Outcomes) -> list[MechanismEvidence]:
    stem = Path(name).stem
    words = f"{seen.fused} fused kernels; {seen.words}"
    if seen.graph_only:
        words = f"rewrites of the graph: {seen.words}"
    found = [MechanismEvidence(f"{stem}: what was compiled",
                               words if seen.present else seen.problem, seen.source,
                               seen.present)]
    if seen.present and not (seen.fused or (seen.graph_only and seen.ops)):
        found.append(MechanismEvidence(f"{stem}: something was fused or rewritten",
                                       "no kernel holds more than one operation"
                                       + _way_out(sides["candidate"].request),
                                       seen.source, False))
    for side in _SIDES:
        whole, guard = sides[side], sides[f"guard {side}"]
        if isinstance(whole, RunFailure) or isinstance(guard, RunFailure):
            continue
        few = guard.request.case.set_count
        alike = guard.output_hashes[::guard.request.repeat] == (
            whole.output_hashes[:few])
        found.append(MechanismEvidence(
            f"{stem}: {side} repeats itself, in another job and without dumps too",
            f"the first {few} sets have {'the same' if alike else 'OTHER'} hashes",
            "output hashes", alike and guard.repeatable))
    return found


def _way_out(request: RunRequest) -> str:
    """Say what fuses, where it is known why nothing did."""
    dtypes = {port.spec.dtype for port in request.case.inputs}
    if (request.backend == "emulator" and "bfloat16" in dtypes
            and dict(request.options).get("chip") != "950"):
        return "; AutoFuse fuses no bfloat16 on 910B, --chip=950 does"
    return ""


def _rule(chain: Chain, base: str, proof: list[MechanismEvidence]) -> Ruling:
    words = f"against {base}: {chain.pair.words(base)}"
    worse = chain.pair.worse(base)
    lacks = chain.pair.powerless(base)
    if lacks:
        return ExperimentVerdict.INCONCLUSIVE, f"{lacks}; {words}"
    if worse is None:
        return ExperimentVerdict.INCONCLUSIVE, f"the interval holds 1; {words}"
    return settle(not worse, words, proof)


def _rows(chain: Chain) -> list[tuple[object, ...]]:
    return [(Path(chain.name).stem, side, each.count, each.abs.p50, each.abs.p99,
             each.abs.max, each.rel.p50, each.rel.p99, each.rel.max, each.ulp.p50,
             each.ulp.p99, each.ulp.max, each.nonfinite.changed)
            for side, each in chain.pair.errors.items()]


def _ratio_rows(chain: Chain, by_base: Mapping[str, Mapping[str, Ruling]]
                ) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for base, p99 in chain.pair.p99.items():
        most, verdict = chain.pair.most[base], by_base[base][chain.name][0]
        rows.append((Path(chain.name).stem, base, chain.pair.same[base], p99.ratio,
                     (p99.low, p99.high), most.ratio, (most.low, most.high),
                     verdict.value))
    return rows


def _figures(bench: Bench, chain: Chain, dtype: str) -> list[FigureRecord]:
    """Return the CDF and the histogram of one chain's ULP errors."""
    edges = np.concatenate([[stats.EDGES[0] / 1.01], stats.EDGES])
    top = max(int(np.flatnonzero(counts)[-1]) if counts.any() else 0
              for counts in chain.pair.counts.values()) + 2
    step = max(1, top // _FIGURE_POINTS)
    places = np.arange(0, min(top, edges.size), step)
    title = f"{bench.options.backend} {dtype}: {Path(chain.name).stem}, "
    x = tuple(edges[places].tolist())
    cumulated = {side: tuple((np.cumsum(counts)[np.minimum(
        places, counts.size - 1)] / max(1, counts.sum())).tolist())
        for side, counts in chain.pair.counts.items()}
    shares = {side: tuple((np.add.reduceat(counts, places)
                           / max(1, counts.sum())).tolist())
              for side, counts in chain.pair.counts.items()}
    return [FigureRecord(title + "distribution of errors (CDF)", "lines",
                         "ULP error against float64", "share with at most this", x,
                         cumulated, log_x=True),
            FigureRecord(title + "histogram of errors", "lines",
                         "ULP error against float64", "share of elements", x, shares,
                         log_x=True)]


def _overall(by_base: Mapping[str, Mapping[str, Ruling]], found: search.Found,
             proved: bool) -> Ruling:
    """Return the verdict against eager, with what the search and nodewise say."""
    first, isolated = (by_base[base] for base in BASES)
    verdict, why = all_of(list(first.values()), [Path(name).stem for name in first])
    count = len(found.examples)
    if not count:
        why += "; the search found no counter-example"
    else:
        words = (f"the search found {count} counter-example{'s' * (count > 1)}, such "
                 f"as {found.examples[0].name}; {found.fused or 'none'} of them worse "
                 "than node by node too")
        held = verdict in (ExperimentVerdict.HOLDS, ExperimentVerdict.INCONCLUSIVE)
        why = (f"{words}; on the drawn sets: {why}" if proved and held
               else f"{why}; {words}")
        verdict = ExperimentVerdict.REFUTED if proved and held else verdict
    if isolated:
        kind, words = all_of(list(isolated.values()),
                             [Path(name).stem for name in isolated])
        why += (f"; passes and fusion alone, against nodewise on the drawn sets: "
                f"{kind.value} ({words})")
    return verdict, why


def _method(bench: Bench, outcomes: Mapping[str, Outcomes], dtype: str) -> str:
    sets = bench.options.sets or _SETS
    return (f"{', '.join(Path(name).stem for name in outcomes)} with {sets} input sets "
            f"each ({dtype or 'own dtype'}, seeds {bench.options.seed} to "
            f"{bench.options.seed + sets - 1}), every set at the chain's own shape; "
            "float64, eager, the compiler node by node, the compiler; paired; "
            f"{stats.RESAMPLES} bootstrap resamples of whole sets, interval of 95 %; "
            f"then {found_words(bench)}")


def found_words(bench: Bench) -> str:
    """Return how far the search may go, in words."""
    return (f"a search over ranges and structures of inputs, at most "
            f"{bench.budget or search.BUDGET} trials")
