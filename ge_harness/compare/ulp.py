"""Bits, kinds and the distance between two values of one dtype, element by element.

Every float format here is a sign and a magnitude: with the sign taken off, the bits of
a value are its place on the ordered line of representable magnitudes, zero being 0 and
infinity the last. All distances follow from that, in unsigned integers, exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_harness.compare.dtypes import FLOAT_FORMATS, FloatFormat, as_storage
from ge_harness.compare.stream import chunks

NO_DISTANCE = np.uint64(2**64 - 1)
"""In rankings: further than any distance, where a number has changed its kind."""


def infinity_bits(form: FloatFormat) -> int:
    """Return the bit pattern of +infinity, the largest magnitude that is no NaN."""
    return ((1 << (form.bits - form.precision)) - 1) << (form.precision - 1)


def max_distance(dtype: str) -> int:
    """Return the distance from -infinity to +infinity, in ULP."""
    return 2 * infinity_bits(FLOAT_FORMATS[dtype])


def bit_pattern(chunk: np.ndarray) -> np.ndarray:
    """Return the bits of the elements as native unsigned integers.

    Args:
        chunk: [n] storage of any supported dtype and byte order.

    Returns:
        [n] uint8, uint16, uint32 or uint64.
    """
    native = np.ascontiguousarray(chunk, dtype=chunk.dtype.newbyteorder("="))
    return np.asarray(native.view(f"u{native.dtype.itemsize}"))


def magnitude(bits: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Return the bits without the sign: the place among the magnitudes."""
    return np.asarray(bits & bits.dtype.type((1 << (form.bits - 1)) - 1))


def distance(bits_a: np.ndarray, bits_b: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Count the representable values between each pair of bit patterns.

    Args:
        bits_a: [n] patterns as `bit_pattern` gives them.
        bits_b: [n] patterns of the same width.
        form: their format.

    Returns:
        [n] uint64, in ULP; 0 for two NaNs, `max_distance` for a NaN and a number.
    """
    mag_a, mag_b = magnitude(bits_a, form), magnitude(bits_b, form)
    apart = np.where(mag_a > mag_b, mag_a - mag_b, mag_b - mag_a)
    # The signs are the same where the top bit of the difference of patterns is clear.
    crossing = ((bits_a ^ bits_b) >> bits_a.dtype.type(form.bits - 1)).astype(bool)
    out = apart.astype(np.uint64)
    if crossing.any():
        across = mag_a.astype(np.uint64) + mag_b.astype(np.uint64)
        out = np.where(crossing, across, out)
    top = infinity_bits(form)
    nan_a, nan_b = mag_a > top, mag_b > top
    if nan_a.any() or nan_b.any():
        out[nan_a & nan_b] = 0
        out[nan_a ^ nan_b] = 2 * top
    return np.asarray(out)


def integer_distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return |a - b| of integers or booleans, exactly.

    Args:
        a: [n] integers or booleans of any width.
        b: [n] the same dtype.

    Returns:
        [n] uint64; booleans give 1 where they differ, which bytes that are neither
        0 nor 1 do from those that are.
    """
    if a.dtype.kind == "b":
        return np.asarray(bit_pattern(a) != bit_pattern(b)).astype(np.uint64)
    # Two's complement: the wrapped difference of the larger and the smaller is right.
    wide = np.uint64 if a.dtype.kind == "u" else np.int64
    wide_a, wide_b = a.astype(wide), b.astype(wide)
    larger = np.maximum(wide_a, wide_b).astype(np.uint64)
    smaller = np.minimum(wide_a, wide_b).astype(np.uint64)
    return np.asarray(larger - smaller, dtype=np.uint64)


def pair_distance(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    """Return the distance of two chunks of one dtype: ULP, or |a - b| of integers.

    Args:
        a: [n] storage of `dtype`.
        b: [n] storage of `dtype`.
        dtype: a supported name.

    Returns:
        [n] uint64.
    """
    form = FLOAT_FORMATS.get(dtype)
    if form is None:
        return integer_distance(a, b)
    return distance(bit_pattern(a), bit_pattern(b), form)


def ulp_diff(a: Any, b: Any, *, dtype: str | None = None) -> np.ndarray:
    """Count the representable values between each pair of elements.

    Two values that differ in the last bit are 1 apart at every magnitude, which no
    absolute or relative tolerance can say. -0.0 and +0.0 are 0 apart; crossing zero
    counts the subnormals between; the largest finite value and infinity are 1 apart.
    Integers are |a - b| apart, booleans 1 where they differ.

    Args:
        a: [...] float16, bfloat16, float32, float64, any integer, or bool.
        b: same shape and dtype as `a`; the byte order may differ.
        dtype: what raw bits stand for, e.g. "bfloat16" for uint16 arrays.

    Returns:
        [...] uint64, in ULP; 0 for two NaNs, the dtype's greatest distance (that from
        -inf to +inf) where one side alone is NaN.

    Raises:
        ValueError: shapes or dtypes differ, or the dtype cannot be compared.
    """
    left, right, name = _matching(a, b, dtype)
    out = np.empty(left.shape, dtype=np.uint64)
    flat = out.reshape(-1)
    for start, (part_a, part_b) in chunks((left, right), keep_order=False):
        flat[start:start + part_a.size] = pair_distance(part_a, part_b, name)
    return out


def bit_equal(a: Any, b: Any, *, dtype: str | None = None) -> bool:
    """Tell whether every element has the same bits on both sides.

    A NaN with another payload or a zero with another sign is not equal. The order of
    bytes in memory is no part of a value: patterns are compared.

    Args:
        a: [...] any supported dtype.
        b: same shape and dtype as `a`.
        dtype: what raw bits stand for, e.g. "bfloat16" for uint16 arrays.

    Raises:
        ValueError: shapes or dtypes differ, or the dtype cannot be compared.
    """
    left, right, _ = _matching(a, b, dtype)
    return all(bool(np.array_equal(bit_pattern(part_a), bit_pattern(part_b)))
               for _, (part_a, part_b) in chunks((left, right)))


def _matching(a: Any, b: Any, dtype: str | None) -> tuple[np.ndarray, np.ndarray, str]:
    left, name_a = as_storage(a, dtype)
    right, name_b = as_storage(b, dtype)
    if name_a != name_b:
        raise ValueError(f"dtypes differ: {name_a} against {name_b}")
    if left.shape != right.shape:
        raise ValueError(
            f"shapes differ: {list(left.shape)} against {list(right.shape)}")
    return left, right, name_a
