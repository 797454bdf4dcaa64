"""Single operators of the 910B: which are native float16, and their algorithms.

Source: reference: numerics_model.md sections 2.3, 4.6, 5.
"""

from __future__ import annotations

import numpy as np

from ge_harness.backends.emulator.numerics import casts, exact
from ge_harness.backends.emulator.numerics import functions as f
from ge_harness.backends.emulator.numerics.kernel import Table, table_of
from ge_harness.backends.emulator.numerics.unit import NarrowUnit, Unit, single

_ONE = single(1)
UNLOCATED = frozenset(("Log", "Sqrt", "Sigmoid", "Erf", "Reciprocal", "Inv", "Muls",
                       "DivNoNan", "SquaredDifference"))
"""Kernels that were not found; parameter `eager_unlocated_910b` says how they round."""


def rsqrt(u: Unit, x: np.ndarray) -> np.ndarray:
    """High-precision square root, then 1 / s."""
    if u.params.rsqrt_form not in ("auto", "div_sqrt"):
        return u.rsqrt(x)
    root = u.sqrt(x) if isinstance(u, NarrowUnit) else u.sqrt_exact(x)
    return u.div(_ONE, root)


def exp_half(u: Unit, x: np.ndarray) -> np.ndarray:
    """Native float16 exponential: e^x rounded once, 1 ULP of noise where inexact."""
    wanted = u.params.eager_fp16_exp
    if u.params.impl_mode == "high_precision" or wanted == "fp32":
        return u.exp(x)
    wide = exact.exp(x)[1]
    with np.errstate(all="ignore"):
        half = wide.astype(np.float16)
    if wanted == "native_noise":
        step = casts.noise(x, seed=u.params.noise_seed)
        half = casts.beside_half(half, np.where(half == wide, 0, step))
    return half.astype(np.float32)


def div_half(u: Unit, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Native float16 division: correctly rounded, or with 1 ULP of noise."""
    forced = u.params.div_form != "auto"
    if forced or u.params.impl_mode == "high_precision":
        return u.div(a, b)
    quotient = np.asarray(a / b)
    if u.params.eager_fp16_div != "noise":
        return quotient
    half = casts.halves(quotient)
    inexact = half.astype(np.float32) != quotient
    step = casts.noise(a, b, seed=u.params.noise_seed)
    return casts.beside_half(half, np.where(inexact, step, 0)).astype(np.float32)


TABLE: Table = {
    **table_of(
        RealDiv=Unit.div, Div=Unit.div, Exp=Unit.exp, Log=Unit.ln, Sqrt=Unit.sqrt,
        Rsqrt=rsqrt, Reciprocal=f.reciprocal, Inv=f.reciprocal, Sigmoid=f.sigmoid,
        Tanh=f.tanh_eager_v1, Erf=f.erf_v1, Gelu=f.gelu_eager_v1, Pow=f.power_v1),
}
HALF: Table = table_of(Exp=exp_half, RealDiv=div_half, Div=div_half)
"""What float16 does otherwise."""
