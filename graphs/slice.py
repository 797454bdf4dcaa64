"""slice alone, plain or strided: movement that must be bit-exact.

Given:    x [n,m] --Slice or StridedSlice(step 2)-- y
Expected: one copy kernel with autofuse_enable_pass=slice.

Serves D. A last stride other than 1 is not lowered by AutoFuse; it strides the rows.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("D",)
TARGETS = ("AutoFusePass",)
VARIANTS = {"slice": ("plain", "strided")}
INPUTS = (Input("x", (33, 67), paper=(4096, 4096)),)
SHAPES = {"size_one": {"x": (1, 2)}, "empty": {"x": (0, 4)}}


def build(tf: Any, x: Any, slice: str) -> dict[str, Any]:
    """Return {"y": [n, m // 2] or [(n + 1) // 2, m // 2] of the dtype of x}."""
    rows, width = x.shape.as_list()
    first, count = width // 4, width // 2
    if slice == "plain":
        return {"y": tf.slice(x, (0, first), (rows, count))}
    return {"y": tf.strided_slice(x, (0, first), (rows, first + count), (2, 1))}
