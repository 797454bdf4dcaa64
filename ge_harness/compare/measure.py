"""The errors of one chunk of a tensor against the same chunk of another.

Two NaNs, and two infinities of one sign, agree with error 0. Where the kind of an
element changed there is no error: those elements are masked out and counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_harness.compare.dtypes import FLOAT_FORMATS, FloatFormat, round_to, widen
from ge_harness.compare.ulp import (
    bit_pattern,
    distance,
    infinity_bits,
    integer_distance,
    magnitude,
)

KINDS = ("finite", "inf", "-inf", "nan")
_NAN = 3


@dataclass(frozen=True)
class Measured:
    """Errors of one chunk of n elements, side against other.

    Attributes:
        values: [n] float64, the side.
        other: [n] float64, what it is measured against.
        bits_equal: [n] bool, same bits (of the other rounded to the side's dtype).
        abs: [n] float64 |a - r|, or uint64 where both are one integer dtype.
        rel: [n] float64 |a - r| / |r|.
        ulp: [n] float64 real-valued or uint64 distances; None where it has no meaning.
        valid: [n] bool, elements whose kind is the same; None for all.
        nonzero: [n] bool, elements of the other that are not 0; None for all.
        kind_pairs: [16] how many elements have kind i on the side and j on the other,
            at 4 i + j, in the order of `KINDS`.
        saturated: see `records.comparison.KindCounts`.
        overflow: likewise.
    """

    values: np.ndarray
    other: np.ndarray
    bits_equal: np.ndarray
    abs: np.ndarray
    rel: np.ndarray
    ulp: np.ndarray | None
    valid: np.ndarray | None
    nonzero: np.ndarray | None
    kind_pairs: np.ndarray
    saturated: int = 0
    overflow: int = 0

    @property
    def rel_valid(self) -> np.ndarray | None:
        """Elements that have a relative error; None for all."""
        if self.valid is None or self.nonzero is None:
            return self.nonzero if self.valid is None else self.valid
        return np.asarray(self.valid & self.nonzero)


@np.errstate(invalid="ignore")  # old NumPy warns of comparing signaling NaN
def measure(side: np.ndarray, dtype: str, other: np.ndarray, other_dtype: str, *,
            as_distance: bool) -> Measured:
    """Measure one chunk of a tensor against another.

    Args:
        side: [n] storage of `dtype`.
        dtype: dtype of the side; decides what a ULP is.
        other: [n] storage of `other_dtype`.
        other_dtype: dtype of what the side is measured against.
        as_distance: ULP counts representable values (both of one float dtype), else it
            is real-valued on the unrounded other.
    """
    if dtype == other_dtype and dtype not in FLOAT_FORMATS:
        return _measure_whole(side, other)
    values, wide = widen(side, dtype), widen(other, other_dtype)
    pairs, valid, agree = _kinds(values, wide)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.abs(_exact_difference(side, dtype, other, values, wide))
    if agree is not None:
        gap[~agree] = 0.0
    nonzero = wide != 0
    everywhere = bool(nonzero.all())
    ulp: np.ndarray | None = None
    form = FLOAT_FORMATS.get(dtype)
    saturated = overflow = 0
    if form is None:
        bits_equal = gap == 0 if valid is None else (gap == 0) & valid
    else:
        bits = bit_pattern(side)
        rounded = bit_pattern(other if dtype == other_dtype else round_to(wide, dtype))
        bits_equal = bits == rounded
        if dtype != other_dtype:
            bits_equal |= np.isnan(values) & np.isnan(wide)
        saturated, overflow = _range_ends(bits, rounded, wide, form)
        ulp = (distance(bits, rounded, form) if as_distance
               else real_ulp(gap, wide, form))
    return Measured(
        values, wide, bits_equal, gap, _relative(gap, wide, agree), ulp, valid,
        None if everywhere else nonzero, pairs, saturated, overflow)


def real_ulp(gap: np.ndarray, reference: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return errors in units in the last place of the unrounded reference.

    ulp(r) = 2^(max(floor(log2 |r|), emin) - p + 1); beyond the largest finite value the
    ulp of the top binade.

    Args:
        gap: [n] float64 |a - r|, 0 where r is not finite.
        reference: [n] float64 r.
        form: format of a.

    Returns:
        [n] float64; infinite where the figure is beyond float64 (float64 sides only).
    """
    _, exponent = np.frexp(np.where(np.isfinite(reference), reference, 1.0))
    binade = np.where(reference == 0, form.emin, exponent - 1)
    binade = np.clip(binade, form.emin, form.emax)
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(gap, form.precision - 1 - binade))


@np.errstate(invalid="ignore")
def kinds_of(values: np.ndarray) -> np.ndarray | None:
    """Return [n] indices into `KINDS`; None where every value is finite."""
    finite = np.isfinite(values)
    if finite.all():
        return None
    kinds = np.zeros(values.shape, dtype=np.int64)
    kinds[values == np.inf] = 1
    kinds[values == -np.inf] = 2
    kinds[np.isnan(values)] = _NAN
    return kinds


def _kinds(values: np.ndarray, other: np.ndarray
           ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return counts of pairs, where the kind is the same, and where both are finite."""
    mine, others = kinds_of(values), kinds_of(other)
    pairs = np.zeros(16, dtype=np.int64)
    if mine is None and others is None:
        pairs[0] = values.size
        return pairs, None, None
    zeros = np.zeros(values.shape, dtype=np.int64)
    mine = zeros if mine is None else mine
    others = zeros if others is None else others
    pairs += np.bincount(4 * mine + others, minlength=16)
    same = mine == others
    return pairs, None if same.all() else same, (mine == 0) & (others == 0)


def _relative(gap: np.ndarray, other: np.ndarray, agree: np.ndarray | None
              ) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rel = gap / np.abs(other)
    if agree is not None:
        rel[~agree] = 0.0
    return np.asarray(rel)


def _exact_difference(side: np.ndarray, dtype: str, other: np.ndarray,
                      values: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """Return side - other; 64-bit integers are not squeezed into float64 first."""
    if dtype in ("int64", "uint64"):
        gap = side.astype(np.longdouble) - other.astype(np.longdouble)
        return np.asarray(gap.astype(np.float64))
    return np.asarray(values - wide)


def _range_ends(bits: np.ndarray, rounded: np.ndarray, wide: np.ndarray,
                form: FloatFormat) -> tuple[int, int]:
    """Count saturated elements and overflows."""
    top = infinity_bits(form)
    mine, others = magnitude(bits, form), magnitude(rounded, form)
    ends = (mine == top) | (others == top)
    if not ends.any():
        return 0, 0
    same_sign = ((bits ^ rounded) >> bits.dtype.type(form.bits - 1)) == 0
    saturated = same_sign & (((mine == top - 1) & (others == top))
                             | ((mine == top) & (others == top - 1)))
    overflow = same_sign & (mine == top) & (others == top) & np.isfinite(wide)
    return int(np.count_nonzero(saturated)), int(np.count_nonzero(overflow))


def _measure_whole(side: np.ndarray, other: np.ndarray) -> Measured:
    """Measure integers or booleans of one dtype, in wide arithmetic."""
    gap = integer_distance(side, other)
    values, wide = side.astype(np.float64), other.astype(np.float64)
    nonzero = wide != 0
    pairs = np.zeros(16, dtype=np.int64)
    pairs[0] = side.size
    with np.errstate(divide="ignore", invalid="ignore"):
        rel = gap.astype(np.float64) / np.abs(wide)
    return Measured(values, wide, gap == 0, gap, rel, None, None,
                    None if nonzero.all() else nonzero, pairs)
