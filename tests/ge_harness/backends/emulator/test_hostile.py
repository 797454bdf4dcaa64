"""Names that collide, graphs of thousands of nodes, and movement under all switches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ge_harness.backends.emulator import pipeline
from ge_harness.backends.emulator.execute import execute_plan
from ge_harness.backends.emulator.params import parse
from ge_harness.interpreter.errors import EvaluationError
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.cases import GATE, REDUCE, fused
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder

KINDS = ("reduce", "concat", "slice", "split", "gather", "transpose")


def outputs(definition, plan):
    random = np.random.RandomState(5)
    found = {}
    for name, _, desc in plan.inputs:
        if desc.dtype in ("bfloat16", "uint16"):
            found[name] = random.randint(0, 1 << 16, desc.shape).astype("uint16")
        else:
            found[name] = random.uniform(-3, 3, desc.shape).astype(desc.dtype)
    return {name: array.tobytes()
            for name, array in execute_plan(plan, found, parse(())).items()}


def nodewise(definition, chip="910b"):
    return pipeline.compile_nodewise(cases.ge_graph(definition), chip).plan


TAKEN = "autofuse_pointwise_0_Abs_Neg"


@pytest.mark.parametrize("nodes", [
    (placeholder("x", "float16", (4, 32)), node(TAKEN, "Sin", "x", T="float16"),
     node("a", "Abs", TAKEN, T="float16"), node("b", "Neg", "a", T="float16")),
    (placeholder("x", "float16", (4, 32)), node("a", "Abs", "x", T="float16"),
     node("b", "Neg", "a", T="float16"), node(TAKEN, "Sin", "b", T="float16")),
    (placeholder(TAKEN, "float16", (4, 32)), node("a", "Abs", TAKEN, T="float16"),
     node("b", "Neg", "a", T="float16")),
    (placeholder("x", "float16", (4, 32)), node("a", "Abs", "x", T="float16"),
     node(TAKEN, "Neg", "a", T="float16")),
], ids=["before", "after", "input", "inside"])
def test_an_operator_that_has_a_fused_nodes_name_keeps_it(nodes):
    definition = graph(*nodes)
    found = cases.compiled(definition, GATE)
    assert fused(found) == [("Abs", "Neg")]
    assert found.plan.regions[0].name == f"{TAKEN}_1"
    assert outputs(definition, found.plan) == outputs(definition, nodewise(definition))


def test_hundreds_of_operators_are_shared_out_among_kernels():
    nodes = [placeholder("x", "float16", (2, 8))]
    for i in range(400):
        one, other = (f"n{i - 1}", f"n{max(0, i - 7)}") if i else ("x", "x")
        nodes.append(node(f"n{i}", "Mul" if i % 2 else "Add", one, other, T="float16"))
    found = cases.compiled(graph(*nodes), REDUCE)
    sizes = [len(names) for names in fused(found)]
    assert sum(sizes) == 400
    assert max(sizes) <= 64


MOVEMENT = {
    "split transpose concat": lambda dtype: graph(
        placeholder("x", dtype, (6, 35)), const("perm", [1, 0], "int32"),
        const("axis", 0, "int32"), const("where", 1, "int32"),
        node("s", "Split", "axis", "x", T=dtype, num_split=2),
        node("t", "Transpose", "s:0", "perm", T=dtype, Tperm="int32"),
        node("u", "Transpose", "s:1", "perm", T=dtype, Tperm="int32"),
        node("y", "ConcatV2", "t", "u", "where", T=dtype, N=2)),
    "slice broadcast concat": lambda dtype: graph(
        placeholder("x", dtype, (1, 40)), const("at", [0, 3], "int32"),
        const("size", [1, 33], "int32"), const("wide", [5, 33], "int32"),
        const("where", 0, "int32"),
        node("s", "Slice", "x", "at", "size", T=dtype, Index="int32"),
        node("b", "BroadcastTo", "s", "wide", T=dtype, Tidx="int32"),
        node("y", "ConcatV2", "b", "s", "where", T=dtype, N=2)),
    "gather tile reshape": lambda dtype: graph(
        placeholder("x", dtype, (1, 33)), const("i", [4, 0, 32, 4], "int32"),
        const("axis", 1, "int32"), const("times", [6, 1], "int32"),
        const("flat", [24], "int32"),
        node("g", "GatherV2", "x", "i", "axis", Tparams=dtype, Tindices="int32"),
        node("t", "Tile", "g", "times", T=dtype, Tmultiples="int32"),
        node("y", "Reshape", "t", "flat", T=dtype)),
}


def switches():
    """Every set of kinds, both chips, lifting on and off, several limits."""
    for chip, size in itertools.product(("910b", "950"), range(len(KINDS) + 1)):
        for number, some in enumerate(itertools.combinations(KINDS, size)):
            flags = GATE
            if some:
                flags += f";--autofuse_enable_pass={','.join(some)}"
            dfx = "--disable_lifting=true" if number % 2 else ""
            if "split" in some and "slice" not in some and chip == "910b":
                continue  # refused: split does nothing there on its own
            yield chip, flags + ("", ";--max_fusion_size=2",
                                 ";--recomputation_threshold=3")[number % 3], dfx


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", list(MOVEMENT))
def test_pure_movement_is_bit_exact_under_every_set_of_kinds(name, dtype):
    definition = MOVEMENT[name](dtype)
    expected = outputs(definition, nodewise(definition))
    source = cases.ge_graph(definition)
    plans = set()
    every = list(switches())
    for chip, flags, dfx in every[::3] if dtype == "bfloat16" else every:
        found = pipeline.compile_graph(source, cases.options(flags, chip, dfx=dfx))
        plans.add(tuple(fused(found)))
        assert outputs(definition, found.plan) == expected, (chip, flags, dfx)
    assert len(plans) > 2


def broadcast_then(op, axes, dtype="float32", *, tile=False):
    sizes = const("s", [7, 1] if tile else [7, 33], "int32")
    return graph(
        placeholder("x", dtype, (1, 33)), sizes, const("axes", axes, "int32"),
        node("w", "Tile" if tile else "BroadcastTo", "x", "s", T=dtype),
        node("m", op, "w", "axes", T=dtype), node("a", "Abs", "m", T=dtype),
        node("y", "Neg", "a", T=dtype))


@pytest.mark.parametrize(("op", "axes", "tile", "gone"), [
    ("Mean", [0], False, True), ("Max", [0], False, True), ("Min", [0], True, True),
    ("Mean", [0], True, True), ("Sum", [0], False, False), ("Prod", [0], False, False),
    ("Mean", [1], False, False), ("Mean", [0, 1], False, False),
])
def test_a_reduction_over_what_was_broadcast_goes_inside_autofuse(op, axes, tile, gone):
    definition = broadcast_then(op, axes, tile=tile)
    name = ("autofuse", "BroadcastReduceEliminationPass")
    assert cases.compiled(definition, GATE).effects(*name) == gone
    assert cases.compiled(definition, "").effects(*name) == 0
    assert cases.compiled(definition, GATE, off=["AutoFusePass"]).effects(*name) == 0


def test_without_its_reduction_a_mean_is_not_rounded():
    definition = broadcast_then("Mean", [0])
    removed = cases.compiled(definition, GATE).plan
    kept = cases.compiled(definition, GATE, off=["AutoFusePass"]).plan
    assert outputs(definition, removed) != outputs(definition, kept)
    assert outputs(definition, kept) == outputs(definition, nodewise(definition))


def test_a_tile_is_lowered_where_it_is_a_broadcast():
    assert fused(cases.compiled(broadcast_then("Sum", [1], tile=True), REDUCE)) == [
        ("Tile", "ReduceSum", "Abs", "Neg")]
    definition = graph(
        placeholder("x", "float32", (4, 33)), const("s", [2, 1], "int32"),
        node("t", "Tile", "x", "s", T="float32"), node("y", "Neg", "t", T="float32"))
    assert dict(cases.compiled(definition, GATE).fallbacks)["t"] == (
        "a Tile that is no broadcast")


def test_autofuse_folds_constants_whatever_the_switch_of_that_pass_says():
    definition = graph(
        placeholder("x", "float32", (4, 33)), const("a", 2.0, "float32"),
        const("b", 3.0, "float32"), node("c", "Mul", "a", "b", T="float32"),
        node("m", "Mul", "x", "c", T="float32"), node("y", "Neg", "m", T="float32"))
    off = ["ConstantFoldingPass"]
    closed = cases.compiled(definition, "", off=off)
    assert cases.left(closed) == ["Mul", "Mul", "Neg"]
    opened = cases.compiled(definition, GATE, off=off)
    assert fused(opened) == [("Mul", "Neg")]
    assert opened.effects("ge", "ConstantFoldingPass") == 0
    assert opened.effects("autofuse", "ConstantFoldingPass") == 1


@pytest.mark.parametrize("wrong", [
    node("y", "MatMul", "x", "w", T="float16"), node("y", "Abs", T="float16"),
    node("y", "Add", T="float16"), node("y", "Transpose", "x", "order", T="float16"),
    node("y", "ConcatV2", "x", "w", "order", T="float16", N=2),
], ids=["rank", "no input", "none at all", "permutation", "axes"])
def test_a_node_without_a_shape_is_named(wrong):
    with pytest.raises(EvaluationError, match="node 'y'"):
        cases.compiled(graph(
            placeholder("x", "float16", (32,)), placeholder("w", "float16", (32, 8)),
            const("order", [4], "int32"), wrong), GATE)


def test_a_sum_of_one_is_no_addition():
    definition = graph(
        placeholder("x", "float16", (4, 32)), node("s", "AddN", "x", T="float16", N=1),
        node("a", "Neg", "s", T="float16"), node("y", "Abs", "a", T="float16"))
    found = cases.compiled(definition, GATE)
    assert fused(found) == [("Neg", "Abs")]
    assert cases.left(found) == []  # AddNPass took the sum away


def test_equal_operators_are_merged_before_autofuse_and_looked_for_again():
    definition = graph(
        placeholder("x", "float32", (8, 64)), node("a", "Abs", "x", T="float32"),
        node("b", "Abs", "x", T="float32"), node("p", "Sin", "a", T="float32"),
        node("q", "Sin", "b", T="float32"), node("y", "Mul", "p", "q", T="float32"))
    found = cases.compiled(definition, GATE)
    places = [each.effects for each in found.ran
              if each.name == "CommonSubexpressionEliminationPass"]
    assert places == [2, 0, 0]  # twice before AutoFuse, once in OptimizeStage1_1
