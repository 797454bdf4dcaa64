"""One hypothesis at a time: what it changes, and that none changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.explain.arithmetic import fused_multiply_add
from ge_harness.explain.policy import (
    ALGORITHM,
    CONTRACTION,
    DISTRIBUTION,
    EDGE,
    KERNEL,
    PRODUCT,
    REASSOCIATION,
    RECIPROCAL,
    STEP,
    SUM,
    ExplainPolicy,
    Key,
    RecordingPolicy,
    final,
)
from ge_harness.interpreter.eager import EAGER
from ge_harness.interpreter.evaluate import evaluate, evaluate_tensors
from ge_harness.interpreter.value import rounded
from tests.ge_harness.interpreter.graph_builder import (
    const,
    graph,
    node,
    placeholder,
)


def run(made, feeds, state=None, name="y", policy=ExplainPolicy, **fields):
    """Return output `name` as stored, under the hypotheses of `state`."""
    found = evaluate_tensors(
        made, feeds, [name], policy(state=state or {}, **fields))
    return final(found[name])


def draw(count, dtype="float32", seed=0, low=-4.0, high=4.0):
    x = np.random.RandomState(seed).uniform(low, high, count)
    return rounded(x, dtype)


def typed(name, op, *inputs, dtype="float32", **attrs):
    return node(name, op, *inputs, T=dtype, **attrs)


def norm(dtype):
    """A layer norm: reductions, an epsilon, a root, products."""
    return graph(
        placeholder("x", dtype), const("axis", [1], "int32"),
        const("eps", rounded(np.float32([1e-3]), dtype)[0], dtype),
        typed("m", "Mean", "x", "axis", dtype=dtype, keep_dims=True),
        typed("d", "Sub", "x", "m", dtype=dtype),
        typed("s", "Square", "d", dtype=dtype),
        typed("v", "Mean", "s", "axis", dtype=dtype, keep_dims=True),
        typed("e", "AddV2", "v", "eps", dtype=dtype),
        typed("r", "Rsqrt", "e", dtype=dtype), typed("t", "Tanh", "d", dtype=dtype),
        typed("p", "Mul", "t", "r", dtype=dtype),
        node("c", "Cast", "p", SrcT=dtype, DstT="float32"),
        node("b", "Cast", "c", SrcT="float32", DstT=dtype),
        typed("y", "AddV2", "b", "d", dtype=dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_with_no_hypothesis_the_bits_are_those_of_op_by_op_rounding(dtype):
    x = draw((9, 33), dtype)
    plain = evaluate(norm(dtype), {"x": x}, ["y"], EAGER)["y"]
    assert run(norm(dtype), {"x": x}).tobytes() == plain.tobytes()
    recorded = run(norm(dtype), {"x": x}, policy=RecordingPolicy)
    assert recorded.tobytes() == plain.tobytes()


def test_every_place_is_written_down():
    policy = RecordingPolicy()
    evaluate_tensors(norm("float16"), {"x": draw((9, 33), "float16")}, ["y"], policy)
    found = {(key.kind, key.node) for key in policy.places}
    assert {(SUM, "m"), (SUM, "v"), (STEP, "m"), (RECIPROCAL, "v"), (KERNEL, "t"),
            (KERNEL, "r"), (ALGORITHM, "r"), (EDGE, "c"), (EDGE, "y"), (EDGE, "e"),
            } <= found
    assert (EDGE, "m") not in found  # what is fed is rounded already
    assert policy.places[Key(EDGE, "s", "input 0")]["source"] == "d"
    assert policy.places[Key(SUM, "m")]["size"] == "33"


def test_float32_graphs_have_no_edges_to_unround():
    policy = RecordingPolicy()
    evaluate_tensors(norm("float32"), {"x": draw((4, 8))}, ["y"], policy)
    assert not [key for key in policy.places if key.kind in (EDGE, STEP)]


def test_an_unrounded_edge_is_unrounded_for_its_reader_only():
    made = graph(placeholder("x", "float16"), typed("p", "Mul", "x", "x",
                                                    dtype="float16"),
                 typed("a", "AddV2", "p", "x", dtype="float16"),
                 typed("y", "Mul", "p", "a", dtype="float16"))
    x = draw(3000, "float16")
    wide = x.astype(np.float32)
    product = (wide * wide).astype(np.float16).astype(np.float32)
    total = (wide * wide + wide).astype(np.float16).astype(np.float32)
    found = run(made, {"x": x}, {Key(EDGE, "a", "input 0"): "on"})
    assert found.tobytes() == (product * total).astype(np.float16).tobytes()
    assert found.tobytes() != run(made, {"x": x}).tobytes()


@pytest.mark.parametrize(("op", "place", "sign", "other"), [
    ("AddV2", 0, 1, 1), ("AddV2", 1, 1, 1), ("Sub", 0, 1, -1), ("Sub", 1, -1, 1)])
def test_a_contraction_takes_the_product_it_names(op, place, sign, other):
    inputs = ("p", "b") if place == 0 else ("b", "p")
    made = graph(*[placeholder(name, "float32") for name in "xab"],
                 typed("p", "Mul", "x", "a"), typed("y", op, *inputs))
    feeds = {name: draw(4000, seed=i) for i, name in enumerate("xab")}
    expected = fused_multiply_add(np.float32(sign) * feeds["x"], feeds["a"],
                                  np.float32(other) * feeds["b"])
    found = run(made, feeds, {Key(CONTRACTION, "y", f"input {place}"): "on"})
    assert found.tobytes() == expected.tobytes()
    assert found.tobytes() != run(made, feeds).tobytes()


def test_which_of_two_products_is_contracted_matters():
    made = graph(*[placeholder(name, "float32") for name in "abcd"],
                 typed("p", "Mul", "a", "b"), typed("q", "Mul", "c", "d"),
                 typed("y", "AddV2", "p", "q"))
    feeds = {name: draw(4000, seed=i) for i, name in enumerate("abcd")}
    both = [run(made, feeds, {Key(CONTRACTION, "y", f"input {i}"): "on"}).tobytes()
            for i in (0, 1)]
    assert both[0] != both[1]
    assert both[1] == fused_multiply_add(
        feeds["c"], feeds["d"], feeds["a"] * feeds["b"]).tobytes()


@pytest.mark.parametrize(("op", "inputs", "scale", "shift"), [
    ("AddV2", ("x", "one"), 1, 1), ("AddV2", ("one", "x"), 1, 1),
    ("Sub", ("x", "one"), 1, -1), ("Sub", ("one", "x"), -1, 1)])
def test_a_distribution_multiplies_and_adds_in_one_rounding(op, inputs, scale, shift):
    made = graph(placeholder("x", "float32"), placeholder("z", "float32"),
                 const("one", 1, "float32"), typed("a", op, *inputs),
                 typed("y", "Mul", "z", "a"))
    feeds = {"x": draw(4000), "z": draw(4000, seed=1)}
    expected = fused_multiply_add(
        np.float32(scale) * feeds["x"], feeds["z"], np.float32(shift) * feeds["z"])
    found = run(made, feeds, {Key(DISTRIBUTION, "y", "input 1"): "on"})
    assert found.tobytes() == expected.tobytes()
    assert found.tobytes() != run(made, feeds).tobytes()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_reassociation_moves_the_named_factor_last(dtype):
    made = graph(*[placeholder(name, dtype) for name in "abc"],
                 typed("p", "Mul", "a", "b", dtype=dtype),
                 typed("y", "Mul", "p", "c", dtype=dtype))
    feeds = {name: draw(4000, dtype, seed=i) for i, name in enumerate("abc")}
    a, b, c = (feeds[name] for name in "abc")
    key = Key(REASSOCIATION, "y", "input 0")
    assert run(made, feeds, {key: "input 0 last"}).tobytes() == (a * (b * c)).tobytes()
    assert run(made, feeds, {key: "input 1 last"}).tobytes() == (b * (a * c)).tobytes()


def test_a_division_can_be_a_multiplication_by_the_reciprocal():
    made = graph(placeholder("x", "float32"), const("n", 49, "float32"),
                 typed("y", "RealDiv", "x", "n"))
    x = draw(4000)
    found = run(made, {"x": x}, {Key(RECIPROCAL, "y"): "on"})
    assert found.tobytes() == (x * (np.float32(1) / np.float32(49))).tobytes()
    assert found.tobytes() != run(made, {"x": x}).tobytes()


def test_sums_products_and_kernels_take_their_values():
    x = draw((20, 100), "float16")
    made = graph(placeholder("x", "float16"), const("axis", [1], "int32"),
                 typed("y", "Sum", "x", "axis", dtype="float16", keep_dims=False))
    wide = run(made, {"x": x}, {Key(SUM, "y"): "float64, numpy"})
    exact = x.astype(np.float64).sum(axis=1).astype(np.float32).astype(np.float16)
    assert wide.tobytes() == exact.tobytes()
    left, right = draw((8, 64)), draw((64, 8), seed=1)
    product = graph(placeholder("a", "float32"), placeholder("b", "float32"),
                    typed("y", "MatMul", "a", "b", transpose_a=False,
                          transpose_b=False))
    found = {value: run(product, {"a": left, "b": right}, {Key(PRODUCT, "y"): value})
             .tobytes() for value in ("float64", "float32, one by one",
                                      "float32, one by one, fused")}
    assert len(set(found.values())) == 3
    tanh = graph(placeholder("x", "float32"), typed("y", "Tanh", "x"))

    def kernel(asked, dtype, arrays):
        assert (asked.op, dtype, len(arrays)) == ("Tanh", "float32", 1)
        return arrays[0] + np.float32(1)

    found = run(tanh, {"x": left}, {Key(KERNEL, "y"): "in float32"}, run_kernel=kernel)
    assert found.tobytes() == (left + np.float32(1)).tobytes()


def test_a_mean_by_the_reciprocal_can_be_contracted_with_its_reader():
    made = graph(placeholder("x", "float32"), const("axis", [1], "int32"),
                 typed("m", "Mean", "x", "axis", keep_dims=True),
                 typed("y", "Sub", "x", "m"))
    x = draw((50, 7))
    state = {Key(RECIPROCAL, "m"): "on", Key(SUM, "m"): "float32, one by one",
             Key(CONTRACTION, "y", "input 1"): "on"}
    total = np.zeros((50, 1), np.float32)
    for column in x.T:
        total += column[:, None]
    expected = fused_multiply_add(-total, np.array([np.float32(1) / np.float32(7)]), x)
    assert run(made, {"x": x}, state).tobytes() == expected.tobytes()
    policy = RecordingPolicy()
    evaluate_tensors(made, {"x": x}, ["y"], policy)
    assert Key(CONTRACTION, "y", "input 1") in policy.places
