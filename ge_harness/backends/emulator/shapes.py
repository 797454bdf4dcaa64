"""Dtypes and shapes of a node's outputs, from those of its inputs.

The common families have rules; any other op is evaluated once on zeros, up to a size.
Values of inputs that decide a shape (axes, sizes) must be known.
"""

from __future__ import annotations

from typing import Callable, Mapping, Sequence

import numpy as np

from dumps.graphdef import NodeDef
from ge_harness.backends.emulator.ir import Desc
from ge_harness.interpreter.call import Call
from ge_harness.interpreter.eager import EAGER
from ge_harness.interpreter.errors import EvaluationError
from ge_harness.interpreter.table import OPS
from ge_harness.interpreter.value import Tensor, storage_dtype

LARGEST_TRIAL = 1 << 22
_SAME = frozenset((
    "Neg", "Abs", "Relu", "Relu6", "Square", "Sqrt", "Reciprocal", "Inv", "Rsqrt",
    "Exp", "Expm1", "Log", "Log1p", "Tanh", "Sigmoid", "Erf", "Erfc", "Elu", "Selu",
    "Softplus", "Softsign", "Floor", "Ceil", "Round", "Rint", "Sign", "Identity",
    "StopGradient", "PreventGradient", "Snapshot", "ZerosLike", "OnesLike", "Softmax",
    "LogSoftmax", "LeakyRelu", "BiasAdd", "BiasAddV1", "Sin", "Cos", "CheckNumerics",
    "Acos", "Asin", "ReluGrad", "TanhGrad", "SigmoidGrad", "RsqrtGrad", "AddN",
    "EnsureShape", "PlaceholderWithDefault", "Muls", "Adds", "Gelu", "SoftmaxV2"))
_BINARY = frozenset((
    "Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "DivNoNan", "FloorDiv", "FloorMod",
    "Maximum", "Minimum", "Pow", "SquaredDifference", "Mod", "TruncateDiv", "MulNoNan",
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Atan2", "Xdivy"))
_COMPARE = frozenset((
    "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd",
    "LogicalOr"))
_TO_BOOL = frozenset(("IsNan", "IsInf", "IsFinite", "LogicalNot"))
_REDUCE = frozenset(("Sum", "Mean", "Max", "Min", "Prod", "All", "Any"))
_CONTRACT = frozenset(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"))

Known = Mapping[int, np.ndarray]
Rule = Callable[[NodeDef, Sequence[Desc], Known], "list[Desc] | None"]


def infer(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc]:
    """Return the outputs of a node.

    Args:
        node: TensorFlow's node.
        inputs: its data inputs.
        known: values of inputs by number, where they are known.

    Raises:
        EvaluationError: the op is unknown, or its shape cannot be told.
    """
    for names, rule in _RULES:
        if node.op in names:
            try:
                found = rule(node, inputs, known)
            except (IndexError, TypeError, ValueError) as error:
                shapes = ", ".join(f"{each.dtype}{list(each.shape)}" for each in inputs)
                raise EvaluationError(
                    f"{node.op} node {node.name!r}: no shape for inputs "
                    f"{shapes or '(none)'}: {error}", node.name) from error
            if found is not None:
                return found
    return _trial(node, inputs, known)


def _same(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc]:
    return [Desc(inputs[0].dtype, inputs[0].shape)]


def _binary(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc]:
    return [Desc(inputs[0].dtype, broadcast(node, inputs))]


def _compare(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc]:
    return [Desc("bool", broadcast(node, inputs))]


def _to_bool(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc]:
    return [Desc("bool", inputs[0].shape)]


def _cast(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc]:
    return [Desc(str(node.attr("DstT")), inputs[0].shape)]


def _select(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc]:
    if node.op == "Select":
        return [Desc(inputs[1].dtype, inputs[1].shape)]
    return [Desc(inputs[1].dtype, broadcast(node, inputs))]


def _reduce(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc] | None:
    if 1 not in known:
        return None
    shape = inputs[0].shape
    axes = {int(axis) % max(len(shape), 1) for axis in known[1].reshape(-1)}
    keep = bool(node.attr("keep_dims", node.attr("keepdims", False)))
    kept = tuple(1 if i in axes else n for i, n in enumerate(shape)
                 if keep or i not in axes)
    return [Desc(inputs[0].dtype, kept)]


def _contract(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc]:
    plain = node.op == "MatMul"
    left = bool(node.attr("transpose_a" if plain else "adj_x", False))
    right = bool(node.attr("transpose_b" if plain else "adj_y", False))
    a, b = inputs[0].shape, inputs[1].shape
    rows = a[-1] if left else a[-2]
    columns = b[-2] if right else b[-1]
    batch = _broadcast_shapes(node, [a[:-2], b[:-2]])
    return [Desc(inputs[0].dtype, (*batch, rows, columns))]


def _transpose(node: NodeDef, inputs: Sequence[Desc], known: Known
               ) -> list[Desc] | None:
    if 1 not in known:
        return None
    shape = inputs[0].shape
    return [Desc(inputs[0].dtype, tuple(shape[int(i)] for i in known[1].reshape(-1)))]


def _reshape(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc] | None:
    if 1 not in known:
        return None
    wanted = [int(n) for n in known[1].reshape(-1)]
    rest = 1
    for length in wanted:
        rest *= length if length >= 0 else 1
    size = inputs[0].size
    shape = tuple(n if n >= 0 else (size // rest if rest else 0) for n in wanted)
    found = Desc(inputs[0].dtype, shape)
    if found.size != size:
        raise EvaluationError(f"Reshape node {node.name!r}: {size} elements do not fit "
                              f"shape {list(wanted)}", node.name)
    return [found]


def broadcast(node: NodeDef, inputs: Sequence[Desc]) -> tuple[int, ...]:
    """Return the broadcast shape of inputs.

    Raises:
        EvaluationError: they do not broadcast.
    """
    return _broadcast_shapes(node, [each.shape for each in inputs])


def _broadcast_shapes(node: NodeDef, shapes: Sequence[tuple[int, ...]]
                      ) -> tuple[int, ...]:
    rank = max((len(shape) for shape in shapes), default=0)
    found = []
    for place in range(rank):
        lengths = {shape[place - rank + len(shape)] for shape in shapes
                   if place - rank + len(shape) >= 0} - {1}
        if len(lengths) > 1:
            raise EvaluationError(
                f"{node.op} node {node.name!r}: shapes "
                f"{', '.join(str(list(s)) for s in shapes)} do not broadcast",
                node.name)
        found.append(lengths.pop() if lengths else 1)
    return tuple(found)


def _trial(node: NodeDef, inputs: Sequence[Desc], known: Known) -> list[Desc]:
    """Evaluate the node on zeros."""
    if node.op not in OPS:
        raise EvaluationError(f"node {node.name!r}: the emulator has no op {node.op!r}",
                              node.name)
    if sum(each.size for each in inputs) > LARGEST_TRIAL:
        raise EvaluationError(
            f"{node.op} node {node.name!r}: no rule for its shape, and its inputs are "
            "too large to try; use a smaller shape", node.name)
    tensors = []
    for number, each in enumerate(inputs):
        value = known.get(number)
        if value is None:
            value = np.zeros(each.shape, storage_dtype(each.dtype))
            if node.op in ("Div", "FloorDiv", "FloorMod", "Mod"):
                value = np.ones(each.shape, storage_dtype(each.dtype))
        tensors.append(Tensor(value, each.dtype))
    try:
        with np.errstate(all="ignore"):
            results = OPS[node.op](Call(node, tensors, EAGER))
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise EvaluationError(f"{node.op} node {node.name!r}: {error}",
                              node.name) from error
    return [Desc(each.dtype, tuple(each.array.shape)) for each in results]


_RULES: tuple[tuple[frozenset[str], Rule], ...] = (
    (_SAME, _same), (_BINARY, _binary), (_COMPARE, _compare), (_TO_BOOL, _to_bool),
    (frozenset(("Cast",)), _cast), (frozenset(("Select", "SelectV2")), _select),
    (_REDUCE, _reduce), (_CONTRACT, _contract),
    (frozenset(("Transpose",)), _transpose), (frozenset(("Reshape",)), _reshape),
)
