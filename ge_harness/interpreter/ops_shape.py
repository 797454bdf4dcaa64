"""Shapes, ranges and fills: ops whose values do not come from arithmetic on floats."""

from __future__ import annotations

from typing import Sequence

import numpy as np

from ge_harness.interpreter.call import Call, OpTable
from ge_harness.interpreter.value import (
    Tensor,
    is_float,
    rounded,
    storage_dtype,
)

_LARGEST_COUNT = 1 << 31


def _shape(call: Call) -> list[Tensor]:
    return [_integers(call, call.raw(index).shape) for index in range(
        len(call.inputs))]


def _size(call: Call) -> list[Tensor]:
    return [_integers(call, call.raw(0).size)]


def _rank(call: Call) -> list[Tensor]:
    return [Tensor(np.asarray(call.raw(0).ndim, dtype=np.int32), "int32")]


def _integers(call: Call, numbers: object) -> Tensor:
    dtype = str(call.attr("out_type", "int32"))
    return Tensor(np.asarray(numbers, dtype=dtype), dtype)


def _zeros_like(call: Call) -> list[Tensor]:
    return [call.moved(np.zeros_like(call.raw(0)))]


def _ones_like(call: Call) -> list[Tensor]:
    x = call.raw(0)
    one = 0x3F80 if call.inputs[0].is_bits else 1
    return [call.moved(np.full(x.shape, one, dtype=x.dtype))]


def _fill(call: Call) -> list[Tensor]:
    value, shape = call.raw(1), call.ints(0)
    call.need(value.ndim == 0, f"a value of rank {value.ndim}, expected a scalar")
    call.need(min(shape, default=0) >= 0, f"shape {shape}")
    return [call.moved(np.broadcast_to(value, shape), 1)]


def _range(call: Call) -> list[Tensor]:
    dtype = call.dtype()
    start, limit, step = (call.load(index).reshape(()) for index in range(3))
    call.need(step != 0, "a step of 0")
    if is_float(dtype):
        count = int(np.ceil((float(limit) - float(start)) / float(step)))
    else:
        count = -((int(start) - int(limit)) // int(step))
    call.need(count < _LARGEST_COUNT, f"{count} elements")
    places = np.arange(max(count, 0))
    if is_float(dtype):
        return [call.store(start + places * step)]
    return [call.store(np.asarray(int(start) + places * int(step)), dtype)]


def _lin_space(call: Call) -> list[Tensor]:
    start, stop = call.load(0).reshape(()), call.load(1).reshape(())
    count = call.ints(2)[0]
    call.need(0 < count < _LARGEST_COUNT, f"{count} elements")
    step = (stop - start) / max(count - 1, 1)
    values = np.asarray(start + np.arange(count).astype(start.dtype) * step)
    if count > 1:
        values[-1] = stop
    return [call.store(values)]


def _invert_permutation(call: Call) -> list[Tensor]:
    order = call.ints(0)
    call.need(sorted(order) == list(range(len(order))), f"{order} is no permutation")
    return [call.moved(np.argsort(np.asarray(order)).astype(call.raw(0).dtype))]


def _concat_offset(call: Call) -> list[Tensor]:
    axis = call.ints(0)[0]
    shapes = [call.ints(index) for index in range(1, len(call.inputs))]
    axis = call.axis(axis, len(shapes[0]))
    out, offset = [], 0
    for index, shape in enumerate(shapes):
        place = [0] * len(shape)
        place[axis] = offset
        offset += shape[axis]
        out.append(call.moved(
            np.asarray(place, dtype=call.raw(index + 1).dtype), index + 1))
    return out


def _broadcast_args(call: Call) -> list[Tensor]:
    shape = _broadcast_shape(call, call.ints(0), call.ints(1))
    return [call.moved(np.asarray(shape, dtype=call.raw(0).dtype))]


def _broadcast_gradient_args(call: Call) -> list[Tensor]:
    """Give, for each side, the axes along which its gradient is summed.

    Source: TensorFlow, util/bcast.h (BCastList with grad indices): equal axes are
    none of them, except axes of length 1 on both sides, which belong to both.
    """
    sides = [call.ints(0), call.ints(1)]
    if sides[0] == sides[1]:
        return [call.moved(call.raw(0)[:0]), call.moved(call.raw(0)[:0])]
    full = _broadcast_shape(call, *sides)
    out = []
    for side in sides:
        padded = [1] * (len(full) - len(side)) + side
        axes = [i for i, size in enumerate(padded) if size == 1]
        out.append(call.moved(np.asarray(axes, dtype=call.raw(0).dtype)))
    return out


def _broadcast_shape(call: Call, a: Sequence[int], b: Sequence[int]) -> list[int]:
    width = max(len(a), len(b))
    left = [1] * (width - len(a)) + list(a)
    right = [1] * (width - len(b)) + list(b)
    for one, other in zip(left, right):
        call.need(one == other or 1 in (one, other),
                  f"shapes {list(a)} and {list(b)} do not broadcast")
    return [other if one == 1 else one for one, other in zip(left, right)]


def _cast(call: Call) -> list[Tensor]:
    target = str(call.attr("DstT"))
    source = call.inputs[0]
    if target == source.dtype:
        return [call.moved(source.array)]
    return [call.policy.cast(call.node, source, target)]


def _bitcast(call: Call) -> list[Tensor]:
    """Reinterpret bits; what a policy keeps wide is rounded to its dtype first."""
    target = str(call.attr("type"))
    tensor = call.inputs[0]
    bits = rounded(tensor.array, tensor.dtype) if tensor.is_wide else tensor.array
    stored = storage_dtype(target)
    call.need(stored.itemsize == bits.dtype.itemsize,
              f"{tensor.dtype} to {target}: only dtypes of equal width")
    result = Tensor(np.ascontiguousarray(bits).view(stored).reshape(bits.shape), target)
    return [call.policy.keep(call.node, result)]


def _where(call: Call) -> list[Tensor]:
    found = np.argwhere(call.raw(0)).astype(np.int64)
    return [Tensor(found.reshape(-1, call.raw(0).ndim), "int64")]


OPS: OpTable = {
    "Shape": _shape, "ShapeN": _shape, "Size": _size, "Rank": _rank,
    "ZerosLike": _zeros_like, "OnesLike": _ones_like, "Fill": _fill, "Range": _range,
    "LinSpace": _lin_space, "InvertPermutation": _invert_permutation,
    "ConcatOffset": _concat_offset, "BroadcastArgs": _broadcast_args,
    "BroadcastGradientArgs": _broadcast_gradient_args, "Cast": _cast,
    "Bitcast": _bitcast, "Where": _where,
}
