"""Elementwise work in blocks that fit a processor's cache."""

from __future__ import annotations

from typing import Callable, Sequence

import numpy as np

BLOCK = 1 << 15
"""Elements of one block."""


def broadcast_shape(operands: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Return the common shape of arrays."""
    shape: tuple[int, ...] = np.broadcast(*operands).shape
    return shape


def blocked(function: Callable[..., np.ndarray],
            operands: Sequence[np.ndarray]) -> np.ndarray:
    """Run an elementwise function block by block; the bits are those of one call.

    Args:
        function: arrays to one array of their broadcast shape.
        operands: arrays of shapes that broadcast.
    """
    shape = broadcast_shape(operands)
    if _product(shape) <= 2 * BLOCK:
        return np.asarray(function(*operands))
    arrays = [x for x in operands if x.ndim]
    rows, width, flat = flattened(arrays, shape)
    step = max(1, BLOCK // width)
    out = None
    for start in range(0, rows, step):
        cut = iter(x if x.shape[0] == 1 else x[start:start + step] for x in flat)
        part = function(*[next(cut) if x.ndim else x for x in operands])
        if out is None:
            out = np.empty((rows, width), part.dtype)
        out[start:start + step] = part
    return np.asarray(out).reshape(shape)


def flattened(operands: Sequence[np.ndarray], shape: tuple[int, ...]
              ) -> tuple[int, int, list[np.ndarray]]:
    """Return operands as matrices whose broadcast is `shape` with axes merged.

    As many leading axes become rows as every operand spans wholly or not at all; the
    other axes become columns, for which operands are broadcast where they must be.

    Returns:
        rows, columns, and each operand as [rows or 1, columns or 1].
    """
    full = [x.reshape((1,) * (len(shape) - x.ndim) + x.shape) for x in operands]
    split = len(shape) if all(x.shape == shape for x in full) else 0
    while split < len(shape) - 1 and all(
            x.shape[:split + 1] == shape[:split + 1] or
            all(n == 1 for n in x.shape[:split + 1]) for x in full):
        split += 1
    rows, tail = _product(shape[:split]), shape[split:]
    width = _product(tail)
    out = []
    for x in full:
        lead = rows if x.shape[:split] == shape[:split] else 1
        rest = x.shape[split:]
        if all(n == 1 for n in rest):
            out.append(x.reshape(lead, 1))
            continue
        if rest != tail:
            x = np.broadcast_to(x, x.shape[:split] + tail)
        out.append(x.reshape(lead, width))
    return rows, width, out


def _product(lengths: tuple[int, ...]) -> int:
    size = 1
    for length in lengths:
        size *= length
    return size
