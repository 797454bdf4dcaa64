"""transpose, then concat: movement that must be bit-exact.

Given:    x [b,n,m] --Transpose(0,2,1)-- Concat(y [b,m,k], last axis)-- z [b,m,n+k]
Expected: one copy kernel with autofuse_enable_pass=transpose,concat; no rounding.

Serves D.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("D",)
TARGETS = ("AutoFusePass",)
INPUTS = (Input("x", (2, 17, 65), paper=(8, 1024, 1024)),
          Input("y", (2, 65, 3), paper=(8, 1024, 64)))
SHAPES = {"size_one": {"x": (1, 1, 7), "y": (1, 7, 1)},
          "empty": {"x": (2, 0, 5), "y": (2, 5, 0)}}


def build(tf: Any, x: Any, y: Any) -> dict[str, Any]:
    """Return {"z": [b, m, n + k] of the dtype of x}."""
    return {"z": tf.concat([tf.transpose(x, (0, 2, 1)), y], axis=-1)}
