"""F05: x times one, for subnormal x.

Given:    x [5] --Mul(1.0)-- y [5]
Expected: op by op subnormals are flushed to zero; a simplifier returns x.
"""

from __future__ import annotations

import numpy as np

from graphs.distribution import Values
from graphs.subgraph import Input

TARGETS = ("algsimp", "fusion")
INPUTS = (Input("x", (5,), "float32",
                distribution=Values((1e-45, 1e-40, -1e-40, -0.0, 2e-38))),)


def build(tf, x):
    """Return {"y": [5] float32}."""
    return {"y": x * np.array(1.0, np.float32)}
