"""Elementwise kernels, block of rows by block of rows.

Every operator of such a nest gives one tensor of the loop's shape, so a block of rows
depends on the same rows of what is loaded, and the bits are those of the whole.
"""

from __future__ import annotations

from typing import Callable, Mapping, Sequence

import numpy as np

from ge_harness.backends.emulator.ir import Node, Port
from ge_harness.backends.emulator.numerics import blocks
from ge_harness.interpreter.value import Tensor

BLOCK = 1 << 16
"""Elements of one block."""

_ELEMENTWISE = frozenset((
    "Abs", "Acos", "Add", "AddN", "AddV2", "Adds", "Asin", "BiasAdd", "Cast",
    "ClipByValue", "Div", "DivNoNan", "Elu", "EluGrad", "Equal", "Erf", "Exp",
    "FloorDiv", "Gelu", "Greater", "GreaterEqual", "IsFinite", "IsNan", "LeakyRelu",
    "Less", "LessEqual", "Log", "Log1p", "LogicalAnd", "LogicalNot", "LogicalOr",
    "Maximum", "Minimum", "Mul", "Muls", "Neg", "NotEqual", "RealDiv", "Reciprocal",
    "Relu", "ReluGrad", "Rsqrt", "RsqrtGrad", "SelectV2", "Sigmoid", "SigmoidGrad",
    "Sign", "Sqrt", "Square", "SquaredDifference", "Sub", "Tanh", "TanhGrad"))

Run = Callable[[Mapping[Port, Tensor]], Mapping[Port, Tensor]]


def fits(nodes: Sequence[Node], loads: Mapping[Port, Tensor]) -> bool:
    """Say whether nodes are worth running, and can run, row by row."""
    shape = nodes[0].outputs[0].shape
    if nodes[0].outputs[0].size <= 2 * BLOCK or len(shape) < 2:
        return False
    for node in nodes:
        kind = node.op or node.type
        if kind not in _ELEMENTWISE or [d.shape for d in node.outputs] != [shape]:
            return False
        if kind == "BiasAdd" and not _takes_bias(node, shape, loads):
            return False
        if kind == "AddN" and any(loads[p].array.shape != shape
                                  for p in node.inputs if p in loads):
            return False
    return all(_spans(tensor.array.shape, shape) for tensor in loads.values())


def _takes_bias(node: Node, shape: tuple[int, ...], loads: Mapping[Port, Tensor]
                ) -> bool:
    """Say whether a bias stays a vector: rows are those of the last axis."""
    if node.attr("data_format", b"NHWC") != b"NHWC":
        return False
    arrays = [tensor.array for tensor in loads.values() if tensor.array.ndim]
    return _matrices(shape, arrays)[1] == shape[-1]


def _matrices(shape: tuple[int, ...], arrays: Sequence[np.ndarray]
              ) -> tuple[int, int, list[np.ndarray]]:
    """Return rows, columns and the arrays as matrices of them."""
    rows, width, flat = blocks.flattened([*arrays, np.empty(shape, np.bool_)], shape)
    if width == 1 and all(x.shape[0] == rows for x in flat):
        width = shape[-1]  # all of one shape: rows of the last axis serve as well
        rows //= max(width, 1)
        flat = [x.reshape(rows, width) for x in flat]
    return rows, width, flat


def _spans(part: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Say whether a shape broadcasts to another without changing it."""
    return len(part) <= len(whole) and all(
        a in (1, b) for a, b in zip(reversed(part), reversed(whole)))


def run(shape: tuple[int, ...], loads: Mapping[Port, Tensor],
        body: Run) -> dict[Port, Tensor]:
    """Run a loop nest by blocks of rows.

    Args:
        shape: of the loop.
        loads: what it reads.
        body: loads of a block to the stored tensors of that block.
    """
    ports = [port for port, tensor in loads.items() if tensor.array.ndim]
    full = [loads[port].array for port in ports]
    rows, width, flat = _matrices(shape, full)
    step = max(1, BLOCK // width)
    out: dict[Port, Tensor] = {}
    for start in range(0, rows, step):
        part = dict(loads)
        for port, whole, matrix in zip(ports, full, flat):
            array = matrix if matrix.shape[0] == 1 else matrix[start:start + step]
            if whole.ndim == 1 and whole.size == width:
                array = whole  # a bias stays a vector
            part[port] = Tensor(array, loads[port].dtype)
        for port, tensor in body(part).items():
            if port not in out:
                out[port] = Tensor(np.empty((rows, width), tensor.array.dtype),
                                   tensor.dtype)
            out[port].array[start:start + step] = tensor.array
    return {port: Tensor(tensor.array.reshape(shape), tensor.dtype)
            for port, tensor in out.items()}
