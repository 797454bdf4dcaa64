"""One trial of the search: inputs by a recipe through every side of a chain."""

from __future__ import annotations

import dataclasses
from typing import Mapping, NamedTuple

import numpy as np

from ge_harness.experiments import store
from ge_harness.experiments.bench import Bench, CaseSpec
from ge_harness.experiments.paired import BASES, CANDIDATE
from ge_harness.experiments.recipes import Recipe
from ge_harness.experiments.worse import Figures, figures, ratios, score
from ge_harness.records.run import RunSuccess
from ge_harness.records.tensor import Case

EAGER, NODEWISE = BASES
REFERENCE = "reference"
Arrays = Mapping[str, np.ndarray]


class Trial(NamedTuple):
    """One recipe on one chain.

    Attributes:
        chain: subgraph.
        recipe: of its inputs.
        spec: of the case, one set for each row of `arrays`.
        arrays: input -> storage [sets, ...].
        fused: P99, greatest ULP error and changes of kind of the candidate, all sets.
        eager: the same of eager.
        nodewise_equal: the candidate has the bits of its nodewise base line.
        scores: how much worse the candidate is than eager on each set.
    """

    chain: str
    recipe: Recipe
    spec: CaseSpec
    arrays: Arrays
    fused: Figures
    eager: Figures
    nodewise_equal: bool
    scores: tuple[float, ...]

    @property
    def score(self) -> float:
        """How much worse the candidate is on the worst set."""
        return max(self.scores)

    @property
    def pooled(self) -> float:
        """How much worse the candidate is over all sets together."""
        return score(self.fused, self.eager)

    @property
    def p99_ratio(self) -> float:
        """P99 over eager's: of few sets, far steadier than the greatest error."""
        return ratios(self.fused, self.eager)[0]


def run_sides(bench: Bench, spec: CaseSpec, arrays: Arrays, tag: str
              ) -> tuple[dict[str, np.ndarray], Case]:
    """Run one job a side.

    Returns:
        side -> [sets, ...] first output, {} where a side that is needed failed; and
        the case.
    """
    single = spec.sets == 1
    case = bench.case(spec, tag, {name: array[0] if single else array
                                  for name, array in arrays.items()})
    outcomes = bench.run(bench.sides(
        case, CANDIDATE, *BASES, REFERENCE, repeat=2 if single else 1,
        want_dumps=False))
    found = {name: store.load(outcome.output_paths[0])
             for name, outcome in outcomes.items() if isinstance(outcome, RunSuccess)}
    if not {CANDIDATE, EAGER, REFERENCE} <= set(found):
        return {}, case
    return ({name: array[None] for name, array in found.items()} if single
            else found), case


def measure(bench: Bench, spec: CaseSpec, arrays: Arrays, recipes: list[Recipe],
            tag: str) -> list[Trial]:
    """Run one job a side and cut the outcome into trials, as many sets a recipe.

    Returns:
        one trial a recipe, none where a side failed.
    """
    outputs, case = run_sides(bench, spec, arrays, tag)
    if not outputs:
        return []
    each = spec.sets // len(recipes)
    parts = [slice(place * each, (place + 1) * each) for place in range(len(recipes))]
    spec, dtype = dataclasses.replace(spec, sets=each), case.outputs[0].spec.dtype
    return [of(recipe, spec, _part(arrays, part), _part(outputs, part), dtype)
            for recipe, part in zip(recipes, parts)]


def of(recipe: Recipe, spec: CaseSpec, arrays: Arrays, outputs: Arrays, dtype: str
       ) -> Trial:
    """Return the trial of finished outputs.

    Args:
        recipe: of the inputs.
        spec: of the case.
        arrays: input -> storage [sets, ...].
        outputs: side -> [sets, ...].
        dtype: of the sides.
    """
    truth = outputs[REFERENCE]
    return Trial(
        spec.source, recipe, spec, arrays, figures(outputs[CANDIDATE], truth, dtype),
        figures(outputs[EAGER], truth, dtype),
        NODEWISE in outputs
        and outputs[CANDIDATE].tobytes() == outputs[NODEWISE].tobytes(),
        tuple(score(figures(mine, right, dtype), figures(other, right, dtype))
              for mine, other, right in zip(outputs[CANDIDATE], outputs[EAGER], truth)))


def _part(arrays: Arrays, part: slice) -> dict[str, np.ndarray]:
    return {name: array[part] for name, array in arrays.items()}
