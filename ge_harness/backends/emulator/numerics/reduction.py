"""Reductions over axes of a tensor: tiles, cores, and the tree inside a tile.

Adjacent reduced axes are one. A group that ends the tensor is reduced as rows
(`row_sum.tile`), any other as an outer axis, the innermost group first.

Source: reference: numerics_model.md sections 4.1 to 4.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

import numpy as np

from ge_harness.backends.emulator.numerics import row_sum
from ge_harness.backends.emulator.numerics.unit import V1, Unit
from ge_harness.backends.emulator.params import EmulatorParams

_NEUTRAL = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
_EAGER_TILE_950 = 16384
_UB_BYTES = {"910b": 196352, "950": 253696}
_BLOCK_BYTES = 1 << 19
_PERMUTATION_SEED = 12345


@dataclass(frozen=True)
class Order:
    """How one kernel adds.

    Attributes:
        row_tree: order inside a tile.
        row_pad: whether tiles are filled up to 8 elements.
        outer_tree: "fold_halving" or "sequential".
        combine: over tiles: "sequential", "tree" or "counter".
        row_tile: most elements of a tile along the last axes.
        outer_tile: most rows of a tile along an outer axis.
        cores: that split the reduced axis.
        permuted: whether elements are added in a shuffled order.
        is_repeats: the 910B's basic sum: trees of 64, then one by one.
    """

    row_tree: str
    row_pad: bool
    outer_tree: str
    combine: str
    row_tile: int
    outer_tile: int
    cores: int = 1
    permuted: bool = False
    is_repeats: bool = False


def bytes_per_element(loads: Sequence[int], stores: Sequence[int], *,
                      computes: bool) -> int:
    """Return the unified buffer's bytes that one reduced element takes.

    Args:
        loads: bytes of an element of each tensor read at full size.
        stores: the same for each tensor written at full size.
        computes: whether something is computed before the sum.

    Source: numerics_model.md section 4.5, the practical surrogate (inferred): queues
    are double buffered; 4 bytes for a widened copy, a temporary and the sum's scratch.
    """
    queued = 2 * (sum(loads) + sum(stores))
    widened = 4 * sum(size < 4 for size in loads)
    return queued + widened + 4 * computes + 4


def fused_order(chip: str, params: EmulatorParams, element_bytes: int) -> Order:
    """Return the order of a fused kernel."""
    most = (params.ub_bytes or _UB_BYTES[chip]) // max(element_bytes, 1)
    row = params.r_tile or max(most // 8 * 8, 8)
    outer = params.r_tile or max(most // 64 * 8, 8)
    return Order(_tree(chip, params), params.row_pad == "neutral8", params.outer_tree,
                 params.tile_combine, row, outer, params.r_cores)


def eager_order(chip: str, params: EmulatorParams, element_bytes: int) -> Order:
    """Return the order of a single operator's kernel."""
    base = fused_order(chip, params, element_bytes)
    wanted = params.eager_reduce_order
    if wanted == "auto":
        wanted = "row_tree_sequential" if chip == V1 else "pairwise"
    row, outer = base.row_tile, base.outer_tile
    if chip != V1 and not params.r_tile:
        row, outer = _EAGER_TILE_950, _EAGER_TILE_950
    tree, combine = base.row_tree, "sequential"
    if wanted == "pairwise":
        combine = "counter"
    if wanted == "sequential":
        tree = "sequential"
    return Order(tree, base.row_pad,
                 "sequential" if wanted == "sequential" else base.outer_tree,
                 combine, row, outer, permuted=wanted == "permuted")


def repeats_order(chip: str, params: EmulatorParams) -> Order:
    """Return the order of hand-written 910B kernels (LayerNormV4)."""
    base = eager_order(chip, params, 12)
    return Order(base.row_tree, base.row_pad, base.outer_tree, "sequential",
                 base.row_tile, base.outer_tile, is_repeats=chip == V1)


def _tree(chip: str, params: EmulatorParams) -> str:
    if params.row_tree == "auto":
        return row_sum.V1 if chip == V1 else row_sum.V2
    return params.row_tree


def combiner(kind: str, unit: Unit) -> np.ufunc:
    """Return the elementwise function of a reduction."""
    ignore = unit.params.nan_minmax == "ignore"
    if kind in ("max", "min"):
        if ignore:
            return np.fmax if kind == "max" else np.fmin
        return np.maximum if kind == "max" else np.minimum
    return np.add if kind == "sum" else np.multiply


def reduce(kind: str, array: np.ndarray, axes: tuple[int, ...], order: Order,
           unit: Unit) -> np.ndarray:
    """Reduce float32 over axes; they stay at length 1.

    Args:
        kind: "sum", "prod", "max" or "min".
        array: [...] float32.
        axes: sorted, each in 0..rank-1.
        order: how.
        unit: for the treatment of NaN.
    """
    combine = combiner(kind, unit)
    shape = tuple(1 if i in axes else n for i, n in enumerate(array.shape))
    if array.size == 0 or not axes:
        if not axes:
            return array
        return np.full(shape, _NEUTRAL[kind], np.float32)
    if kind in ("max", "min"):
        return np.asarray(combine.reduce(array, axis=axes, keepdims=True))
    for first, last in reversed(_groups(axes, array.shape)):
        array = _group(array, first, last, order, (combine, _NEUTRAL[kind]))
    return array.reshape(shape)


def _groups(axes: tuple[int, ...], shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return runs of reduced axes as (first, behind the last); ones join any run."""
    groups: list[tuple[int, int]] = []
    for axis in axes:
        if groups and all(n == 1 for n in shape[groups[-1][1]:axis]):
            groups[-1] = (groups[-1][0], axis + 1)
        else:
            groups.append((axis, axis + 1))
    return groups


def _group(array: np.ndarray, first: int, last: int, order: Order,
           function: tuple[np.ufunc, float]) -> np.ndarray:
    lead, mid = array.shape[:first], array.shape[first:last]
    rest = array.shape[last:]
    length, inner = _product(mid), _product(rest)
    if inner == 1:
        rows = array.reshape(_product(lead), length)
        result = _row_blocks(rows, order, function)
    else:
        cube = array.reshape(_product(lead), length, inner)
        result = _outer(cube, order, function[0])
    return result.reshape(lead + (1,) * len(mid) + rest)


def _row_blocks(rows: np.ndarray, order: Order,
                function: tuple[np.ufunc, float]) -> np.ndarray:
    """Reduce rows, as many at a time as a cache holds; [rows, length] to [rows]."""
    step = max(1, _BLOCK_BYTES // (4 * rows.shape[1]))
    out = np.empty(rows.shape[0], np.float32)
    for start in range(0, rows.shape[0], step):
        out[start:start + step] = _rows(rows[start:start + step], order, function)
    return out


def _rows(x: np.ndarray, order: Order,
          function: tuple[np.ufunc, float]) -> np.ndarray:
    combine, neutral = function
    length = x.shape[1]
    if order.permuted:
        x = x[:, np.random.RandomState(_PERMUTATION_SEED).permutation(length)]
    if order.is_repeats:
        return row_sum.repeats(x, combine, neutral)
    if order.combine == "counter":
        return _counted(x, order, function)
    parts = [_tiles(x[:, start:end], order, function)
             for start, end in _cores(length, order.cores)]
    if len(parts) == 1:
        return parts[0]
    return _outer_tree(order)(np.stack(parts, axis=1)[:, :, np.newaxis], combine)[:, 0]


def _cores(length: int, cores: int, align: int = row_sum.ALIGNMENT
           ) -> list[tuple[int, int]]:
    """Return the block of each core, aligned to 8 elements of a last axis."""
    block = -(-length // cores)
    block = -(-block // align) * align
    return [(start, min(start + block, length)) for start in range(0, length, block)]


def _tiles(x: np.ndarray, order: Order,
           function: tuple[np.ufunc, float]) -> np.ndarray:
    """Reduce one core's block: trees in tiles, tiles one after the other."""
    combine = function[0]
    sums = [_tile(x[:, start:start + order.row_tile], order, function)
            for start in range(0, x.shape[1], order.row_tile)]
    return _combined(sums, order, combine)


def _combined(sums: list[np.ndarray], order: Order, combine: np.ufunc) -> np.ndarray:
    """Add the tiles' results: each onto what is there, or as a tree of neighbors."""
    if order.combine == "tree":
        stacked = np.stack([each.reshape(-1) for each in sums], axis=1)
        return row_sum.pairs(stacked, combine).reshape(sums[0].shape)
    total = sums[0]
    for each in sums[1:]:
        total = combine(each, total)
    return total


def _tile(x: np.ndarray, order: Order,
          function: tuple[np.ufunc, float]) -> np.ndarray:
    if order.row_pad:
        x = row_sum.padded(x, function[1])
    return np.asarray(row_sum.tile(x, order.row_tree, function[0]))


def _counted(x: np.ndarray, order: Order,
             function: tuple[np.ufunc, float]) -> np.ndarray:
    """Reduce as the 950's own kernels: tiles i and i + p lane by lane, then a counter.

    p is the largest power of two up to the number of tiles.
    """
    combine, neutral = function
    count = -(-x.shape[1] // order.row_tile)
    if count == 1:
        return _tile(x, order, function)
    x = row_sum.padded(x, neutral, order.row_tile)
    power = 1 << (count.bit_length() - 1)
    sums = []
    for index in range(power):
        part = x[:, index * order.row_tile:(index + 1) * order.row_tile]
        if index + power < count:
            start = (index + power) * order.row_tile
            part = combine(part, x[:, start:start + order.row_tile])
        sums.append(_tile(part, order, function))
    return row_sum.counter(np.stack(sums, axis=1), combine)


def _outer_tree(order: Order) -> Callable[[np.ndarray, np.ufunc], np.ndarray]:
    return row_sum.outer_sequential if order.outer_tree == "sequential" else (
        row_sum.outer)


def _outer(cube: np.ndarray, order: Order, combine: np.ufunc) -> np.ndarray:
    """Reduce the middle axis: [groups, rows, inner] to [groups, inner]."""
    tree = _outer_tree(order)
    if order.permuted:
        cube = cube[:, np.random.RandomState(_PERMUTATION_SEED).permutation(
            cube.shape[1])]
    parts = []
    for start, end in _cores(cube.shape[1], order.cores, align=1):
        block = cube[:, start:end]
        sums = [tree(block[:, i:i + order.outer_tile], combine)
                for i in range(0, block.shape[1], order.outer_tile)]
        parts.append(_combined(sums, order, combine))
    if len(parts) == 1:
        return np.asarray(parts[0])
    return np.asarray(tree(np.stack(parts, axis=1), combine))


def _product(lengths: Sequence[int]) -> int:
    size = 1
    for length in lengths:
        size *= length
    return size
