"""F04: a x + b x with b = -a, where a contracted multiply-add shows its rounding.

Given:    a, b, x [1] --Mul, Mul-- Add-- y [1]
Expected: 0 with each product rounded; fl(a x)'s rounding error where fused.
"""

from __future__ import annotations

from graphs.distribution import Values
from graphs.subgraph import Input

TARGETS = ("fusion",)
INPUTS = (
    Input("a", (1,), "float32", distribution=Values((1e20,))),
    Input("b", (1,), "float32", distribution=Values((-1e20,))),
    Input("x", (1,), "float32", distribution=Values((1e10,))),
)


def build(tf, a, b, x):
    """Return {"y": [1] float32}."""
    return {"y": a * x + b * x}
