"""Values that are known without running: constants, shapes, and host evaluation."""

from __future__ import annotations

from typing import Mapping, Sequence

import numpy as np

from dumps import graphdef
from dumps.errors import DumpError
from dumps.graphdef import AttrValue, NodeDef, TensorValue
from ge_harness.backends.emulator.ir import Desc, Node, Origin
from ge_harness.interpreter.call import Call
from ge_harness.interpreter.eager import EAGER
from ge_harness.interpreter.errors import EvaluationError, GraphRaisedError
from ge_harness.interpreter.table import OPS
from ge_harness.interpreter.value import Tensor, is_float

LARGEST_STATIC = 4096


def constant(node: NodeDef | Node) -> tuple[np.ndarray, str]:
    """Return the elements and dtype of a Const (uint16 bits for bfloat16).

    Raises:
        EvaluationError: it has no value that can be read.
    """
    value = node.attr("value")
    if not isinstance(value, TensorValue):
        raise EvaluationError(f"Const node {node.name!r} has no value", node.name)
    try:
        array = graphdef.tensor_array(value, f"node {node.name}")
    except DumpError as error:
        raise EvaluationError(str(error), node.name) from error
    return np.asarray(array), value.dtype


def static(node: NodeDef, inputs: Sequence[Desc],
           known: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Return the outputs of a node that later shapes may depend on, where known.

    Constants, shapes of tensors, and small integers computed from known ones.
    """
    if node.op == "Const":
        array, dtype = constant(node)
        return {0: array} if array.size <= LARGEST_STATIC and not is_float(
            dtype) else {}
    if node.op in ("Shape", "ShapeN", "Size", "Rank"):
        tensors = [Tensor(np.broadcast_to(np.zeros((), np.int8), each.shape), "int8")
                   for each in inputs]
        return dict(enumerate(_arrays(node, tensors)))
    small = all(each.size <= LARGEST_STATIC and not is_float(each.dtype)
                for each in inputs)
    if not inputs or not small or len(known) < len(inputs):
        return {}
    tensors = [Tensor(known[number], each.dtype)
               for number, each in enumerate(inputs)]
    return dict(enumerate(_arrays(node, tensors)))


def _arrays(node: NodeDef, tensors: Sequence[Tensor]) -> list[np.ndarray]:
    try:
        return [each.array for each in run(node, tensors)]
    except (EvaluationError, GraphRaisedError):
        return []


def run(node: NodeDef, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Evaluate one node on the host, each result rounded to its dtype.

    Raises:
        EvaluationError: the op is unknown or the node cannot be evaluated.
        GraphRaisedError: it raised, as it would in TensorFlow.
    """
    if node.op not in OPS:
        raise EvaluationError(f"node {node.name!r}: the emulator has no op {node.op!r}",
                              node.name)
    try:
        with np.errstate(all="ignore"):
            return OPS[node.op](Call(node, tensors, EAGER))
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise EvaluationError(f"{node.op} node {node.name!r}: {error}",
                              node.name) from error


def make_const(name: str, tensor: Tensor, origin: Origin) -> Node:
    """Return a Const node that holds a tensor."""
    array = np.ascontiguousarray(tensor.array)
    shape = tuple(int(n) for n in tensor.array.shape)
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    value = TensorValue(tensor.dtype, shape, little.tobytes())
    return Node(
        name, "Const", "Const",
        attrs=(("dtype", AttrValue("type", tensor.dtype)),
               ("value", AttrValue("tensor", value))),
        outputs=(Desc(tensor.dtype, shape, origin),))
