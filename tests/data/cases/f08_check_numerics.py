"""F08: check_numerics on a NaN, which one side raises and another lets pass.

Given:    x [2] --CheckNumerics-- y [2]
Expected: op by op an InvalidArgumentError; XLA returns [1, nan].
"""

from __future__ import annotations

from graphs.distribution import Values
from graphs.subgraph import Input

INPUTS = (Input("x", (2,), "float32", distribution=Values((1, float("nan")))),)


def build(tf, x):
    """Return {"y": [2] float32}."""
    return {"y": tf.check_numerics(x, "x holds a number that is not finite")}
