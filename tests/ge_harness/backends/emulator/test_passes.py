"""Each pass does its rewrite, and its switch turns off exactly that."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.backends.emulator import pipeline
from ge_harness.backends.emulator.options import CLOSED_PATTERNS, is_on
from ge_harness.catalogue import passes
from tests.ge_harness.backends.emulator import cases, plain_run
from tests.ge_harness.backends.emulator.cases import GATE, left
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder

X = placeholder("x", "float32", (4, 8))


def _folding():
    return graph(X, const("a", [1.0, 2.0], "float32"), const("b", 3.0, "float32"),
                 node("c", "Mul", "a", "b", T="float32"),
                 const("shape", [1, 2], "int32"),
                 node("r", "Reshape", "c", "shape", T="float32"),
                 node("s", "Sum", "r", "shape0", T="float32"),
                 const("shape0", [0], "int32"),
                 node("d", "Sum", "s", "shape0", T="float32"),
                 node("y", "Mul", "x", "d", T="float32"))


def _shape():
    return graph(X, node("s", "Shape", "x", T="float32", out_type="int32"),
                 node("r", "Relu", "x", T="float32"),
                 node("y", "Reshape", "r", "s", T="float32"))


def _empty():
    return graph(placeholder("e", "float32", (0, 8)),
                 node("y", "Mul", "e", "e", T="float32"))


def _double():
    return graph(X, node("a", "Sin", "x", T="float32"),
                 node("b", "Sin", "x", T="float32"),
                 node("y", "Mul", "a", "b", T="float32"))


def _one(op, **attrs):
    return graph(X, node("a", op, "x", **attrs), node("y", "Sin", "a", T="float32"))


def _reshape():
    return graph(X, const("s", [4, 8], "int32"),
                 node("a", "Reshape", "x", "s", T="float32"),
                 node("y", "Sin", "a", T="float32"))


def _transpose():
    return graph(X, const("s", [0, 1], "int32"),
                 node("a", "Transpose", "x", "s", T="float32"),
                 node("y", "Sin", "a", T="float32"))


def _two_constants():
    return graph(X, const("a", 0.5, "float32"), const("b", 0.5, "float32"),
                 node("m", "Mul", "x", "a", T="float32"),
                 node("y", "Sub", "m", "b", T="float32"))


def _division():
    return graph(X, const("three", 3.0, "float32"),
                 node("y", "RealDiv", "x", "three", T="float32"))


def _bias():
    return graph(X, placeholder("w", "float32", (8, 3)),
                 placeholder("b", "float32", (3,)),
                 node("m", "MatMul", "x", "w", T="float32"),
                 node("y", "BiasAdd", "m", "b", T="float32"))


def _dead():
    """Only the shape of `a` is read, and that is folded."""
    return graph(X, node("a", "Sin", "x", T="float32"),
                 node("s", "Shape", "a", T="float32", out_type="int32"),
                 node("r", "Cos", "x", T="float32"),
                 node("y", "Reshape", "r", "s", T="float32"))


CASES = [
    ("ge", "ConstantFoldingPass", _folding, ()),
    ("ge", "DimensionComputePass", _shape, ()),
    ("ge", "ReplaceWithEmptyConstPass", _empty, ()),
    ("ge", "CommonSubexpressionEliminationPass", _double, ()),
    ("ge", "IdentityPass", lambda: _one("Identity", T="float32"), ()),
    ("ge", "StopGradientPass", lambda: _one("StopGradient", T="float32"), ()),
    ("ge", "PreventGradientPass", lambda: _one("PreventGradient", T="float32"), ()),
    ("ge", "SnapshotPass", lambda: _one("Snapshot", T="float32"), ()),
    ("ge", "AddNPass", lambda: _one("AddN", T="float32", N=1), ()),
    ("ge", "NoUseReshapeRemovePass", _reshape, ()),
    ("ge", "UnchangedTransposeRemovePass", _transpose, ()),
    ("ge", "ConstantFuseSamePass", _two_constants, ()),
    ("ge", "CastRemovePass", cases.cast_pair, ()),
    ("ge", "PrunePass", _dead, ()),
    ("graph_fusion", "RealDiv2MulsFusionPass", _division, ()),
    ("graph_fusion", "MatMulBiasAddFusionPass", _bias, ()),
]


@pytest.mark.parametrize(("family", "name", "make", "outputs"), CASES,
                         ids=[each[1] for each in CASES])
def test_a_pass_acts_and_its_switch_stops_it_alone(family, name, make, outputs):
    on = cases.compiled(make(), outputs=outputs)
    assert on.effects(family, name) > 0
    off = cases.compiled(make(), outputs=outputs, off=[f"{family}:{name}"])
    assert off.effects(family, name) == 0
    states = {(each.family, each.name, each.label): each.is_on for each in on.ran}
    after = {(each.family, each.name, each.label): each.is_on for each in off.ran}
    changed = {key[:2] for key in states if states[key] != after[key]}
    assert changed == {(family, name)}


def test_every_pass_of_the_model_is_in_the_catalogue_and_has_a_case():
    known = set(pipeline.passes_of_the_model())
    assert all(passes.lookup(*each) for each in known)
    tested = {each[:2] for each in CASES}
    others = {("ge", "RemoveSameConstPass"), ("ge", "PlaceholderWithDefaultPass"),
              *(("graph_fusion", name) for name in CLOSED_PATTERNS)}
    assert known == tested | others


@pytest.mark.parametrize(("level", "expected"), [
    ("O3", True), ("O1", False), ("O0", False)])
def test_a_pass_of_level_o3_runs_at_o3_only(level, expected):
    assert is_on(cases.options(level=level), "ge", "CastRemovePass") is expected


def test_folding_is_on_at_o1_and_off_at_o0():
    assert is_on(cases.options(level="O1"), "ge", "ConstantFoldingPass")
    assert not is_on(cases.options(level="O0"), "ge", "ConstantFoldingPass")


def test_o0_and_o1_close_the_fusion_engine():
    for level in ("O0", "O1"):
        assert not is_on(cases.options(level=level), "graph_fusion",
                         "RealDiv2MulsFusionPass")
    assert is_on(cases.options(level="O3"), "graph_fusion", "RealDiv2MulsFusionPass")


def test_the_numeric_off_preset_closes_what_can_change_numbers():
    held = cases.options(level="O3", preset="numeric-off")
    for name in ("CastRemovePass", "ConstantFoldingPass", "AutoFusePass"):
        assert not is_on(held, "ge", name)
    assert not is_on(held, "graph_fusion", "RealDiv2MulsFusionPass")
    assert is_on(held, "ge", "PrunePass")


def test_a_division_by_a_constant_becomes_muls_with_the_rounded_reciprocal():
    found = cases.compiled(_division())
    kernel, = found.plan.kernels
    assert kernel.type == "Muls"
    assert kernel.attr("value") == float(np.float32(1) / np.float32(3))
    assert kernel.mark("pass_name") == ("RealDiv2MulsFusionPass",)


def test_a_folded_constant_carries_the_mark_and_the_host_value():
    found = cases.compiled(_folding())
    folded = [each for each in found.plan.constants
              if each.mark("_is_from_constant_folding")]
    assert len(folded) == 1
    assert left(found) == ["Mul"]


def test_a_useless_product_goes_inside_autofuse_for_the_listed_types_only():
    ones = const("one", 1.0, "float32")
    named = graph(X, ones, node("a", "Mul", "x", "one", T="float32"),
                  node("y", "Sin", "a", T="float32"))
    assert left(cases.compiled(named, GATE)) == ["Sin"]
    assert left(cases.compiled(named, "")) == ["Mul", "Sin"]
    zero = const("zero", 0.0, "float32")
    other = graph(X, zero, node("a", "AddV2", "x", "zero", T="float32"),
                  node("y", "Sin", "a", T="float32"))
    assert left(cases.compiled(other, GATE)) == ["AddV2", "Sin"]


def test_a_useless_sum_with_a_larger_zero_becomes_a_broadcast():
    zeros = const("zero", np.zeros((4, 8)), "float32")
    small = graph(placeholder("v", "float32", (8,)), zeros,
                  node("a", "Add", "v", "zero", T="float32"),
                  node("y", "Sin", "a", T="float32"))
    assert left(cases.compiled(small, GATE)) == ["BroadcastTo", "Sin"]


def test_reshapes_in_a_row_are_merged_inside_autofuse():
    twice = graph(X, const("s", [32], "int32"), const("t", [2, 16], "int32"),
                  node("a", "Reshape", "x", "s", T="float32"),
                  node("b", "Reshape", "a", "t", T="float32"),
                  node("y", "Sin", "b", T="float32"))
    assert left(cases.compiled(twice, GATE)).count("Reshape") == 1
    assert left(cases.compiled(twice, "")).count("Reshape") == 2


def _bits(compilation):
    x = np.linspace(-300, 300, 512, dtype=np.float32).reshape(8, 64)
    return plain_run.run(compilation.plan, {"x": x})["y"].tobytes()


def test_a_cast_pair_goes_with_the_gate_closed_and_its_own_switch_brings_it_back():
    definition = cases.cast_pair(neighbors=False)
    kept = cases.compiled(definition, "", off=["ge:CastRemovePass"])
    removed = cases.compiled(definition, "")
    assert removed.effects("ge", "CastRemovePass") == 2
    assert left(kept) == ["Cast", "Cast", "Cos"]
    assert left(removed) == ["Cos"]
    assert _bits(kept) != _bits(removed)


def test_with_the_gate_open_only_autofuse_off_brings_the_cast_pair_back():
    definition = cases.cast_pair(neighbors=False)
    eager = _bits(cases.compiled(definition, "", off=["ge:CastRemovePass"]))
    one_off = cases.compiled(definition, GATE, off=["ge:CastRemovePass"])
    assert one_off.effects("autofuse", "CastRemovePass") == 2
    assert _bits(one_off) != eager
    autofuse_off = cases.compiled(definition, GATE, off=["AutoFusePass"])
    assert autofuse_off.effects("ge", "CastRemovePass") == 2
    assert _bits(autofuse_off) != eager  # GE's own pass acts where AutoFuse does not
    both = cases.compiled(definition, GATE, off=["AutoFusePass", "ge:CastRemovePass"])
    assert _bits(both) == eager


def test_a_cast_chain_that_loses_integers_stays():
    lossy = graph(X, node("a", "Cast", "x", SrcT="float32", DstT="int32"),
                  node("b", "Cast", "a", SrcT="int32", DstT="float32"),
                  node("y", "Floor", "b", T="float32"))
    assert left(cases.compiled(lossy, "")) == ["Cast", "Cast", "Floor"]
    assert left(cases.compiled(lossy, GATE)) == ["Floor"]  # AutoFuse's does not ask


@pytest.mark.parametrize(("name", "make", "kernel"), [
    ("LayerNormFusionPass", cases.layer_norm, "LayerNorm"),
    ("SoftmaxFusionPass", cases.softmax, "SoftmaxV2"),
])
def test_a_closed_pattern_is_off_unless_its_name_is_switched_on(name, make, kernel):
    assert kernel not in left(cases.compiled(make(), ""))
    assert left(cases.compiled(make(), "", on=[name])) == [kernel]
