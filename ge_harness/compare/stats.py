"""Errors of a tensor against a reference: bounded memory, exact quantiles."""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

import numpy as np

from ge_harness.compare.dtypes import FLOAT_FORMATS, as_storage
from ge_harness.compare.measure import Measured, measure
from ge_harness.compare.stream import chunks, index_of
from ge_harness.compare.tally import Tally
from ge_harness.records.comparison import ErrorStats, KindCounts

_DISTANCE_BITS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}


class SideTally:
    """Collects the errors of one side against another over the chunks of a walk."""

    def __init__(self, dtype: str, other_dtype: str, *, as_distance: bool) -> None:
        self.dtype = dtype
        self._other_dtype = other_dtype
        self._as_distance = as_distance
        whole = dtype == other_dtype and dtype not in FLOAT_FORMATS
        self.abs = Tally(whole_bits=64 if whole else 0)
        self.rel = Tally()
        bits = _DISTANCE_BITS.get(dtype, 0) if as_distance else 0
        self.ulp = Tally(whole_bits=bits)
        self.count = 0
        self.zeros = 0
        self.bit_equal_count = 0
        self.first_changed = -1
        self._pairs = np.zeros(16, dtype=np.int64)
        self._saturated = 0
        self._overflow = 0

    @property
    def open(self) -> bool:
        """Whether another pass is needed."""
        return self.abs.open or self.rel.open or self.ulp.open

    def add(self, start: int, side: np.ndarray, other: np.ndarray) -> Measured:
        """Take the next chunk of the first pass and return its errors."""
        found = self._measure(side, other)
        self.count += side.size
        self.bit_equal_count += int(np.count_nonzero(found.bits_equal))
        if found.nonzero is not None:
            self.zeros += side.size - int(np.count_nonzero(found.nonzero))
        self._pairs += found.kind_pairs
        self._saturated += found.saturated
        self._overflow += found.overflow
        if found.valid is not None and self.first_changed < 0:
            self.first_changed = start + int(np.argmin(found.valid))
        self.abs.add(start, found.abs, found.valid)
        if self.dtype != "bool":
            self.rel.add(start, found.rel, found.rel_valid)
        if found.ulp is not None:
            self.ulp.add(start, found.ulp, found.valid)
        return found

    def refine(self, side: np.ndarray, other: np.ndarray) -> None:
        """Take a chunk of a later pass."""
        if not self.open:
            return
        found = self._measure(side, other)
        self.abs.refine(found.abs, found.valid)
        if self.dtype != "bool":
            self.rel.refine(found.rel, found.rel_valid)
        if found.ulp is not None:
            self.ulp.refine(found.ulp, found.valid)

    def finish_pass(self) -> None:
        """Note the end of a pass."""
        for tally in (self.abs, self.rel, self.ulp):
            tally.finish_pass()

    def kinds(self) -> KindCounts:
        """Return the counts of kinds and of their changes."""
        table = self._pairs.reshape(4, 4)
        infinite = table[1:3].sum(axis=0)
        return KindCounts(
            a_nan=int(table[3].sum()), b_nan=int(table[:, 3].sum()),
            a_inf=int(infinite.sum()), b_inf=int(table[:, 1:3].sum()),
            changed=int(table.sum() - np.trace(table)),
            nan_vs_finite=int(table[3, 0]), nan_vs_inf=int(table[3, 1:3].sum()),
            finite_vs_nan=int(table[0, 3]), inf_vs_nan=int(infinite[3]),
            inf_vs_finite=int(infinite[0]), finite_vs_inf=int(table[0, 1:3].sum()),
            inf_sign=int(table[1, 2] + table[2, 1]),
            saturated=self._saturated, overflow=self._overflow)

    def worst_place(self) -> int:
        """Return the place of the worst element in the walk, -1 where none errs."""
        if self.first_changed >= 0:
            return self.first_changed
        tally = self.ulp if self.dtype in FLOAT_FORMATS else self.abs
        return tally.place if tally.max else -1

    def stats_of(self, side: np.ndarray, other: np.ndarray,
                 arrays: Sequence[np.ndarray]) -> ErrorStats:
        """Return what was collected over `side` against `other`.

        Args:
            side: [...] the side.
            other: [...] what it was measured against.
            arrays: every array of the walk, which decide its order.
        """

        def index(place: int) -> tuple[int, ...]:
            return index_of(place, arrays)

        place = self.worst_place()
        worst = index(place) if place >= 0 else None
        return ErrorStats(
            dtype=self.dtype, count=self.count, abs=self.abs.summary(index),
            rel=self.rel.summary(index), ulp=self.ulp.summary(index),
            ulp_is_distance=self._as_distance and self.dtype in FLOAT_FORMATS,
            nonfinite=self.kinds(), zeros_in_reference=self.zeros,
            bit_equal_count=self.bit_equal_count, worst_index=worst,
            worst_value=scalar(side, self.dtype, worst),
            worst_reference=scalar(other, self._other_dtype, worst))

    def _measure(self, side: np.ndarray, other: np.ndarray) -> Measured:
        return measure(side, self.dtype, other, self._other_dtype,
                       as_distance=self._as_distance)


def error_stats(a: Any, ref: Any, *, dtype: str | None = None) -> dict[str, Any]:
    """Measure a tensor against a reference.

    ULP error against a wider or float64 reference is real-valued, |a - r| / ulp(r) with
    the ulp of a's dtype at the unrounded r, so that half-ULP gains show; against a
    reference of a's own narrower dtype it counts representable values.

    Args:
        a: [...] any supported dtype; may be a mapped file larger than memory.
        ref: [...] the same shape, usually float64.
        dtype: what raw bits in `a` stand for, e.g. "bfloat16".

    Returns:
        The fields of `records.comparison.ErrorStats` as a dict: count; abs, rel and ulp
        each with count, max, mean, p50, p99 and index; nonfinite; zeros_in_reference;
        bit_equal_count; worst_index, worst_value, worst_reference.

    Raises:
        ValueError: shapes differ, or a dtype cannot be compared.
    """
    return dataclasses.asdict(measure_errors(a, ref, dtype=dtype))


def measure_errors(a: Any, ref: Any, *, dtype: str | None = None) -> ErrorStats:
    """Measure a tensor against a reference; see `error_stats`.

    Args:
        a: [...] any supported dtype.
        ref: [...] the same shape.
        dtype: what raw bits in `a` stand for.

    Raises:
        ValueError: shapes differ, or a dtype cannot be compared.
    """
    side, name = as_storage(a, dtype)
    other, other_name = reference_storage(ref, name, dtype)
    if side.shape != other.shape:
        raise ValueError(
            f"shapes differ: {list(side.shape)} against {list(other.shape)}")
    tally = SideTally(name, other_name,
                      as_distance=name == other_name and name != "float64")
    walk(tally, (side, other))
    return tally.stats_of(side, other, (side, other))


def reference_storage(ref: Any, side_dtype: str, dtype: str | None
                      ) -> tuple[np.ndarray, str]:
    """Return a reference's storage; raw bits are taken as `dtype` where told."""
    array = np.asanyarray(ref)
    raw = array.dtype.kind == "V" and array.dtype.isbuiltin != 2
    same_bits = dtype is not None and array.dtype == np.uint16 and (
        side_dtype == dtype == "bfloat16")
    return as_storage(array, dtype if raw or same_bits else None)


def walk(tally: SideTally, arrays: Sequence[np.ndarray]) -> None:
    """Run the passes that one tally needs."""
    for start, (side, other) in chunks(arrays):
        tally.add(start, side, other)
    tally.finish_pass()
    while tally.open:
        for _, (side, other) in chunks(arrays):
            tally.refine(side, other)
        tally.finish_pass()


def scalar(array: np.ndarray, dtype: str, index: tuple[int, ...] | None
           ) -> float | int | bool | None:
    """Return one element as Python's own number; None where there is no index."""
    if index is None:
        return None
    value = array[index]
    if dtype == "bfloat16":
        bits = int(value) << 16
        return float(np.array([bits], dtype=np.uint32).view(np.float32)[0])
    item: float | int | bool = value.item()
    return item
