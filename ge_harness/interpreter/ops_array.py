"""Pure movement: elements are copied as they are stored, never rounded."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ge_harness.interpreter.call import Call, OpTable
from ge_harness.interpreter.value import Tensor


def _identity(call: Call) -> list[Tensor]:
    return [call.moved(call.raw(index), index) for index in range(len(call.inputs))]


def _first(call: Call) -> list[Tensor]:
    return [call.moved(call.raw(0))]


def _transpose(call: Call) -> list[Tensor]:
    x, order = call.raw(0), call.ints(1)
    call.need(sorted(order) == list(range(x.ndim)),
              f"permutation {order} for rank {x.ndim}")
    return [call.moved(np.ascontiguousarray(x.transpose(order)))]


def _reshape(call: Call) -> list[Tensor]:
    x, shape = call.raw(0), call.ints(1)
    call.need(shape.count(-1) <= 1 and min(shape, default=0) >= -1,
              f"shape {shape} has more than one unknown axis")
    known = 1
    for size in shape:
        known *= size if size != -1 else 1
    if -1 in shape:
        call.need(known > 0 and x.size % known == 0,
                  f"shape {shape} for {x.size} elements")
        shape = [x.size // known if size == -1 else size for size in shape]
    else:
        call.need(known == x.size, f"shape {shape} for {x.size} elements")
    return [call.moved(x.reshape(shape))]


def _expand_dims(call: Call) -> list[Tensor]:
    x, places = call.raw(0), call.ints(1)
    call.need(len(places) == 1, f"axes {places}, expected one")
    axis = call.axis(places[0], x.ndim + 1)
    return [call.moved(np.expand_dims(x, axis))]


def _squeeze(call: Call) -> list[Tensor]:
    x = call.raw(0)
    named = call.numbers("squeeze_dims") or call.numbers("axis")
    axes = [call.axis(int(axis), x.ndim) for axis in named]
    for axis in axes:
        call.need(x.shape[axis] == 1, f"axis {axis} has length {x.shape[axis]}, not 1")
    shape = [n for i, n in enumerate(x.shape)
             if not (i in axes if named else n == 1)]
    return [call.moved(x.reshape(shape))]


def _concat(call: Call) -> list[Tensor]:
    return _join(call, call.ints(len(call.inputs) - 1), range(len(call.inputs) - 1))


def _concat_old(call: Call) -> list[Tensor]:
    return _join(call, call.ints(0), range(1, len(call.inputs)))


def _join(call: Call, axes: list[int], places: Sequence[int]) -> list[Tensor]:
    parts = call.alike(list(places))
    call.need(len(axes) == 1 and bool(parts), f"axes {axes} for {len(parts)} parts")
    axis = call.axis(axes[0], parts[0].ndim)
    return [call.moved(np.concatenate(parts, axis=axis), places[0])]


def _split(call: Call) -> list[Tensor]:
    x, axes = call.raw(1), call.ints(0)
    axis = call.axis(axes[0], x.ndim)
    count = int(call.attr("num_split", 1))
    call.need(count > 0 and x.shape[axis] % count == 0,
              f"{count} parts of an axis of length {x.shape[axis]}")
    return [call.moved(part, 1) for part in np.split(x, count, axis=axis)]


def _split_v(call: Call) -> list[Tensor]:
    x, sizes = call.raw(0), call.ints(1)
    axis = call.axis(call.ints(2)[0], x.ndim)
    if sizes.count(-1) == 1:
        rest = x.shape[axis] - (sum(sizes) + 1)
        sizes = [rest if size == -1 else size for size in sizes]
    call.need(min(sizes, default=0) >= 0 and sum(sizes) == x.shape[axis],
              f"sizes {sizes} of an axis of length {x.shape[axis]}")
    edges = np.cumsum(sizes)[:-1]
    return [call.moved(part) for part in np.split(x, edges, axis=axis)]


def _slice(call: Call) -> list[Tensor]:
    x, begins, sizes = call.raw(0), call.ints(1), call.ints(2)
    call.need(len(begins) == len(sizes) == x.ndim,
              f"{len(begins)} begins and {len(sizes)} sizes for rank {x.ndim}")
    parts = []
    for begin, size, length in zip(begins, sizes, x.shape):
        size = length - begin if size == -1 else size
        call.need(0 <= begin <= length and 0 <= size <= length - begin,
                  f"begin {begin} and size {size} in an axis of length {length}")
        parts.append(slice(begin, begin + size))
    return [call.moved(x[tuple(parts)])]


def _strided_slice(call: Call) -> list[Tensor]:
    x = call.raw(0)
    begins, ends, strides = call.ints(1), call.ints(2), call.ints(3)
    call.need(len(begins) == len(ends) == len(strides),
              f"{len(begins)} begins, {len(ends)} ends, {len(strides)} strides")
    return [call.moved(x[_indices(call, x, begins, ends, strides)])]


def _indices(call: Call, x: np.ndarray, begins: list[int], ends: list[int],
             strides: list[int]) -> tuple[Any, ...]:
    """Return NumPy's index for TensorFlow's begins, ends, strides and masks."""
    masks = {name: int(call.attr(f"{name}_mask", 0)) for name in (
        "begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    index: list[Any] = []
    taken = 0
    for i, (begin, end, stride) in enumerate(zip(begins, ends, strides)):
        bit = 1 << i
        if masks["ellipsis"] & bit:
            index.append(Ellipsis)
            named = sum(1 for j in range(i + 1, len(begins))
                        if not masks["new_axis"] & (1 << j))
            taken = x.ndim - named
        elif masks["new_axis"] & bit:
            index.append(np.newaxis)
        elif masks["shrink_axis"] & bit:
            call.need(taken < x.ndim and -x.shape[taken] <= begin < x.shape[taken],
                      f"index {begin} of axis {taken} of shape {list(x.shape)}")
            index.append(begin)
            taken += 1
        else:
            call.need(stride != 0, "a stride of 0")
            index.append(slice(None if masks["begin"] & bit else begin,
                               None if masks["end"] & bit else end, stride))
            taken += 1
    return tuple(index)


def _strided_slice_grad(call: Call) -> list[Tensor]:
    shape, gradient = call.ints(0), call.raw(4)
    call.need(min(shape, default=0) >= 0, f"shape {shape}")
    out = np.zeros(shape, dtype=gradient.dtype)
    place = _indices(call, out, call.ints(1), call.ints(2), call.ints(3))
    out[place] = gradient.reshape(out[place].shape)
    return [call.moved(out, 4)]


def _broadcast_to(call: Call) -> list[Tensor]:
    return [call.moved(np.broadcast_to(call.raw(0), call.ints(1)))]


def _tile(call: Call) -> list[Tensor]:
    x, counts = call.raw(0), call.ints(1)
    call.need(len(counts) == x.ndim and min(counts, default=0) >= 0,
              f"multiples {counts} for rank {x.ndim}")
    return [call.moved(np.tile(x, counts))]


def _pack(call: Call) -> list[Tensor]:
    parts = call.alike(range(len(call.inputs)))
    call.need(bool(parts), "no inputs")
    axis = call.axis(int(call.attr("axis", 0)), parts[0].ndim + 1)
    return [call.moved(np.stack(parts, axis=axis))]


def _unpack(call: Call) -> list[Tensor]:
    x = call.raw(0)
    axis = call.axis(int(call.attr("axis", 0)), x.ndim)
    return [call.moved(part) for part in np.moveaxis(x, axis, 0)]


def _pad(call: Call) -> list[Tensor]:
    x = call.raw(0)
    widths = _widths(call, x)
    return [call.moved(np.pad(x, widths, mode="constant", constant_values=0))]


def _pad_v2(call: Call) -> list[Tensor]:
    x, fill = call.alike((0, 2))
    widths = _widths(call, x)
    shape = [n + before + after for n, (before, after) in zip(x.shape, widths)]
    out = np.full(shape, fill.reshape(()), dtype=x.dtype)
    out[tuple(slice(before, before + n)
              for n, (before, _) in zip(x.shape, widths))] = x
    return [call.moved(out)]


def _mirror_pad(call: Call) -> list[Tensor]:
    x = call.raw(0)
    mode = "reflect" if call.text("mode") == "REFLECT" else "symmetric"
    widths = _widths(call, x)
    return [call.moved(np.pad(x, widths, mode=mode))]  # type: ignore[call-overload]


def _widths(call: Call, x: np.ndarray) -> list[tuple[int, int]]:
    flat = call.ints(1)
    call.need(len(flat) == 2 * x.ndim and min(flat, default=0) >= 0,
              f"paddings {flat} for rank {x.ndim}")
    return list(zip(flat[::2], flat[1::2]))


def _gather(call: Call) -> list[Tensor]:
    return [call.moved(_take(call, 0, int(call.attr("batch_dims", 0))))]


def _gather_v2(call: Call) -> list[Tensor]:
    axis = call.axis(call.ints(2)[0], call.raw(0).ndim)
    return [call.moved(_take(call, axis, int(call.attr("batch_dims", 0))))]


def _take(call: Call, axis: int, batch_dims: int) -> np.ndarray:
    x, indices = call.raw(0), call.raw(1)
    call.need(x.ndim > axis, f"axis {axis} of rank {x.ndim}")
    bad = (indices < 0) | (indices >= x.shape[axis])
    call.need(not np.any(bad), f"an index outside 0..{x.shape[axis] - 1}")
    batch_dims = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if not batch_dims:
        return np.take(x, indices, axis=axis)
    lead = x.shape[:batch_dims]
    call.need(lead == indices.shape[:batch_dims], "batch axes differ")
    flat = x.reshape((-1,) + x.shape[batch_dims:])
    rows = indices.reshape((-1,) + indices.shape[batch_dims:])
    parts = [np.take(a, b, axis=axis - batch_dims) for a, b in zip(flat, rows)]
    return np.stack(parts).reshape(lead + parts[0].shape)


def _gather_nd(call: Call) -> list[Tensor]:
    x, indices = call.raw(0), call.raw(1)
    depth = indices.shape[-1]
    call.need(depth <= x.ndim, f"{depth} indices for rank {x.ndim}")
    for place in range(depth):
        bad = (indices[..., place] < 0) | (indices[..., place] >= x.shape[place])
        call.need(not np.any(bad), f"an index outside 0..{x.shape[place] - 1}")
    return [call.moved(x[tuple(indices[..., i] for i in range(depth))])]


def _reverse(call: Call) -> list[Tensor]:
    x = call.raw(0)
    return [call.moved(np.flip(x, call.axes(1, x.ndim)) if x.ndim else x)]


def _roll(call: Call) -> list[Tensor]:
    x = call.raw(0)
    shifts = call.ints(1)
    axes = [call.axis(axis, x.ndim) for axis in call.ints(2)]
    call.need(len(shifts) == len(axes), f"{len(shifts)} shifts for {len(axes)} axes")
    for shift, axis in zip(shifts, axes):
        x = np.roll(x, shift, axis=axis)
    return [call.moved(x)]


def _select(call: Call) -> list[Tensor]:
    condition = call.raw(0)
    yes, no = call.alike((1, 2))
    if condition.ndim == 1 and yes.ndim > 1:
        condition = condition.reshape((-1,) + (1,) * (yes.ndim - 1))
    return [call.moved(np.where(condition, yes, no), 1)]


def _select_v2(call: Call) -> list[Tensor]:
    yes, no = call.alike((1, 2))
    return [call.moved(np.where(call.raw(0), yes, no), 1)]


def _one_hot(call: Call) -> list[Tensor]:
    indices, depth = call.raw(0), call.ints(1)[0]
    on, off = call.alike((2, 3))
    axis = call.axis(int(call.attr("axis", -1)), indices.ndim + 1)
    shape = [1] * (indices.ndim + 1)
    shape[axis] = depth
    places = np.arange(depth).reshape(shape)
    hit = np.expand_dims(indices, axis) == places
    return [call.moved(np.where(hit, on, off), 2)]


def _band_part(call: Call) -> list[Tensor]:
    x = call.raw(0)
    lower, upper = call.ints(1)[0], call.ints(2)[0]
    rows = np.arange(x.shape[-2]).reshape(-1, 1)
    columns = np.arange(x.shape[-1]).reshape(1, -1)
    inside = ((lower < 0) | (rows - columns <= lower)) & (
        (upper < 0) | (columns - rows <= upper))
    return [call.moved(np.where(inside, x, np.zeros((), dtype=x.dtype)))]


OPS: OpTable = {
    "Identity": _first, "IdentityN": _identity, "StopGradient": _first,
    "PreventGradient": _first, "Snapshot": _first, "EnsureShape": _first,
    "PlaceholderWithDefault": _first, "DeepCopy": _first, "Transpose": _transpose,
    "Reshape": _reshape, "ExpandDims": _expand_dims, "Squeeze": _squeeze,
    "ConcatV2": _concat, "Concat": _concat_old, "Split": _split, "SplitV": _split_v,
    "Slice": _slice, "StridedSlice": _strided_slice,
    "StridedSliceGrad": _strided_slice_grad, "BroadcastTo": _broadcast_to,
    "Tile": _tile, "Pack": _pack, "Unpack": _unpack, "Pad": _pad, "PadV2": _pad_v2,
    "MirrorPad": _mirror_pad, "Gather": _gather, "GatherV2": _gather_v2,
    "GatherNd": _gather_nd, "ReverseV2": _reverse, "Roll": _roll, "Select": _select,
    "SelectV2": _select_v2, "OneHot": _one_hot,
    "MatrixBandPart": _band_part,
}
