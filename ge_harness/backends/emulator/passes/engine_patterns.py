"""Three patterns of the fusion engine whose code is closed, as far as they are known.

What replaces what is public; the exact conditions are not. They are off unless a switch
names them, so that nothing modeled hides AutoFuse's own work.

Source: reference: ge_passes.tsv (LayerNormFusionPass, SoftmaxFusionPass,
GeluFusionPass).
"""

from __future__ import annotations

import dataclasses
from typing import Sequence

from dumps.graphdef import AttrValue
from ge_harness.backends.emulator.ir import Desc, Graph, Node, Port
from ge_harness.backends.emulator.passes import base
from ge_harness.backends.emulator.passes.engine import marked

_ADDS = ("Add", "AddV2")


def layer_norm(graph: Graph) -> int:
    """LayerNormFusionPass: layer norm over the last axis from primitives.

    Given:  x --ReduceMean-- Sub --Square-- ReduceMean --Add eps-- Rsqrt --Mul(Sub)--
            Mul(gain)-- Add(bias)-- y
    Result: x, gain, bias --LayerNorm(begin_norm_axis, epsilon)-- y
    """
    count = 0
    for name in list(graph.nodes):
        add = graph.nodes.get(name)
        found = _layer_norm_at(graph, add) if add is not None else None
        if add is None or found is None:
            continue
        inputs, epsilon, gone = found
        shape = add.outputs[0].shape
        rows = (*shape[:-1], 1)
        dtype = add.outputs[0].dtype
        _replace(graph, add, gone, dataclasses.replace(
            add, type="LayerNorm", op="", inputs=inputs,
            attrs=(("begin_norm_axis", AttrValue("i", len(shape) - 1)),
                   ("epsilon", AttrValue("f", epsilon))),
            outputs=(add.outputs[0], Desc(dtype, rows), Desc(dtype, rows))),
            "LayerNormFusionPass")
        count += 1
    return count


def _layer_norm_at(graph: Graph, add: Node
                   ) -> tuple[tuple[Port, ...], float, list[Node]] | None:
    second, bias = _operands(graph, add, _ADDS, "Mul")
    first, gain = _operands(graph, second, ("Mul",), "Mul")
    rsqrt, centered = _operands(graph, first, ("Mul",), "Rsqrt")
    if rsqrt is None or centered is None or gain is None or bias is None:
        return None
    eps_add = _node(graph, rsqrt.inputs[0], *_ADDS)
    variance, eps = _operands(graph, eps_add, _ADDS, "ReduceMean")
    square = _node(graph, variance.inputs[0], "Square") if variance else None
    sub = _node(graph, centered, "Sub")
    if not (eps_add and eps and variance and square and sub and second and first):
        return None
    mean = _node(graph, sub.inputs[1], "ReduceMean")
    epsilon = base.scalar_value(graph, eps)
    if mean is None or epsilon is None or square.inputs[0] != sub.port or (
            mean.inputs[0] != sub.inputs[0]) or not _last(graph, mean, variance):
        return None
    shape = add.outputs[0].shape
    if {graph.desc(gain).shape, graph.desc(bias).shape} != {shape[-1:]}:
        return None
    return (sub.inputs[0], gain, bias), epsilon, [
        second, first, rsqrt, eps_add, variance, square, sub, mean]


def _last(graph: Graph, *nodes: Node) -> bool:
    """Say whether reductions work on the last axis alone and keep it."""
    for node in nodes:
        axes = base.const_values(graph, node.inputs[1])
        rank = len(graph.desc(node.inputs[0]).shape)
        if axes is None or not node.attr("keep_dims", False) or (
                [int(a) % rank for a in axes.reshape(-1)] != [rank - 1]):
            return False
    return True


def softmax(graph: Graph) -> int:
    """SoftmaxFusionPass: softmax over the last axis from primitives.

    Given:  x --ReduceMax-- Sub --Exp-- ReduceSum-- RealDiv(Exp)-- y
    Result: x --SoftmaxV2(axes)-- y
    """
    count = 0
    for name in list(graph.nodes):
        div = graph.nodes.get(name)
        if div is None or div.type != "RealDiv":
            continue
        raised = _node(graph, div.inputs[0], "Exp")
        total = _node(graph, div.inputs[1], "ReduceSum")
        sub = _node(graph, raised.inputs[0], "Sub") if raised else None
        top = _node(graph, sub.inputs[1], "ReduceMax") if sub else None
        if not (raised and total and sub and top) or total.inputs[0] != raised.port or (
                top.inputs[0] != sub.inputs[0]) or not _last(graph, total, top):
            continue
        axes = (AttrValue("i", -1),)
        _replace(graph, div, [total, raised, sub, top], dataclasses.replace(
            div, type="SoftmaxV2", op="", inputs=sub.inputs[:1],
            attrs=(("axes", AttrValue("list", axes)),)), "SoftmaxFusionPass")
        count += 1
    return count


def gelu(graph: Graph) -> int:
    """GeluFusionPass: the tanh form of GELU from primitives.

    Given:  Mul(Mul(0.5, x), Add(1, Tanh(Mul(c, Add(x, Mul(0.044715, x*x*x))))))
    Result: x --Gelu-- y
    """
    count = 0
    for name in list(graph.nodes):
        top = graph.nodes.get(name)
        found = _gelu_at(graph, top) if top is not None else None
        if top is None or found is None:
            continue
        x, gone = found
        _replace(graph, top, gone, dataclasses.replace(
            top, type="Gelu", op="", inputs=(x,), attrs=()), "GeluFusionPass")
        count += 1
    return count


def _gelu_at(graph: Graph, top: Node) -> tuple[Port, list[Node]] | None:
    one, half_x = _operands(graph, top, ("Mul",), *_ADDS)
    bent, unit = _operands(graph, one, _ADDS, "Tanh")
    scaled = _node(graph, bent.inputs[0], "Mul") if bent else None
    inner, _ = _operands(graph, scaled, ("Mul",), *_ADDS)
    cubic, x = _operands(graph, inner, _ADDS, "Mul")
    half = _node(graph, half_x, "Mul") if half_x else None
    if not (one and bent and scaled and inner and cubic and half) or x is None or (
            unit is None):
        return None
    cube, _ = _operands(graph, cubic, ("Mul",), "Mul")
    square = _node(graph, cube.inputs[0], "Mul") if cube else None
    if not (cube and square) or set(square.inputs) != {x} or x not in half.inputs or (
            base.scalar_value(graph, unit) != 1.0):
        return None
    return x, [one, bent, scaled, inner, cubic, cube, square, half]


def _node(graph: Graph, port: Port, *kinds: str) -> Node | None:
    node = graph.nodes[port.node]
    return node if node.type in kinds else None


def _operands(graph: Graph, node: Node | None, kinds: Sequence[str], *inner: str
              ) -> tuple[Node | None, Port | None]:
    """Return the operand of a type of `inner`, and the other operand."""
    if node is None or node.type not in kinds:
        return None, None
    for slot in (0, 1):
        found = _node(graph, node.inputs[slot], *inner)
        if found is not None:
            return found, node.inputs[1 - slot]
    return None, None


def _replace(graph: Graph, top: Node, gone: Sequence[Node], made: Node,
             name: str) -> None:
    made = dataclasses.replace(made, origins=base.merged_origins(*reversed(gone), top))
    graph.put(marked(made, name))
    for _ in gone:
        used = {port.node for node in graph for port in node.inputs}
        used |= {port.node for port in graph.output_ports()}
        for node in gone:
            if node.name in graph.nodes and node.name not in used:
                graph.remove(node.name)
    base.drop_unread_constants(graph)
    graph.sort()
