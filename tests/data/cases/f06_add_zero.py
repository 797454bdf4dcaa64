"""F06: x + 0.0 and x + (-0.0) in one graph.

Given:    x [2] --Add(0.0)-- z [2]; x --Add(-0.0)-- y [2]
Expected: z = [0, 0]; y = [0, -0], whatever was computed before.
"""

from __future__ import annotations

import numpy as np

from graphs.distribution import Values
from graphs.subgraph import Input

VARIANTS = {"order": ("z_first", "y_first")}
INPUTS = (Input("x", (2,), "float32", distribution=Values((0.0, -0.0))),)


def build(tf, x, order):
    """Return {"y": [2], "z": [2] float32}."""
    plus, minus = np.array(0.0, np.float32), np.array(-0.0, np.float32)
    if order == "y_first":
        return {"y": x + minus, "z": x + plus}
    z = x + plus
    return {"z": z, "y": x + minus}
