"""Makes a find smaller: one input set, then its axes halved while it stays worse."""

from __future__ import annotations

import dataclasses

import numpy as np

from ge_harness.experiments.bench import Bench
from ge_harness.experiments.trial import Arrays, Trial, measure
from ge_harness.experiments.worse import WORSE

# Each attempt is a build and four runs.
_ATTEMPTS = 8


def smallest(bench: Bench, trial: Trial) -> Trial:
    """Return the smallest set found on which the candidate is still worse than eager.

    Where no set alone is worse, only all of them together, it is the worst set as it
    is.
    """
    best = _single(bench, trial)
    if best.score <= WORSE:
        return best
    left, shrunk = _ATTEMPTS, True
    while shrunk and left:
        shrunk = False
        for halves in _halves(best)[:left]:
            left -= 1
            again = _run(bench, best, halves, f"shrink-{left}")
            if again is not None and again.score > WORSE:
                best, shrunk = again, True
                break
    return best


def _single(bench: Bench, trial: Trial) -> Trial:
    """Return the worst set, if need be the next one that is worse in its own job."""
    tried: list[Trial] = []
    for place in np.argsort(trial.scores)[::-1].tolist()[:_ATTEMPTS]:
        if tried and trial.scores[place] <= WORSE:
            break
        found = _run(bench, trial, {name: np.asarray(array[place:place + 1])
                                    for name, array in trial.arrays.items()},
                     f"set-{place}")
        if found is not None:
            tried.append(found)
            if found.score > WORSE:
                return found
    return tried[0] if tried else trial


def _run(bench: Bench, trial: Trial, arrays: Arrays, tag: str) -> Trial | None:
    """Run one set [1, ...] in jobs of its own; None where a side fails on it."""
    spec = dataclasses.replace(trial.spec, sets=1, shapes=tuple(
        (name, tuple(array.shape[1:])) for name, array in arrays.items()))
    found = measure(bench, spec, arrays, [trial.recipe], f"{trial.recipe.name}-{tag}")
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
