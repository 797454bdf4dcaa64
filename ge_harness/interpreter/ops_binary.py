"""Elementwise ops of two and more tensors, comparisons and logic."""

from __future__ import annotations

import numpy as np

from ge_harness.interpreter.call import Call, OpFunction, OpTable
from ge_harness.interpreter.errors import GraphRaisedError
from ge_harness.interpreter.policy import Elementwise, Function
from ge_harness.interpreter.value import Tensor, is_float

ADD = Elementwise(np.add)
SUB = Elementwise(np.subtract)
MUL = Elementwise(np.multiply)
DIV = Elementwise(np.true_divide)


def _truncate_div(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    quotient = np.floor_divide(a, b)
    inexact = (quotient * b != a) & ((a < 0) != (b < 0))
    return np.asarray(quotient + inexact.astype(quotient.dtype))


def _truncate_mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.fmod(a, b))


def _float_floor_div(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.floor(a / b))


def _floor_mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    rest = np.fmod(a, b)
    other_side = (rest != 0) & ((rest < 0) != (b < 0))
    return np.asarray(np.where(other_side, rest + b, rest))


def _div_no_nan(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    zero = b == 0
    return np.where(zero, a.dtype.type(0), a / np.where(zero, b.dtype.type(1), b))


def _mul_no_nan(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(b == 0, a.dtype.type(0), a * b))


def _xlogy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(a == 0, a.dtype.type(0), a * np.log(b)))


def _xlog1py(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(a == 0, a.dtype.type(0), a * np.log1p(b)))


def _xdivy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(a == 0, a.dtype.type(0), a / b))


def _integer_pow(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.power(a, b))


def _first_max(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(a < b, b, a))


def _first_min(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(b < a, b, a))


def _op(spec: Elementwise) -> OpFunction:
    def run(call: Call) -> list[Tensor]:
        return [call.store(call.compute(spec, call.load(0), call.load(1)))]

    return run


def _minmax(function: np.ufunc, first: Elementwise) -> OpFunction:
    spec = Elementwise(function, "exact")

    def run(call: Call) -> list[Tensor]:
        chosen = spec if call.policy.nan_minmax == "propagate" else first
        return [call.store(call.compute(chosen, call.load(0), call.load(1)))]

    return run


def _division(of_floats: Elementwise, of_integers: Elementwise) -> OpFunction:
    """Make a division: integers raise on a zero divisor, as TensorFlow does."""
    def run(call: Call) -> list[Tensor]:
        a, b = call.load(0), call.load(1)
        if is_float(call.dtype()):
            return [call.store(call.compute(of_floats, a, b))]
        if np.any(b == 0) and a.size:
            raise GraphRaisedError(call.node.op, call.node.name,
                                   "integer division by zero")
        return [call.store(call.compute(of_integers, a, b))]

    return run


def _pow(call: Call) -> list[Tensor]:
    a, b = call.load(0), call.load(1)
    if is_float(call.dtype()):
        return [call.store(call.compute(Elementwise(np.power, "function"), a, b))]
    if np.any(b < 0):
        raise GraphRaisedError(call.node.op, call.node.name,
                               "an integer to a negative power")
    return [call.store(call.compute(Elementwise(_integer_pow), a, b))]


def _squared_difference(call: Call) -> list[Tensor]:
    difference = call.compute(SUB, call.load(0), call.load(1))
    difference = call.step(difference, "difference")
    return [call.store(call.compute(MUL, difference, difference))]


def _comparison(spec: Elementwise) -> OpFunction:
    def run(call: Call) -> list[Tensor]:
        return [call.store(call.compute(spec, call.load(0), call.load(1)), "bool")]

    return run


def _approximate_equal(call: Call) -> list[Tensor]:
    a, b = call.load(0), call.load(1)
    tolerance = a.dtype.type(call.attr("tolerance", 1e-5))
    close = np.abs(call.compute(SUB, a, b)) < tolerance
    return [call.store(close, "bool")]


def _bias_add(call: Call) -> list[Tensor]:
    x, bias = call.load(0), call.load(1)
    call.need(bias.ndim == 1, f"a bias of rank {bias.ndim}, expected 1")
    call.need(x.ndim >= 2, f"a value of rank {x.ndim}, expected at least 2")
    channels_first = call.text("data_format", "NHWC").startswith("NC")
    axis = 1 if channels_first else x.ndim - 1
    call.need(x.shape[axis] == bias.shape[0],
              f"bias of {bias.shape[0]} for {x.shape[axis]} channels")
    shape = [1] * x.ndim
    shape[axis] = bias.shape[0]
    return [call.store(call.compute(ADD, x, bias.reshape(shape)))]


def _add_n(call: Call) -> list[Tensor]:
    call.need(bool(call.inputs), "no inputs")
    total = call.load(0)
    for index in range(1, len(call.inputs)):
        call.need(call.raw(index).shape == call.raw(0).shape,
                  f"shapes {list(call.raw(0).shape)} and "
                  f"{list(call.raw(index).shape)}")
        if index > 1:
            total = call.step(total, "total")
        total = call.compute(ADD, total, call.load(index))
    return [call.store(total)]


def _clip(call: Call) -> list[Tensor]:
    x, low, high = (call.load(index) for index in range(3))
    capped = call.compute(Elementwise(np.minimum, "exact"), x, high)
    return [call.store(call.compute(Elementwise(np.maximum, "exact"), capped, low))]


_ARITHMETIC: dict[str, Function] = {
    "Add": np.add, "AddV2": np.add, "Sub": np.subtract, "Mul": np.multiply,
    "DivNoNan": _div_no_nan, "MulNoNan": _mul_no_nan, "Xdivy": _xdivy,
    "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}
_FUNCTIONS: dict[str, Function] = {
    "Atan2": np.arctan2, "Xlogy": _xlogy, "Xlog1py": _xlog1py,
}
_COMPARISONS: dict[str, Function] = {
    "Equal": np.equal, "NotEqual": np.not_equal, "Less": np.less,
    "LessEqual": np.less_equal, "Greater": np.greater,
    "GreaterEqual": np.greater_equal, "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or,
}
_TRUNCATE_DIV = Elementwise(_truncate_div)
_TRUNCATE_MOD = Elementwise(_truncate_mod)
_FLOOR_MOD = Elementwise(_floor_mod)

OPS: OpTable = {
    "Maximum": _minmax(np.maximum, Elementwise(_first_max, "exact")),
    "Minimum": _minmax(np.minimum, Elementwise(_first_min, "exact")),
    "Div": _division(DIV, _TRUNCATE_DIV),
    "RealDiv": _division(DIV, _TRUNCATE_DIV),
    "TruncateDiv": _division(DIV, _TRUNCATE_DIV),
    "FloorDiv": _division(
        Elementwise(_float_floor_div), Elementwise(np.floor_divide)),
    "FloorMod": _division(_FLOOR_MOD, _FLOOR_MOD),
    "Mod": _division(_TRUNCATE_MOD, _TRUNCATE_MOD),
    "TruncateMod": _division(_TRUNCATE_MOD, _TRUNCATE_MOD),
    "Pow": _pow, "SquaredDifference": _squared_difference,
    "ApproximateEqual": _approximate_equal, "BiasAdd": _bias_add,
    "BiasAddV1": _bias_add, "AddN": _add_n, "AccumulateNV2": _add_n,
    "ClipByValue": _clip,
}
OPS.update((name, _op(Elementwise(f))) for name, f in _ARITHMETIC.items())
OPS.update((name, _op(Elementwise(f, "function"))) for name, f in _FUNCTIONS.items())
OPS.update((name, _comparison(Elementwise(f, "exact")))
           for name, f in _COMPARISONS.items())
