"""A division by a constant amid a chain, which TensorFlow's own rewriting changes.

Given:    x [4,6] --Abs--Relu--RealDiv(3)--Exp-- y [4,6]
Expected: as given where rewriting is off; else a Mul by the rounded reciprocal.
"""

from __future__ import annotations

import numpy as np

from graphs.subgraph import Input

INPUTS = (Input("x", (4, 6), "float32"),)


def build(tf, x):
    """Return {"y": [4, 6] float32}."""
    part = tf.realdiv(tf.nn.relu(tf.abs(x)), np.array(3, np.float32))
    return {"y": tf.exp(part)}
