"""The layered comparison of two tensors, with or without a reference.

Layers, each reported whatever the others say: shape and dtype, bits, value, kind,
distance in ULP, absolute and relative error, cosine (shown, never judged), errors of
both sides against the reference, and what the named standards say.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Sequence

import numpy as np

from ge_harness.compare.dtypes import FLOAT_FORMATS, Storage, as_storage, widen
from ge_harness.compare.golden import Figures, GoldenTally
from ge_harness.compare.measure import Measured
from ge_harness.compare.pair import PairTally
from ge_harness.compare.standards import Standard, judge, parse_standard
from ge_harness.compare.stats import SideTally, reference_storage, scalar
from ge_harness.compare.stream import chunks
from ge_harness.records.comparison import (
    Element,
    Nearer,
    Status,
    TensorComparison,
    UlpSummary,
    Verdict,
)


def compare_tensor(name: str, candidate: Any, baseline: Any, *,
                   dtype: str | None = None,
                   reference: Any = None,
                   standards: Iterable[str | Standard] = ("bits",)
                   ) -> TensorComparison:
    """Compare a tensor with the base line's, layer by layer.

    Args:
        name: what the tensor is called.
        candidate: [...] side a, in doubt; may be a mapped file larger than memory.
        baseline: [...] side b, trusted.
        dtype: what raw bits on either side stand for, e.g. "bfloat16" for uint16.
        reference: [...] the truth, usually float64; None where there is none.
        standards: named rules to judge by.

    Returns:
        The record; different shapes or dtypes are a status, not an error.

    Raises:
        ValueError: a dtype that cannot be compared, or a reference of another shape.
        UsageError: an unknown standard, or `dual` without a reference.
    """
    rules = [rule if isinstance(rule, Standard) else parse_standard(rule)
             for rule in standards]
    a = as_storage(candidate, dtype)
    truth = None if reference is None else reference_storage(reference, a[1], dtype)
    return compare_storage(name, a, as_storage(baseline, dtype), truth, rules)


def compare_storage(name: str, candidate: Storage, baseline: Storage,
                    reference: Storage | None, rules: Sequence[Standard]
                    ) -> TensorComparison:
    """Compare tensors whose dtype is known; see `compare_tensor`.

    Raises:
        ValueError: a reference of another shape.
        UsageError: `dual` without a reference.
    """
    (a, a_name), (b, b_name) = candidate, baseline
    record = TensorComparison(name, Status.EQUAL, a.shape, a_name, b.shape, b_name,
                              notes=_layout_notes(a, b))
    if a.shape != b.shape or a_name != b_name:
        status = (Status.SHAPE_MISMATCH if a.shape != b.shape
                  else Status.DTYPE_MISMATCH)
        record = dataclasses.replace(record, status=status)
        return dataclasses.replace(
            record, standards=tuple(judge(rule, record) for rule in rules))
    work = _Work(a, b, a_name, rules)
    if reference is not None:
        work.set_reference(*reference)
    work.run()
    record = work.fill(record)
    return dataclasses.replace(record, standards=tuple(
        judge(rule, record, *work.figures()) for rule in rules))


def compare_values(first: TensorComparison, candidate: Storage, baseline: Storage,
                   reference: Storage | None = None) -> TensorComparison:
    """Fill in the value layers of a pair whose shapes or dtypes differ.

    The status stays the mismatch and every standard still fails. Both sides need as
    many elements; they are taken in C order. Different dtypes are compared as float64,
    which has no ULP of either.

    Args:
        first: what `compare_storage` returned.
        candidate: side a.
        baseline: side b.
        reference: the truth, None where there is none.

    Raises:
        ValueError: a reference of another size.
    """
    (a, a_name), (b, b_name) = candidate, baseline
    if first.bit_equal is not None:
        return first
    if a.size != b.size:
        note = f"values not compared: {a.size} elements against {b.size}"
        return dataclasses.replace(first, notes=(*first.notes, note))
    left, right = (a.reshape(-1), a_name), (b.reshape(-1), b_name)
    notes = (*first.notes, "values compared on request")
    if a_name != b_name:
        left, right = ((widen(*side), "float64") for side in (left, right))
        notes = (*notes, f"{a_name} and {b_name} compared as float64, without ULP")
    truth = None if reference is None else (reference[0].reshape(-1), reference[1])
    found = compare_storage(first.name, left, right, truth, ())
    return dataclasses.replace(
        found, status=first.status, shape=first.shape, dtype=a_name,
        b_shape=first.b_shape, b_dtype=b_name, bit_equal=False,
        ulp=found.ulp if a_name == b_name else UlpSummary(0),
        standards=first.standards, notes=notes)


def verdict_of(pairs: Sequence[TensorComparison], *, unmatched: int = 0) -> Verdict:
    """Return what a set of compared pairs comes to.

    It agrees when every standard of every pair passes (without standards: every pair is
    bit-equal) and nothing is unmatched. It is undecided where nothing failed and a pair
    could not be read or a standard does not say, or where there is no pair at all.
    """
    fails = unmatched > 0
    undecided = not pairs
    for pair in pairs:
        if pair.status is Status.UNREADABLE:
            undecided = True
            continue
        passed = [verdict.passed for verdict in pair.standards] or [pair.bit_equal]
        fails = fails or pair.status in (Status.SHAPE_MISMATCH, Status.DTYPE_MISMATCH)
        fails = fails or any(one is False for one in passed)
        undecided = undecided or any(one is None for one in passed)
    if fails:
        return Verdict.DIFFERS
    return Verdict.UNDECIDED if undecided else Verdict.AGREES


class _Work:
    """The passes over one pair, and over its reference."""

    def __init__(self, a: np.ndarray, b: np.ndarray, dtype: str,
                 rules: Sequence[Standard]) -> None:
        self._a, self._b, self._dtype = a, b, dtype
        self._pair = PairTally(dtype)
        self._reference: np.ndarray | None = None
        self._reference_dtype = ""
        self._sides: tuple[SideTally, ...] = ()
        wanted = dtype in FLOAT_FORMATS and any(r.needs_figures for r in rules)
        self._golden = [GoldenTally(dtype)] if wanted else []
        self._nearer = [0, 0, 0]

    def set_reference(self, reference: np.ndarray, dtype: str) -> None:
        """Measure both sides against a reference too."""
        if reference.shape != self._a.shape:
            raise ValueError(
                f"the reference has shape {list(reference.shape)}, the tensors "
                f"{list(self._a.shape)}")
        self._reference, self._reference_dtype = reference, dtype
        as_distance = dtype == self._dtype and dtype != "float64"
        self._sides = tuple(
            SideTally(self._dtype, dtype, as_distance=as_distance) for _ in range(2))
        self._golden = [GoldenTally(self._dtype) for _ in self._golden * 2]

    def run(self) -> None:
        """Run the first pass, then as many as the quantiles need."""
        arrays = [self._a, self._b]
        if self._reference is not None:
            arrays.append(self._reference)
        for start, parts in chunks(arrays):
            self._first(start, parts)
        tallies = (self._pair, *self._sides)
        for tally in tallies:
            tally.finish_pass()
        while any(tally.open for tally in tallies):
            for _, parts in chunks(arrays):
                self._pair.refine(parts[0], parts[1])
                for tally, side in zip(self._sides, parts):
                    tally.refine(side, parts[2])
            for tally in tallies:
                tally.finish_pass()

    def fill(self, record: TensorComparison) -> TensorComparison:
        """Return the record with everything that was found."""
        pair, arrays = self._pair, self._arrays()
        errors = [tally.stats_of(side, self._reference, arrays)
                  for tally, side in zip(self._sides, (self._a, self._b))
                  if self._reference is not None]
        off_bits = pair.count - pair.bit_equal_count
        base = pair.stats_of(self._a, self._b, arrays)
        return dataclasses.replace(
            record, status=self._status(off_bits), count=pair.count,
            bit_equal=off_bits == 0, bit_mismatch_count=off_bits,
            mismatch_count=pair.mismatch_count, zero_sign_count=pair.zero_sign_count,
            nan_payload_count=pair.nan_payload_count, nonfinite=base.nonfinite,
            ulp=pair.ulp_summary(), abs=base.abs, rel=base.rel,
            zeros_in_b=pair.zeros, cosine=pair.cosine(), worst=self._worst(),
            buckets=pair.buckets(), a_errors=errors[0] if errors else None,
            b_errors=errors[1] if errors else None,
            nearer=Nearer(*self._nearer) if errors else None)

    def figures(self) -> tuple[Figures | None, Figures | None]:
        """Return the figures of side a against its golden, and of b likewise."""
        found = [golden.figures() for golden in self._golden]
        return (found[0] if found else None), (found[1] if len(found) > 1 else None)

    def _arrays(self) -> tuple[np.ndarray, ...]:
        if self._reference is None:
            return (self._a, self._b)
        return (self._a, self._b, self._reference)

    def _first(self, start: int, parts: Sequence[np.ndarray]) -> None:
        found = self._pair.add(start, parts[0], parts[1])
        against = [tally.add(start, side, parts[2])
                   for tally, side in zip(self._sides, parts)]
        for golden, measured in zip(self._golden, against or [found]):
            golden.add(measured)
        if against:
            self._add_nearer(*against)

    def _add_nearer(self, a: Measured, b: Measured) -> None:
        far_a, far_b = (
            one.abs if one.valid is None else np.where(one.valid, one.abs, np.inf)
            for one in (a, b))
        nearer_a = int(np.count_nonzero(far_a < far_b))
        nearer_b = int(np.count_nonzero(far_b < far_a))
        for place, count in enumerate(
                (nearer_a, nearer_b, far_a.size - nearer_a - nearer_b)):
            self._nearer[place] += count

    def _status(self, off_bits: int) -> Status:
        if self._pair.kinds().changed:
            return Status.KIND_MISMATCH
        if self._pair.mismatch_count:
            return Status.DIFFERS
        return Status.EQUAL_VALUE if off_bits else Status.EQUAL

    def _worst(self) -> tuple[Element, ...]:
        found = self._pair.worst(self._a, self._b, self._arrays())
        if self._reference is None:
            return found
        return tuple(dataclasses.replace(element, reference=scalar(
            self._reference, self._reference_dtype, element.index))
            for element in found)


def _layout_notes(a: np.ndarray, b: np.ndarray) -> tuple[str, ...]:
    orders = [array.dtype.newbyteorder("=") == array.dtype for array in (a, b)]
    if orders[0] == orders[1]:
        return ()
    return (f"byte order differs ({a.dtype.str} against {b.dtype.str}); bits and "
            "values are compared in one order",)
