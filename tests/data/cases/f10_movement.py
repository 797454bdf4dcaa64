"""F10: transpose, slice, concat: bit for bit the same everywhere.

Given:    x [5,7] --Transpose-- Slice [3,5] --Concat(itself)-- y [6,5]
Expected: y is exact on every side.
"""

from __future__ import annotations

from graphs.subgraph import Input

CLAIMS = ("D",)
INPUTS = (Input("x", (5, 7), ("float32", "float16", "bfloat16")),)


def build(tf, x):
    """Return {"y": [6, 5] of the dtype of x}."""
    part = tf.slice(tf.transpose(x, (1, 0)), (2, 0), (3, 5))
    return {"y": tf.concat([part, part], axis=0)}
