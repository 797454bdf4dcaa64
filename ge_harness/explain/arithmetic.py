"""Arithmetic that compilers put in the place of op-by-op arithmetic.

Fused multiply-add, orders of summation, roots in two roundings: each on float32 arrays,
exact to the bit.
"""

from __future__ import annotations

import numpy as np

from ge_harness.interpreter.value import Tensor, rounded, values


def fused_multiply_add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a * b + c with one rounding, as the instruction does.

    The product of two float32 is exact in float64. Where the sum is not, its last bit
    is set (rounding to odd), so that the rounding to float32 sees on which side of a
    tie the exact value lies.

    Args:
        a: [...] float32.
        b: [...] float32, of a shape that broadcasts with the others.
        c: [...] float32, likewise.

    Returns:
        [...] float32.
    """
    with np.errstate(all="ignore"):
        product = a.astype(np.float64) * b.astype(np.float64)
        addend = np.broadcast_to(c.astype(np.float64), np.broadcast(product, c).shape)
        total = product + addend
        shift = total - product
        error = (product - (total - shift)) + (addend - shift)
        bits = np.ascontiguousarray(total).view(np.int64).reshape(total.shape)
        inexact = (error != 0) & np.isfinite(total)
        toward_zero = inexact & ((error > 0) != (total > 0))
        bits = np.where(toward_zero, bits - 1, bits)
        bits = np.where(inexact, bits | 1, bits)
        odd = np.ascontiguousarray(bits).view(np.float64).reshape(total.shape)
        return np.asarray(odd.astype(np.float32))


def two_step_rsqrt(x: np.ndarray, dtype: str) -> np.ndarray:
    """Return 1 / sqrt(x) with the root rounded to `dtype` first.

    Args:
        x: [...] float32.
        dtype: "float16", "bfloat16" or "float32".

    Returns:
        [...] float32; the quotient rounded to float32 only.
    """
    with np.errstate(all="ignore"):
        root = as_dtype(np.sqrt(x), dtype)
        return np.asarray(np.float32(1) / root)


def as_dtype(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return float32 values rounded to `dtype`, in float32."""
    return values(Tensor(rounded(np.asarray(array), dtype), dtype), "float32")


def ordered_sum(array: np.ndarray, axes: tuple[int, ...], order: str) -> np.ndarray:
    """Sum in the array's dtype in a given order; axes stay at length 1.

    Args:
        array: [...] float32 or float64.
        axes: to sum over, ascending.
        order: "one by one", "halves" (x[:n/2] + x[n/2:], again and again), "numpy"
            (pairwise along the contiguous axis), "windows of N" (N at a time, padded
            on both sides, then the windows one by one), "windows of N, again" (until
            one window is left) or "N lanes" (every N-th element into its own sum,
            then halves).
    """
    kept = tuple(i for i in range(array.ndim) if i not in axes)
    shape = tuple(1 if i in axes else n for i, n in enumerate(array.shape))
    if order == "numpy":
        return np.asarray(np.add.reduce(array, axis=axes, keepdims=True,
                                        dtype=array.dtype))
    lanes = array.transpose(axes + kept).reshape(
        (-1, *(array.shape[i] for i in kept)))
    words = order.split()
    if order.startswith("windows of "):
        size = int(words[2].rstrip(","))
        lanes = _windows(lanes, size)
        while order.endswith("again") and len(lanes) > size:
            lanes = _windows(lanes, size)
    elif order.endswith(" lanes"):
        count = int(words[0])
        lanes = _one_by_one(_padded(lanes, 0, -len(lanes) % count).reshape(
            (-1, count, *lanes.shape[1:])))
        return _halves(lanes).reshape(shape)
    elif order == "halves":
        return _halves(lanes).reshape(shape)
    return _one_by_one(lanes).reshape(shape)


def _one_by_one(lanes: np.ndarray) -> np.ndarray:
    """Add the rows of [n, ...], from the first on."""
    if not len(lanes):
        return np.zeros(lanes.shape[1:], lanes.dtype)
    total: np.ndarray = lanes[0].copy()
    for row in lanes[1:]:
        total += row
    return total


def _halves(lanes: np.ndarray) -> np.ndarray:
    """Add the halves of [n, ...] until one row is left."""
    if not len(lanes):
        return np.zeros(lanes.shape[1:], lanes.dtype)
    while len(lanes) > 1:
        half = len(lanes) // 2
        rest = lanes[2 * half:]
        lanes = np.concatenate([lanes[:half] + lanes[half:2 * half], rest])
    return np.asarray(lanes[0])


def _windows(lanes: np.ndarray, size: int) -> np.ndarray:
    """Sum `size` rows of [n, ...] at a time, padding shared by both ends.

    Source: reference/xla_cpu.md section 4 (tree_reduction_rewriter).
    """
    if len(lanes) <= size:
        return lanes
    missing = -len(lanes) % size
    padded = _padded(lanes, missing // 2, missing - missing // 2)
    parts = padded.reshape((-1, size, *lanes.shape[1:]))
    return _one_by_one(np.moveaxis(parts, 1, 0))


def _padded(lanes: np.ndarray, before: int, after: int) -> np.ndarray:
    """Return [n, ...] with rows of zeros before and after."""
    def zeros(count: int) -> np.ndarray:
        return np.zeros((count, *lanes.shape[1:]), lanes.dtype)

    return np.concatenate([zeros(before), lanes, zeros(after)])


def ordered_product(left: np.ndarray, right: np.ndarray, *,
                    fused: bool) -> np.ndarray:
    """Multiply matrices, adding the k products of each element one by one.

    Args:
        left: [..., m, k] float32.
        right: [..., k, n] float32.
        fused: each product and addition is one fused multiply-add.
    """
    steps = left.shape[-1]
    shape = (*np.broadcast(left[..., :1, :1], right[..., :1, :1]).shape[:-2],
             left.shape[-2], right.shape[-1])
    total = np.zeros(shape, np.float32)
    for k in range(steps):
        a, b = left[..., :, k:k + 1], right[..., k:k + 1, :]
        total = fused_multiply_add(a, b, total) if fused else total + a * b
    return total
