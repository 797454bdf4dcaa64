"""Curves of training runs held against one another: distances, spread, first bits."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import Mapping, Sequence

import numpy as np

from ge_harness.compare.ulp import ulp_diff

METRICS = ("loss", "eval_loss", "gradient_norm")
"""What the verdict is about; perplexity is exp(eval_loss)."""


@dataclass(frozen=True)
class Run:
    """The curves of one run.

    Attributes:
        name: e.g. "eager seed 0".
        loss: [steps] float32.
        gradient_norm: [steps] float32.
        eval_steps: [samples] int64.
        eval_loss: [samples] float32.
    """

    name: str
    loss: np.ndarray
    gradient_norm: np.ndarray
    eval_steps: np.ndarray
    eval_loss: np.ndarray

    def sampled(self, metric: str) -> np.ndarray:
        """Return [samples] float64 of a metric at the sampled steps."""
        if metric == "eval_loss":
            return np.asarray(self.eval_loss, np.float64)
        if metric == "perplexity":
            with np.errstate(over="ignore"):
                return np.asarray(np.exp(np.asarray(self.eval_loss, np.float64)))
        whole = self.loss if metric == "loss" else self.gradient_norm
        return np.asarray(whole[self.eval_steps - 1], np.float64)

    @property
    def digest(self) -> str:
        """First digits of the sha256 of loss and norm of every step."""
        text = np.ascontiguousarray(self.loss).tobytes() + np.ascontiguousarray(
            self.gradient_norm).tobytes()
        return hashlib.sha256(text).hexdigest()[:16]


@dataclass(frozen=True)
class Distance:
    """How far two curves are from one another.

    Attributes:
        rms: root mean square over the sampled steps; inf where one has a NaN or an
            infinity.
        greatest: at any sampled step.
    """

    rms: float
    greatest: float


@dataclass(frozen=True)
class Spread:
    """A pair of runs against pairs of eager runs with different seeds.

    Attributes:
        metric: one of `METRICS`.
        pair: eager against compiled.
        closest: of the two eager seeds that are nearest, each figure on its own.
        within: both figures of the pair are no greater than those of the closest.
    """

    metric: str
    pair: Distance
    closest: Distance
    within: bool


@dataclass(frozen=True)
class Divergence:
    """The first place where two curves differ in bits.

    Attributes:
        metric: the curve.
        step: from 1; None where all bits are equal.
        eager: value and bits of the base line.
        compiled: value and bits of the candidate.
        ulp: distance there, None for a change of kind.
    """

    metric: str
    step: int | None
    eager: str = ""
    compiled: str = ""
    ulp: int | None = None


def distance(a: np.ndarray, b: np.ndarray) -> Distance:
    """Return how far two curves are apart.

    Args:
        a: [samples] float64.
        b: [samples] float64.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.abs(a - b)
        # Equal infinities are no gap; NaN or infinity on one side has no number.
        gaps = np.where(a == b, 0.0, np.where(np.isfinite(gaps), gaps, np.inf))
        return Distance(float(np.sqrt(np.mean(gaps * gaps))), float(gaps.max()))


def spread(metric: str, eager: Sequence[Run], compiled: Run) -> Spread:
    """Hold the first eager run and the compiled one against pairs of eager runs.

    Args:
        metric: one of `METRICS`.
        eager: two at least, of different seeds, the first of the compiled run's seed.
        compiled: the candidate.
    """
    pair = distance(eager[0].sampled(metric), compiled.sampled(metric))
    others = [distance(a.sampled(metric), b.sampled(metric))
              for a, b in itertools.combinations(eager, 2)]
    closest = Distance(min(each.rms for each in others),
                       min(each.greatest for each in others))
    return Spread(metric, pair, closest,
                  bool(pair.rms <= closest.rms and pair.greatest <= closest.greatest))


def finite(run: Run) -> bool:
    """Return whether every value of a run is a number."""
    return all(bool(np.isfinite(each).all())
               for each in (run.loss, run.gradient_norm, run.eval_loss))


def bits_equal(a: Run, b: Run, steps: int) -> bool:
    """Return whether loss and norm of the first steps are the same bits."""
    return all(
        len(x) >= steps and len(y) >= steps
        and np.array_equal(_bits(x[:steps]), _bits(y[:steps]))
        for x, y in ((a.loss, b.loss), (a.gradient_norm, b.gradient_norm)))


def divergences(eager: Run, compiled: Run) -> list[Divergence]:
    """Return the first difference in bits of each curve, the earliest first."""
    places = {"loss": (np.arange(1, len(eager.loss) + 1), eager.loss, compiled.loss),
              "gradient_norm": (np.arange(1, len(eager.loss) + 1),
                                eager.gradient_norm, compiled.gradient_norm),
              "eval_loss": (eager.eval_steps, eager.eval_loss, compiled.eval_loss)}
    found = [_first(name, *values) for name, values in places.items()]
    return sorted(found, key=lambda each: (
        float("inf") if each.step is None else each.step))


def _first(metric: str, steps: np.ndarray, a: np.ndarray, b: np.ndarray) -> Divergence:
    differing = np.flatnonzero(_bits(a) != _bits(b))
    if not differing.size:
        return Divergence(metric, None)
    place = int(differing[0])
    x, y = a[place:place + 1], b[place:place + 1]
    known = bool(np.isnan(x[0]) == np.isnan(y[0]))
    return Divergence(metric, int(steps[place]), shown(x[0]), shown(y[0]),
                      int(ulp_diff(x, y)[0]) if known else None)


def shown(value: np.float32) -> str:
    """Return a value with its bits."""
    bits = int(_bits(np.asarray([value], np.float32))[0])
    return f"{float(value):.9g} (0x{bits:08x})"


def changed_share(eager: Run, compiled: Run) -> Mapping[str, float]:
    """Return the share of steps whose bits differ, by metric."""
    return {name: float(np.mean(_bits(a) != _bits(b))) for name, a, b in (
        ("loss", eager.loss, compiled.loss),
        ("gradient_norm", eager.gradient_norm, compiled.gradient_norm))}


def _bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, np.float32).view(np.uint32)
