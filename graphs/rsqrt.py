"""reciprocal square root: an iterative algorithm on many machines.

Given:    x [n,m] --Rsqrt-- y [n,m]
Expected: one Rsqrt instruction or a Newton iteration; under XLA 1/sqrt or rsqrt.

Serves C3: which algorithm, how many iterations, how far from the fp64 truth.
"""

from __future__ import annotations

from typing import Any

from graphs.distribution import Uniform
from graphs.subgraph import Input

CLAIMS = ("C3",)
TARGETS = ("AutoFusePass",)
INPUTS = (
    Input("x", (127, 129), paper=(1024, 1024), distribution=Uniform(0.01, 100.0)),)


def build(tf: Any, x: Any) -> dict[str, Any]:
    """Return {"y": [n, m] of the dtype of x}."""
    return {"y": tf.rsqrt(x)}
