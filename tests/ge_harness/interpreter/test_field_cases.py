"""The field cases F01 to F08, at the level of the interpreter: truth and eager."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.interpreter.eager import EAGER, eager_policy
from ge_harness.interpreter.errors import GraphRaisedError
from ge_harness.interpreter.evaluate import evaluate, fp64_reference
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder


def both(nodes, x, dtype="float32", policy=EAGER, **more):
    made = graph(placeholder("x", dtype), *nodes)
    feeds = dict(more, x=np.asarray(x, dtype))
    return (fp64_reference(made, feeds, ["y"])["y"],
            evaluate(made, feeds, ["y"], policy)["y"])


def test_f01_log_of_exp_is_finite_in_the_truth_and_overflows_in_eager():
    nodes = node("e", "Exp", "x"), node("y", "Log", "e")
    truth, eager = both(nodes, [88, 89, 200, -200])
    np.testing.assert_allclose(truth, [88, 89, 200, -200], rtol=1e-14)
    assert eager.tolist() == [88, np.inf, np.inf, -np.inf]
    assert eager.dtype == np.float32


def test_f02_a_reciprocal_twice_is_the_number_in_the_truth():
    nodes = node("r", "Reciprocal", "x"), node("y", "Reciprocal", "r")
    x = np.array([3, 7, 49, 0.1, 41, 5], np.float32)
    truth, eager = both(nodes, x)
    np.testing.assert_allclose(truth, x.astype(np.float64), rtol=3e-16)
    apart = np.abs(eager.view(np.int32).astype(int) - x.view(np.int32))
    assert apart.max() == 1


def test_f03_a_third_is_correctly_rounded_in_eager():
    nodes = const("c", 3, "float32"), node("y", "RealDiv", "x", "c")
    x = np.array([1, 2, 5, 7, 10, 11], np.float32)
    truth, eager = both(nodes, x)
    assert truth.tolist() == [value / 3 for value in (1, 2, 5, 7, 10, 11)]
    by_reciprocal = x * np.float32(1 / 3)
    assert eager.tolist() == truth.astype(np.float32).tolist()
    assert (eager != by_reciprocal).sum() == 3


@pytest.mark.parametrize("divisor", [2, 1024])
def test_f03_a_power_of_two_divides_exactly(divisor):
    nodes = const("c", divisor, "float32"), node("y", "RealDiv", "x", "c")
    truth, eager = both(nodes, [1, 2, 5, 7, 10, 11])
    assert truth.tolist() == eager.tolist()


def test_f04_opposite_products_cancel_to_zero_without_contraction():
    nodes = (placeholder("a", "float32"), placeholder("b", "float32"),
             node("p", "Mul", "a", "x"), node("q", "Mul", "b", "x"),
             node("y", "AddV2", "p", "q"))
    truth, eager = both(nodes, 1e10, a=np.float32(1e20), b=np.float32(-1e20))
    assert truth == 0
    assert eager == 0


def test_f05_eager_flushes_subnormals_as_its_policy_says_and_the_truth_never():
    x = np.array([1e-45, 1e-40, -1e-40, -0.0, 2e-38], np.float32)
    nodes = const("c", 1, "float32"), node("y", "Mul", "x", "c")
    truth, flushing = both(nodes, x, policy=eager_policy("2.21.0"))
    assert truth.tolist() == x.astype(np.float64).tolist()
    assert flushing.tolist() == [0, 0, 0, 0, np.float32(2e-38)]
    assert np.signbit(flushing).tolist() == [False, False, True, True, False]
    _, keeping = both(nodes, x)
    assert keeping.tobytes() == x.tobytes()


@pytest.mark.parametrize("order", [("z", "y"), ("y", "z")])
def test_f06_adding_a_negative_zero_keeps_it_in_either_order(order):
    made = graph(
        placeholder("x", "float32"), const("plus", 0.0, "float32"),
        const("minus", -0.0, "float32"), node("z", "AddV2", "x", "plus"),
        node("y", "AddV2", "x", "minus"))
    feeds = {"x": np.array([0.0, -0.0], np.float32)}
    for policy in (EAGER, eager_policy("2.21.0")):
        found = evaluate(made, feeds, order, policy)
        assert np.signbit(found["y"]).tolist() == [False, True]
        assert np.signbit(found["z"]).tolist() == [False, False]
    truth = fp64_reference(made, feeds, order)
    assert np.signbit(truth["y"]).tolist() == [False, True]


def reduced(op, *source):
    return (const("axes", [0, 1], "int32"),
            node("y", op, *(source or ("x",)), "axes", keep_dims=False))


def test_f07_a_float16_sum_loses_in_eager_what_the_truth_keeps():
    x = np.full((3, 2), 10000)
    truth, eager = both(reduced("Sum"), x, "float16")
    assert truth == 60000
    assert eager == np.float16(59970)
    truth, eager = both(reduced("Mean"), x, "float16")
    assert truth == 10000
    assert eager == np.float16(9990)


def test_f07_a_float16_deviation_is_zero_in_the_truth_and_eight_in_eager():
    nodes = (
        const("all", [0, 1], "int32"), node("m", "Mean", "x", "all", keep_dims=True),
        node("d", "Sub", "x", "m"), node("s", "Square", "d"),
        node("v", "Mean", "s", "all", keep_dims=False), node("y", "Sqrt", "v"))
    truth, eager = both(nodes, np.full((3, 2), 10000), "float16")
    assert truth == 0
    assert eager == 8


def test_f08_check_numerics_raises_a_named_outcome():
    made = graph(placeholder("x", "float32"),
                 node("y", "CheckNumerics", "x", message=b"bad"))
    for policy_run in (fp64_reference, lambda *a: evaluate(*a, policy=EAGER)):
        with pytest.raises(GraphRaisedError) as caught:
            policy_run(made, {"x": np.array([1, np.nan], np.float32)}, ["y"])
        assert (caught.value.op, caught.value.node) == ("CheckNumerics", "y")
        assert caught.value.exit_code == 1
        assert str(caught.value) == (
            "the graph raised: CheckNumerics node 'y': bad : tensor had NaN")


def test_f08_an_assert_behind_a_control_edge_is_run():
    made = graph(
        placeholder("x", "float32"), const("zero", 0, "float32"),
        const("two", 2, "float32"), node("positive", "Greater", "x", "zero"),
        const("axis", [0], "int32"),
        node("all", "All", "positive", "axis", keep_dims=False),
        node("check", "Assert", "all", "x"), node("y", "Mul", "x", "two", "^check"))
    with pytest.raises(GraphRaisedError, match="Assert node 'check'"):
        fp64_reference(made, {"x": np.array([-1], np.float32)}, ["y"])
    good = fp64_reference(made, {"x": np.array([3], np.float32)}, ["y"])
    assert good["y"].tolist() == [6]
