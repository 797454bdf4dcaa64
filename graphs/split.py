"""split alone, into equal or unequal parts: movement that must be bit-exact.

Given:    x [n,m] --Split(3) or SplitV-- first, second, third
Expected: one copy kernel with autofuse_enable_pass=split.

Serves D. Three outputs: a harness that mixes them up is found here.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("D",)
TARGETS = ("AutoFusePass", "ZSplitFusionPass")
VARIANTS = {"parts": ("equal", "unequal")}
INPUTS = (Input("x", (33, 69), paper=(4096, 3072)),)
SHAPES = {"size_one": {"x": (1, 3)}, "empty": {"x": (0, 6)}}


def build(tf: Any, x: Any, parts: str) -> dict[str, Any]:
    """Return {"first", "second", "third": parts of the last axis}."""
    width = x.shape.as_list()[1]
    sizes: Any = 3 if parts == "equal" else [1, width - 2, 1]
    first, second, third = tf.split(x, sizes, axis=1)
    return {"first": first, "second": second, "third": third}
