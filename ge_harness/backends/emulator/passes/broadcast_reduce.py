"""AutoFuse's BroadcastReduceEliminationPass: a reduction that undoes a broadcast.

Source: reference: autofuse_fusion_rules.md section 1.1; ge_passes.tsv.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from dumps.graphdef import AttrValue
from ge_harness.backends.emulator import values
from ge_harness.backends.emulator.autofuse.support import reduced_axes
from ge_harness.backends.emulator.ir import NO_ORIGIN, Graph, Node, Port
from ge_harness.backends.emulator.passes import base
from ge_harness.interpreter.value import Tensor

_REDUCES = ("ReduceMax", "ReduceMin", "ReduceMean")
_BROADCASTS = ("BroadcastTo", "Tile")


def broadcast_reduce(graph: Graph) -> int:
    """Drop Max, Min and Mean over axes that a broadcast made; Sum and Prod stay.

    A mean loses the rounding of its sum and product. Where other axes are reduced or
    broadcast as well, both operators stay: what GE does there is not known.

    Given:  x [1,4] --BroadcastTo-- [8,4] --ReduceMean(0)-- y [4]
    Result: x [1,4] --Reshape-- y [4]
    """
    count = 0
    for node in base.each(graph):
        source = _undone(graph, node)
        if source is None:
            continue
        if graph.desc(source).shape == node.outputs[0].shape:
            base.bypass(graph, node, source)
        else:
            _reshape(graph, node, source)
        count += 1
    if count:
        _drop_unread(graph)
        base.drop_unread_constants(graph)
    return count


def _undone(graph: Graph, node: Node) -> Port | None:
    """Return what was broadcast, where a reduction only undoes that."""
    if node.type not in _REDUCES or not graph.nodes[node.inputs[1].node].is_const:
        return None
    wide = graph.nodes[node.inputs[0].node]
    if wide.type not in _BROADCASTS or wide.controls or node.controls:
        return None
    full, given = wide.outputs[0].shape, graph.desc(wide.inputs[0]).shape
    narrow = (1,) * (len(full) - len(given)) + tuple(given)
    axes = reduced_axes(graph, node)
    if not axes or not wide.outputs[0].size or any(
            narrow[axis] != (1 if axis in axes else full[axis])
            for axis in range(len(full))):
        return None
    return wide.inputs[0]


def _reshape(graph: Graph, node: Node, source: Port) -> None:
    shape = np.asarray(node.outputs[0].shape, dtype=np.int32)
    sizes = values.make_const(base.fresh_name(graph, "dynamic_const"),
                              Tensor(shape, "int32"), NO_ORIGIN)
    graph.put_before(sizes, node.name)
    graph.put(dataclasses.replace(
        node, type="Reshape", op="Reshape", inputs=(source, sizes.port),
        attrs=(("T", AttrValue("type", node.outputs[0].dtype)),
               ("Tshape", AttrValue("type", "int32")))))


def _drop_unread(graph: Graph) -> None:
    """Take out broadcasts that nothing reads any more."""
    used = {port.node for each in graph for port in each.inputs}
    used |= {port.node for port in graph.output_ports()}
    used |= {name for each in graph for name in each.controls}
    for node in base.each(graph):
        if node.type in _BROADCASTS and node.name not in used:
            graph.remove(node.name)
