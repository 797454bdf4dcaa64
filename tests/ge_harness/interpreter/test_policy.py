"""Policies: what rounds where, and that a fused region is a few overrides."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.compare.dtypes import round_to
from ge_harness.interpreter.eager import EAGER, EagerPolicy, Flush
from ge_harness.interpreter.evaluate import evaluate, fp64_reference
from ge_harness.interpreter.policy import cast_to_integer
from ge_harness.interpreter.value import Tensor, flushed, rounded, values
from tests.ge_harness.interpreter.graph_builder import (
    const,
    graph,
    node,
    placeholder,
    single,
)

HALF = np.arange(65536, dtype=np.uint32).astype(np.uint16)


def test_all_float16_survive_widening_and_rounding():
    half = HALF.view(np.float16)
    for wide in ("float32", "float64"):
        back = rounded(values(Tensor(half, "float16"), wide), "float16")
        nan = np.isnan(half)
        assert np.isnan(back[nan]).all()
        assert back[~nan].tobytes() == half[~nan].tobytes()


def test_all_bfloat16_survive_widening_and_rounding():
    for wide in ("float32", "float64"):
        array = values(Tensor(HALF, "bfloat16"), wide)
        back = rounded(array, "bfloat16")
        nan = np.isnan(array)
        assert np.isnan(values(Tensor(back[nan], "bfloat16"), "float32")).all()
        assert back[~nan].tobytes() == HALF[~nan].tobytes()


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rounding_float32_to_bfloat16_is_to_nearest_even(bits):
    single = np.array([bits], np.uint32).view(np.float32)
    if np.isnan(single[0]):
        return
    assert rounded(single, "bfloat16") == round_to(single.astype(float), "bfloat16")


def test_rounding_keeps_shapes_also_of_scalars_and_empty_arrays():
    for shape in ((), (0,), (2, 0, 3), (2, 3)):
        wide = np.ones(shape, np.float32)
        bits = rounded(wide, "bfloat16")
        assert bits.shape == shape
        assert values(Tensor(bits, "bfloat16"), "float32").shape == shape


def test_flushing_takes_exactly_the_subnormals_and_keeps_signs():
    tiny = np.float32(2.0 ** -126)
    below = np.nextafter(tiny, np.float32(0))
    found = flushed(np.array([tiny, -tiny, below, -below, 0, np.nan, np.inf],
                             np.float32), "float32")
    np.testing.assert_array_equal(
        found, np.array([tiny, -tiny, 0, -0.0, 0, np.nan, np.inf], np.float32))
    assert np.signbit(found[3])
    assert flushed(np.array([1e-310]), "float64")[0] == 0


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8",
                                   "uint16", "uint32", "uint64"])
def test_casts_to_integers_cut_off_fractions_within_range(dtype):
    limits = np.iinfo(dtype)
    x = np.array([0.9, 1.0, 1.9, 100.5, float(limits.max // 2)])
    assert cast_to_integer(x, dtype).tolist() == [0, 1, 1, 100, int(x[4])]
    if limits.min:
        assert cast_to_integer(-x, dtype).tolist() == [0, -1, -1, -100, -int(x[4])]


def test_casts_out_of_range_have_a_fixed_answer():
    x = np.array([np.nan, np.inf, -np.inf, 3e9, 1e30])
    low = -(2 ** 31)
    assert cast_to_integer(x, "int32").tolist() == [low] * 5
    assert cast_to_integer(x, "int64").tolist() == [
        -(2 ** 63), -(2 ** 63), -(2 ** 63), 3000000000, -(2 ** 63)]
    assert cast_to_integer(x, "bool").tolist() == [True] * 5
    top = np.array([2.0 ** 63 + 2.0 ** 20])
    assert cast_to_integer(top, "uint64").tolist() == [2 ** 63 + 2 ** 20]


def test_eager_rounds_after_each_op_and_the_accumulator_is_a_field():
    x = np.full((1, 6), 10000, np.float16)
    axis = np.array([1], np.int32)
    made = single("Sum", [x, axis], ["float16", "int32"])
    feeds = {"x0": x, "x1": axis}

    def total(**fields):
        policy = dataclasses.replace(EAGER, **fields)
        return evaluate(made, feeds, ["y"], policy)["y"][0]

    assert total() == np.float16(59970)
    assert total(accumulators=(("float16", "float32"),)) == 60000
    assert total(sum_order="pairwise") != total(
        accumulators=(("float16", "bfloat16"),), sum_order="pairwise")


def test_flush_is_a_field_that_names_ops_and_dtypes():
    x = np.array([1e-40, 1.0], np.float32)
    feeds = {"x0": x, "x1": x}

    def run(op, flush):
        made = single(op, [x, x][:1 if op == "Neg" else 2], ["float32"] * 2)
        fed = {"x0": x} if op == "Neg" else feeds
        return evaluate(made, fed, ["y"], EagerPolicy(flush=flush))["y"]

    both = Flush(("float32",), ("float32",), (("Neg", "float32"),))
    assert run("AddV2", both).tolist() == [0, 2]
    assert run("AddV2", Flush(("bfloat16",))).tolist() == [x[0] + x[0], 2]
    assert run("Neg", both).tolist() == [-x[0], -1]
    assert run("Equal", both).tolist() == [True, True]
    assert run("Greater", both).tolist() == [False, False]


def test_a_product_that_is_tiny_before_rounding_is_flushed():
    a = np.array([2.0 ** -126], np.float32)
    b = np.nextafter(np.ones(1, np.float32), np.float32(0))
    made = single("Mul", [a, b], ["float32"] * 2)
    feeds = {"x0": a, "x1": b}
    flush = EagerPolicy(flush=Flush(("float32",), ("float32",)))
    assert evaluate(made, feeds, ["y"], EAGER)["y"][0] == a[0]
    assert evaluate(made, feeds, ["y"], flush)["y"][0] == 0


class Fused(EagerPolicy):
    """A fused region as reference numerics_model.md section 1 has it.

    fp32 inside, one rounding where the region ends: a handful of lines because the
    decision is taken for each node.
    """

    inner = frozenset(("m", "a"))

    def store(self, node, index, array, dtype):
        if node.name in self.inner:
            return Tensor(np.asarray(array), dtype)
        return super().store(node, index, array, dtype)

    def cast(self, node, tensor, dtype):
        if node.name in self.inner:
            return Tensor(values(tensor, "float32"), dtype)
        return super().cast(node, tensor, dtype)


def test_a_fused_region_is_a_policy_that_does_not_round_inside():
    made = graph(placeholder("x", "float16"), const("k", 3.14, "float16"),
                 node("m", "Mul", "x", "k"), node("a", "AddV2", "m", "k"),
                 node("y", "Mul", "a", "k"))
    x = np.random.RandomState(3).uniform(-1, 1, 4096).astype(np.float16)
    eager = evaluate(made, {"x": x}, ["y"], EAGER)["y"]
    fused = evaluate(made, {"x": x}, ["y"], Fused())["y"]
    wide, k = x.astype(np.float32), np.float32(np.float16(3.14))
    assert fused.tobytes() == ((wide * k + k) * k).astype(np.float16).tobytes()
    truth = fp64_reference(made, {"x": x}, ["y"])["y"]
    assert np.abs(fused - truth).sum() < np.abs(eager - truth).sum()
    assert (fused != eager).any()


def test_overflow_inside_a_fused_region_stays_finite():
    made = graph(placeholder("x", "float16"), const("k", 100, "float16"),
                 node("m", "Mul", "x", "k"), node("y", "RealDiv", "m", "k"))
    x = np.array([60000], np.float16)
    assert evaluate(made, {"x": x}, ["y"], EAGER)["y"][0] == np.inf
    assert evaluate(made, {"x": x}, ["y"], Fused())["y"][0] == 60000 // 32 * 32


def test_movement_joins_an_unrounded_edge_with_a_rounded_one():
    made = graph(placeholder("x", "bfloat16"), node("m", "Mul", "x", "x"),
                 const("axis", 0, "int32"), node("j", "ConcatV2", "m", "x", "axis"),
                 node("y", "Mul", "j", "j"))
    bits = rounded(np.array([1.0078125], np.float32), "bfloat16")
    found = evaluate(made, {"x": bits}, ["y"], Fused())["y"]
    exact = np.array([1.0078125 ** 4, 1.0078125 ** 2])
    assert found.tolist() == round_to(exact, "bfloat16").tolist()


def test_another_algorithm_for_an_op_is_a_field():
    def two_step(x):
        return np.float32(1) / np.sqrt(x.astype(np.float32))

    x = np.random.RandomState(4).uniform(0.01, 100, 5000).astype(np.float32)
    made = single("Rsqrt", [x], ["float32"])
    plain = evaluate(made, {"x0": x}, ["y"], EAGER)["y"]
    policy = dataclasses.replace(EAGER, algorithms=(("Rsqrt", two_step),))
    other = evaluate(made, {"x0": x}, ["y"], policy)["y"]
    assert other.tobytes() == two_step(x).tobytes()
    assert 0.05 < (plain != other).mean() < 0.6


def test_a_product_sum_can_be_contracted_by_a_policy():
    class Contracting(EagerPolicy):
        """Keeps each exact product, so that an addition can round once."""

        exact: dict = {}  # noqa: RUF012 - one run only

        def compute(self, node, op, operands):
            if node.op == "Mul":
                self.exact[node.name] = operands[0].astype(float) * operands[1]
            if node.op == "AddV2" and node.inputs[0] in self.exact:
                total = self.exact[node.inputs[0]] + operands[1]
                return total.astype(np.float32)
            return super().compute(node, op, operands)

    made = graph(placeholder("x", "float32"), node("p", "Mul", "x", "x"),
                 const("k", -1, "float32"), node("y", "AddV2", "p", "k"))
    x = np.array([1 + 2.0 ** -13], np.float32)
    assert evaluate(made, {"x": x}, ["y"], EAGER)["y"][0] == 2.0 ** -12
    assert evaluate(made, {"x": x}, ["y"], Contracting())["y"][0] == (
        2.0 ** -12 + 2.0 ** -26)


@pytest.mark.parametrize(("mode", "expected"), [
    ("propagate", [np.nan, np.nan, 2]), ("first", [np.nan, 1, 2])])
def test_what_maximum_does_with_nan_is_a_field(mode, expected):
    a = np.array([np.nan, 1, 2], np.float32)
    b = np.array([1, np.nan, 1], np.float32)
    made = single("Maximum", [a, b], ["float32"] * 2)
    policy = dataclasses.replace(EAGER, nan_minmax=mode)
    found = evaluate(made, {"x0": a, "x1": b}, ["y"], policy)["y"]
    np.testing.assert_array_equal(found, np.array(expected, np.float32))


@pytest.mark.parametrize("kind", ["Sum", "Prod"])
def test_a_float16_sum_goes_one_by_one(kind):
    x = np.random.RandomState(6).uniform(0.7, 1.35, (300, 5)).astype(np.float16)
    axis = np.array([0], np.int32)
    made = single(kind, [x, axis], ["float16", "int32"])
    found = evaluate(made, {"x0": x, "x1": axis}, ["y"], EAGER)["y"]
    total = x[0]
    for row in x[1:]:
        total = total + row if kind == "Sum" else total * row
    assert found.tobytes() == total.tobytes()


def test_a_policy_can_round_one_part_of_a_kernel_and_not_another():
    class Parts(EagerPolicy):
        seen: list = []  # noqa: RUF012 - one run only

        def step(self, node, array, dtype, part=""):
            self.seen.append(part)
            return super().step(node, array, dtype) if part == "difference" else array

    x = np.random.RandomState(7).uniform(-8, 8, (3, 40)).astype(np.float16)
    made = single("Softmax", [x], ["float16"])
    some = evaluate(made, {"x0": x}, ["y"], Parts())["y"]
    every = evaluate(made, {"x0": x}, ["y"], EAGER)["y"]
    assert Parts.seen == ["difference", "power", "total"]
    assert (some != every).any()
