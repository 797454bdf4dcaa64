"""The vector unit: float32 instructions as the parameters describe them.

Every method takes and gives float32 arrays; each result is rounded to float32 once,
except where a parameter makes an instruction less exact.

Source: reference: numerics_model.md sections 3, 5, 6.
"""

from __future__ import annotations

from typing import Callable

import numpy as np

from ge_harness.backends.emulator.numerics import casts, exact
from ge_harness.backends.emulator.params import EmulatorParams

V1, V2 = "910b", "950"
_SMALLEST = np.float32(2.0 ** -126)


def single(value: float) -> np.ndarray:
    """Return a number as a 0-d float32 array, an instruction's scalar operand."""
    return np.asarray(value, np.float32)


_ONE = single(1)


class Unit:
    """Instructions of one chip.

    Attributes:
        chip: "910b" or "950".
        params: the model's parameters.
    """

    def __init__(self, chip: str, params: EmulatorParams) -> None:
        self.chip = chip
        self.params = params
        wanted = params.subnormals
        if wanted == "auto":
            wanted = "keep" if chip == V1 else "flush_functions"
        self._flush_functions = wanted != "keep"
        self._flush_all = wanted == "flush_all"
        division = params.div_accuracy
        if division == "auto":
            division = "correct" if chip == V1 else "faithful"
        self._division = division

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a + b."""
        return self._plain(np.add, a, b)

    def sub(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a - b."""
        return self._plain(np.subtract, a, b)

    def mul(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a * b, as the scalar instruction where one side is a scalar."""
        result = self._plain(np.multiply, a, b)
        scalar = (np.ndim(a) == 0) != (np.ndim(b) == 0)
        if scalar and not self.params.muls_equals_mul:
            wide = np.multiply(a, b, dtype=np.float64)
            return self._noisy(result, wide, a, b)
        return result

    def fma(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return a * b + c, rounded once."""
        return self._ends(casts.fma, a, b, c)

    def maximum(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the greater one."""
        ignore = self.params.nan_minmax == "ignore"
        return np.asarray(np.fmax(a, b) if ignore else np.maximum(a, b))

    def minimum(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the smaller one."""
        ignore = self.params.nan_minmax == "ignore"
        return np.asarray(np.fmin(a, b) if ignore else np.minimum(a, b))

    def div(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a / b by the plain instruction."""
        a, b = self._in(a), self._in(b)
        if self.params.div_form != "auto":
            return self._out(self._newton_quotient(a, b))
        result = np.asarray(a / b)
        if self._division == "correct":
            return self._out(result)
        wide = np.true_divide(a, b, dtype=np.float64)
        if self._division == "noise":
            return self._out(self._noisy(result, wide, a, b))
        return self._out(self._faithful(result, wide, a, b))

    def div_exact(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a / b by the compensated division: correctly rounded."""
        if self.params.div_form != "auto":
            return self._ends(self._newton_quotient, a, b)
        return self._ends(np.true_divide, a, b)

    def sqrt(self, x: np.ndarray) -> np.ndarray:
        """Return the square root by the instruction."""
        x = self._in(x)
        result = np.sqrt(x)
        if self.params.sqrt_accuracy == "noise":
            result = self._noisy(result, np.sqrt(x.astype(np.float64)), x)
        return self._out(result)

    def sqrt_exact(self, x: np.ndarray) -> np.ndarray:
        """Return the correctly rounded square root (software form)."""
        return self._ends(np.sqrt, x)

    def exp(self, x: np.ndarray) -> np.ndarray:
        """Return e^x."""
        x = self._in(x)
        result, wide = exact.exp(x)
        if self.params.exp_accuracy == "noise":
            result = self._noisy(result, wide, x)
        return self._out(result)

    def ln(self, x: np.ndarray) -> np.ndarray:
        """Return the natural logarithm."""
        x = self._in(x)
        result, wide = exact.log(x)
        if self.params.ln_accuracy == "noise":
            result = self._noisy(result, wide, x)
        return self._out(result)

    def rsqrt(self, x: np.ndarray) -> np.ndarray:
        """Return 1 / sqrt(x), in the form that parameter `rsqrt_form` asks for."""
        form = self.params.rsqrt_form
        if form in ("newton2", "newton3"):
            return self._newton_rsqrt(x, int(form[-1]))
        if form == "newton":
            return self.norm_rsqrt(x)
        if form == "scalar_unit":
            return self.scalar_rsqrt(x)
        return self.div(_ONE, self.sqrt(x))

    def scalar_rsqrt(self, x: np.ndarray) -> np.ndarray:
        """Return 1 / sqrt(x) as the scalar unit does: two roundings, no flushing."""
        return np.asarray(_ONE / np.sqrt(x))

    def norm_rsqrt(self, x: np.ndarray) -> np.ndarray:
        """Return 1 / sqrt(x) as the 950's norm kernels do, without their residuals.

        r = 1 / v, y = sqrt(r), one step y (1.5 - 0.5 v y^2); v = 0 gives the largest
        number, v = inf gives 0. The corrections after the step are not modeled.
        """
        y = self.sqrt(self.div(_ONE, x))
        y = self._step(np.asarray(x), y)
        y = np.where(x == 0, np.finfo(np.float32).max, y)
        return np.asarray(np.where(np.isposinf(x), np.float32(0), y))

    def _step(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One Newton step of the reciprocal root, each operation rounded."""
        half = np.multiply(np.float32(0.5), x)
        return np.asarray(y * (np.float32(1.5) - half * (y * y)))

    def _newton_rsqrt(self, x: np.ndarray, steps: int) -> np.ndarray:
        """Return the reciprocal root from an integer guess (3.4 % off) and steps.

        Source: the guess is the widely known 0x5F3759DF - (bits >> 1).
        """
        shape = np.shape(x)
        x = np.atleast_1d(x)
        usual = (x >= _SMALLEST) & np.isfinite(x)
        safe = np.where(usual, x, _ONE)
        bits = np.ascontiguousarray(safe).view(np.int32).reshape(safe.shape)
        guess = np.int32(0x5F3759DF) - (bits >> 1)
        y = np.ascontiguousarray(guess).view(np.float32).reshape(safe.shape)
        for _ in range(steps):
            y = self._step(safe, y)
        return np.where(usual, y, _ONE / np.sqrt(x)).reshape(shape)

    def _newton_quotient(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a times a reciprocal of b from an integer guess (12 % off) and steps.

        Source: the guess is the widely known 0x7EF311C7 - bits.
        """
        shape = np.broadcast(a, b).shape
        b = np.atleast_1d(b)
        size = np.abs(b)
        usual = (size >= np.float32(2.0 ** -125)) & (size < np.float32(2.0 ** 125))
        safe = np.where(usual, size, _ONE)
        bits = np.ascontiguousarray(safe).view(np.int32).reshape(safe.shape)
        guess = np.int32(0x7EF311C7) - bits
        y = np.ascontiguousarray(guess).view(np.float32).reshape(safe.shape)
        for _ in range(int(self.params.div_form[-1])):
            y = y * (np.float32(2) - safe * y)
        return np.asarray(
            np.where(usual, a * np.copysign(y, b), a / b)).reshape(shape)

    def _plain(self, function: np.ufunc, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not self._flush_all:
            return np.asarray(function(a, b))
        return _flushed(np.asarray(function(_flushed(a), _flushed(b))))

    def _ends(self, function: Callable[..., np.ndarray],
              *operands: np.ndarray) -> np.ndarray:
        """Run a form that flushes only where everything does."""
        if not self._flush_all:
            return np.asarray(function(*operands))
        return _flushed(np.asarray(function(*[_flushed(x) for x in operands])))

    def _in(self, x: np.ndarray) -> np.ndarray:
        return _flushed(x) if self._flush_functions else np.asarray(x)

    def _out(self, x: np.ndarray) -> np.ndarray:
        return _flushed(x) if self._flush_functions else x

    def _noisy(self, result: np.ndarray, wide: np.ndarray,
               *operands: np.ndarray) -> np.ndarray:
        """Return results moved by 1 ULP for some operands, where they are inexact."""
        step = casts.noise(*operands, seed=self.params.noise_seed)
        return casts.beside(result, np.where(result == wide, 0, step).astype(np.int32))

    def _faithful(self, result: np.ndarray, wide: np.ndarray,
                  *operands: np.ndarray) -> np.ndarray:
        """Return, for a quarter of inexact results, the neighbor beyond the value."""
        two = casts.hashed(*operands, seed=self.params.noise_seed) & np.uint32(3)
        with np.errstate(invalid="ignore"):
            step = np.sign(wide - result)
        step = np.where((two == 0) & np.isfinite(step), step, 0)
        return casts.beside(result, step.astype(np.int32))


class NarrowUnit(Unit):
    """Instructions of a narrow dtype: each result is rounded to it.

    Attributes:
        rounding: float32 to the values of the dtype, held in float32.
    """

    def __init__(self, chip: str, params: EmulatorParams,
                 rounding: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__(chip, params)
        self.rounding = rounding

    def add(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a + b."""
        return self.rounding(super().add(a, b))

    def sub(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a - b."""
        return self.rounding(super().sub(a, b))

    def mul(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a * b."""
        return self.rounding(super().mul(a, b))

    def div(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a / b."""
        return self.rounding(super().div(a, b))

    def sqrt(self, x: np.ndarray) -> np.ndarray:
        """Return the square root."""
        return self.rounding(super().sqrt(x))

    def exp(self, x: np.ndarray) -> np.ndarray:
        """Return e^x."""
        return self.rounding(super().exp(x))

    def ln(self, x: np.ndarray) -> np.ndarray:
        """Return the natural logarithm."""
        return self.rounding(super().ln(x))


def _flushed(x: np.ndarray) -> np.ndarray:
    """Return float32 with subnormals as zeros of their sign."""
    x = np.asarray(x)
    with np.errstate(invalid="ignore"):
        tiny = np.abs(x) < _SMALLEST
    return np.where(tiny, np.copysign(np.float32(0), x), x)
