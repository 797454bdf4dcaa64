"""x divided by y, elementwise: an iterative algorithm on many machines.

Given:    x [n,m], y [n,m] --RealDiv-- z [n,m]
Expected: one divide, or a reciprocal with Newton steps and a multiply.

Serves C3. Both are inputs: a constant divisor may be turned into a multiply.
"""

from __future__ import annotations

from typing import Any

from graphs.distribution import Uniform
from graphs.subgraph import Input

CLAIMS = ("C3",)
TARGETS = ("AutoFusePass",)
INPUTS = (
    Input("x", (127, 129), paper=(1024, 1024), distribution=Uniform(-100.0, 100.0)),
    Input("y", (127, 129), paper=(1024, 1024), distribution=Uniform(0.01, 100.0)),
)


def build(tf: Any, x: Any, y: Any) -> dict[str, Any]:
    """Return {"z": [n, m] of the dtype of x}."""
    return {"z": tf.realdiv(x, y)}
