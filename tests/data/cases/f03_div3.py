"""F03: x divided by a constant, which compilers turn into a multiply.

Given:    x [6] --RealDiv(constant)-- y [6]
Expected: multiplied by the rounded reciprocal: 1 ULP off for 3, exact for 2 and 1024.
"""

from __future__ import annotations

import numpy as np

from graphs.distribution import Values
from graphs.subgraph import Input

TARGETS = ("algsimp", "RealDiv2MulsFusionPass")
VARIANTS = {"divisor": (3, 2, 1024)}
INPUTS = (Input("x", (6,), "float32",
                distribution=Values((1, 2, 5, 7, 10, 11))),)


def build(tf, x, divisor):
    """Return {"y": [6] float32}."""
    return {"y": tf.realdiv(x, np.array(divisor, np.float32))}
