"""F01: log(exp(x)), where the exponential overflows.

Given:    x [4] --Exp-- Log-- y [4]
Expected: op by op [88, inf, inf, -inf]; an algebraic simplifier returns x.
"""

from __future__ import annotations

from graphs.distribution import Values
from graphs.subgraph import Input

TARGETS = ("algsimp",)
INPUTS = (Input("x", (4,), "float32", distribution=Values((88, 89, 200, -200))),)


def build(tf, x):
    """Return {"y": [4] float32}."""
    return {"y": tf.log(tf.exp(x))}
