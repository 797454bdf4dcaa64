"""reshape alone: a view, so bit-exact and free.

Given:    x [a,b,c] --Reshape-- y [b,c*a]
Expected: no kernel at all, or one copy.

Serves D.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("D",)
TARGETS = ("AutoFusePass",)
INPUTS = (Input("x", (3, 31, 65), paper=(8, 1024, 4096)),)
SHAPES = {"size_one": {"x": (1, 7, 1)}, "empty": {"x": (2, 0, 3)}}


def build(tf: Any, x: Any) -> dict[str, Any]:
    """Return {"y": [b, c * a] of the dtype of x}."""
    first, second, third = x.shape.as_list()
    return {"y": tf.reshape(x, (second, third * first))}
