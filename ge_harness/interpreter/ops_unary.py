"""Elementwise ops of one tensor.

Functions are exact in meaning and written so that float64 loses at most a rounding or
two; what a policy rounds, and when, is the policy's affair.
"""

from __future__ import annotations

import numpy as np

from ge_harness.interpreter import special
from ge_harness.interpreter.call import Call, OpFunction, OpTable
from ge_harness.interpreter.policy import Elementwise, Function
from ge_harness.interpreter.value import Tensor

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _reciprocal(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.ones((), dtype=x.dtype) / x)


def _relu(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(x < 0, x.dtype.type(0), x))


def _relu6(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(x > 6, x.dtype.type(6), _relu(x)))


def _elu(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(x < 0, np.expm1(np.minimum(x, 0)), x))


def _selu(x: np.ndarray) -> np.ndarray:
    low = _SELU_SCALE * _SELU_ALPHA * np.expm1(np.minimum(x, 0))
    return np.where(x < 0, low, _SELU_SCALE * x)


def _softsign(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / (1.0 + np.abs(x)))


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / np.sqrt(x))


def _sign(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.sign(x))


def _same(x: np.ndarray) -> np.ndarray:
    return x


def _whole(function: np.ufunc) -> OpFunction:
    """Make an op that rounds to whole numbers and leaves integers alone."""
    spec = Elementwise(function, "exact")
    unchanged = Elementwise(_same, "exact")

    def run(call: Call) -> list[Tensor]:
        x = call.load()
        chosen = spec if np.issubdtype(x.dtype, np.floating) else unchanged
        return [call.store(call.compute(chosen, x))]

    return run


def _op(spec: Elementwise) -> OpFunction:
    def run(call: Call) -> list[Tensor]:
        return [call.store(call.compute(spec, call.load()))]

    return run


def _predicate(spec: Elementwise) -> OpFunction:
    def run(call: Call) -> list[Tensor]:
        return [call.store(call.compute(spec, call.load()), "bool")]

    return run


def _leaky_relu(call: Call) -> list[Tensor]:
    x = call.load()
    alpha = x.dtype.type(call.attr("alpha", np.float32(0.2)))

    def function(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x, x * alpha)

    return [call.store(call.compute(Elementwise(function), x))]


def _l2_loss(call: Call) -> list[Tensor]:
    x = call.load()
    square = call.step(call.compute(Elementwise(np.multiply), x, x), "square")
    total = call.policy.reduce(call.node, "sum", square, axes=tuple(range(x.ndim)),
                               dtype=call.dtype())
    half = call.compute(Elementwise(np.multiply), np.reshape(total, ()),
                        np.asarray(0.5, dtype=x.dtype))
    return [call.store(half)]


_EXACT: dict[str, Function] = {
    "Neg": np.negative, "Abs": np.abs, "Relu": _relu, "Relu6": _relu6, "Sign": _sign,
    "Invert": np.invert,
}
_ARITHMETIC: dict[str, Function] = {
    "Square": np.square, "Sqrt": np.sqrt, "Reciprocal": _reciprocal,
    "Inv": _reciprocal, "Softsign": _softsign,
}
_FUNCTIONS: dict[str, Function] = {
    "Rsqrt": _rsqrt, "Exp": np.exp, "Expm1": np.expm1, "Log": np.log,
    "Log1p": np.log1p, "Tanh": np.tanh, "Sigmoid": special.sigmoid, "Elu": _elu,
    "Selu": _selu, "Softplus": special.softplus, "Erf": special.erf,
    "Erfc": special.erfc, "Lgamma": special.lgamma, "Sin": np.sin, "Cos": np.cos,
    "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan,
    "Sinh": np.sinh, "Cosh": np.cosh, "Asinh": np.arcsinh, "Acosh": np.arccosh,
    "Atanh": np.arctanh,
}

OPS: OpTable = {
    "LeakyRelu": _leaky_relu, "L2Loss": _l2_loss,
    "Floor": _whole(np.floor), "Ceil": _whole(np.ceil), "Round": _whole(np.rint),
    "Rint": _whole(np.rint),
    "IsNan": _predicate(Elementwise(np.isnan, "exact")),
    "IsInf": _predicate(Elementwise(np.isinf, "exact")),
    "IsFinite": _predicate(Elementwise(np.isfinite, "exact")),
    "LogicalNot": _predicate(Elementwise(np.logical_not, "exact")),
}
OPS.update((name, _op(Elementwise(f, "exact"))) for name, f in _EXACT.items())
OPS.update((name, _op(Elementwise(f))) for name, f in _ARITHMETIC.items())
OPS.update((name, _op(Elementwise(f, "function"))) for name, f in _FUNCTIONS.items())
