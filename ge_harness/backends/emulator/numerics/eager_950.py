"""Single operators of the 950: float32 inside, one rounding to nearest even.

Source: reference: numerics_model.md sections 2.3, 5.
"""

from __future__ import annotations

import numpy as np

from ge_harness.backends.emulator.numerics import functions as f
from ge_harness.backends.emulator.numerics.kernel import Table, table_of
from ge_harness.backends.emulator.numerics.unit import Unit, single

_ONE = single(1)


def rsqrt(u: Unit, x: np.ndarray) -> np.ndarray:
    """Default square root, compensated 1 / s."""
    if u.params.rsqrt_form not in ("auto", "div_sqrt"):
        return u.rsqrt(x)
    return u.div_exact(_ONE, u.sqrt(x))


def reciprocal(u: Unit, x: np.ndarray) -> np.ndarray:
    """Compensated 1 / x."""
    return u.div_exact(_ONE, x)


TABLE: Table = {
    **table_of(
        RealDiv=Unit.div_exact, Div=Unit.div_exact, Exp=Unit.exp, Log=Unit.ln,
        Sqrt=Unit.sqrt, Rsqrt=rsqrt, Reciprocal=reciprocal, Inv=reciprocal,
        Sigmoid=f.sigmoid, Tanh=f.tanh_eager_v2, Erf=f.erf_v2, Gelu=f.gelu_v2,
        Pow=f.power_libm),
}
SINGLE: Table = table_of(Sqrt=Unit.sqrt_exact)
"""What float32 does otherwise: a software square root of 0 ULP."""
