"""The order in which one tile of a sum is added, on both chips.

Rows are added side by side: [rows, length] float32 becomes [rows]. `combine` is
np.add, np.multiply, np.maximum ... on float32, so each step is rounded to float32.

Source: reference: numerics_model.md section 4.1.
"""

from __future__ import annotations

import numpy as np

LANES = 64
ALIGNMENT = 8
V1, V2 = "fold_tail_then_pairs", "fold_tail_then_halving_then_pairs"


def padded(x: np.ndarray, neutral: float, multiple: int = ALIGNMENT) -> np.ndarray:
    """Return rows filled up with `neutral` to a multiple of `multiple`."""
    gap = -x.shape[1] % multiple
    if not gap:
        return x
    fill = np.full((x.shape[0], gap), neutral, x.dtype)
    return np.concatenate([x, fill], axis=1)


def pairs(x: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Add neighbors, then neighboring sums, down to one; an odd one waits."""
    while x.shape[1] > 1:
        even = x.shape[1] // 2 * 2
        added = combine(x[:, 0:even:2], x[:, 1:even:2])
        x = added if even == x.shape[1] else np.concatenate(
            [added, x[:, even:]], axis=1)
    return x[:, 0]


def tree_v1(x: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Add one tile as the 910B does: the tail onto the head, then neighbors.

    Up to 64 elements: neighbors only. More: the part behind the largest power of two
    below the length is added onto the beginning first.
    """
    length = x.shape[1]
    if length <= LANES:
        return pairs(x, combine)
    power = _power_below(length)
    return pairs(_folded(x, power, combine), combine)


def tree_v2(x: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Add one tile as the 950 does: the tail onto the head, then halves, then pairs.

    8 to 31 elements: blocks of 8 one after the other, lane by lane, then neighbors.
    From 64 on: the tail behind the largest power of two is folded, then halves are
    added lane by lane down to 64, then neighbors.
    """
    length = x.shape[1]
    if ALIGNMENT < length < 32 and length % ALIGNMENT == 0:
        total = x[:, :ALIGNMENT]
        for start in range(ALIGNMENT, length, ALIGNMENT):
            total = combine(total, x[:, start:start + ALIGNMENT])
        return pairs(total, combine)
    if length < LANES:
        return pairs(x, combine)
    power = _power_below(length + 1)
    x = _folded(x, power, combine)
    while x.shape[1] > LANES:
        half = x.shape[1] // 2
        x = combine(x[:, :half], x[:, half:])
    return pairs(x, combine)


def sequential(x: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Add one by one."""
    if x.shape[1] == 1:
        return x[:, 0]
    columns = np.ascontiguousarray(x.T)
    total: np.ndarray = columns[0].copy()
    for column in columns[1:]:
        combine(total, column, out=total)
    return total


def repeats(x: np.ndarray, combine: np.ufunc, neutral: float) -> np.ndarray:
    """Add as the 910B's basic ReduceSum: a tree in 64 elements, then one by one."""
    x = padded(x, neutral, LANES)
    blocks = x.reshape(-1, LANES)
    sums = pairs(blocks, combine)
    return sequential(sums.reshape(x.shape[0], -1), combine)


def outer(x: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Add rows of an outer axis: [groups, rows, inner] to [groups, inner].

    The tail behind the largest power of two is added onto the first rows, then halves.
    """
    rows = x.shape[1]
    power = _power_below(rows + 1)
    if power < rows:
        head = combine(x[:, :rows - power], x[:, power:])
        x = np.concatenate([head, x[:, rows - power:power]], axis=1)
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        x = combine(x[:, :half], x[:, half:])
    return x[:, 0]


def outer_sequential(x: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Add rows of an outer axis one by one: [groups, rows, inner] to two axes."""
    total = x[:, 0].copy()
    for row in range(1, x.shape[1]):
        combine(total, x[:, row], out=total)
    return total


def tile(x: np.ndarray, order: str, combine: np.ufunc) -> np.ndarray:
    """Add one tile, padded already, in an order of parameter `row_tree`."""
    if order == V1:
        return tree_v1(x, combine)
    if order == V2:
        return tree_v2(x, combine)
    if order == "sequential":
        return sequential(x, combine)
    return pairs(x, combine)


def counter(parts: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Add partial sums as a binary counter carries: [rows, parts] to [rows].

    Each new sum joins the one before it of the same weight; what is left at the end is
    added from the lightest up.
    """
    held: list[tuple[int, np.ndarray]] = []
    for index in range(parts.shape[1]):
        weight, value = 1, parts[:, index]
        while held and held[-1][0] == weight:
            value = combine(held.pop()[1], value)
            weight *= 2
        held.append((weight, value))
    total = held.pop()[1]
    while held:
        total = combine(held.pop()[1], total)
    return total


def _folded(x: np.ndarray, power: int, combine: np.ufunc) -> np.ndarray:
    tail = x.shape[1] - power
    if tail == 0:
        return x
    if tail == power:
        return np.asarray(combine(x[:, :power], x[:, power:]))
    head = combine(x[:, :tail], x[:, power:])
    return np.concatenate([head, x[:, tail:power]], axis=1)


def _power_below(length: int) -> int:
    """Return the largest power of two below `length`."""
    return 1 << max((length - 1).bit_length() - 1, 0)
