"""A broadcast with a hidden promotion: through bfloat16 and back.

Given:    x [n,1] --Cast(bfloat16)-- BroadcastTo --Cast(float32)-- y [n,5]
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

INPUTS = (Input("x", (4, 1), "float32"),)


def build(tf: Any, x: Any) -> dict[str, Any]:
    """Return {"y": [n, 5] float32}."""
    narrow = tf.broadcast_to(tf.cast(x, tf.bfloat16), (4, 5))
    return {"y": tf.cast(narrow, tf.float32)}
