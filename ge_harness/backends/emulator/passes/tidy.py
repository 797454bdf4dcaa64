"""GE's passes that drop what computes nothing, merge what is equal, and remove casts.

Source: reference: ge_passes.tsv (levels, stages); ge_optimization.md sections 8 and 9.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from dumps.graphdef import AttrValue
from ge_harness.backends.emulator import values
from ge_harness.backends.emulator.ir import (
    CONST_TYPES,
    DATA_TYPE,
    NO_ORIGIN,
    Graph,
    Node,
    Port,
)
from ge_harness.backends.emulator.passes import base
from ge_harness.interpreter.value import Tensor

_NEVER_EQUAL = (DATA_TYPE, "AscBackend", "FusedAscBackend", "Assert", "NoOp",
                "CheckNumerics")


def _drop(graph: Graph, kinds: tuple[str, ...]) -> int:
    """Let the readers of one-input nodes read what those read."""
    count = 0
    for node in base.each(graph):
        if node.type in kinds and len(node.outputs) == 1 and node.inputs:
            base.bypass(graph, node, node.inputs[0])
            count += 1
    if count:
        base.drop_unread_constants(graph)
    return count


def identity(graph: Graph) -> int:
    """IdentityPass: an Identity goes.

    Given:  x --Identity-- y
    Result: x --y
    """
    return _drop(graph, ("Identity",))


def stop_gradient(graph: Graph) -> int:
    """StopGradientPass: a marker of training goes.

    Given:  x --StopGradient-- y
    Result: x --y
    """
    return _drop(graph, ("StopGradient",))


def prevent_gradient(graph: Graph) -> int:
    """PreventGradientPass: a marker of training goes.

    Given:  x --PreventGradient-- y
    Result: x --y
    """
    return _drop(graph, ("PreventGradient",))


def snapshot(graph: Graph) -> int:
    """SnapshotPass: a Snapshot goes.

    Given:  x --Snapshot-- y
    Result: x --y
    """
    return _drop(graph, ("Snapshot",))


def placeholder_with_default(graph: Graph) -> int:
    """PlaceholderWithDefaultPass: the default is the value.

    Given:  Const c --PlaceholderWithDefault-- y
    Result: Const c --y
    """
    return _drop(graph, ("PlaceholderWithDefault",))


def no_use_reshape(graph: Graph) -> int:
    """NoUseReshapeRemovePass: a Reshape to the shape there is goes.

    Given:  x [2,3] --Reshape([2,3])-- y
    Result: x [2,3] --y
    """
    count = 0
    for node in base.each(graph):
        if node.type == "Reshape" and (
                graph.desc(node.inputs[0]).shape == node.outputs[0].shape):
            base.bypass(graph, node, node.inputs[0])
            count += 1
    if count:
        base.drop_unread_constants(graph)
    return count


def unchanged_transpose(graph: Graph) -> int:
    """UnchangedTransposeRemovePass: a Transpose that keeps the order goes.

    Given:  x --Transpose([0,1])-- y
    Result: x --y
    """
    count = 0
    for node in base.each(graph):
        if node.type != "Transpose":
            continue
        order = base.const_values(graph, node.inputs[1])
        if order is not None and list(order.reshape(-1)) == list(range(order.size)):
            base.bypass(graph, node, node.inputs[0])
            count += 1
    if count:
        base.drop_unread_constants(graph)
    return count


def prune(graph: Graph) -> int:
    """PrunePass: what reaches no output goes; inputs stay.

    Given:  x --Relu-- y (an output), x --Exp-- z (read by nobody)
    Result: x --Relu-- y
    """
    needed: set[str] = set()
    stack = [port.node for port in graph.output_ports()]
    while stack:
        name = stack.pop()
        if name not in needed:
            needed.add(name)
            node = graph.nodes[name]
            stack += [port.node for port in node.inputs] + list(node.controls)
    gone = [node.name for node in graph
            if node.name not in needed and node.type != DATA_TYPE]
    for name in reversed(gone):
        graph.remove(name)
    return len(gone)


def add_n(graph: Graph) -> int:
    """AddNPass: an AddN of one goes.

    Given:  x --AddN-- y
    Result: x --y
    """
    count = 0
    for node in base.each(graph):
        if node.type == "AddN" and len(node.inputs) == 1:
            base.bypass(graph, node, node.inputs[0])
            count += 1
    return count


def common_subexpression(graph: Graph) -> int:
    """CommonSubexpressionEliminationPass: of equal nodes the first stays.

    Given:  x --Exp-- a, x --Exp-- b
    Result: x --Exp-- a, and what read b reads a
    """
    return _merge(graph, lambda node: not node.is_const
                  and node.type not in _NEVER_EQUAL and bool(node.inputs))


def same_const(graph: Graph) -> int:
    """ConstantFuseSamePass and RemoveSameConstPass: of equal constants the first stays.

    Given:  Const 0.5 a, Const 0.5 b
    Result: Const 0.5 a, and what read b reads a
    """
    return _merge(graph, lambda node: node.type in CONST_TYPES)


def _merge(graph: Graph, is_candidate) -> int:  # type: ignore[no-untyped-def]
    seen: dict[object, Node] = {}
    count = 0
    for name in list(graph.nodes):
        node = graph.nodes[name]
        if not is_candidate(node):
            continue
        shape = tuple((desc.dtype, desc.shape) for desc in node.outputs)
        key = (node.type, node.inputs, node.controls, node.attrs, shape,
               node.mark("_disable_autofuse_scope"))
        first = seen.setdefault(key, node)
        if first is node:
            continue
        for index in range(len(node.outputs)):
            graph.redirect(Port(name, index), Port(first.name, index))
        graph.remove(name)
        count += 1
    return count


def cast_remove(graph: Graph) -> int:
    """CastRemovePass: a chain of casts that ends in the dtype it began with goes.

    GE counts only casts to bool and from floats to integers as losing precision, so a
    rounding in the middle disappears.

    Given:  x fp32 --Cast-- fp16 --Cast-- y fp32
    Result: x fp32 --y
    """
    count = 0
    for name in list(graph.nodes):
        node = graph.nodes.get(name)
        if node is None or node.type != "Cast" or _continues(graph, node):
            continue
        chain = _chain(graph, node)
        start = chain[0].inputs[0]
        dtypes = [graph.desc(start).dtype] + [each.outputs[0].dtype for each in chain]
        if dtypes[0] != dtypes[-1] or _loses(dtypes):
            continue
        base.bypass(graph, graph.nodes[chain[-1].name], start)
        for each in reversed(chain[:-1]):
            graph.remove(each.name)
        count += len(chain)
    return count


def _continues(graph: Graph, node: Node) -> bool:
    """Say whether a longer chain has this cast inside."""
    reader = base.single_reader(graph, node.port)
    return bool(reader) and graph.nodes[reader].type == "Cast"


def _chain(graph: Graph, last: Node) -> list[Node]:
    chain = [last]
    while True:
        before = graph.nodes[chain[0].inputs[0].node]
        if before.type != "Cast" or not base.single_reader(graph, before.port):
            return chain
        chain.insert(0, before)


def _loses(dtypes: list[str]) -> bool:
    floats = ("float16", "bfloat16", "float32", "float64")
    return any(after == "bool" != before
               or (before in floats and after not in floats)
               for before, after in zip(dtypes, dtypes[1:]))


def useless_binary(graph: Graph) -> int:
    """AlgebraicSimplificationPass: x+0, x-0, x*1, x/1; types Add, Sub, Mul, Div only.

    Given:  x --Add(Const of zeros)-- y
    Result: x --y, through BroadcastTo where y is larger
    """
    count = 0
    for name in list(graph.nodes):
        node = graph.nodes.get(name)
        if node is None or node.type not in ("Add", "Sub", "Mul", "Div"):
            continue
        neutral = 0.0 if node.type in ("Add", "Sub") else 1.0
        for slot in (1, 0) if node.type in ("Add", "Mul") else (1,):
            found = base.const_values(graph, node.inputs[slot])
            if found is None or not found.size or not (found == neutral).all():
                continue
            kept = node.inputs[1 - slot]
            if graph.desc(kept).shape == node.outputs[0].shape:
                base.bypass(graph, node, kept)
            else:
                _broadcast(graph, node, kept)
            count += 1
            break
    if count:
        base.drop_unread_constants(graph)
    return count


def _broadcast(graph: Graph, node: Node, kept: Port) -> None:
    """Turn a node into a BroadcastTo of one of its inputs."""
    shape = np.asarray(node.outputs[0].shape, dtype=np.int32)
    name = base.fresh_name(graph, "dynamic_const")
    sizes = values.make_const(name, Tensor(shape, "int32"), NO_ORIGIN)
    graph.put_before(sizes, node.name)
    attrs = (("T", AttrValue("type", node.outputs[0].dtype)),
             ("Tidx", AttrValue("type", "int32")))
    graph.put(dataclasses.replace(node, type="BroadcastTo", op="BroadcastTo",
                                  inputs=(kept, sizes.port), attrs=attrs))


def cast_pair(graph: Graph) -> int:
    """AutoFuse's CastRemovePass: casts to the dtype there is, and pairs A-B-A.

    Whatever B is, so a rounding in the middle disappears.

    Given:  x fp32 --Cast-- fp16 --Cast-- y fp32
    Result: x fp32 --y
    """
    count = 0
    for name in list(graph.nodes):
        node = graph.nodes.get(name)
        if node is None or node.type != "Cast":
            continue
        source = graph.desc(node.inputs[0]).dtype
        if source == node.outputs[0].dtype:
            base.bypass(graph, node, node.inputs[0])
            count += 1
            continue
        before = graph.nodes[node.inputs[0].node]
        if (before.type == "Cast" and base.single_reader(graph, before.port)
                and graph.desc(before.inputs[0]).dtype == node.outputs[0].dtype):
            base.bypass(graph, node, before.inputs[0])
            graph.remove(before.name)
            count += 2
    return count


def cascade_reshape(graph: Graph) -> int:
    """AutoFuse's CascadeReshapeRemovePass: of two reshapes in a row the last stays.

    Given:  x [2,6] --Reshape-- [3,4] --Reshape-- y [12]
    Result: x [2,6] --Reshape-- y [12]
    """
    count = 0
    for name in list(graph.nodes):
        node = graph.nodes.get(name)
        if node is None or node.type != "Reshape":
            continue
        before = graph.nodes[node.inputs[0].node]
        if before.type == "Reshape" and base.single_reader(graph, before.port):
            graph.put(dataclasses.replace(
                node, inputs=(before.inputs[0], *node.inputs[1:])))
            graph.remove(before.name)
            count += 1
    if count:
        base.drop_unread_constants(graph)
    return count
