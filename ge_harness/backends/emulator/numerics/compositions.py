"""Operators that lowering writes as several AscIR operations.

Each takes a `Steps`: arithmetic whose every result is rounded as the kernel rounds
between operations (to float32, or to the storage dtype where a kernel stays narrow).

Source: reference: numerics_model.md section 5 (compositions).
"""

from __future__ import annotations

from typing import Callable

import numpy as np

from ge_harness.backends.emulator.numerics.unit import Unit, single

Rounding = Callable[[np.ndarray], np.ndarray]
_ZERO, _ONE = single(0), single(1)


class Steps:
    """AscIR operations, each rounded where the kernel rounds.

    Attributes:
        unit: the instructions.
        rounding: applied to each result; the identity in a widened kernel.
    """

    def __init__(self, unit: Unit, rounding: Rounding | None = None) -> None:
        self.unit = unit
        self.rounding = rounding

    def out(self, array: np.ndarray) -> np.ndarray:
        """Return a result as the next operation reads it."""
        return array if self.rounding is None else self.rounding(array)

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Add."""
        return self.out(self.unit.add(a, b))

    def sub(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Subtract."""
        return self.out(self.unit.sub(a, b))

    def mul(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Multiply."""
        return self.out(self.unit.mul(a, b))

    def div(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Divide by the plain instruction (TrueDiv)."""
        return self.out(self.unit.div(a, b))

    def exp(self, x: np.ndarray) -> np.ndarray:
        """Exponential."""
        return self.out(self.unit.exp(x))

    def ln(self, x: np.ndarray) -> np.ndarray:
        """Natural logarithm."""
        return self.out(self.unit.ln(x))


def square(s: Steps, x: np.ndarray) -> np.ndarray:
    """Return x x."""
    return s.mul(x, x)


def sigmoid_grad(s: Steps, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """(y (1 - y)) dy."""
    return s.mul(s.mul(y, s.sub(_ONE, y)), dy)


def tanh_grad(s: Steps, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Return dy (1 - y y)."""
    return s.mul(dy, s.sub(_ONE, s.mul(y, y)))


def rsqrt_grad(s: Steps, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """-0.5 (dy (y (y y)))."""
    return s.mul(s.mul(dy, s.mul(y, s.mul(y, y))), single(-0.5))


def relu_grad(s: Steps, dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return dy s, s = clamp(x, 0, 2^-126) 2^38 2^44 2^44: infinity times 0 is NaN."""
    return _times_step(s, dy, x, 2.0 ** -126, (38, 44, 44))


def relu_grad_half(s: Steps, dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same for float16 tensors: s = clamp(x, 0, 2^-24) 2^12 2^12."""
    return _times_step(s, dy, x, 2.0 ** -24, (12, 12))


def _times_step(s: Steps, dy: np.ndarray, x: np.ndarray, least: float,
                powers: tuple[int, ...]) -> np.ndarray:
    kept = np.where(np.isnan(x), _ZERO, x)
    scale = np.minimum(np.maximum(kept, _ZERO), single(least))
    for power in powers:
        scale = np.multiply(scale, single(2.0 ** power))
    return s.mul(dy, scale)


def elu(s: Steps, x: np.ndarray) -> np.ndarray:
    """(exp(min(x, 0)) - 1) + max(x, 0); no expm1."""
    low = s.sub(s.exp(s.unit.minimum(x, _ZERO)), _ONE)
    return s.add(low, s.unit.maximum(x, _ZERO))


def elu_grad(s: Steps, dy: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return dy (y + 1) where y < 0, else dy."""
    return np.where(y < 0, s.mul(dy, s.add(y, _ONE)), dy)


def log1p(s: Steps, x: np.ndarray) -> np.ndarray:
    """With u = x + 1: ln(u) (x / (u - 1)); x where u = 1, x / (u - 1) where u = inf."""
    u = s.add(x, _ONE)
    ratio = s.div(x, s.add(u, single(-1)))
    result = s.mul(s.ln(u), ratio)
    return np.where(u == 1, x, np.where(np.isposinf(u), ratio, result))


def div_no_nan(s: Steps, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """0 where b = 0, else a / b with AscIR's Div."""
    return np.where(b == 0, _ZERO, s.out(s.unit.div(a, b)))


def div_no_nan_exact(s: Steps, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same with the compensated division, 950's AscIR Div in vector functions."""
    return np.where(b == 0, _ZERO, s.out(s.unit.div_exact(a, b)))


def floor_div(s: Steps, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Floor of a / b."""
    return np.asarray(np.floor(s.div(a, b)))


def floor_div_corrected(s: Steps, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Floor of a / b, one less where the remainder's sign says it went up."""
    quotient = np.floor(s.div(a, b))
    rest = s.unit.fma(-quotient, b, a)
    with np.errstate(invalid="ignore"):
        over = (rest != 0) & ((rest < 0) != (b < 0)) & np.isfinite(quotient)
    return np.asarray(np.where(over, s.sub(quotient, _ONE), quotient))
