"""Graph fusion passes of the fusion engine that rewrite by a public rule.

Most of the engine is closed. What is here is described in public; three closed patterns
(LayerNorm, Softmax, Gelu) are in `engine_patterns` and stay off unless a switch names
them, since when the closed code matches is not known.

Source: reference: ge_passes.tsv; ops-nn, matmul/mat_mul_v3/op_graph/fusion_pass.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from dumps.graphdef import AttrValue
from ge_harness.backends.emulator.ir import Graph, Node, with_marks
from ge_harness.backends.emulator.passes import base


def marked(node: Node, name: str) -> Node:
    """Return the node with a pass's name in `pass_name`, which keeps the history."""
    before = node.mark("pass_name", ())
    return with_marks(node, pass_name=(*before, name))


def real_div_to_muls(graph: Graph) -> int:
    """RealDiv2MulsFusionPass: a division by one constant number is a product.

    Given:  x --RealDiv(Const 3.0)-- y
    Result: x --Muls(value float32(1/3))-- y
    """
    count = 0
    for name in list(graph.nodes):
        node = graph.nodes[name]
        if node.type != "RealDiv" or node.outputs[0].dtype not in (
                "float16", "float32"):
            continue
        divisor = base.scalar_value(graph, node.inputs[1])
        if divisor is None or divisor == 0 or not np.isfinite(divisor) or (
                graph.desc(node.inputs[0]).shape != node.outputs[0].shape):
            continue
        value = float(np.float32(1.0) / np.float32(divisor))
        made = dataclasses.replace(
            node, type="Muls", op="", inputs=node.inputs[:1],
            attrs=(("value", AttrValue("f", value)),))
        graph.put(marked(made, "RealDiv2MulsFusionPass"))
        count += 1
    if count:
        base.drop_unread_constants(graph)
    return count


def mat_mul_bias_add(graph: Graph) -> int:
    """MatMulBiasAddFusionPass: a bias added to a product becomes its third input.

    The sum is then rounded once, from the accumulator.

    Given:  a, b --MatMul-- [m,n] --BiasAdd or Add(bias [n])-- y
    Result: a, b, bias --MatMul-- y
    """
    count = 0
    for name in list(graph.nodes):
        add = graph.nodes.get(name)
        if add is None or add.type not in ("BiasAdd", "Add", "AddV2"):
            continue
        for slot in (0,) if add.type == "BiasAdd" else (0, 1):
            product = graph.nodes[add.inputs[slot].node]
            bias = add.inputs[1 - slot]
            if _takes_bias(graph, product, add, graph.desc(bias).shape) and (
                    bias.node != product.name):
                _join(graph, product, add, 1 - slot)
                count += 1
                break
    if count:
        graph.sort()
    return count


def _takes_bias(graph: Graph, product: Node, add: Node,
                bias: tuple[int, ...]) -> bool:
    if product.type != "MatMul" or len(product.inputs) != 2 or product.controls:
        return False
    if base.single_reader(graph, product.port) != add.name or add.controls:
        return False
    return bias == product.outputs[0].shape[-1:] and (
        add.attr("data_format") in (None, b"NHWC"))


def _join(graph: Graph, product: Node, add: Node, slot: int) -> None:
    made = dataclasses.replace(
        product, name=add.name, op="", inputs=(*product.inputs, add.inputs[slot]),
        outputs=add.outputs, origins=base.merged_origins(product, add))
    graph.put(marked(made, "MatMulBiasAddFusionPass"))
    graph.remove(product.name)
