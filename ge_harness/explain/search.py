"""Looks for the state with most reproduced elements, then for its minimal form.

Pure: what a state reproduces comes from a function. The search is a climb, one place at
a time, from the best of the states it is given; the same input gives the same answer.
A state counts by the elements it gets right among all elements, so a hypothesis that
turns equal elements wrong loses what it wins by chance.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Callable, FrozenSet, Mapping, Sequence, Tuple

import numpy as np

from ge_harness.explain.candidates import Choices
from ge_harness.explain.policy import Key

Mask = np.ndarray
"""[elements] bool: which elements have the wanted bits."""
Evaluate = Callable[[Mapping[Key, str]], Tuple[np.ndarray, np.ndarray]]
"""State -> (mask, [elements] bits of the model)."""

MIN_GAIN = 3
MIN_GAIN_SHARE = 0.1


@dataclass
class Found:
    """What the search came to.

    Attributes:
        state: the minimal state.
        mask: [elements] which elements it reproduces.
        gained: key -> elements lost when it alone is dropped.
        evaluations: how many were made.
        exhausted: the limit stopped the search.
    """

    state: dict[Key, str]
    mask: Mask
    gained: dict[Key, int]
    evaluations: int
    exhausted: bool


Frozen = FrozenSet[Tuple[Key, str]]
_KEPT_RESULTS = 8


class _Budget:
    """Evaluates states, each once, up to a limit."""

    def __init__(self, evaluate: Evaluate, limit: int) -> None:
        self.limit: int | None = limit
        self.used = 0
        self.elements = 0
        self._evaluate = evaluate
        self._scores: dict[Frozen, int] = {}
        self._results: OrderedDict[Frozen, tuple[Mask, np.ndarray]] = OrderedDict()

    @property
    def spent(self) -> bool:
        """Whether no further state may be evaluated."""
        return self.limit is not None and self.used >= self.limit

    def score(self, state: Mapping[Key, str]) -> int:
        """Return the reproduced elements of a state; -1 once the limit is reached."""
        frozen = frozenset(state.items())
        if frozen not in self._scores:
            if self.spent:
                return -1
            self.result(state)
        return self._scores[frozen]

    def result(self, state: Mapping[Key, str]) -> tuple[Mask, np.ndarray]:
        """Return mask and bits of a state, evaluated again if long forgotten."""
        frozen = frozenset(state.items())
        if frozen not in self._results:
            self.used += 1
            self._results[frozen] = self._evaluate(state)
            mask = self._results[frozen][0]
            self.elements, self._scores[frozen] = mask.size, int(mask.sum())
            while len(self._results) > _KEPT_RESULTS:
                self._results.popitem(last=False)
        return self._results[frozen]


def search(evaluate: Evaluate, choices: Choices, seeds: Sequence[Mapping[Key, str]],
           limit: int) -> Found:
    """Return the best state found and what each of its hypotheses gains.

    Args:
        evaluate: what a state reproduces.
        choices: the values that each place can take.
        seeds: states to begin from; the first that is best wins.
        limit: greatest number of evaluations; minimizing then takes a few more for
            each hypothesis found.
    """
    budget = _Budget(evaluate, limit)
    state: dict[Key, str] = {}
    best = budget.score(state)
    for seed in seeds:
        if best == budget.elements:
            break
        score = budget.score(seed)
        if score > best:
            state, best = dict(seed), score
    state = _climb(budget, choices, state)
    exhausted = budget.spent
    budget.limit = None
    state, gained = _minimal(budget, state)
    return Found(state, budget.result(state)[0], gained, budget.used, exhausted)


def _climb(budget: _Budget, choices: Choices, state: dict[Key, str]) -> dict[Key, str]:
    """Change one place at a time while that reproduces more elements."""
    best, better = budget.score(state), True
    while better and best < budget.elements:
        better = False
        for key, values in choices.items():
            for value in (None, *values):
                trial = _with(state, key, value)
                score = budget.score(trial)
                if score > best:
                    state, best, better = trial, score, True
    return state


def _with(state: Mapping[Key, str], key: Key, value: str | None) -> dict[Key, str]:
    trial = dict(state)
    if value is None:
        trial.pop(key, None)
    else:
        trial[key] = value
    return trial


def _minimal(budget: _Budget, state: dict[Key, str]
             ) -> tuple[dict[Key, str], dict[Key, int]]:
    """Drop every hypothesis that is not needed, until each one left is.

    The one that gains least goes first. One is needed when it gains `MIN_GAIN` elements
    and a tenth of the elements it changes, which chance does not.
    """
    while True:
        gained = {key: _gain(budget, state, key)[0] for key in state}
        dropped = False
        for key in sorted(state, key=lambda key: (gained[key], key)):
            gained[key], needed = _gain(budget, state, key)
            if not needed:
                state = _with(state, key, None)
                dropped = True
        if not dropped:
            return state, gained


def _gain(budget: _Budget, state: Mapping[Key, str], key: Key) -> tuple[int, bool]:
    """Return the elements that a hypothesis gains and whether that is no chance."""
    without = _with(state, key, None)
    gain = budget.score(state) - budget.score(without)
    if gain < MIN_GAIN:
        return gain, False
    own, other = budget.result(state)[1], budget.result(without)[1]
    return gain, gain >= MIN_GAIN_SHARE * int((own != other).sum())
