"""F08: an assertion that fails, which one side raises and another drops.

Given:    x [1] --Greater(0)-- All --Assert; after it x --Mul(2)-- y [1]
Expected: op by op an InvalidArgumentError; XLA returns [-2].
"""

from __future__ import annotations

import numpy as np

from graphs.distribution import Values
from graphs.subgraph import Input

INPUTS = (Input("x", (1,), "float32", distribution=Values((-1,))),)


def build(tf, x):
    """Return {"y": [1] float32}."""
    positive = tf.reduce_all(tf.greater(x, np.array(0.0, np.float32)))
    check = tf.raw_ops.Assert(condition=positive, data=[x])
    with tf.control_dependencies([check]):
        return {"y": x * np.array(2.0, np.float32)}
