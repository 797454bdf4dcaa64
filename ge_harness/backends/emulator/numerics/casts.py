"""Rounding to storage, and single roundings that NumPy lacks.

Source: reference: numerics_model.md sections 2.2 and 6.
"""

from __future__ import annotations

import numpy as np

from ge_harness.interpreter.value import Tensor, rounded, values

_MAX = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}
_LOW_BITS = np.uint64((1 << 29) - 1)
_HALFWAY = np.uint64(1 << 28)
_SMALLEST = 2.0 ** -126


def to_storage(array: np.ndarray, dtype: str, *, saturate: bool = False) -> np.ndarray:
    """Round float32 values to a storage dtype, to nearest even.

    Args:
        array: [...] float32.
        dtype: "float16", "bfloat16", "float32" or "float64".
        saturate: infinities become the largest number, NaN becomes 0, for the two
            narrow dtypes.

    Returns:
        [...] storage; uint16 bits for bfloat16.
    """
    if dtype == "float16" and array.dtype == np.float32:
        result = halves(array)
    else:
        result = rounded(array, dtype)
    return saturated(result, dtype) if saturate and dtype in _MAX else result


def saturated(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return storage of float16 or bfloat16 with only finite values."""
    wide = values(Tensor(array, dtype), "float32")
    bad = ~np.isfinite(wide)
    if not bad.any():
        return array
    top = np.float32(_MAX[dtype])
    fixed = np.where(np.isnan(wide), np.float32(0), np.copysign(top, wide))
    return np.where(bad, rounded(fixed, dtype), array)


def halves(array: np.ndarray) -> np.ndarray:
    """Round float32 to float16, to nearest even; [...] to [...]."""
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(np.float16)


def to_storage_ties_away(array: np.ndarray, dtype: str) -> np.ndarray:
    """Round float32 to bfloat16 with ties away from zero (CAST_ROUND)."""
    if dtype != "bfloat16":
        return rounded(array, dtype)
    bits = np.ascontiguousarray(array).view(np.uint32).reshape(array.shape)
    up = ((bits + np.uint32(0x8000)) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(array), rounded(array, dtype), up)


def narrowed(array: np.ndarray, dtype: str, *, saturate: bool = False) -> np.ndarray:
    """Round float32 values to a dtype and widen them again; [...] float32."""
    if dtype == "float32":
        return array
    return values(Tensor(to_storage(array, dtype, saturate=saturate), dtype), "float32")


def hf32(array: np.ndarray) -> np.ndarray:
    """Round float32 to 11 stored bits of significand, to nearest even."""
    bits = np.ascontiguousarray(array).view(np.uint32).reshape(array.shape)
    up = np.uint32(0x7FF) + ((bits >> np.uint32(12)) & np.uint32(1))
    kept = (bits + up) & np.uint32(0xFFFFF000)
    result = np.ascontiguousarray(kept).view(np.float32).reshape(array.shape)
    return np.where(np.isfinite(array), result, array)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a * b + c with one rounding to float32.

    The product is exact in float64. The sum is not, and rounding it again would round
    twice; only where it lies halfway between two float32 numbers, or below their
    normal range, can that matter, and there it is first rounded to odd.

    Args:
        a: [...] float32.
        b: float32 of a shape that broadcasts with `a`.
        c: likewise.
    """
    # All three in float64: older NumPy would take the dtype of the arrays over that of
    # a 0-d operand.
    c = np.asarray(c).astype(np.float64)
    product = np.asarray(a).astype(np.float64) * np.asarray(b).astype(np.float64)
    total = product + c
    flat = np.atleast_1d(total)
    low = np.ascontiguousarray(flat).view(np.uint64).reshape(flat.shape) & _LOW_BITS
    unsure = (low == _HALFWAY) | (np.abs(flat) < _SMALLEST)
    if unsure.any():
        parts = [np.broadcast_to(x, flat.shape)[unsure] for x in (product, c)]
        flat[unsure] = _sum_to_odd(*parts)
    return np.asarray(flat.reshape(np.shape(total)).astype(np.float32))


def _sum_to_odd(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a + b rounded to odd: an inexact sum ends in a one; [n] float64."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    bits = np.ascontiguousarray(total).view(np.int64)
    even = (bits & 1) == 0
    inexact = (error != 0) & np.isfinite(error) & np.isfinite(total)
    step = np.where((error > 0) == (total > 0), np.int64(1), np.int64(-1))
    odd = np.where(inexact & even, bits + step, bits)
    return np.ascontiguousarray(odd).view(np.float64)


def beside(array: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the float32 numbers `step` places above (below where negative).

    Args:
        array: [...] float32.
        step: [...] int32. Zeros, infinities and NaN stay; nothing leaves the finite
            numbers of its sign.
    """
    bits = np.ascontiguousarray(array).view(np.int32).reshape(array.shape)
    magnitude = bits & np.int32(0x7FFFFFFF)
    away = np.where(bits < 0, -step, step)
    moved = np.clip(magnitude.astype(np.int64) + away, 1, 0x7F7FFFFF)
    fixed = (magnitude == 0) | (magnitude >= np.int32(0x7F800000))
    moved = np.where(fixed, magnitude, moved).astype(np.int32)
    signed = moved | (bits & np.int32(-0x80000000))
    return np.ascontiguousarray(signed).view(np.float32).reshape(array.shape)


def beside_half(array: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the float16 numbers `step` places above; rules as `beside`."""
    bits = np.ascontiguousarray(array).view(np.int16).reshape(array.shape)
    magnitude = bits & np.int16(0x7FFF)
    away = np.where(bits < 0, -step, step)
    moved = np.clip(magnitude.astype(np.int32) + away, 1, 0x7BFF)
    fixed = (magnitude == 0) | (magnitude >= np.int16(0x7C00))
    moved = np.where(fixed, magnitude, moved).astype(np.int16)
    signed = moved | (bits & np.int16(-0x8000))
    return np.ascontiguousarray(signed).view(np.float16).reshape(array.shape)


def hashed(*operands: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return [...] uint32 that depends on the operands' bits and the seed only.

    The noise of an instruction must be a function of its operands, or a kernel would
    not repeat itself.
    """
    state = np.asarray(np.uint32((0x9E3779B9 * (seed + 1)) & 0xFFFFFFFF))
    for operand in operands:
        bits = np.ascontiguousarray(operand, dtype=np.float32).view(np.uint32)
        bits = bits.reshape(np.shape(operand))
        with np.errstate(over="ignore"):
            state = (state ^ bits) * np.uint32(0x85EBCA6B)
            state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
            state = state ^ (state >> np.uint32(16))
    return np.asarray(state)


def noise(*operands: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return [...] int32 of -1, 0 and 1; 0 for half of all operands."""
    two = hashed(*operands, seed=seed) & np.uint32(3)
    return np.where(two == 0, -1, np.where(two == 1, 1, 0)).astype(np.int32)
