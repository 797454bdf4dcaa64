"""Reductions, running sums, and the places of extremes."""

from __future__ import annotations

import numpy as np

from ge_harness.interpreter.call import Call, OpFunction, OpTable
from ge_harness.interpreter.ops_binary import DIV
from ge_harness.interpreter.policy import Elementwise
from ge_harness.interpreter.value import Tensor, is_float


def _reduction(kind: str) -> OpFunction:
    def run(call: Call) -> list[Tensor]:
        x = call.load(0)
        axes = call.axes(1, x.ndim)
        if kind in ("max", "min") and call.policy.nan_minmax != "propagate":
            x = _without_nan(x, kind)
        result = call.policy.reduce(
            call.node, kind, x, axes=axes, dtype=call.dtype())
        return [call.store(_kept(call, result, x, axes))]

    return run


def _mean(call: Call) -> list[Tensor]:
    x = call.load(0)
    axes = call.axes(1, x.ndim)
    return [call.store(_kept(call, mean(call, x, axes), x, axes))]


def mean(call: Call, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return the mean over axes, kept at length 1: a sum, then a division."""
    total = call.policy.reduce(call.node, "sum", x, axes=axes, dtype=call.dtype())
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    if not is_float(call.dtype()):
        return np.asarray(np.trunc(total / max(count, 1))).astype(x.dtype)
    total = call.step(total, "total")
    return call.compute(DIV, total, np.asarray(count, dtype=x.dtype))


def _logical(function: np.ufunc) -> OpFunction:
    def run(call: Call) -> list[Tensor]:
        x = call.raw(0)
        call.need(x.dtype == np.bool_, f"a {call.dtype()} tensor, expected bool")
        axes = call.axes(1, x.ndim)
        result = function.reduce(x, axis=axes, keepdims=True) if axes else x
        return [call.store(_kept(call, np.asarray(result), x, axes), "bool")]

    return run


def _kept(call: Call, result: np.ndarray, x: np.ndarray,
          axes: tuple[int, ...]) -> np.ndarray:
    """Drop reduced axes unless the node keeps them."""
    if call.attr("keep_dims", call.attr("keepdims", False)):
        return result
    return result.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def _without_nan(x: np.ndarray, kind: str) -> np.ndarray:
    """Return x with NaN as the identity of the reduction, so that it is passed over."""
    if not np.issubdtype(x.dtype, np.floating):
        return x
    identity = x.dtype.type(-np.inf if kind == "max" else np.inf)
    return np.where(np.isnan(x), identity, x)


def _place(kind: str) -> OpFunction:
    def run(call: Call) -> list[Tensor]:
        x = call.load(0)
        call.need(x.ndim > 0, "a scalar, expected at least rank 1")
        axis = call.axes(1, x.ndim)[0]
        call.need(x.shape[axis] > 0, f"axis {axis} is empty")
        if np.issubdtype(x.dtype, np.floating):
            x = _without_nan(x, kind)
        found = np.argmax(x, axis=axis) if kind == "max" else np.argmin(x, axis=axis)
        dtype = call.attr("output_type", "int64")
        return [call.store(np.asarray(found), str(dtype))]

    return run


def _running(function: np.ufunc, identity: int) -> OpFunction:
    """Make Cumsum or Cumprod: one by one along the axis, rounded each time."""
    spec = Elementwise(function)

    def run(call: Call) -> list[Tensor]:
        x = call.load(0)
        axis = call.axes(1, x.ndim)[0]
        lanes = np.moveaxis(x, axis, 0)
        if call.attr("reverse", False):
            lanes = lanes[::-1]
        out = np.empty_like(lanes)
        total = np.full(lanes.shape[1:], identity, dtype=x.dtype)
        exclusive = call.attr("exclusive", False)
        for index, row in enumerate(lanes):
            if exclusive:
                out[index] = total
            total = call.step(call.compute(spec, total, row), "total")
            if not exclusive:
                out[index] = total
        if call.attr("reverse", False):
            out = out[::-1]
        return [call.store(np.moveaxis(out, 0, axis))]

    return run


def _bias_add_grad(call: Call) -> list[Tensor]:
    x = call.load(0)
    channels_first = call.text("data_format", "NHWC").startswith("NC")
    axis = 1 if channels_first else x.ndim - 1
    axes = tuple(i for i in range(x.ndim) if i != axis)
    total = call.policy.reduce(call.node, "sum", x, axes=axes, dtype=call.dtype())
    return [call.store(total.reshape(-1))]


def _euclidean_norm(call: Call) -> list[Tensor]:
    x = call.load(0)
    axes = call.axes(1, x.ndim)
    square = call.step(call.compute(Elementwise(np.square), x), "square")
    total = call.policy.reduce(call.node, "sum", square, axes=axes, dtype=call.dtype())
    total = call.step(total, "total")
    root = call.compute(Elementwise(np.sqrt), total)
    return [call.store(_kept(call, root, x, axes))]


OPS: OpTable = {
    "Sum": _reduction("sum"), "Prod": _reduction("prod"), "Max": _reduction("max"),
    "Min": _reduction("min"), "Mean": _mean, "Any": _logical(np.logical_or),
    "All": _logical(np.logical_and), "ArgMax": _place("max"), "ArgMin": _place("min"),
    "Cumsum": _running(np.add, 0), "Cumprod": _running(np.multiply, 1),
    "BiasAddGrad": _bias_add_grad, "EuclideanNorm": _euclidean_norm,
}
