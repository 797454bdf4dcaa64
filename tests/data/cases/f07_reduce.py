"""F07: sum, mean and standard deviation of six times 10000 in float16.

Given:    x [3,2] --Sum-- sum; --Mean-- mean; --Mean, Sub, Square, Mean, Sqrt-- std
Expected: op by op 59970, 9990, 8; with a wider accumulator 60000, 10000, 0.
"""

from __future__ import annotations

from graphs.distribution import Values
from graphs.subgraph import Input

INPUTS = (Input("x", (3, 2), "float16", distribution=Values((10000,))),)


def build(tf, x):
    """Return {"sum": [], "mean": [], "std": [] float16}."""
    return {"sum": tf.reduce_sum(x), "mean": tf.reduce_mean(x),
            "std": tf.math.reduce_std(x)}
