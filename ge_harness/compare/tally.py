"""One error measure over chunks: count, greatest, mean and exact quantiles."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Callable

import numpy as np

from ge_harness.compare.quantile import ExactQuantiles
from ge_harness.compare.stream import BLOCK
from ge_harness.records.comparison import ErrorSummary

_FLOAT_KEY_BITS = 63
_LOW = np.uint64(0xFFFFFFFF)


class BlockSum:
    """Sums float64 chunks by blocks of `BLOCK`, the blocks exactly.

    The result does not depend on the size of the chunks, as long as every chunk but the
    last holds whole blocks.
    """

    def __init__(self) -> None:
        self._sum = Fraction(0)
        self._beyond = 0.0

    def add(self, values: np.ndarray) -> None:
        """Add a chunk.

        Args:
            values: [n] float64.
        """
        whole = values.size // BLOCK * BLOCK
        with np.errstate(over="ignore", invalid="ignore"):
            sums = values[:whole].reshape(-1, BLOCK).sum(axis=1).tolist()
            if whole < values.size:
                sums.append(float(values[whole:].sum()))
        for part in sums:
            if math.isfinite(part):
                self._sum += Fraction(part)
            else:
                self._beyond += part

    def mean(self, count: int) -> float:
        """Return the sum divided by `count`; infinite or NaN where a block is."""
        if self._beyond != 0:
            return self._beyond
        return float(self._sum / count)


class Tally:
    """Collects float64 errors that are not negative, or whole numbers below 2**64.

    The mean is the exact sum of the sums of blocks of `BLOCK` elements, divided once:
    the same whatever the chunks are. Whole numbers are summed exactly.
    """

    def __init__(self, *, whole_bits: int = 0) -> None:
        """Start a tally.

        Args:
            whole_bits: 0 for float64 errors, else the width of the whole numbers.
        """
        self._whole = whole_bits > 0
        self._quantiles = ExactQuantiles(whole_bits or _FLOAT_KEY_BITS)
        self._count = 0
        self._sum = 0
        self._total = BlockSum()
        self._max: float | int | None = None
        self._place = -1

    @property
    def open(self) -> bool:
        """Whether the quantiles need another pass."""
        return self._quantiles.open

    @property
    def max(self) -> float | int | None:
        """The greatest error so far, None where nothing was measured."""
        return self._max

    @property
    def place(self) -> int:
        """Place of the greatest error in the walk, -1 where nothing was measured."""
        return self._place

    def add(self, start: int, values: np.ndarray, valid: np.ndarray | None) -> None:
        """Take the next chunk of the first pass.

        Args:
            start: place of the chunk in the walk, a multiple of `BLOCK`.
            values: [n] float64 or uint64 errors.
            valid: [n] bool, the elements measured; None for all.
        """
        measured = values if valid is None else values[valid]
        self._count += measured.size
        if not measured.size:
            return
        greatest = measured.max()
        if self._max is None or greatest > self._max:
            self._max = int(greatest) if self._whole else float(greatest)
            hits = values == greatest
            hits = hits if valid is None else hits & valid
            self._place = start + int(np.argmax(hits))
        zero = values.dtype.type(0)
        self._add_sum(values if valid is None else np.where(valid, values, zero))
        self._quantiles.add(self._keys(measured))

    def refine(self, values: np.ndarray, valid: np.ndarray | None) -> None:
        """Take a chunk of a later pass; the same values as in the first."""
        if self.open:
            measured = values if valid is None else values[valid]
            self._quantiles.add(self._keys(measured))

    def finish_pass(self) -> None:
        """Note the end of a pass."""
        if self.open:
            self._quantiles.finish_pass()

    def summary(self, index_of: Callable[[int], tuple[int, ...]]) -> ErrorSummary:
        """Return what was collected.

        Args:
            index_of: turns a place in the walk into an index.
        """
        found = self._quantiles.values()
        if found is None:
            return ErrorSummary(0)
        p50, p99 = found if self._whole else [_float_of(key) for key in found]
        return ErrorSummary(self._count, self._max, self.mean(), p50, p99,
                            index_of(self._place))

    def mean(self) -> float | None:
        """Return the mean, None where nothing was measured."""
        if not self._count:
            return None
        if self._whole:
            return self._sum / self._count
        return self._total.mean(self._count)

    def _add_sum(self, values: np.ndarray) -> None:
        if self._whole:
            high = int((values >> np.uint64(32)).sum(dtype=np.uint64))
            low = int((values & _LOW).sum(dtype=np.uint64))
            self._sum += (high << 32) + low
            return
        self._total.add(values)

    def _keys(self, values: np.ndarray) -> np.ndarray:
        if self._whole:
            return values
        return np.ascontiguousarray(values).view(np.uint64)


def _float_of(key: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", key))[0])
