"""What two tensors of one dtype have in common, collected chunk by chunk.

Adds to the errors of `stats.SideTally` what only a pair has: bits against values, signs
of zero, payloads of NaN, shares of distances, the worst elements, the magnitudes at
which values differ, and the cosine.
"""

from __future__ import annotations

import math
from typing import Sequence

import numpy as np

from ge_harness.compare.dtypes import FLOAT_FORMATS
from ge_harness.compare.measure import KINDS, Measured, kinds_of
from ge_harness.compare.stats import SideTally, scalar
from ge_harness.compare.stream import index_of
from ge_harness.compare.tally import BlockSum
from ge_harness.compare.ulp import NO_DISTANCE, bit_pattern, pair_distance
from ge_harness.records.comparison import Bucket, Element, UlpSummary

WORST_COUNT = 5
_EDGES = (1e-38, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12)
_LABELS = (
    "0", "below 1e-38", "1e-38 to 1e-12", "1e-12 to 1e-9", "1e-9 to 1e-6",
    "1e-6 to 1e-3", "1e-3 to 1", "1 to 1e3", "1e3 to 1e6", "1e6 to 1e9",
    "1e9 to 1e12", "1e12 and more", "inf or nan")
_NO_NUMBER = len(_LABELS) - 1


class PairTally(SideTally):
    """Collects a comparison of side a with side b, both of one dtype."""

    def __init__(self, dtype: str) -> None:
        super().__init__(dtype, dtype, as_distance=dtype in FLOAT_FORMATS)
        self.mismatch_count = 0
        self.zero_sign_count = 0
        self.nan_payload_count = 0
        self._first_bits = -1
        self._at_0 = 0
        self._at_1 = 0
        self._worst: list[tuple[int, int]] = []
        self._buckets = np.zeros(len(_LABELS), dtype=np.int64)
        self._dot = {name: BlockSum() for name in ("ab", "aa", "bb")}

    @np.errstate(invalid="ignore")  # old NumPy warns of comparing signaling NaN
    def add(self, start: int, side: np.ndarray, other: np.ndarray) -> Measured:
        """Take the next chunk of the first pass and return its errors."""
        found = super().add(start, side, other)
        self._add_cosine(found)
        if found.bits_equal.all():
            self._at_0 += side.size
            return found
        if self._first_bits < 0:
            self._first_bits = start + int(np.argmin(found.bits_equal))
        distances = pair_distance(side, other, self.dtype)
        rank = distances
        if found.valid is not None:
            rank = np.where(found.valid, distances, NO_DISTANCE)
        off = rank != 0
        self.mismatch_count += int(np.count_nonzero(off))
        self._at_0 += int(np.count_nonzero(rank == 0))
        self._at_1 += int(np.count_nonzero(rank == 1))
        self._add_same_value(found, off)
        self._add_worst(start, rank)
        self._add_buckets(found.other[off])
        return found

    def ulp_summary(self) -> UlpSummary:
        """Return the distances; without figures for dtypes that have none."""
        if self.dtype not in FLOAT_FORMATS or not self.count:
            return UlpSummary(0)
        found = self.ulp.summary(lambda place: (place,))
        changed = self.count - found.count
        above = found.count - self._at_0 - self._at_1
        return UlpSummary(
            found.count, _whole(found.max), found.mean, _whole(found.p50),
            _whole(found.p99), self._at_0 / self.count, self._at_1 / self.count,
            above / self.count, changed / self.count)

    def buckets(self) -> tuple[Bucket, ...]:
        """Return the mismatches by magnitude of side b, empty ranges left out."""
        return tuple(Bucket(label, int(count))
                     for label, count in zip(_LABELS, self._buckets) if count)

    def cosine(self) -> float | None:
        """Return the cosine, None where a side is zero, not finite, or too large."""
        if self.dtype == "bool" or not self.count:
            return None
        a_b, a_a, b_b = (self._dot[name].mean(1) for name in ("ab", "aa", "bb"))
        norm = math.sqrt(a_a) * math.sqrt(b_b) if a_a > 0 and b_b > 0 else 0.0
        if norm == 0 or not math.isfinite(norm) or not math.isfinite(a_b):
            return None
        return max(-1.0, min(1.0, a_b / norm))

    def worst(self, side: np.ndarray, other: np.ndarray,
              arrays: Sequence[np.ndarray]) -> tuple[Element, ...]:
        """Return up to five elements, the worst first.

        Args:
            side: side a.
            other: side b.
            arrays: every array of the walk, which decide its order.
        """
        places = [place for _, place in self._worst]
        if not places and self._first_bits >= 0:
            places = [self._first_bits]
        return tuple(element_at(index_of(place, arrays), side, other, self.dtype)
                     for place in places)

    def _add_same_value(self, found: Measured, off: np.ndarray) -> None:
        """Count elements whose bits differ and whose value does not."""
        only_bits = ~found.bits_equal & ~off
        if not only_bits.any():
            return
        nan = int(np.count_nonzero(only_bits & np.isnan(found.values)))
        self.nan_payload_count += nan
        self.zero_sign_count += int(np.count_nonzero(only_bits)) - nan

    def _add_worst(self, start: int, rank: np.ndarray) -> None:
        """Keep the five greatest ranks, the first of equals first."""
        full = len(self._worst) == WORST_COUNT
        floor = self._worst[-1][0] if full else 0
        places = np.flatnonzero(rank > np.uint64(floor))
        if not places.size:
            return
        # Ranks are whole and stable sorting ascends: sort their complements.
        order = np.argsort(~rank[places], kind="stable")[:WORST_COUNT]
        self._worst += [(int(rank[i]), start + int(i)) for i in places[order]]
        self._worst.sort(key=lambda pair: (-pair[0], pair[1]))
        del self._worst[WORST_COUNT:]

    def _add_buckets(self, other: np.ndarray) -> None:
        size = np.abs(other)
        bucket = np.searchsorted(_EDGES, size, side="right") + 1
        bucket[size == 0] = 0
        bucket[~np.isfinite(other)] = _NO_NUMBER
        self._buckets += np.bincount(bucket, minlength=len(_LABELS))

    def _add_cosine(self, found: Measured) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            self._dot["ab"].add(found.values * found.other)
            self._dot["aa"].add(found.values * found.values)
            self._dot["bb"].add(found.other * found.other)


def element_at(index: tuple[int, ...], side: np.ndarray, other: np.ndarray, dtype: str
               ) -> Element:
    """Return one element of a pair with its values, bits and errors.

    Args:
        index: where.
        side: side a, storage of `dtype`.
        other: side b, storage of `dtype`.
        dtype: the dtype of both.
    """
    a, b = scalar(side, dtype, index), scalar(other, dtype, index)
    one_a, one_b = (array[(*index, None)] for array in (side, other))
    width = 2 * one_a.dtype.itemsize
    bits = [f"0x{int(bit_pattern(one)[0]):0{width}x}" for one in (one_a, one_b)]
    apart = int(pair_distance(one_a, one_b, dtype)[0])
    if dtype not in FLOAT_FORMATS:
        rel = None if dtype == "bool" or not b else apart / abs(int(b or 0))
        return Element(index, _number(a), _number(b), None, bits[0], bits[1], None,
                       apart, rel)
    real_a, real_b = float(_number(a)), float(_number(b))
    kind = _kind_change(real_a, real_b)
    if kind:
        return Element(index, real_a, real_b, None, bits[0], bits[1], kind=kind)
    gap = abs(real_a - real_b) if math.isfinite(real_a) else 0.0
    rel = None if real_b == 0 or not math.isfinite(real_b) else gap / abs(real_b)
    return Element(index, real_a, real_b, None, bits[0], bits[1], apart, gap, rel)


def _kind_change(a: float, b: float) -> str:
    kinds = []
    for value in (a, b):
        found = kinds_of(np.array([value]))
        kinds.append("finite" if found is None else KINDS[int(found[0])])
    if kinds[0] == kinds[1]:
        return ""
    first, second = (kind.replace("-", "") for kind in kinds)
    return "inf_sign" if first == second else f"{first}_vs_{second}"


def _number(value: float | int | bool | None) -> float | int | bool:
    return 0 if value is None else value


def _whole(value: float | int | None) -> int | None:
    return None if value is None else int(value)
