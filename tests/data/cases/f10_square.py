"""F10: x * x, which Grappler turns into Square without changing a bit.

Given:    x [5,7] --Mul(itself)-- y [5,7]
Expected: y is exact on every side; ArithmeticOptimizer is active and harmless.
"""

from __future__ import annotations

from graphs.subgraph import Input

INPUTS = (Input("x", (5, 7), ("float32", "float16", "bfloat16")),)


def build(tf, x):
    """Return {"y": [5, 7] of the dtype of x}."""
    return {"y": x * x}
