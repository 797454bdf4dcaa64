"""transpose alone: movement that must be bit-exact.

Given:    x [a,b,c] --Transpose(order)-- y
Expected: one copy kernel with autofuse_enable_pass=transpose, or a layout change.

Serves D.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("D",)
TARGETS = ("AutoFusePass",)
VARIANTS = {"order": ("021", "210", "102")}
INPUTS = (Input("x", (3, 31, 65), paper=(8, 1024, 4096)),)
SHAPES = {"size_one": {"x": (1, 7, 1)}, "empty": {"x": (2, 0, 3)}}


def build(tf: Any, x: Any, order: str) -> dict[str, Any]:
    """Return {"y": x with its axes in `order`}."""
    return {"y": tf.transpose(x, [int(axis) for axis in order])}
