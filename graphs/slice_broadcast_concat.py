"""slice, broadcast, concat: movement that must be bit-exact.

Given:    x [n,m] --Slice [n,m/2]; b [1,k] --BroadcastTo [n,k]; Concat-- y [n,m/2+k]
Expected: one copy kernel with autofuse_enable_pass=slice,concat; no rounding.

Serves D: a broadcast is where a hidden type promotion would show.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("D",)
TARGETS = ("AutoFusePass",)
INPUTS = (Input("x", (33, 67), paper=(4096, 4096)), Input("b", (1, 5), paper=(1, 256)))
SHAPES = {"size_one": {"x": (1, 3), "b": (1, 1)}, "empty": {"x": (0, 4), "b": (1, 2)}}


def build(tf: Any, x: Any, b: Any) -> dict[str, Any]:
    """Return {"y": [n, m // 2 + k] of the dtype of x}."""
    rows, width = x.shape.as_list()
    part = tf.slice(x, (0, width // 4), (rows, width // 2))
    wide = tf.broadcast_to(b, (rows, b.shape.as_list()[1]))
    return {"y": tf.concat([part, wide], axis=1)}
