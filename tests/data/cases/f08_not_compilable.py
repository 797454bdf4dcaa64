"""F08 the other way round: an op that TensorFlow runs and XLA cannot compile.

Given:    x [1,4,4,1] --Dilation2D-- y [1,2,2,1]
Expected: op by op the local maxima; XLA refuses to compile the graph.
"""

from __future__ import annotations

import numpy as np

from graphs.subgraph import Input

INPUTS = (Input("x", (1, 4, 4, 1), "float32"),)


def build(tf, x):
    """Return {"y": [1, 2, 2, 1] float32}."""
    return {"y": tf.raw_ops.Dilation2D(
        input=x, filter=np.zeros((3, 3, 1), np.float32), strides=[1, 1, 1, 1],
        rates=[1, 1, 1, 1], padding="VALID")}
