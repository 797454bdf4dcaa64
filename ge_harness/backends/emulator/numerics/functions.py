"""Functions of one AscIR or eager operator, as the kernels evaluate them.

`*_v1` is the 910B's fused form, `*_v2` the 950's; eager kernels that differ have names
of their own. Each takes a `Unit`, whose every instruction rounds to float32.

Source: reference: numerics_model.md section 5.
"""

from __future__ import annotations

import math
from typing import Sequence

import numpy as np

from ge_harness.backends.emulator.numerics.unit import Unit, single
from ge_harness.interpreter import special

_ONE = single(1)
_TWO = single(2)
_TANH_V2 = (0.0157296831, -0.0523029624, 0.133152977, -0.333327681)
_TANH_EAGER = (0.0157396831, -0.0523039624, 0.133152977, -0.333327681)
_ERF_P = (0.053443748819, 7.5517016694, 101.62808918, 1393.8061484, 5063.7915060,
          29639.384698)
_ERF_Q = (1.0, 31.212858877, 398.56963806, 3023.1248150, 13243.365831, 26267.224157)
_ERF_SMALL = (8.483494e-5, -8.213092e-4, 5.213489e-3, -2.686877e-2, 0.11284005,
              -0.37612665, 0.12837915)
_ERF_LARGE = (1.121987e-4, -1.327525e-3, 8.396535e-3, -4.024658e-2, 0.15950431,
              0.91291767, 0.62906003)
_ERF_EDGE = single(1.00295997)
_LN2 = single(0.6931471805599453)
_GELU = single(1.5957691216)
_GELU_EAGER = single(1.5957691)
_GELU_V2 = single(-1.595769121 * 0.044715)
_CUBIC = single(0.044715)
_CUBIC_INVERSE = single(1.0 / 0.044715)


def horner(u: Unit, z: np.ndarray, coefficients: Sequence[float], *,
           fused: bool) -> np.ndarray:
    """Evaluate a polynomial, highest power first, by fma or in two roundings."""
    total = np.full_like(z, single(coefficients[0]))
    for each in coefficients[1:]:
        term = single(each)
        total = u.fma(total, z, term) if fused else u.add(u.mul(total, z), term)
    return total


def rounded64(wide: np.ndarray) -> np.ndarray:
    """Return float64 rounded once to float32."""
    with np.errstate(all="ignore"):
        return np.asarray(wide).astype(np.float32)


def sigmoid(u: Unit, x: np.ndarray) -> np.ndarray:
    """1 / (exp(-1 x) + 1)."""
    return u.div(_ONE, u.add(u.exp(u.mul(x, single(-1))), _ONE))


def reciprocal(u: Unit, x: np.ndarray) -> np.ndarray:
    """1 / x by the plain instruction."""
    return u.div(_ONE, x)


def tanh_v1(u: Unit, x: np.ndarray) -> np.ndarray:
    """Clamp to 8.8, then (exp(2x) - 1) / (exp(2x) + 1)."""
    limit = single(8.8)
    return _tanh_ratio(u, np.minimum(np.maximum(x, -limit), limit))


def tanh_v2(u: Unit, x: np.ndarray) -> np.ndarray:
    """Below 0.55 a polynomial by fma, else the ratio with x cut at 20."""
    large = _tanh_ratio(u, np.minimum(x, single(20)))
    small = _tanh_small(u, x, _TANH_V2, fused=True)
    return np.where(np.abs(x) < single(0.55), small, large)


def tanh_eager_v1(u: Unit, x: np.ndarray) -> np.ndarray:
    """The 910B's kernel: the split of `tanh_v2`, other coefficients, no fma."""
    large = _tanh_ratio(u, np.minimum(x, single(20)))
    small = _tanh_small(u, x, _TANH_EAGER, fused=False)
    return np.where(np.abs(x) < single(0.55), small, large)


def tanh_eager_v2(u: Unit, x: np.ndarray) -> np.ndarray:
    """The 950's kernel: split at 0.6; 1 - 2 / (exp(2|x|) + 1); 1 from 9.01 on."""
    size = np.abs(x)
    rest = u.div(_ONE, u.add(u.exp(u.mul(size, _TWO)), _ONE))
    large = u.sub(_ONE, u.mul(rest, _TWO))
    large = np.where(size >= single(9.0109138), _ONE, large)
    small = _tanh_small(u, x, _TANH_EAGER, fused=True)
    return np.where(size < single(0.6), small, np.copysign(large, x))


def tanh_libm(u: Unit, x: np.ndarray) -> np.ndarray:
    """The function itself."""
    return rounded64(np.tanh(np.asarray(x).astype(np.float64)))


def _tanh_ratio(u: Unit, x: np.ndarray) -> np.ndarray:
    power = u.exp(u.mul(x, _TWO))
    return u.div(u.sub(power, _ONE), u.add(power, _ONE))


def _tanh_small(u: Unit, x: np.ndarray, coefficients: Sequence[float], *,
                fused: bool) -> np.ndarray:
    square = u.mul(x, x)
    factor = u.mul(square, horner(u, square, coefficients, fused=fused))
    return u.fma(x, factor, x) if fused else u.add(u.mul(x, factor), x)


def erf_v1(u: Unit, x: np.ndarray) -> np.ndarray:
    """Clamp to 3.92, then a quotient of polynomials."""
    limit = single(3.92)
    x = np.minimum(np.maximum(x, -limit), limit)
    square = u.mul(x, x)
    above = u.mul(x, horner(u, square, _ERF_P, fused=False))
    return u.div(above, horner(u, square, _ERF_Q, fused=False))


def erf_v2(u: Unit, x: np.ndarray) -> np.ndarray:
    """A polynomial in x^2 below 1.003, else 1 - exp(ln 2 g), by fma."""
    square = u.mul(x, x)
    small = u.fma(x, horner(u, square, _ERF_SMALL, fused=True), x)
    size = np.abs(x)
    power = u.fma(-size, horner(u, size, _ERF_LARGE, fused=True), -size)
    large = np.copysign(u.sub(_ONE, u.exp(u.mul(power, _LN2))), x)
    return np.where(size < _ERF_EDGE, small, large)


def erf_libm(u: Unit, x: np.ndarray) -> np.ndarray:
    """The function itself."""
    return rounded64(special.erf(np.asarray(x).astype(np.float64)))


def gelu_v1(u: Unit, x: np.ndarray) -> np.ndarray:
    """With y = 1.5957691216 (x + 0.044715 x^3); x / (exp(-|y|) + 1) exp(min(y, 0))."""
    y = u.mul(_gelu_inner(u, x), _GELU)
    left = u.div(x, u.add(u.exp(-np.abs(y)), _ONE))
    return u.mul(left, u.exp(np.minimum(y, single(0))))


def gelu_v2(u: Unit, x: np.ndarray) -> np.ndarray:
    """Return x / (1 + exp(c (x^3 + x / 0.044715))), the linear term by fma."""
    inner = u.fma(x, _CUBIC_INVERSE, _cube(u, x))
    return u.div(x, u.add(u.exp(u.mul(inner, _GELU_V2)), _ONE))


def gelu_eager_v1(u: Unit, x: np.ndarray) -> np.ndarray:
    """Return x / (1 + exp(-1.5957691 (x + 0.044715 x^3)))."""
    y = u.mul(_gelu_inner(u, x), -_GELU_EAGER)
    return u.div(x, u.add(u.exp(y), _ONE))


def gelu_libm(u: Unit, x: np.ndarray) -> np.ndarray:
    """The tanh form of GELU itself."""
    wide = np.asarray(x).astype(np.float64)
    inner = math.sqrt(2.0 / math.pi) * (wide + 0.044715 * wide * wide * wide)
    with np.errstate(all="ignore"):
        return rounded64(wide / (1.0 + np.exp(-2.0 * inner)))


def _cube(u: Unit, x: np.ndarray) -> np.ndarray:
    return u.mul(u.mul(x, x), x)


def _gelu_inner(u: Unit, x: np.ndarray) -> np.ndarray:
    return u.add(x, u.mul(_cube(u, x), _CUBIC))


def power_v1(u: Unit, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Constant exponents by products and roots; else sign, exp(b ln|a|)."""
    if np.ndim(b) == 0:
        special_case = _known_power(u, a, float(b))
        if special_case is not None:
            return special_case
    size = u.exp(u.mul(u.ln(np.abs(a)), b))
    return _power_edges(a, b, size)


def power_v2(u: Unit, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same for constants; exponents known at run time too; else exact."""
    if np.ndim(b) == 0:
        special_case = _known_power(u, a, float(b))
        if special_case is not None:
            return special_case
    result = power_libm(u, a, b)
    for exponent in (0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0):
        hit = b == single(exponent)
        if np.any(hit):
            known = _known_power(u, a, exponent)
            result = np.where(hit, result if known is None else known, result)
    return result


def power_libm(u: Unit, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The function itself."""
    with np.errstate(all="ignore"):
        return rounded64(np.power(np.asarray(a, np.float64), np.asarray(b, np.float64)))


def _known_power(u: Unit, a: np.ndarray, exponent: float) -> np.ndarray | None:
    """Return a^exponent for the exponents that are rewritten, else None.

    Source: numerics_model.md section 3: 2, 3, 4, 0.5, -0.5, 1, -1, -2, 0; halves are
    matched within 1e-7.
    """
    if abs(abs(exponent) - 0.5) < 1e-7:
        root = u.sqrt(a)
        return root if exponent > 0 else u.div(_ONE, root)
    if exponent == 0.0:
        return np.ones_like(a)
    if exponent == 1.0:
        return np.asarray(a)
    if exponent == -1.0:
        return u.div(_ONE, a)
    if exponent not in (2.0, 3.0, 4.0, -2.0):
        return None
    square = u.mul(a, a)
    if exponent == 3.0:
        return u.mul(square, a)
    if exponent == 4.0:
        return u.mul(square, square)
    return square if exponent > 0 else u.div(_ONE, square)


def _power_edges(a: np.ndarray, b: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Give |a|^b the sign and the special values that pow has.

    The sign logic of the kernel is not public in detail; this is IEEE 754's.
    """
    with np.errstate(all="ignore"):
        ieee = np.power(np.asarray(a, np.float64), np.asarray(b, np.float64))
        odd = ieee < 0
        plain = np.isfinite(ieee) & (ieee != 0) & np.isfinite(a) & (a != 0)
        exactly = (np.abs(a) == 1) | (b == 0)
        signed = np.where(odd, -size, size)
        edge = rounded64(ieee)
    return np.where(plain & ~exactly, signed, edge)
