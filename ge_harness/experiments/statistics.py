"""Distributions of errors: per-set histograms, curves, paired bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

import numpy as np

from ge_harness.compare.dtypes import as_storage
from ge_harness.compare.measure import Measured, measure
from ge_harness.compare.stats import reference_storage

# Bins of ULP errors: 1 % apart from 2^-12 to 2^40, one below and one above.
_STEP = 1.01
_LOW, _HIGH = 2.0**-12, 2.0**40
EDGES = np.exp(np.arange(np.log(_LOW), np.log(_HIGH), np.log(_STEP)))
_POINTS = 200
RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A ratio of two sides and where it lies with 95 % confidence.

    Attributes:
        ratio: of all sets together.
        low: 2.5 % of the resamples lie below.
        high: 2.5 % lie above.
    """

    ratio: float
    low: float
    high: float


def measured(side: np.ndarray, reference: np.ndarray, dtype: str) -> Measured:
    """Return the errors of every element of a side.

    Args:
        side: [...] storage of `dtype`.
        reference: [...] float64.
        dtype: of the side.
    """
    storage, name = as_storage(side, dtype)
    other, other_name = reference_storage(reference, name, dtype)
    return measure(np.ascontiguousarray(storage).ravel(), name,
                   np.ascontiguousarray(other).ravel(), other_name, as_distance=False)


def ulp_errors(side: np.ndarray, reference: np.ndarray, dtype: str) -> np.ndarray:
    """Return [n] float64 ULP errors of the elements that kept their kind."""
    found = measured(side, reference, dtype)
    errors = found.abs if found.ulp is None else found.ulp
    kept = errors if found.valid is None else errors[found.valid]
    return np.asarray(kept, dtype=np.float64)


def cdf(errors: Mapping[str, np.ndarray]
        ) -> tuple[tuple[float, ...], dict[str, tuple[float, ...]]]:
    """Return places and, for each side, the share of elements with at most that."""
    top = max((float(each.max()) for each in errors.values() if each.size), default=1.0)
    places = np.linspace(0.0, max(top, 1e-12), _POINTS)
    heights = {name: tuple(
        (np.searchsorted(np.sort(each), places, side="right")
         / max(1, each.size)).tolist()) for name, each in errors.items()}
    return tuple(places.tolist()), heights


def histogram(errors: np.ndarray) -> np.ndarray:
    """Return [bins + 1] counts of ULP errors, an error on an edge above it."""
    bins = np.searchsorted(EDGES, errors, side="right")
    return np.bincount(bins, minlength=EDGES.size + 1)


def quantile_of(counts: np.ndarray, share: float) -> np.ndarray:
    """Return the lower end of the bin that holds a quantile.

    Args:
        counts: [..., bins + 1].
        share: 0.99 for P99.

    Returns:
        [...] ULP, within 1 % of the exact one; 0 below the first edge.
    """
    sums = np.cumsum(counts, axis=-1)
    wanted = np.ceil(share * sums[..., -1:])
    place = np.argmax(sums >= np.maximum(wanted, 1), axis=-1)
    return np.asarray(np.concatenate([[0.0], EDGES])[place])


def bootstrap_p99(fused: np.ndarray, eager: np.ndarray, seed: int,
                  ratio: float) -> Interval:
    """Return P99(fused) / P99(eager), resampling whole sets and both sides together.

    Args:
        fused: [sets, bins + 1] counts of each set.
        eager: [sets, bins + 1], of the same sets.
        seed: of the resampling.
        ratio: of all sets, exact.
    """
    weights = _weights(fused.shape[0], seed)
    values = _ratio(quantile_of(weights @ fused, 0.99),
                    quantile_of(weights @ eager, 0.99))
    return _interval(values, ratio)


def bootstrap_max(fused: np.ndarray, eager: np.ndarray, seed: int,
                  ratio: float) -> Interval:
    """Return Max(fused) / Max(eager), resampling whole sets and both sides together.

    Args:
        fused: [sets] greatest errors.
        eager: [sets], of the same sets.
        seed: of the resampling.
        ratio: of all sets.
    """
    count = fused.shape[0]
    drawn = np.random.RandomState(seed).randint(0, count, size=(RESAMPLES, count))
    return _interval(_ratio(fused[drawn].max(axis=1), eager[drawn].max(axis=1)), ratio)


def _weights(count: int, seed: int) -> np.ndarray:
    drawn = np.random.RandomState(seed).randint(0, count, size=(RESAMPLES, count))
    weights = np.zeros((RESAMPLES, count))
    for row, places in enumerate(drawn):
        weights[row] = np.bincount(places, minlength=count)
    return weights


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = above / below
    return np.asarray(np.where((above == 0) & (below == 0), 1.0, found))


def _interval(values: np.ndarray, ratio: float) -> Interval:
    ordered = np.sort(values)
    tail = (1.0 - CONFIDENCE) / 2.0
    low = ordered[int(np.floor(tail * (ordered.size - 1)))]
    high = ordered[int(np.ceil((1.0 - tail) * (ordered.size - 1)))]
    return Interval(ratio, float(low), float(high))


def ratio_of(above: float | None, below: float | None) -> float:
    """Return a quotient in which 0 of 0 is 1 and something of 0 infinite."""
    return float(_ratio(np.array(float(above or 0.0)), np.array(float(below or 0.0))))
