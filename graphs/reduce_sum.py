"""sum over the last axis, whole or in tiles realized by the shape.

Given:    x [n,m] --Sum(last axis)-- y [n]
          tile=t: x --Reshape [n,m/t,t]-- Sum(last) -- Sum(last) -- y [n]
Expected: one reduce kernel (autofuse_enable_pass=reduce) whose tiling decides the
          order; a compiler may merge the two sums of a tiled form back into one.

Serves C2. Where a compiler gives no control of its tiling, the shape stands in for it.
A tile that does not divide m is an error.
"""

from __future__ import annotations

from typing import Any

from graphs.errors import GraphError
from graphs.subgraph import Input

CLAIMS = ("C2",)
TARGETS = ("AutoFusePass",)
VARIANTS = {"tile": ("whole", 512, 1024, 2048)}
INPUTS = (Input("x", (1, 16384)),)
SHAPES = {"odd": {"x": (3, 16383)}, "empty": {"x": (3, 0)}}


def build(tf: Any, x: Any, tile: Any) -> dict[str, Any]:
    """Return {"y": [n] of the dtype of x}."""
    if tile == "whole":
        return {"y": tf.reduce_sum(x, axis=-1)}
    rows, width = x.shape.as_list()
    if width % tile:
        raise GraphError(f"reduce_sum: tile {tile} does not divide {width}",
                         subject="tile")
    parts = tf.reduce_sum(tf.reshape(x, (rows, width // tile, tile)), axis=-1)
    return {"y": tf.reduce_sum(parts, axis=-1)}
