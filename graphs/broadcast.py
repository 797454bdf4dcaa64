"""broadcast alone: movement that must be bit-exact.

Given:    x [n,1,m] --BroadcastTo-- y [n,5,m]
Expected: one copy kernel; a broadcast is elementwise to AutoFuse, so on by default.

Serves D. A hidden type promotion would show here.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("D",)
TARGETS = ("AutoFusePass",)
INPUTS = (Input("x", (7, 1, 67), paper=(1024, 1, 1024)),)
SHAPES = {"size_one": {"x": (1, 1, 1)}, "empty": {"x": (0, 1, 3)}}
TIMES = 5


def build(tf: Any, x: Any) -> dict[str, Any]:
    """Return {"y": [n, 5, m] of the dtype of x}."""
    first, _, last = x.shape.as_list()
    return {"y": tf.broadcast_to(x, (first, TIMES, last))}
