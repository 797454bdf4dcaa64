"""Gradients of elementwise ops, which training graphs hold."""

from __future__ import annotations

from typing import Callable

import numpy as np

from ge_harness.interpreter.call import Call, OpFunction, OpTable
from ge_harness.interpreter.policy import Elementwise
from ge_harness.interpreter.value import Tensor

_Two = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _op(function: _Two) -> OpFunction:
    spec = Elementwise(function, "function")

    def run(call: Call) -> list[Tensor]:
        return [call.store(call.compute(spec, call.load(0), call.load(1)))]

    return run


def _relu_grad(gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, gradient, 0.0)


def _relu6_grad(gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where((x > 0) & (x < 6), gradient, 0.0)


def _elu_grad(gradient: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y < 0, gradient * (y + 1.0), gradient)


def _softplus_grad(gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.asarray(gradient / (np.exp(-x) + 1.0))


def _softsign_grad(gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.asarray(gradient / np.square(1.0 + np.abs(x)))


def _tanh_grad(y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    return np.asarray(gradient * (1.0 - y * y))


def _sigmoid_grad(y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    return np.asarray(gradient * y * (1.0 - y))


def _rsqrt_grad(y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * gradient * y * y * y)


def _sqrt_grad(y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * gradient / y)


def _reciprocal_grad(y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    return np.asarray(-gradient * y * y)


OPS: OpTable = {
    "ReluGrad": _op(_relu_grad), "Relu6Grad": _op(_relu6_grad),
    "EluGrad": _op(_elu_grad), "SoftplusGrad": _op(_softplus_grad),
    "SoftsignGrad": _op(_softsign_grad), "TanhGrad": _op(_tanh_grad),
    "SigmoidGrad": _op(_sigmoid_grad), "RsqrtGrad": _op(_rsqrt_grad),
    "SqrtGrad": _op(_sqrt_grad), "InvGrad": _op(_reciprocal_grad),
    "ReciprocalGrad": _op(_reciprocal_grad),
}
