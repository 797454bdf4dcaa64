"""Compound kernels of neural networks: softmax, batch normalization, convolution.

Each is written as the textbook does it; where a real kernel rounds in between, `step`
asks the policy.
"""

from __future__ import annotations

import numpy as np

from ge_harness.interpreter.call import Call, OpFunction, OpTable
from ge_harness.interpreter.ops_binary import ADD, DIV, MUL, SUB
from ge_harness.interpreter.ops_reduce import mean
from ge_harness.interpreter.policy import Elementwise
from ge_harness.interpreter.value import Tensor

_EXP = Elementwise(np.exp, "function")
_LOG = Elementwise(np.log, "function")
_SQRT = Elementwise(np.sqrt)


def _shifted(call: Call, x: np.ndarray) -> np.ndarray:
    """Return x minus its maximum along the last axis."""
    top = call.policy.reduce(
        call.node, "max", x, axes=(x.ndim - 1,), dtype=call.dtype())
    return call.step(call.compute(SUB, x, top), "difference")


def _row_sum(call: Call, x: np.ndarray) -> np.ndarray:
    total = call.policy.reduce(
        call.node, "sum", x, axes=(x.ndim - 1,), dtype=call.dtype())
    return call.step(total, "total")


def _softmax(call: Call) -> list[Tensor]:
    x = call.load(0)
    call.need(x.ndim > 0, "a scalar, expected at least rank 1")
    power = call.step(call.compute(_EXP, _shifted(call, x)), "power")
    return [call.store(call.compute(DIV, power, _row_sum(call, power)))]


def _log_softmax(call: Call) -> list[Tensor]:
    x = call.load(0)
    call.need(x.ndim > 0, "a scalar, expected at least rank 1")
    shifted = _shifted(call, x)
    power = call.step(call.compute(_EXP, shifted), "power")
    log = call.step(call.compute(_LOG, _row_sum(call, power)), "log")
    return [call.store(call.compute(SUB, shifted, log))]


def _cross_entropy(call: Call) -> list[Tensor]:
    """Softmax cross entropy with dense labels: loss and its gradient."""
    x, labels = call.load(0), call.load(1)
    shifted = _shifted(call, x)
    power = call.step(call.compute(_EXP, shifted), "power")
    total = _row_sum(call, power)
    log = call.step(call.compute(_LOG, total), "log")
    terms = call.compute(MUL, labels, call.compute(SUB, log, shifted))
    loss = _row_sum(call, call.step(terms, "product"))
    soft = call.step(call.compute(DIV, power, total), "quotient")
    gradient = call.compute(SUB, soft, labels)
    return [call.store(loss.reshape(x.shape[:-1])),
            call.store(gradient, index=1)]


def _sparse_cross_entropy(call: Call) -> list[Tensor]:
    """Softmax cross entropy with class numbers: loss and its gradient."""
    x, labels = call.load(0), call.raw(1)
    call.need(bool(np.all((labels >= 0) & (labels < x.shape[-1]))),
              f"a label outside 0..{x.shape[-1] - 1}")
    hot = (labels[..., np.newaxis] == np.arange(x.shape[-1])).astype(x.dtype)
    shifted = _shifted(call, x)
    power = call.step(call.compute(_EXP, shifted), "power")
    total = _row_sum(call, power)
    log = call.step(call.compute(_LOG, total), "log")
    chosen = np.sum(shifted * hot, axis=-1, dtype=x.dtype)
    loss = call.compute(SUB, log.reshape(chosen.shape), chosen)
    soft = call.step(call.compute(DIV, power, total), "quotient")
    return [call.store(loss), call.store(call.compute(SUB, soft, hot), index=1)]


def _fused_batch_norm(call: Call) -> list[Tensor]:
    """Batch normalization as TensorFlow's layer normalization uses it, too.

    Outputs: y, batch mean, batch variance (with n - 1 when training), and what the
    gradient needs: mean and variance (with n), and an empty tensor in version 3.
    """
    x, scale, offset = (call.load(index) for index in range(3))
    channels_first = call.text("data_format", "NHWC").startswith("NC")
    axis = 1 if channels_first else x.ndim - 1
    axes = tuple(i for i in range(x.ndim) if i != axis)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    training = call.attr("is_training", True)
    if training:
        center, spread = _moments(call, x, axes)
    else:
        center, spread = (call.load(index).reshape(shape) for index in (3, 4))
    epsilon = np.asarray(call.attr("epsilon", 1e-4), dtype=x.dtype)
    root = call.compute(_SQRT, call.compute(ADD, spread, epsilon))
    factor = call.compute(DIV, scale.reshape(shape), root)
    y = call.compute(MUL, call.compute(SUB, x, center), factor)
    y = call.compute(ADD, y, offset.reshape(shape))
    return _batch_norm_results(call, y, center, spread)


def _moments(call: Call, x: np.ndarray,
             axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    center = mean(call, x, axes)
    difference = call.compute(SUB, x, center)
    return center, mean(call, call.compute(MUL, difference, difference), axes)


def _batch_norm_results(call: Call, y: np.ndarray, center: np.ndarray,
                        spread: np.ndarray) -> list[Tensor]:
    parameter = call.dtype(1)
    count = y.size // max(center.size, 1)
    batch_mean, batch_spread = center, spread
    if call.attr("is_training", True):
        correction = y.dtype.type(count / max(count - 1, 1))
        batch_spread = spread * correction
        keep = y.dtype.type(call.attr("exponential_avg_factor", 1.0))
        if keep != 1 and call.raw(3).size:
            shape = center.shape
            batch_mean = (1 - keep) * call.load(3).reshape(shape) + keep * center
            batch_spread = (1 - keep) * call.load(4).reshape(shape) + (
                keep * batch_spread)
    statistics = [batch_mean, batch_spread, center, spread]
    out = [call.store(y)] + [
        call.store(np.asarray(part).reshape(-1), parameter, index)
        for index, part in enumerate(statistics, 1)]
    if call.node.op == "FusedBatchNormV3":
        out.append(call.store(np.zeros(0, dtype=y.dtype), parameter, 5))
    return out


def _conv_2d(call: Call) -> list[Tensor]:
    """Convolution as one matrix product over patches."""
    x, kernel = call.load(0), call.load(1)
    call.need(x.ndim == 4 and kernel.ndim == 4,
              f"ranks {x.ndim} and {kernel.ndim}, expected 4 and 4")
    first = call.text("data_format", "NHWC") == "NCHW"
    x = x.transpose(0, 2, 3, 1) if first else x
    patches = _patches(call, x, kernel.shape[:2], first=first)
    call.need(x.shape[3] == kernel.shape[2],
              f"{x.shape[3]} channels for a kernel of {kernel.shape[2]}")
    rows = patches.reshape(-1, int(np.prod(kernel.shape[:3])))
    product = call.policy.contract(
        call.node, rows, kernel.reshape(-1, kernel.shape[3]), call.dtype())
    out = product.reshape(patches.shape[:3] + (kernel.shape[3],))
    return [call.store(out.transpose(0, 3, 1, 2) if first else out)]


def _patches(call: Call, x: np.ndarray, window: tuple[int, ...], *, first: bool,
             fill: float = 0.0) -> np.ndarray:
    """Return [n, rows, columns, window rows, window columns, channels]."""
    pick = (2, 3) if first else (1, 2)
    strides = [call.numbers("strides")[i] for i in pick]
    dilations = [(call.numbers("dilations") or [1, 1, 1, 1])[i] for i in pick]
    explicit = call.numbers("explicit_paddings")
    widths, sizes = [(0, 0)], []
    for place, (size, step, gap) in enumerate(zip(window, strides, dilations)):
        reach, length = (size - 1) * gap + 1, x.shape[1 + place]
        padding = call.text("padding", "VALID")
        total = 0
        if padding == "SAME":
            total = max((-(-length // step) - 1) * step + reach - length, 0)
        before, after = total // 2, total - total // 2
        if padding == "EXPLICIT":
            before, after = explicit[2 * pick[place]:2 * pick[place] + 2]
        widths.append((before, after))
        sizes.append(max((length + before + after - reach) // step + 1, 0))
    padded = np.pad(x, widths + [(0, 0)], mode="constant", constant_values=fill)
    parts = [padded[:, i * dilations[0]:, j * dilations[1]:][
        :, :sizes[0] * strides[0]:strides[0], :sizes[1] * strides[1]:strides[1]]
        for i in range(window[0]) for j in range(window[1])]
    stacked = np.stack(parts, axis=3)
    return stacked.reshape(stacked.shape[:3] + tuple(window) + stacked.shape[4:])


def _pool(kind: str) -> OpFunction:
    def run(call: Call) -> list[Tensor]:
        x = call.load(0)
        first = call.text("data_format", "NHWC") == "NCHW"
        x = x.transpose(0, 2, 3, 1) if first else x
        pick = (2, 3) if first else (1, 2)
        window = tuple(int(call.numbers("ksize")[i]) for i in pick)
        empty = -np.inf if kind == "max" else 0.0
        patches = _patches(call, x, window, first=first, fill=empty)
        result = call.policy.reduce(
            call.node, kind, patches, axes=(3, 4), dtype=call.dtype())
        result = result.reshape(patches.shape[:3] + patches.shape[5:])
        if kind == "sum":
            ones = np.ones((1,) + x.shape[1:3] + (1,), dtype=x.dtype)
            count = _patches(call, ones, window, first=first).sum(axis=(3, 4))
            result = call.compute(DIV, result, count)
        return [call.store(result.transpose(0, 3, 1, 2) if first else result)]

    return run


OPS: OpTable = {
    "Softmax": _softmax, "LogSoftmax": _log_softmax,
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    "FusedBatchNorm": _fused_batch_norm, "FusedBatchNormV2": _fused_batch_norm,
    "FusedBatchNormV3": _fused_batch_norm, "Conv2D": _conv_2d,
    "MaxPool": _pool("max"), "AvgPool": _pool("sum"),
}
