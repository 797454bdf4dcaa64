"""F02: reciprocal of reciprocal.

Given:    x [6] --Reciprocal-- Reciprocal-- y [6]
Expected: op by op up to 1 ULP off; a simplifier returns x, which is nearer the truth.
"""

from __future__ import annotations

from graphs.distribution import Values
from graphs.subgraph import Input

TARGETS = ("algsimp",)
INPUTS = (Input("x", (6,), "float32",
                distribution=Values((3, 7, 49, 0.1, 41, 5))),)


def build(tf, x):
    """Return {"y": [6] float32}."""
    return {"y": tf.reciprocal(tf.reciprocal(x))}
