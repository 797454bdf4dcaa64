"""abs, relu, exp: three one-input ops, the shortest chain worth fusing.

Given:    x [n,m] --Abs-- Relu --Exp-- y [n,m]
Expected: one AscBackend kernel; under XLA one loop fusion with the relu simplified.

Serves B. Only exp rounds; a difference is exp's own.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("B",)
TARGETS = ("AutoFusePass",)
INPUTS = (Input("x", (63, 257), paper=(2048, 4096)),)


def build(tf: Any, x: Any) -> dict[str, Any]:
    """Return {"y": [n, m] of the dtype of x}."""
    return {"y": tf.exp(tf.nn.relu(tf.abs(x)))}
