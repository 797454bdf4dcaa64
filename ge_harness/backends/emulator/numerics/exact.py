"""Exponential and logarithm of float32, rounded once from float64.

Written in additions, multiplications and divisions only, each correctly rounded by IEEE
arithmetic: a library's exp differs between versions in its last float64 bit, which
would let one float32 result in some hundred million depend on the NumPy in use.
"""

from __future__ import annotations

import numpy as np

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693147180369123816490e0  # ln 2 with 32 bits: exact times an exponent
_LN2_LOW = 1.90821492927058770002e-10
_SHIFT = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number
_EXP = tuple(1.0 / n for n in (5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0))
_LOG = tuple(2.0 / n for n in range(21, 0, -2))
_SQRT_HALF = 0.7071067811865476


def exp64(x: np.ndarray) -> np.ndarray:
    """Return e^x within 2^-47 of its value.

    Args:
        x: [...] float64, at least one axis; clipped to [-160, 160], beyond which
            float32 has only 0 and infinity.
    """
    x = np.minimum(np.maximum(x, -160.0), 160.0)
    whole = x * _LOG2E
    whole += _SHIFT
    whole -= _SHIFT
    part = x - whole * _LN2_HIGH
    part -= whole * _LN2_LOW
    part *= 0.125
    total = np.full_like(part, _EXP[0])
    for coefficient in _EXP[1:]:
        total *= part
        total += coefficient
    for _ in range(3):
        total *= total
    with np.errstate(invalid="ignore"):
        power = (whole.astype(np.int64) + 1023) << 52
    return np.asarray(total * power.view(np.float64))


def exp(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return e^x of float32: rounded to float32, and as float64; both [...]."""
    wide = exp64(np.atleast_1d(x).astype(np.float64)).reshape(np.shape(x))
    wide = np.where(np.isnan(x), np.nan, wide)
    with np.errstate(all="ignore"):
        return wide.astype(np.float32), wide


def log64(x: np.ndarray) -> np.ndarray:
    """Return ln x for positive finite x, [...] float64; within 2 float64 ULP."""
    part, exponent = np.frexp(x)
    low = part < _SQRT_HALF
    part = np.where(low, part * 2.0, part)
    whole = exponent.astype(np.float64) - low
    ratio = (part - 1.0) / (part + 1.0)
    square = ratio * ratio
    total = np.full_like(square, _LOG[0])
    for coefficient in _LOG[1:-1]:
        total *= square
        total += coefficient
    total *= square
    small = ratio * total + 2.0 * ratio
    return np.asarray(whole * _LN2_HIGH + (small + whole * _LN2_LOW))


def log(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ln x of float32: rounded to float32, and as float64; both [...]."""
    inside = (x > 0) & np.isfinite(x)
    wide = log64(np.where(inside, x, np.float32(1)).astype(np.float64))
    outside = np.where(x == 0, -np.inf, np.where(x > 0, np.inf, np.nan))
    wide = np.where(inside, wide, outside)
    return wide.astype(np.float32), wide
