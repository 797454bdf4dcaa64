"""split, transpose, concat: movement that must be bit-exact.

Given:    x [n,3m] --Split(3, last axis)-- 3 x [n,m] --Transpose-- Concat-- y [m,3n]
Expected: one copy kernel with autofuse_enable_pass=split,transpose,concat; no rounding.

Serves D.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("D",)
TARGETS = ("AutoFusePass", "ZSplitFusionPass")
INPUTS = (Input("x", (35, 51), paper=(4096, 3072)),)
SHAPES = {"size_one": {"x": (1, 3)}, "empty": {"x": (0, 6)}}


def build(tf: Any, x: Any) -> dict[str, Any]:
    """Return {"y": [m, 3 n] of the dtype of x}."""
    parts = tf.split(x, 3, axis=1)
    return {"y": tf.concat([tf.transpose(part, (1, 0)) for part in parts], axis=1)}
