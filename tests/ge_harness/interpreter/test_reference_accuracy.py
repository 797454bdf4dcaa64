"""Every function of the fp64 policy against 60-digit arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.interpreter.evaluate import fp64_reference
from tests.ge_harness.interpreter.graph_builder import single

mpmath = pytest.importorskip("mpmath", reason="mpmath, the 60-digit witness, is absent")


def one(x):
    return mpmath.mpf(x)


# op -> (exact function, low, high, ULP allowed). NumPy's own functions are within 1 ULP
# but for a few of the trigonometric and hyperbolic ones; compositions cost a little.
FUNCTIONS = {
    "Square": (lambda x: x * x, -9, 9, 0.5001),
    "Sqrt": (mpmath.sqrt, 0.001, 1e6, 0.5001),
    "Rsqrt": (lambda x: 1 / mpmath.sqrt(x), 0.01, 100, 1.5),
    "Reciprocal": (lambda x: 1 / x, 0.01, 100, 0.5001),
    "Inv": (lambda x: 1 / x, -100, -0.01, 0.5001),
    "Neg": (lambda x: -x, -5, 5, 0),
    "Abs": (abs, -5, 5, 0),
    "Exp": (mpmath.exp, -700, 700, 1.0),
    "Expm1": (mpmath.expm1, -5, 5, 2.0),
    "Log": (mpmath.log, 1e-5, 1e5, 1.0),
    "Log1p": (lambda x: mpmath.log(1 + x), -0.9, 9, 2.0),
    "Tanh": (mpmath.tanh, -5, 5, 2.0),
    "Erf": (mpmath.erf, -5, 5, 1.5),
    "Erfc": (mpmath.erfc, -5, 26, 2.0),
    "Sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), -40, 40, 2.0),
    "Softplus": (lambda x: mpmath.log(1 + mpmath.exp(x)), -40, 40, 2.0),
    "Softsign": (lambda x: x / (1 + abs(x)), -40, 40, 1.5),
    "Elu": (lambda x: x if x > 0 else mpmath.expm1(x), -9, 9, 2.0),
    "Selu": (lambda x: 1.0507009873554804934193349852946 * (
        x if x > 0 else 1.6732632423543772848170429916717 * mpmath.expm1(x)),
        -9, 9, 3.0),
    "Sin": (mpmath.sin, -20, 20, 1.0),
    "Cos": (mpmath.cos, -20, 20, 1.0),
    "Tan": (mpmath.tan, -1.5, 1.5, 2.0),
    "Asin": (mpmath.asin, -1, 1, 2.0),
    "Acos": (mpmath.acos, -1, 1, 2.0),
    "Atan": (mpmath.atan, -9, 9, 2.0),
    "Sinh": (mpmath.sinh, -9, 9, 2.0),
    "Cosh": (mpmath.cosh, -9, 9, 2.0),
    "Asinh": (mpmath.asinh, -9, 9, 2.0),
    "Acosh": (mpmath.acosh, 1, 9, 3.0),
    "Atanh": (mpmath.atanh, -0.99, 0.99, 2.0),
    "Relu": (lambda x: max(x, one(0)), -9, 9, 0),
    "Relu6": (lambda x: min(max(x, one(0)), one(6)), -9, 9, 0),
    "Floor": (mpmath.floor, -9, 9, 0),
    "Ceil": (mpmath.ceil, -9, 9, 0),
    "Lgamma": (lambda x: mpmath.loggamma(x).real, 2.5, 90, 4.0),
}
PAIRS = {
    "AddV2": (lambda a, b: a + b, 0.5001), "Sub": (lambda a, b: a - b, 0.5001),
    "Mul": (lambda a, b: a * b, 0.5001), "RealDiv": (lambda a, b: a / b, 0.5001),
    "Pow": (mpmath.power, 2.0), "Atan2": (mpmath.atan2, 2.0),
    "SquaredDifference": (lambda a, b: (a - b) ** 2, 2.0),
    "Maximum": (max, 0), "Minimum": (min, 0),
    "Xlogy": (lambda a, b: a * mpmath.log(b), 2.0),
}


def worst_ulp(found, exact):
    worst = 0.0
    for value, truth in zip(found, exact):
        if truth == 0:
            assert value == 0
            continue
        ulp = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(abs(truth), 2)) - 52)
        worst = max(worst, float(abs(mpmath.mpf(float(value)) - truth) / ulp))
    return worst


@pytest.mark.parametrize("op", sorted(FUNCTIONS))
def test_a_function_of_one_tensor_is_within_its_ulps(op):
    exact, low, high, allowed = FUNCTIONS[op]
    x = np.random.RandomState(11).uniform(low, high, 200)
    found = fp64_reference(single(op, [x], ["float64"]), {"x0": x}, ["y"])["y"]
    with mpmath.workdps(60):
        truth = [exact(mpmath.mpf(float(v))) for v in x]
        assert worst_ulp(found, truth) <= allowed


@pytest.mark.parametrize("op", sorted(PAIRS))
def test_a_function_of_two_tensors_is_within_its_ulps(op):
    exact, allowed = PAIRS[op]
    a, b = np.random.RandomState(12).uniform(0.1, 9, (2, 200))
    found = fp64_reference(
        single(op, [a, b], ["float64"] * 2), {"x0": a, "x1": b}, ["y"])["y"]
    with mpmath.workdps(60):
        truth = [exact(mpmath.mpf(float(u)), mpmath.mpf(float(v)))
                 for u, v in zip(a, b)]
        assert worst_ulp(found, truth) <= allowed


def exact_softmax(row):
    top = max(row)
    power = [mpmath.exp(x - top) for x in row]
    return [p / sum(power) for p in power]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_softmax_is_within_4_ulp_of_the_exact_one(dtype):
    x = np.random.RandomState(13).uniform(-8, 8, (4, 33)).astype(dtype)
    graph = single("Softmax", [x], [dtype])
    found = fp64_reference(graph, {"x0": x}, ["y"])["y"]
    assert found.dtype == np.float64
    with mpmath.workdps(60):
        for row, values in zip(x, found):
            exact = exact_softmax([mpmath.mpf(float(v)) for v in row])
            # exp of a difference of -16 loses nothing: the difference is exact.
            assert worst_ulp(values, exact) <= 4


def test_layer_normalization_through_batch_norm_is_near_the_exact_one():
    x = np.random.RandomState(14).uniform(-3, 3, (1, 5, 40, 1)).astype(np.float32)
    ones, zeros = np.ones(5, np.float32), np.zeros(5, np.float32)
    graph = single("FusedBatchNormV3", [x, ones, zeros, ones[:0], ones[:0]],
                   ["float32"] * 5, data_format=b"NCHW", epsilon=0.001,
                   is_training=True, T="float32", U="float32")
    feeds = {"x0": x, "x1": ones, "x2": zeros, "x3": ones[:0], "x4": ones[:0]}
    found = fp64_reference(graph, feeds, ["y"])["y"]
    with mpmath.workdps(60):
        for row, values in zip(x[0, :, :, 0], found[0, :, :, 0]):
            exact = [mpmath.mpf(float(v)) for v in row]
            mean = sum(exact) / len(exact)
            spread = sum((v - mean) ** 2 for v in exact) / len(exact)
            # The attribute is a float: 0.001 is stored as its nearest float32.
            root = mpmath.sqrt(spread + mpmath.mpf(0.001))
            for value, v in zip(values, exact):
                assert abs(mpmath.mpf(float(value)) - (v - mean) / root) < 1e-14


def test_sum_and_mean_of_many_float16_are_exact_to_float64():
    x = np.random.RandomState(15).uniform(-100, 100, (3, 5000)).astype(np.float16)
    axis = np.array([1], np.int32)
    for op, divisor in (("Sum", 1), ("Mean", 5000)):
        graph = single(op, [x, axis], ["float16", "int32"], keep_dims=False)
        found = fp64_reference(graph, {"x0": x, "x1": axis}, ["y"])["y"]
        with mpmath.workdps(60):
            for row, value in zip(x, found):
                exact = sum(mpmath.mpf(float(v)) for v in row) / divisor
                assert abs(mpmath.mpf(float(value)) - exact) <= abs(exact) * 1e-15
