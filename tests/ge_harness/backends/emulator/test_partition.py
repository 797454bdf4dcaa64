"""What fuses with what: the worked examples, and partitions derived by hand.

Each derivation is written out in docs/emulator.md under the same name.
"""

from __future__ import annotations

import pytest

from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.cases import GATE, REDUCE, codes, fused, left
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder


def test_example_1_is_one_kernel_named_after_its_operators():
    found = cases.compiled(cases.mul_add_relu(), GATE)
    assert fused(found) == [("Mul", "Add", "Relu")]
    assert found.plan.regions[0].name == "autofuse_pointwise_0_Mul_Add_Relu"
    assert left(found) == []


def test_example_2_exp_closes_its_box():
    found = cases.compiled(cases.exp_sub(), GATE)
    names = [each.name for each in found.plan.regions]
    assert names == ["autofuse_pointwise_0_Sub_Exp"]


def test_example_2_a_product_after_exp_joins_in_stage_b():
    found = cases.compiled(cases.exp_sub(follow=True), GATE)
    assert fused(found) == [("Sub", "Exp", "Mul")]
    assert found.plan.regions[0].name == "autofuse_2_Sub_Exp_Mul"


@pytest.mark.parametrize("chip", ["910b", "950"])
def test_example_3_with_reduce_exp_and_sum_leave_one_kernel_with_two_outputs(chip):
    found = cases.compiled(cases.softmax(), REDUCE, chip)
    assert fused(found) == [("Sub", "Exp", "ReduceSum")]
    assert found.plan.regions[0].outputs == (("exp", 0), ("sum", 0))
    assert left(found) == ["ReduceMax", "RealDiv"]
    by_pair = {(each.code, each.second.rsplit("_", 1)[1]) for each in found.rejections}
    assert ("NF1006", "RealDiv") in by_pair
    assert "NF1021" in codes(found)


def test_example_3_without_reduce_the_division_would_close_a_circle():
    found = cases.compiled(cases.softmax(), GATE)
    assert fused(found) == [("Sub", "Exp")]
    assert left(found) == ["ReduceMax", "ReduceSum", "RealDiv"]
    assert codes(found) == {"NF1002"}


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_example_4_with_reduce_eps_and_rsqrt_use_up_the_reduce_budget(dtype):
    found = cases.compiled(cases.layer_norm(dtype), REDUCE)
    assert fused(found) == [("Sub", "Square", "ReduceMean", "AddV2", "Rsqrt"),
                            ("Mul", "Mul", "AddV2")]
    assert found.plan.regions[0].outputs[0] == ("d", 0)
    assert left(found) == ["ReduceMean"]
    assert codes(found) >= {"NF1021", "NF1031"}


def test_example_4_d_and_var_leave_the_second_reduce():
    nodes = cases.layer_norm().nodes
    upto = graph(*(each for each in nodes if each.name not in
                   ("ve", "r", "n", "g", "y", "gain", "bias", "eps")))
    found = cases.compiled(upto, REDUCE, outputs=("d", "var"))
    assert fused(found) == [("Sub", "Square", "ReduceMean")]
    assert set(found.plan.regions[0].outputs) == {("d", 0), ("var", 0)}


def test_example_5_two_readers_of_one_tensor_never_share_a_reduce():
    found = cases.compiled(cases.mean_difference(), REDUCE)
    assert fused(found) == []
    assert codes(found) == {"NF1021"}
    assert left(found) == ["ReduceMean", "Sub"]


def test_example_6_independent_chains_on_one_input_are_one_kernel():
    found = cases.compiled(cases.two_chains(), GATE)
    assert len(found.plan.regions) == 1
    assert set(fused(found)[0]) == {"Abs", "Neg", "Relu", "Tanh"}
    assert len(found.plan.regions[0].outputs) == 2


def test_example_7_bfloat16_does_not_fuse_on_910b():
    found = cases.compiled(cases.mul_add_relu("bfloat16"), GATE)
    assert fused(found) == []
    assert {why for _, why in found.fallbacks} == {"dtype unsupported: bfloat16"}


def test_example_7_bfloat16_on_950_is_one_kernel_and_a_relu():
    """AscIR Relu has no bfloat16 on the 950 either (section 3): it stays apart."""
    found = cases.compiled(cases.mul_add_relu("bfloat16"), GATE, "950")
    assert fused(found) == [("Mul", "Add")]
    assert left(found) == ["Relu"]


def test_example_8_seven_addends_are_lifted_back_alone_and_kept_with_a_neighbor():
    alone = cases.compiled(cases.seven_addends(), GATE)
    assert fused(alone) == []
    assert alone.lifted == ("autofuse_pointwise_0_AddN",)
    beside = cases.compiled(cases.seven_addends(neighbor=True), GATE)
    assert fused(beside) == [("AddN", "Relu")]


def test_a_layer_norm_without_reduce_is_two_kernels():
    found = cases.compiled(cases.layer_norm(), GATE)
    assert fused(found) == [("Sub", "Square"),
                            ("AddV2", "Rsqrt", "Mul", "Mul", "AddV2")]
    assert "NF1002" in codes(found)


def test_a_kernel_takes_at_most_eight_inputs_on_910b_and_fourteen_on_950():
    names = [f"x{i}" for i in range(10)]
    nodes = [placeholder(name, "float32", (4, 8)) for name in names]
    previous = "x0"
    for number in range(1, 10):
        nodes.append(node(f"s{number}", "Add", previous, names[number], T="float32"))
        previous = f"s{number}"
    small = cases.compiled(graph(*nodes), GATE)
    assert "NF1007" in codes(small)
    assert max(len(each.inputs) for each in small.plan.regions) <= 8
    large = cases.compiled(graph(*nodes), GATE, "950")
    assert fused(large) == [("Add",) * 9]


def test_two_reduces_of_one_tensor_stay_apart():
    nodes = [placeholder("x", "float32", (8, 64)), const("axis", [-1], "int32"),
             node("a", "Abs", "x", T="float32"),
             node("s", "Sum", "a", "axis", T="float32"),
             node("m", "Max", "a", "axis", T="float32")]
    found = cases.compiled(graph(*nodes), REDUCE)
    assert fused(found) == [("Abs", "ReduceSum")]
    assert left(found) == ["ReduceMax"]
    assert codes(found) & {"NF1021", "NF1031"}


def test_a_concat_takes_its_producers_without_merging_loops():
    nodes = [placeholder("x", "float32", (8, 64)), placeholder("y", "float32", (8, 64)),
             node("a", "Abs", "x", T="float32"), node("b", "Neg", "a", T="float32"),
             node("c", "Exp", "y", T="float32"), const("axis", 1, "int32"),
             node("z", "ConcatV2", "b", "c", "axis", T="float32", N=2)]
    found = cases.compiled(graph(*nodes), GATE + ";--autofuse_enable_pass=concat")
    region, = found.plan.regions
    assert region.type == "FusedAscBackend"
    assert len(region.graphs) == 3
    assert region.name.startswith("autofuse_fused_")
    assert region.graphs[-1].fuse_types == ("concat",)


def test_control_edges_close_a_box():
    nodes = [placeholder("x", "float32", (8, 64)), node("a", "Abs", "x", T="float32"),
             node("b", "Neg", "a", "^a", T="float32"),
             node("c", "Relu", "b", T="float32")]
    found = cases.compiled(graph(*nodes), GATE)
    boxes = [each.name for each in dict(found.stages)["AutoFuser_AfterLowering"]
             if each.type == "AscBackend"]
    assert boxes == ["autofuse_pointwise_0_Abs", "autofuse_pointwise_1_Neg",
                     "autofuse_pointwise_2_Relu"]
    assert fused(found) == [("Abs", "Neg", "Relu")]  # stage B joins them again


def test_the_scope_attribute_keeps_an_operator_out():
    definition = cases.mul_add_relu()
    marked = [each if each.name != "s" else node(
        "s", "Add", "m", "b", T="float16", _disable_autofuse_scope=True)
        for each in definition.nodes]
    found = cases.compiled(graph(*marked), GATE)
    assert fused(found) == []
    assert left(found) == ["Mul", "Add", "Relu"]


def test_a_scalar_graph_has_no_kernel_to_make():
    found = cases.compiled(cases.mul_add_relu(shape=(1, 1)), GATE)
    assert fused(found) == []
    assert {why for _, why in found.fallbacks} == {"scalar only"}


def test_a_reduction_of_a_short_last_axis_falls_back():
    nodes = [placeholder("x", "float16", (64, 16)), const("axis", [-1], "int32"),
             node("a", "Abs", "x", T="float16"),
             node("s", "Sum", "a", "axis", T="float16")]
    found = cases.compiled(graph(*nodes), REDUCE)
    assert fused(found) == []
    assert ("s", "a last axis of less than 64 bytes") in found.fallbacks


def test_every_operator_of_the_graph_is_in_a_kernel_once_or_recomputed():
    found = cases.compiled(cases.layer_norm(), REDUCE)
    names = [each.name for kernel in found.plan.kernels for each in (
        [node for part in kernel.graphs for node in part.nodes]
        if hasattr(kernel, "graphs") else [kernel])]
    assert sorted(names) == sorted(
        ["mean", "d", "sq", "var", "ve", "r", "n", "g", "y"])
