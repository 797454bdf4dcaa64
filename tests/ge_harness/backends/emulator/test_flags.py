"""Every AUTOFUSE_FLAGS key that is honored: where it acts, and where it is inert."""

from __future__ import annotations

import dataclasses

import pytest

from ge_harness.backends.emulator import pipeline
from ge_harness.backends.emulator.autofuse.precision import BlacklistError
from ge_harness.errors import SwitchError
from ge_harness.switches.autofuse_config import read_config
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.cases import GATE, REDUCE, fused, left
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder


def chain(op, *, extra=(), dtype="float32", shape=(8, 64)):
    """abs, then `op` with constants `extra`, then neg."""
    return graph(placeholder("x", dtype, shape), *extra,
                 node("a", "Abs", "x", T=dtype),
                 op, node("y", "Neg", "o", T=dtype))


def test_without_the_gate_nothing_fuses():
    assert fused(cases.compiled(cases.mul_add_relu(), "")) == []
    assert fused(cases.compiled(cases.mul_add_relu(), GATE)) != []


def test_reduce_acts_where_there_is_a_reduction_and_is_inert_elsewhere():
    assert fused(cases.compiled(cases.softmax(), REDUCE)) != fused(
        cases.compiled(cases.softmax(), GATE))
    assert fused(cases.compiled(cases.mul_add_relu(), REDUCE)) == fused(
        cases.compiled(cases.mul_add_relu(), GATE))


def test_a_list_of_passes_that_are_off_changes_only_the_list_that_is_on():
    held = read_config(GATE + ";--autofuse_enable_pass=reduce,concat"
                       ";--autofuse_disable_pass=reduce")
    found = pipeline.compile_graph(cases.ge_graph(cases.softmax()),
                                   dataclasses.replace(cases.options(), autofuse=held))
    assert fused(found) == fused(cases.compiled(cases.softmax(), GATE))
    alone = read_config(GATE + ";--autofuse_disable_pass=reduce")
    inert = pipeline.compile_graph(cases.ge_graph(cases.softmax()),
                                   dataclasses.replace(cases.options(), autofuse=alone))
    assert fused(inert) == fused(cases.compiled(cases.softmax(), GATE))


@pytest.mark.parametrize(("kind", "chip", "graph_of"), [
    ("concat", "910b", lambda: graph(
        placeholder("x", "float32", (8, 64)), const("axis", 1, "int32"),
        node("a", "Abs", "x", T="float32"),
        node("o", "ConcatV2", "a", "x", "axis", T="float32", N=2))),
    ("slice", "910b", lambda: chain(
        node("o", "Slice", "a", "begin", "size", T="float32", Index="int32"),
        extra=(const("begin", [0, 0], "int32"), const("size", [4, 32], "int32")))),
    ("transpose", "910b", lambda: chain(
        node("o", "Transpose", "a", "perm", T="float32", Tperm="int32"),
        extra=(const("perm", [1, 0], "int32"),))),
    ("gather", "950", lambda: graph(
        placeholder("x", "float32", (8, 64)), placeholder("i", "int32", (8,)),
        const("axis", 0, "int32"),
        node("g", "GatherV2", "x", "i", "axis", Tparams="float32", Tindices="int32"),
        node("y", "Neg", "g", T="float32"), node("z", "Exp", "y", T="float32"))),
    ("split", "950", lambda: graph(
        placeholder("x", "float32", (8, 64)), const("axis", 0, "int32"),
        node("s", "Split", "axis", "x", T="float32", num_split=2),
        node("y", "Neg", "s:0", T="float32"), node("z", "Exp", "s:1", T="float32"))),
    ("matmul", "950", lambda: graph(
        placeholder("x", "float32", (8, 64)), placeholder("w", "float32", (64, 32)),
        node("m", "MatMul", "x", "w", T="float32"),
        node("y", "Relu", "m", T="float32"), node("z", "Exp", "y", T="float32"))),
])
def test_a_kind_of_fusion_acts_on_its_operators_and_is_inert_elsewhere(
        kind, chip, graph_of):
    flags = f"{GATE};--autofuse_enable_pass={kind}"
    definition = graph_of()
    on, off = (cases.compiled(definition, each, chip) for each in (flags, GATE))
    assert fused(on) != fused(off)
    inside = "cube" if kind == "matmul" else kind
    assert any(inside in region.fuse_types for region in on.plan.regions)
    assert fused(cases.compiled(cases.mul_add_relu(), flags, chip)) == fused(
        cases.compiled(cases.mul_add_relu(), GATE, chip))


def test_matmul_has_no_effect_on_910b():
    definition = graph(
        placeholder("x", "float32", (8, 64)), placeholder("w", "float32", (64, 32)),
        node("m", "MatMul", "x", "w", T="float32"), node("y", "Relu", "m", T="float32"))
    assert left(cases.compiled(
        definition, GATE + ";--autofuse_enable_pass=matmul")) == ["MatMul", "Relu"]


def test_max_fusion_size_zero_leaves_every_operator_unfused():
    found = cases.compiled(cases.mul_add_relu(), GATE + ";--max_fusion_size=0")
    assert fused(found) == []
    assert {why for _, why in found.fallbacks} == {
        "more operations than max_fusion_size"}


def test_a_small_max_fusion_size_cuts_and_a_large_one_is_inert():
    small = cases.compiled(cases.mul_add_relu(), GATE + ";--max_fusion_size=2")
    assert fused(small) == [("Mul", "Add")]
    assert cases.codes(small) == {"NF1010"}
    large = cases.compiled(cases.mul_add_relu(), GATE + ";--max_fusion_size=100")
    assert fused(large) == fused(cases.compiled(cases.mul_add_relu(), GATE))


def two_readers():
    """A value with two readers, one of them far from the other."""
    return graph(
        placeholder("x", "float32", (8, 64)), node("a", "Abs", "x", T="float32"),
        node("b", "Neg", "a", T="float32"), node("s", "Sin", "b", T="float32"),
        node("c", "Relu", "a", T="float32"), node("t", "Cos", "c", T="float32"))


def test_recomputation_threshold_duplicates_a_producer_and_is_inert_without_one():
    default = cases.compiled(two_readers(), GATE)
    raised = cases.compiled(two_readers(), GATE + ";--recomputation_threshold=2")
    boxes = [dict(each.stages)["AutoFuser_AfterLowering"] for each in (default, raised)]
    names = [sorted(node.name for node in each if node.type == "AscBackend")
             for each in boxes]
    assert names[0] == ["autofuse_pointwise_0_Abs", "autofuse_pointwise_1_Neg",
                        "autofuse_pointwise_2_Relu"]
    assert names[1] == ["autofuse_pointwise_0_Abs_Neg", "autofuse_pointwise_1_Abs_Relu"]
    chain_flags = GATE + ";--recomputation_threshold=2"
    assert fused(cases.compiled(cases.mul_add_relu(), chain_flags)) == fused(
        cases.compiled(cases.mul_add_relu(), GATE))


def low(compilation):
    return [part.low_precision for region in compilation.plan.regions
            for part in region.graphs]


def test_the_blacklist_keeps_low_precision_only_where_it_covers_the_region():
    key = GATE + ";--autofuse_enhance_precision_blacklist="
    assert low(cases.compiled(cases.mul_add_relu(), GATE)) == [False]
    assert low(cases.compiled(cases.mul_add_relu(), key + "Mul,Add,Relu")) == [True]
    assert low(cases.compiled(cases.mul_add_relu(), key + "Mul,Add")) == [False]
    assert low(cases.compiled(cases.mul_add_relu(), key + "all")) == [True]
    wide = cases.compiled(cases.mul_add_relu("float32"), key + "all")
    assert wide.plan == cases.compiled(cases.mul_add_relu("float32"), GATE).plan


def test_the_blacklist_cannot_name_a_sum_on_910b():
    definition = graph(
        placeholder("x", "float16", (8, 64)), const("axis", [-1], "int32"),
        node("a", "Abs", "x", T="float16"), node("s", "Sum", "a", "axis", T="float16"))
    base = GATE + ";--autofuse_enable_pass=reduce;"
    with pytest.raises((BlacklistError, SwitchError), match="Sum"):
        cases.compiled(
            definition, base + "--autofuse_enhance_precision_blacklist=Abs,Sum")
    found = cases.compiled(
        definition, base + "--autofuse_enhance_precision_blacklist=all")
    assert low(found) == [False]  # all tests every node; Sum has no float16 there
    accepted = cases.compiled(
        definition, base + "--autofuse_enhance_precision_blacklist=Abs,Sum", "950")
    assert low(accepted) == [True]


def test_disable_lifting_keeps_a_kernel_of_one_operator():
    kept = cases.compiled(cases.seven_addends(), GATE, dfx="--disable_lifting=true")
    assert fused(kept) == [("AddN",)]
    assert fused(cases.compiled(cases.mul_add_relu(), GATE,
                                dfx="--disable_lifting=true")) == fused(
        cases.compiled(cases.mul_add_relu(), GATE))


@pytest.mark.parametrize(("switch", "expected"), [
    ("node:s", []), ("node:type:Relu", [("Mul", "Add")]),
    ("node:elsewhere", [("Mul", "Add", "Relu")]),
])
def test_skip_node_names_cuts_where_it_names_an_operator(switch, expected):
    found = cases.compiled(cases.mul_add_relu(), GATE, off=[switch])
    assert fused(found) == expected


def test_level_o1_leaves_fusion_out_and_its_name_brings_it_back():
    assert fused(cases.compiled(cases.mul_add_relu(), GATE, level="O1")) == []
    again = cases.compiled(cases.mul_add_relu(), GATE, level="O1", on=["AutoFusePass"])
    assert fused(again) == [("Mul", "Add", "Relu")]
    assert fused(cases.compiled(cases.mul_add_relu(), GATE, off=["AutoFusePass"])) == []


def test_at_o1_the_preparation_for_autofuse_still_runs():
    stages = [name for name, _ in cases.compiled(
        cases.mul_add_relu(), GATE, level="O1").stages]
    assert "AutofuseOptimize_AfterPreprocess" in stages
    assert "AutoFuser_AfterLowering" not in stages
    closed = [name for name, _ in cases.compiled(cases.mul_add_relu(), "").stages]
    assert not any(name.lower().startswith("autofuse") for name in closed)
