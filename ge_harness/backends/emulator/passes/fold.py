"""Passes that compute on the host what does not depend on inputs."""

from __future__ import annotations

from typing import Sequence

import numpy as np

from ge_harness.backends.emulator import values
from ge_harness.backends.emulator.ir import Graph, Node, Port, with_marks
from ge_harness.backends.emulator.passes import base
from ge_harness.interpreter.errors import EvaluationError, GraphRaisedError
from ge_harness.interpreter.value import Tensor, storage_dtype

_OF_SHAPE = ("Shape", "ShapeN", "Size", "Rank")
_NEVER = ("Assert", "CheckNumerics", "NoOp", "NetOutput", "AscBackend",
          "FusedAscBackend", "Data")
_STEM = "dynamic_const"


def constant_folding(graph: Graph) -> int:
    """ConstantFoldingPass: constants in, constant out, by host kernels.

    Given:  Const a, Const b --Mul-- y
    Result: Const dynamic_const_0 --y, with _is_from_constant_folding
    """
    count = 0
    for node in base.each(graph):
        inputs = [graph.nodes[port.node] for port in node.inputs]
        if (not inputs or not node.op or node.type in _NEVER
                or node.controls or not all(each.is_const for each in inputs)):
            continue
        try:
            tensors = [Tensor(*values.constant(each)) for each in inputs]
            results = values.run(node.definition(), tensors)
        except (EvaluationError, GraphRaisedError):
            continue
        count += _put(graph, node, results, folded=True)
    if count:
        base.drop_unread_constants(graph)
        graph.sort()
    return count


def dimension_compute(graph: Graph) -> int:
    """DimensionComputePass: Shape, Size and Rank of static tensors.

    Given:  x [2,3] --Shape-- s
    Result: Const [2, 3] --s
    """
    count = 0
    for node in base.each(graph):
        if node.type not in _OF_SHAPE or node.controls:
            continue
        tensors = [Tensor(np.broadcast_to(np.zeros((), np.int8),
                                          graph.desc(port).shape), "int8")
                   for port in node.inputs]
        count += _put(graph, node, values.run(node.definition(), tensors), folded=False)
    if count:
        base.drop_unread_constants(graph)
        graph.sort()
    return count


def empty_const(graph: Graph) -> int:
    """ReplaceWithEmptyConstPass: what has no elements needs no kernel.

    Given:  x [0,4] --Mul(x)-- y [0,4]
    Result: Const [0,4] --y
    """
    count = 0
    for node in base.each(graph):
        empty = node.outputs and all(desc.size == 0 for desc in node.outputs)
        if not empty or node.is_const or node.type in _NEVER or node.controls:
            continue
        results = [Tensor(np.zeros(desc.shape, storage_dtype(desc.dtype)), desc.dtype)
                   for desc in node.outputs]
        count += _put(graph, node, results, folded=False)
    if count:
        graph.sort()
    return count


def _put(graph: Graph, node: Node, results: Sequence[Tensor], *, folded: bool) -> int:
    """Put constants in the place of a node."""
    for index, tensor in enumerate(results):
        origin = node.outputs[index].origin
        name = base.fresh_name(graph, _STEM)
        made = values.make_const(name, tensor, origin)
        if folded:
            made = with_marks(made, _is_from_constant_folding=True)
        graph.put_before(made, node.name)
        graph.redirect(Port(node.name, index), made.port)
    graph.remove(node.name)
    return 1
