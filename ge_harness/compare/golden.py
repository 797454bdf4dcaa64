"""The figures that the named standards of Ascend engineers are made of.

`a` is an output, `g` the golden it is judged against. All are collected in one pass.
Source: reference: precision_standards.md, tables "Error measures" and "Standards".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_harness.compare.measure import Measured
from ge_harness.compare.tally import BlockSum

RELATIVE_GUARD = 1e-7
"""Added to |g| in MARE and MERE."""


@dataclass(frozen=True)
class MixedLimits:
    """Thresholds of the mixed tolerance for one dtype."""

    rtol: float
    atol: float
    hard: float


@dataclass(frozen=True)
class CloseLimits:
    """Thresholds of `close` for one dtype: tolerance and share of allowed misses."""

    rtol: float
    share: float
    atol: float = 1e-8


@dataclass(frozen=True)
class SmallLimits:
    """Where a golden value counts as small, and the error allowed there."""

    small: float
    error: float


MIXED = {
    "float16": MixedLimits(2.0**-9, 2.0**-9, 1e-1),
    "bfloat16": MixedLimits(2.0**-6, 2.0**-6, 1.0),
    "float32": MixedLimits(2.0**-10, 2.0**-16, 1e-2),
}
CLOSE = {
    "float16": CloseLimits(1e-3, 1e-3),
    "bfloat16": CloseLimits(1e-3, 1e-3),
    "float32": CloseLimits(1e-4, 1e-4),
}
SMALL = {
    "float16": SmallLimits(2.0**-11, 2.0**-16),
    "bfloat16": SmallLimits(2.0**-8, 2.0**-16),
    "float32": SmallLimits(2.0**-14, 2.0**-30),
}


@dataclass(frozen=True)
class Figures:
    """What the rules need of one output against its golden.

    Elements whose kind changed are in `changed` alone. Measures of an empty set are 0.

    Attributes:
        count: elements of the tensor.
        changed: elements NaN or infinite on one side only.
        saturated: see `records.comparison.KindCounts`.
        overflow: likewise.
        mare: max of |a-g| / (|g| + 1e-7).
        mere: mean of the same.
        max_abs: greatest |a-g|.
        max_ulp: greatest ULP error.
        mean_ulp: mean ULP error.
        over_1_ulp: elements off by more than 1 ULP.
        over_32_ulp: elements off by more than 32 ULP.
        mixed_misses: elements outside the mixed tolerance; None without thresholds.
        close_misses: elements outside `close`; None without thresholds.
        normal_mare: `mare` where |g| is not small; None without thresholds.
        normal_mere: `mere` likewise.
        normal_rmse: root mean square error likewise.
        small_errors: elements where |g| is small and the error above what is allowed.
    """

    count: int
    changed: int
    saturated: int
    overflow: int
    mare: float
    mere: float
    max_abs: float
    max_ulp: float
    mean_ulp: float
    over_1_ulp: int
    over_32_ulp: int
    mixed_misses: int | None = None
    close_misses: int | None = None
    normal_mare: float | None = None
    normal_mere: float | None = None
    normal_rmse: float | None = None
    small_errors: int | None = None


class GoldenTally:
    """Collects the figures of one output of a float dtype, chunk by chunk."""

    def __init__(self, dtype: str) -> None:
        self._mixed = MIXED.get(dtype)
        self._close = CLOSE.get(dtype)
        self._small = SMALL.get(dtype)
        self._sums = {name: BlockSum() for name in ("rel", "ulp", "normal", "square")}
        self._tops = dict.fromkeys(("rel", "abs", "ulp", "normal"), 0.0)
        self._counts = dict.fromkeys(
            ("all", "kept", "normal", "mixed", "close", "small", "over1", "over32",
             "changed", "saturated", "overflow"), 0)

    def add(self, found: Measured) -> None:
        """Take the errors of the next chunk."""
        counts, size = self._counts, found.values.size
        counts["all"] += size
        kept = size if found.valid is None else int(np.count_nonzero(found.valid))
        counts["kept"] += kept
        counts["changed"] += size - kept
        counts["saturated"] += found.saturated
        counts["overflow"] += found.overflow
        gap = found.abs if found.valid is None else np.where(
            found.valid, found.abs, 0.0)
        golden = np.abs(np.where(np.isfinite(found.other), found.other, 0.0))
        relative = gap / (golden + RELATIVE_GUARD)
        self._top("rel", relative)
        self._top("abs", gap)
        self._sums["rel"].add(relative)
        self._add_ulp(found)
        if self._mixed is not None:
            limit = self._mixed.atol + self._mixed.rtol * golden
            counts["mixed"] += int(np.count_nonzero(gap > limit))
        if self._close is not None:
            limit = self._close.atol + self._close.rtol * golden
            counts["close"] += int(np.count_nonzero(gap > limit))
        if self._small is not None:
            self._add_normal(gap, golden, relative, found.valid)

    def figures(self) -> Figures:
        """Return the figures of everything taken so far."""
        counts, kept = self._counts, max(1, self._counts["kept"])
        normal = max(1, counts["normal"])
        thresholds = self._small is not None
        return Figures(
            count=counts["all"], changed=counts["changed"],
            saturated=counts["saturated"], overflow=counts["overflow"],
            mare=self._tops["rel"], mere=self._sums["rel"].mean(kept),
            max_abs=self._tops["abs"], max_ulp=self._tops["ulp"],
            mean_ulp=self._sums["ulp"].mean(kept),
            over_1_ulp=counts["over1"], over_32_ulp=counts["over32"],
            mixed_misses=None if self._mixed is None else counts["mixed"],
            close_misses=None if self._close is None else counts["close"],
            normal_mare=self._tops["normal"] if thresholds else None,
            normal_mere=self._sums["normal"].mean(normal) if thresholds else None,
            normal_rmse=self._sums["square"].mean(normal) ** 0.5
            if thresholds else None,
            small_errors=counts["small"] if thresholds else None)

    def _top(self, name: str, values: np.ndarray) -> None:
        if values.size:
            self._tops[name] = max(self._tops[name], float(values.max()))

    def _add_ulp(self, found: Measured) -> None:
        if found.ulp is None:
            return
        ulp = found.ulp.astype(np.float64)
        if found.valid is not None:
            ulp = np.where(found.valid, ulp, 0.0)
        self._top("ulp", ulp)
        self._sums["ulp"].add(ulp)
        self._counts["over1"] += int(np.count_nonzero(ulp > 1))
        self._counts["over32"] += int(np.count_nonzero(ulp > 32))

    def _add_normal(self, gap: np.ndarray, golden: np.ndarray, relative: np.ndarray,
                    valid: np.ndarray | None) -> None:
        if self._small is None:
            return
        normal = golden >= self._small.small
        small = ~normal
        if valid is not None:
            normal, small = normal & valid, small & valid
        self._counts["normal"] += int(np.count_nonzero(normal))
        beyond = small & (gap > self._small.error)
        self._counts["small"] += int(np.count_nonzero(beyond))
        part = np.where(normal, relative, 0.0)
        self._top("normal", part)
        self._sums["normal"].add(part)
        self._sums["square"].add(np.where(normal, gap * gap, 0.0))
