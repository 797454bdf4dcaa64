"""The search for inputs on which the fused result is further from float64 than eager.

Not just random: each trial is a recipe for the inputs (cancellation, subnormals, the
edge of overflow, steep ranges, wide sums); the recipe that comes closest is then tried
at other magnitudes. All recipes of one shape run as the sets of one job a side, so a
search costs a few jobs. Four sets can be worse by chance, so what looks worse is run
again on many other sets; only what is worse there, with its interval, is a
counter-example. It is made smaller, put down to operators or passes where runs or
single kernels account for it, and written as a graph file that runs.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ge_harness.compare.dtypes import widen
from ge_harness.experiments import case_file, localize, paired, shrink, trial
from ge_harness.experiments.bench import Bench, CaseSpec
from ge_harness.experiments.paired import Paired
from ge_harness.experiments.recipes import (
    RECIPES,
    Recipe,
    inputs_of,
    times,
    wide_shapes,
)
from ge_harness.experiments.trial import Trial
from ge_harness.experiments.worse import KIND_CHANGED
from ge_harness.records.experiment import CounterexampleRecord, ExperimentTable
from ge_harness.records.job import BuiltCase
from ge_harness.records.tensor import Port

BUDGET = 96
CONFIRMING_SETS = 200
_SETS_A_RECIPE = 4
# Other inputs than those of the trials and of the 1,000 sets.
_OTHER_SEEDS = 1000000
# Magnitudes that the recipe closest to a find is tried at.
_FACTORS = (0.5, 2.0, 0.25, 4.0, 0.0625, 16.0)
# A trial looks worse from this ratio on; so many, of each kind, are run again.
_LOOKS_WORSE, _CHECKED = 1.01, 3
_ANSWERS = {True: "worse", False: "no worse", None: "the interval holds 1"}


class Found(NamedTuple):
    """What a search found.

    Attributes:
        table: every trial.
        examples: counter-examples: of each chain one by its errors, and one by elements
            that changed kind.
        fused: how many of them are worse than node by node too.
        lost: recipes that gave no trial: a side failed, or the budget was used up.
    """

    table: ExperimentTable
    examples: tuple[CounterexampleRecord, ...]
    fused: int
    lost: tuple[str, ...] = ()


class Find(NamedTuple):
    """A trial that is worse on many other sets too.

    Attributes:
        trial: of those sets.
        pair: the sides on them, compared.
    """

    trial: Trial
    pair: Paired


def search(bench: Bench, chains: tuple[str, ...], dtype: str) -> Found:
    """Try recipes on every chain and keep the worst finds of each."""
    left = bench.budget or BUDGET
    rows: list[tuple[object, ...]] = []
    examples, fused = [], 0
    lost: list[str] = []
    for chain in chains:
        trials = _trials(bench, chain, dtype, left)
        trials += _magnitudes(bench, trials, left - len(trials))
        left -= len(trials)
        lost += _lost(chain, trials)
        checked: dict[str, str] = {}
        finds = _finds(bench, trials, checked)
        rows += [_row(each, checked) for each in trials]
        for find in finds:
            examples.append(_example(bench, find, _reach(trials)))
            fused += trial.NODEWISE in find.pair.p99 and find.pair.worse(
                trial.NODEWISE) is True
        bench.say(f"{chain}: {len(trials)} trials of the search")
    return Found(
        ExperimentTable("search: every trial", (
            "chain", "recipe", "shape", "P99 ULP fused", "P99 ULP eager",
            "max ULP fused", "max ULP eager", "kind changed fused",
            "kind changed eager", "same bits as nodewise", "ratio", "looks worse",
            f"on {CONFIRMING_SETS} other sets"), tuple(rows)),
        tuple(examples), fused, tuple(lost))


def _lost(chain: str, trials: list[Trial]) -> list[str]:
    tried = {each.recipe.name for each in trials}
    wide = bool(wide_shapes(chain))
    return [f"{Path(chain).stem}, {recipe.name}" for recipe in RECIPES
            if recipe.name not in tried and (wide or not recipe.wide)]


def _row(each: Trial, checked: dict[str, str]) -> tuple[object, ...]:
    shapes = " ".join("x".join(map(str, array.shape[1:]))
                      for array in each.arrays.values())
    return (Path(each.chain).stem, each.recipe.name, shapes, each.fused[0],
            each.eager[0], each.fused[1], each.eager[1], each.fused[2],
            each.eager[2], each.nodewise_equal,
            each.pooled if each.pooled < KIND_CHANGED else "kind",
            each.pooled > _LOOKS_WORSE, checked.get(each.recipe.name, "-"))


def _trials(bench: Bench, chain: str, dtype: str, left: int) -> list[Trial]:
    """Run the recipes, at the chain's own shape and with wide sums."""
    found: list[Trial] = []
    for label, wide in (("own", False), ("wide", True)):
        recipes = [recipe for recipe in RECIPES if recipe.wide == wide]
        recipes = recipes[:max(0, left - len(found))]
        shapes = wide_shapes(chain) if wide else ()
        if recipes and (shapes or not wide):
            spec = CaseSpec(chain, dtype, shapes=shapes)
            found += _try(bench, spec, recipes, f"search-{label}")
    return found


def _magnitudes(bench: Bench, trials: list[Trial], left: int) -> list[Trial]:
    """Try the recipe that comes closest to a find at other magnitudes."""
    best = max(trials, key=lambda each: each.p99_ratio, default=None)
    recipes = ([times(best.recipe, factor) for factor in _FACTORS[:max(0, left)]]
               if best is not None else [])
    if best is None or not recipes:
        return []
    return _try(bench, best.spec, recipes, f"magnitudes-{best.recipe.name}")


def _try(bench: Bench, spec: CaseSpec, recipes: list[Recipe], tag: str) -> list[Trial]:
    """Run a few sets of every recipe."""
    built = bench.built(spec)
    if not isinstance(built, BuiltCase):
        return []
    drawn = [inputs_of(built, recipe, bench.options.seed, _SETS_A_RECIPE)
             for recipe in recipes]
    arrays = {name: np.concatenate([each[name] for each in drawn])
              for name in drawn[0]}
    spec = dataclasses.replace(spec, sets=_SETS_A_RECIPE * len(recipes))
    return trial.measure(bench, spec, arrays, recipes, tag)


def _finds(bench: Bench, trials: list[Trial], checked: dict[str, str]) -> list[Find]:
    """Return the worst by errors and by kind that are worse on other sets too.

    Args:
        bench: where they run.
        trials: of one chain.
        checked: recipe -> what came of it, filled in.
    """
    alike = [each for each in trials if each.pooled < KIND_CHANGED]
    by_error = [each for each in _ranked(alike, "p99_ratio")[:_CHECKED]
                if each.p99_ratio > _LOOKS_WORSE]
    by_error += [each for each in _ranked(alike, "pooled")[:1]
                 if each.pooled > _LOOKS_WORSE
                 and all(each is not other for other in by_error)]
    by_kind = [each for each in _ranked(trials, "pooled")[:_CHECKED]
               if each.pooled >= KIND_CHANGED]
    found = []
    for group in (by_error, by_kind):
        for each in group:
            find = _again(bench, each)
            if find is None:
                checked[each.recipe.name] = "a side failed"
                continue
            worse = find.pair.worse(trial.EAGER)
            checked[each.recipe.name] = (
                f"{_ANSWERS[worse]}: {find.pair.words(trial.EAGER)}")
            if worse:
                found.append(find)
                break
    return found


def _ranked(trials: list[Trial], by: str) -> list[Trial]:
    return sorted(trials, key=lambda each: float(getattr(each, by)), reverse=True)


def _again(bench: Bench, each: Trial) -> Find | None:
    """Run a recipe on many other sets; None where a side fails."""
    built = bench.built(each.spec)
    if not isinstance(built, BuiltCase):
        return None
    seed = bench.options.seed + _OTHER_SEEDS
    arrays = inputs_of(built, each.recipe, seed, CONFIRMING_SETS)
    spec = dataclasses.replace(each.spec, sets=CONFIRMING_SETS)
    outputs, case = trial.run_sides(bench, spec, arrays, f"again-{each.recipe.name}")
    if not outputs:
        return None
    dtype = case.outputs[0].spec.dtype
    sides = {side: array for side, array in outputs.items() if side != trial.REFERENCE}
    return Find(trial.of(each.recipe, spec, arrays, outputs, dtype),
                paired.compare(sides, outputs[trial.REFERENCE], dtype,
                               bench.options.seed))


def _reach(trials: list[Trial]) -> str:
    """Say in which trials of a chain the candidate looks worse."""
    worse = [each.recipe.name for each in trials if each.pooled > _LOOKS_WORSE]
    rest = len(trials) - len(worse)
    return (f"looks worse in {len(worse)} of {len(trials)} trials: "
            f"{', '.join(worse[:6])}{', and others' if len(worse) > 6 else ''}; not in "
            f"{rest}")


def _example(bench: Bench, find: Find, reach: str) -> CounterexampleRecord:
    """Make a find smaller, explain it and write it down."""
    small = shrink.smallest(bench, find.trial)
    op, reason = localize.blame(bench, small.spec, small.arrays, small.nodewise_equal)
    recipe, pair = find.trial.recipe, find.pair
    dtypes = {port.spec.name: port.spec.dtype for port in _ports(bench, small)}
    doc = CASE_DOC.format(
        backend=bench.named(), chain=Path(small.chain).stem,
        recipe=recipe.name, fused=small.fused, eager=small.eager)
    path = case_file.write(bench.folder, small.spec, small.arrays, dtypes, doc)
    ranges = "; ".join(f"{name} from {low:.4g} to {high:.4g}"
                       for name, low, high in _ranges(bench, small))
    figures: dict[str, object] = {
        f"on {CONFIRMING_SETS} sets against {base}": pair.words(base)
        for base in pair.p99}
    return CounterexampleRecord(
        f"{Path(small.chain).stem}, {recipe.name}", op,
        f"{recipe.words}; {ranges}", reason, {
            **figures, "where": reach,
            **{f"smallest case, {what} {side}": figure
               for side, figures_of in (("fused", small.fused), ("eager", small.eager))
               for what, figure in zip(("P99 ULP", "max ULP", "kind changed"),
                                       figures_of)},
            "smallest case, shapes": " ".join("x".join(map(str, array.shape[1:]))
                                              for array in small.arrays.values())},
        bench.folder.relative(str(path)),
        f"python -m ge_harness run {path} --backend={bench.options.backend}")


CASE_DOC = ("Counter-example of experiment B on {backend}: {chain}, {recipe}.\n\n"
            "P99 and greatest error against float64: {fused[0]:.4g} and {fused[1]:.4g} "
            "ULP compiled,\n{eager[0]:.4g} and {eager[1]:.4g} ULP eager.")


def _ports(bench: Bench, each: Trial) -> tuple[Port, ...]:
    built = bench.built(each.spec)
    return built.inputs if isinstance(built, BuiltCase) else ()


def _ranges(bench: Bench, each: Trial) -> list[tuple[str, float, float]]:
    found = []
    for port in _ports(bench, each):
        wide = widen(np.asarray(each.arrays[port.spec.name]), port.spec.dtype)
        finite = wide[np.isfinite(wide)]
        if finite.size:
            found.append((port.spec.name, float(finite.min()), float(finite.max())))
    return found
