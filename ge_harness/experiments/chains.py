"""B: is the fused result no further from float64 than the unfused one?

Five chains, 1,000 input sets each, every set at the chain's own shape in one job a
side. The sides are paired: the same inputs go through float64, eager, the compiler
node by node, and the compiler with its fusion. The ratio of P99 comes with a bootstrap
interval that resamples whole sets; a search then looks for counter-examples.
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, NamedTuple

import numpy as np

from ge_harness.compare.stats import measure_errors
from ge_harness.experiments import bench as benches
from ge_harness.experiments import mechanism, search, store
from ge_harness.experiments import statistics as stats
from ge_harness.experiments.bench import Bench, CaseSpec, Outcomes
from ge_harness.experiments.mechanism import Mechanism
from ge_harness.experiments.verdict import Ruling, all_of, settle
from ge_harness.records.comparison import ErrorStats
from ge_harness.records.experiment import (
    CounterexampleRecord,
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
_SETS, _GUARD = 1000, 8
BASES = ("eager", "nodewise")
_SIDES = ("candidate", "eager", "nodewise")
# A bin of the histograms behind the interval of P99 is 1 % wide.
_RESOLUTION = 1.0101
_FIGURE_POINTS = 160


class Chain(NamedTuple):
    """What was computed from one chain's stored outputs.

    Attributes:
        name: the subgraph.
        errors: side -> its errors against float64, all sets together.
        p99: base line -> ratio of P99 ULP, fused over unfused.
        most: base line -> ratio of the greatest ULP error.
        same: base line -> share of elements with the fused bits.
        counts: side -> [bins + 1] histogram of ULP errors.
    """

    name: str
    errors: Mapping[str, ErrorStats]
    p99: Mapping[str, stats.Interval]
    most: Mapping[str, stats.Interval]
    same: Mapping[str, float]
    counts: Mapping[str, np.ndarray]


def run(bench: Bench) -> ExperimentReport:
    """Run every chain, judge it, and search for counter-examples."""
    dtype = bench.options.dtype or ("" if bench.subgraphs else "float16")
    names = bench.subgraphs or CHAINS
    outcomes: dict[str, Outcomes] = {}
    for name in names:
        sets = bench.options.sets or _SETS
        case = bench.case(CaseSpec(name, dtype, sets=sets))
        outcomes[name] = bench.run(_requests(bench, case, name, dtype, sets))
        bench.say(f"{name}: {sets} sets")
    found = search.search(bench, tuple(names), dtype)
    return bench.report(judge(bench, outcomes, found, dtype))


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
    rulings, evidence, rows, ratios = [], [], [], []
    figures: list[FigureRecord] = []
    for name, sides in outcomes.items():
        seen = mechanism.read(sides["candidate"])
        proof = _evidence(name, seen, sides)
        evidence += proof
        failed = benches.failures({side: sides[side] for side in (
            *_SIDES[:2], "reference")})
        if failed:
            rulings.append((ExperimentVerdict.INCONCLUSIVE, "; ".join(
                f"{side} {why}" for side, why in failed.items())))
            continue
        chain = _chain(bench, name, sides)
        rulings.append(_rule(chain, proof))
        rows += _rows(chain)
        ratios += _ratio_rows(chain, rulings[-1])
        figures += _figures(bench, chain, dtype)
    verdict, why = all_of(rulings, [Path(name).stem for name in outcomes])
    verdict, why = _with_search(
        verdict, why, found, all(each.ok for each in evidence))
    return ExperimentReport(
        "B", "accumulated error: fused against eager", CLAIM, verdict, why,
        _method(bench, outcomes, dtype), _LIMITS, tuple(evidence),
        ExperimentTable("fused over unfused, ULP errors against float64", (
            "chain", "base line", "same bits", "P99 ratio", "P99 95 % interval",
            "max ratio", "max 95 % interval", "verdict"), tuple(ratios)),
        benches.NO_BACKEND, more_tables=(
            ExperimentTable("errors of every side against float64", (
                "chain", "side", "elements", "P50 abs", "P99 abs", "max abs", "P50 rel",
                "P99 rel", "max rel", "P50 ULP", "P99 ULP", "max ULP", "kind changed"),
                tuple(rows)), found.table),
        counterexamples=found.examples, figures=tuple(figures), dtype=dtype,
        artifacts={f"{Path(name).stem} {side}": paths
                   for name, sides in outcomes.items()
                   for side, paths in benches.paths_of(bench.folder, sides).items()})


_LIMITS = (
    "ULP errors near zeros of the output are large on every side; the maximum is often "
    "theirs", "the interval covers the choice of input sets, not other distributions; "
    "the search looks at those", "against eager, kernels of single operators differ "
    "too; only the nodewise base line isolates passes and fusion")


def _chain(bench: Bench, name: str, sides: Outcomes) -> Chain:
    good = {side: outcome for side, outcome in sides.items()
            if isinstance(outcome, RunSuccess)}
    dtype = good["candidate"].request.case.outputs[0].spec.dtype
    arrays = {side: store.load(good[side].output_paths[0])
              for side in (*_SIDES, "reference") if side in good}
    reference = arrays.pop("reference")
    count = good["candidate"].request.case.set_count
    errors = {side: measure_errors(array, reference, dtype=dtype)
              for side, array in arrays.items()}
    counts, most = {}, {}
    for side, array in arrays.items():
        counts[side], most[side] = _per_set(array, reference, dtype, count)
    stem = f"B-{bench.options.backend}-{dtype}-{Path(name).stem}"
    for side in counts:
        store.save(bench.folder, f"{stem}-{side}-max-ulp-of-each-set", most[side])
    fused, seed = errors["candidate"], bench.options.seed
    bases = [side for side in BASES if side in arrays]
    return Chain(
        name, errors,
        {side: stats.bootstrap_p99(
            counts["candidate"], counts[side], seed,
            stats.ratio_of(fused.ulp.p99, errors[side].ulp.p99)) for side in bases},
        {side: stats.bootstrap_max(
            most["candidate"], most[side], seed,
            stats.ratio_of(fused.ulp.max, errors[side].ulp.max)) for side in bases},
        {side: _same(arrays["candidate"], arrays[side]) for side in bases},
        {side: each.sum(axis=0) for side, each in counts.items()})


def _per_set(array: np.ndarray, reference: np.ndarray, dtype: str, count: int
             ) -> tuple[np.ndarray, np.ndarray]:
    """Return [sets, bins + 1] histograms and [sets] greatest ULP errors."""
    sets = array if count > 1 else array[None]
    truth = reference if count > 1 else reference[None]
    rows, most = [], []
    for mine, other in zip(sets, truth):
        errors = stats.ulp_errors(mine, other, dtype)
        rows.append(stats.histogram(errors))
        most.append(errors.max(initial=0.0))
    return np.stack(rows), np.array(most)


def _same(a: np.ndarray, b: np.ndarray) -> float:
    kind = f"u{a.dtype.itemsize}"
    equal = np.count_nonzero(np.ascontiguousarray(a).view(kind)
                             == np.ascontiguousarray(b).view(kind))
    return equal / max(1, a.size)


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
                                       "no kernel holds more than one operation",
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


def _rule(chain: Chain, proof: list[MechanismEvidence]) -> Ruling:
    base = next(side for side in BASES if side in chain.p99)
    p99, most = chain.p99[base], chain.most[base]
    changed = chain.errors["candidate"].nonfinite.changed
    before = chain.errors[base].nonfinite.changed
    words = (f"against {base}: P99 ratio {p99.ratio:.4g} [{p99.low:.4g}, "
             f"{p99.high:.4g}], max ratio {most.ratio:.4g} [{most.low:.4g}, "
             f"{most.high:.4g}]")
    if changed > before:
        return settle(False, f"{changed} elements changed kind against float64, "
                      f"{before} on {base}; {words}", proof)
    if p99.low > _RESOLUTION or most.low > 1.0:
        return settle(False, words, proof)
    if p99.high <= _RESOLUTION and most.high <= 1.0 and p99.ratio <= _RESOLUTION:
        return settle(True, words, proof)
    return ExperimentVerdict.INCONCLUSIVE, f"the interval holds 1; {words}"


def _rows(chain: Chain) -> list[tuple[object, ...]]:
    return [(Path(chain.name).stem, side, each.count, each.abs.p50, each.abs.p99,
             each.abs.max, each.rel.p50, each.rel.p99, each.rel.max, each.ulp.p50,
             each.ulp.p99, each.ulp.max, each.nonfinite.changed)
            for side, each in chain.errors.items()]


def _ratio_rows(chain: Chain, ruling: Ruling) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for place, base in enumerate(chain.p99):
        p99, most = chain.p99[base], chain.most[base]
        rows.append((Path(chain.name).stem, base, chain.same[base], p99.ratio,
                     (p99.low, p99.high), most.ratio, (most.low, most.high),
                     ruling[0].value if place == 0 else "-"))
    return rows


def _figures(bench: Bench, chain: Chain, dtype: str) -> list[FigureRecord]:
    """Return the CDF and the histogram of one chain's ULP errors."""
    edges = np.concatenate([[stats.EDGES[0] / 1.01], stats.EDGES])
    top = max(int(np.flatnonzero(counts)[-1]) if counts.any() else 0
              for counts in chain.counts.values()) + 2
    step = max(1, top // _FIGURE_POINTS)
    places = np.arange(0, min(top, edges.size), step)
    title = f"{bench.options.backend} {dtype}: {Path(chain.name).stem}, "
    x = tuple(edges[places].tolist())
    cumulated = {side: tuple((np.cumsum(counts)[np.minimum(
        places, counts.size - 1)] / max(1, counts.sum())).tolist())
        for side, counts in chain.counts.items()}
    shares = {side: tuple((np.add.reduceat(counts, places)
                           / max(1, counts.sum())).tolist())
              for side, counts in chain.counts.items()}
    return [FigureRecord(title + "distribution of errors (CDF)", "lines",
                         "ULP error against float64", "share with at most this", x,
                         cumulated, log_x=True),
            FigureRecord(title + "histogram of errors", "lines",
                         "ULP error against float64", "share of elements", x, shares,
                         log_x=True)]


def _with_search(verdict: ExperimentVerdict, why: str, found: search.Found,
                 proved: bool) -> Ruling:
    examples: tuple[CounterexampleRecord, ...] = found.examples
    if not examples:
        return verdict, f"{why}; the search found no counter-example"
    count = f"{len(examples)} counter-example{'s' * (len(examples) > 1)}"
    words = f"the search found {count}, such as {examples[0].name}"
    if proved and verdict in (ExperimentVerdict.HOLDS, ExperimentVerdict.INCONCLUSIVE):
        return ExperimentVerdict.REFUTED, f"{words}; on the drawn sets: {why}"
    return verdict, f"{why}; {words}"


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
