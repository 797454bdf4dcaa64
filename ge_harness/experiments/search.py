"""The search for inputs on which the fused result is further from float64 than eager.

Not just random: each trial is a recipe for the inputs (cancellation, subnormals, the
edge of overflow, steep ranges, wide sums); the recipe that comes closest is then tried
at other magnitudes, which also tells over which range the candidate is worse. All
recipes of one shape run as the sets of one job a side, so a search costs a few jobs. A
find is made smaller, put down to an
operator where single kernels account for it, and written as a graph file that runs.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Mapping, NamedTuple

import numpy as np

from ge_harness.compare.dtypes import widen
from ge_harness.experiments import case_file, localize, store
from ge_harness.experiments.bench import Bench, CaseSpec
from ge_harness.experiments.recipes import (
    RECIPES,
    Recipe,
    inputs_of,
    times,
    wide_shapes,
)
from ge_harness.experiments.worse import KIND_CHANGED, WORSE, figures, score
from ge_harness.records.experiment import CounterexampleRecord, ExperimentTable
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import RunSuccess
from ge_harness.records.tensor import Case

BUDGET = 96
_SETS_A_RECIPE = 4
_SIDES = ("candidate", "eager", "nodewise", "reference")
# Magnitudes that the recipe closest to a find is tried at.
_FACTORS = (0.5, 2.0, 0.25, 4.0, 0.0625, 16.0)
# Each attempt to make a find smaller is a build and four runs.
_ATTEMPTS = 8
Arrays = Mapping[str, np.ndarray]


class Found(NamedTuple):
    """What a search found.

    Attributes:
        table: every trial.
        examples: counter-examples: of each chain the worst by its errors, and the
            worst by elements that changed kind.
    """

    table: ExperimentTable
    examples: tuple[CounterexampleRecord, ...]


class Trial(NamedTuple):
    """One recipe on one chain.

    Attributes:
        chain: subgraph.
        recipe: of its inputs.
        spec: of the case.
        arrays: input -> storage [sets, ...].
        fused: P99, greatest ULP error and changes of kind of the candidate.
        eager: the same of eager.
        nodewise_equal: the candidate has the bits of its nodewise base line.
        scores: how much worse the candidate is on each set, greater is worse.
    """

    chain: str
    recipe: Recipe
    spec: CaseSpec
    arrays: Arrays
    fused: tuple[float, float, int]
    eager: tuple[float, float, int]
    nodewise_equal: bool
    scores: tuple[float, ...]

    @property
    def score(self) -> float:
        """How much worse the candidate is on the worst set."""
        return max(self.scores)


def search(bench: Bench, chains: tuple[str, ...], dtype: str) -> Found:
    """Try recipes on every chain and keep the worst find of each."""
    left = bench.budget or BUDGET
    rows: list[tuple[object, ...]] = []
    examples = []
    for chain in chains:
        trials = _trials(bench, chain, dtype, left)
        trials += _magnitudes(bench, trials, left - len(trials))
        left -= len(trials)
        rows += [_row(trial) for trial in trials]
        for worst in _finds(trials):
            examples.append(_example(bench, worst, _reach(trials)))
        bench.say(f"{chain}: {len(trials)} trials of the search")
    return Found(
        ExperimentTable("search: every trial", (
            "chain", "recipe", "shape", "P99 ULP fused", "P99 ULP eager",
            "max ULP fused", "max ULP eager", "kind changed fused",
            "kind changed eager", "same bits as nodewise", "worst set, ratio",
            "worse"), tuple(rows)),
        tuple(examples))


def _row(trial: Trial) -> tuple[object, ...]:
    shapes = " ".join("x".join(map(str, array.shape[1:]))
                      for array in trial.arrays.values())
    return (Path(trial.chain).stem, trial.recipe.name, shapes, trial.fused[0],
            trial.eager[0], trial.fused[1], trial.eager[1], trial.fused[2],
            trial.eager[2], trial.nodewise_equal,
            trial.score if trial.score < KIND_CHANGED else "kind", trial.score > WORSE)


def _trials(bench: Bench, chain: str, dtype: str, left: int) -> list[Trial]:
    """Run the recipes, at the chain's own shape and with wide sums."""
    found: list[Trial] = []
    for label, wide in (("own", False), ("wide", True)):
        recipes = [recipe for recipe in RECIPES if recipe.wide == wide]
        recipes = recipes[:max(0, left - len(found))]
        shapes = wide_shapes(chain) if wide else ()
        if not recipes or (wide and not shapes):
            continue
        spec = CaseSpec(chain, dtype, shapes=shapes,
                        sets=_SETS_A_RECIPE * len(recipes))
        built = bench.built(spec)
        if not isinstance(built, BuiltCase):
            continue
        drawn = [inputs_of(built, recipe, bench.options.seed, _SETS_A_RECIPE)
                 for recipe in recipes]
        arrays = {name: np.concatenate([each[name] for each in drawn])
                  for name in drawn[0]}
        found += _measure(bench, spec, arrays, recipes, f"search-{label}")
    return found


def _magnitudes(bench: Bench, trials: list[Trial], left: int) -> list[Trial]:
    """Try the recipe that comes closest to a find at other magnitudes."""
    best = max(trials, key=lambda trial: trial.score, default=None)
    factors = _FACTORS[:max(0, left)]
    if best is None or not factors:
        return []
    built = bench.built(best.spec)
    if not isinstance(built, BuiltCase):
        return []
    recipes = [times(best.recipe, factor) for factor in factors]
    drawn = [inputs_of(built, recipe, bench.options.seed, _SETS_A_RECIPE)
             for recipe in recipes]
    arrays = {name: np.concatenate([each[name] for each in drawn])
              for name in drawn[0]}
    spec = dataclasses.replace(best.spec, sets=_SETS_A_RECIPE * len(recipes))
    return _measure(bench, spec, arrays, recipes, f"magnitudes-{best.recipe.name}")


def _finds(trials: list[Trial]) -> list[Trial]:
    """Return the worst trial by elements that changed kind, and the worst by errors."""
    by_kind = [trial for trial in trials if trial.score >= KIND_CHANGED]
    by_error = [trial for trial in trials if WORSE < trial.score < KIND_CHANGED]
    return [max(group, key=lambda trial: trial.score)
            for group in (by_kind, by_error) if group]


def _reach(trials: list[Trial]) -> str:
    """Say in which trials of a chain the candidate is worse."""
    worse = [trial.recipe.name for trial in trials if trial.score > WORSE]
    rest = len(trials) - len(worse)
    return (f"worse in {len(worse)} of {len(trials)} trials: {', '.join(worse[:6])}"
            f"{', and others' if len(worse) > 6 else ''}; not worse in {rest}")


def _measure(bench: Bench, spec: CaseSpec, arrays: Arrays, recipes: list[Recipe],
             tag: str) -> list[Trial]:
    """Run one job a side and cut the outcome into recipes."""
    outputs, case = run_sides(bench, spec, arrays, tag)
    if outputs is None:
        return []
    each = spec.sets // len(recipes)
    found = []
    for place, recipe in enumerate(recipes):
        part = slice(place * each, (place + 1) * each)
        sides = {name: array[part] for name, array in outputs.items()}
        dtype = case.outputs[0].spec.dtype
        found.append(Trial(
            spec.source, recipe, spec, {name: array[part]
                                        for name, array in arrays.items()},
            figures(sides["candidate"], sides["reference"], dtype),
            figures(sides["eager"], sides["reference"], dtype),
            "nodewise" in sides and sides["candidate"].tobytes()
            == sides["nodewise"].tobytes(), _scores(sides, dtype)))
    return found


def _scores(sides: Arrays, dtype: str) -> tuple[float, ...]:
    return tuple(score(figures(mine, truth, dtype), figures(other, truth, dtype))
                 for mine, other, truth in zip(sides["candidate"], sides["eager"],
                                               sides["reference"]))


def run_sides(bench: Bench, spec: CaseSpec, arrays: Arrays, tag: str
              ) -> tuple[dict[str, np.ndarray] | None, Case]:
    """Return side -> [sets, ...] first output; None where a side failed."""
    single = spec.sets == 1
    case = bench.case(spec, tag, {name: array[0] if single else array
                                  for name, array in arrays.items()})
    outcomes = bench.run(bench.sides(case, *_SIDES, repeat=2 if single else 1,
                                     want_dumps=False))
    found = {name: store.load(outcome.output_paths[0])
             for name, outcome in outcomes.items() if isinstance(outcome, RunSuccess)}
    if not {"candidate", "eager", "reference"} <= set(found):
        return None, case
    return ({name: array[None] for name, array in found.items()} if single
            else found), case


def _example(bench: Bench, trial: Trial, reach: str) -> CounterexampleRecord:
    """Make a find smaller, explain it and write it down."""
    small = _smaller(bench, trial)
    op, reason = localize.blame(bench, small.spec, small.arrays, small.nodewise_equal)
    built = bench.built(small.spec)
    dtypes = {port.spec.name: port.spec.dtype for port in (
        built.inputs if isinstance(built, BuiltCase) else ())}
    doc = CASE_DOC.format(
        backend=bench.options.backend, chain=Path(trial.chain).stem,
        recipe=trial.recipe.name, fused=small.fused[1], eager=small.eager[1])
    path = case_file.write(bench.folder, small.spec, small.arrays, dtypes, doc)
    ranges = "; ".join(f"{name} from {low:.4g} to {high:.4g}"
                       for name, low, high in _ranges(bench, small))
    return CounterexampleRecord(
        f"{Path(trial.chain).stem}, {trial.recipe.name}", op,
        f"{trial.recipe.words}; {ranges}", reason, {
            "recipe, P99 ULP fused": trial.fused[0],
            "recipe, P99 ULP eager": trial.eager[0],
            "where": reach,
            "worst set, ratio": (
                trial.score if trial.score < KIND_CHANGED else "kind changed"),
            "smallest case, max ULP fused": small.fused[1],
            "smallest case, max ULP eager": small.eager[1],
            "smallest case, shapes": " ".join("x".join(map(str, array.shape[1:]))
                                              for array in small.arrays.values())},
        bench.folder.relative(str(path)),
        f"python -m ge_harness run {path} --backend={bench.options.backend}")


CASE_DOC = ("Counter-example of experiment B on {backend}: {chain}, {recipe}.\n\n"
            "Greatest error against float64: {fused:.4g} ULP compiled, {eager:.4g} ULP "
            "eager.")


def _ranges(bench: Bench, trial: Trial) -> list[tuple[str, float, float]]:
    built = bench.built(trial.spec)
    ports = built.inputs if isinstance(built, BuiltCase) else ()
    found = []
    for port in ports:
        wide = widen(np.asarray(trial.arrays[port.spec.name]), port.spec.dtype)
        finite = wide[np.isfinite(wide)]
        if finite.size:
            found.append((port.spec.name, float(finite.min()), float(finite.max())))
    return found


def _smaller(bench: Bench, trial: Trial) -> Trial:
    """Keep the worst set, then halve axes while the candidate stays worse."""
    best = _single(bench, trial)
    if best is None:
        return trial
    left, shrunk = _ATTEMPTS, True
    while shrunk and left:
        shrunk = False
        for halves in _halves(best)[:left]:
            left -= 1
            spec = dataclasses.replace(best.spec, shapes=tuple(
                (name, tuple(array.shape[1:])) for name, array in halves.items()))
            again = _one(bench, spec, halves, f"shrink-{left}", best.recipe)
            if again is not None and again.score > WORSE:
                best, shrunk = again, True
                break
    return best


def _single(bench: Bench, trial: Trial) -> Trial | None:
    """Return the worst set that is worse in a job of its own too."""
    for place in np.argsort(trial.scores)[::-1].tolist():
        if trial.scores[place] <= WORSE:
            break
        arrays = {name: np.asarray(array[place:place + 1])
                  for name, array in trial.arrays.items()}
        found = _one(bench, dataclasses.replace(trial.spec, sets=1), arrays,
                     f"{trial.recipe.name}-{place}", trial.recipe)
        if found is not None and found.score > WORSE:
            return found
    return None


def _one(bench: Bench, spec: CaseSpec, arrays: Arrays, tag: str, recipe: Recipe
         ) -> Trial | None:
    found = _measure(bench, spec, arrays, [recipe], f"{recipe.name}-{tag}")
    return found[0] if found else None


def _halves(trial: Trial) -> list[dict[str, np.ndarray]]:
    """Return the same inputs with every axis of one length halved, longest first."""
    lengths = sorted({axis for array in trial.arrays.values()
                      for axis in array.shape[1:] if axis > 1}, reverse=True)
    found = []
    for length in lengths:
        for part in (slice(0, (length + 1) // 2), slice(length // 2, length)):
            found.append({name: np.ascontiguousarray(array[(slice(None), *(
                part if axis == length else slice(None) for axis in array.shape[1:]))])
                for name, array in trial.arrays.items()})
    return found


