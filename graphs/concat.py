"""concat alone, over the last or the first axis: movement that must be bit-exact.

Given:    x [n,m], y [n,m], z [n,m] --ConcatV2-- r
Expected: one copy kernel with autofuse_enable_pass=concat.

Serves D.
"""

from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

CLAIMS = ("D",)
TARGETS = ("AutoFusePass",)
VARIANTS = {"axis": ("last", "first")}
INPUTS = tuple(Input(name, (33, 67), paper=(4096, 1024)) for name in ("x", "y", "z"))
SHAPES = {"size_one": {"x": (1, 1), "y": (1, 1), "z": (1, 1)},
          "empty": {"x": (0, 4), "y": (0, 4), "z": (0, 4)}}


def build(tf: Any, x: Any, y: Any, z: Any, axis: str) -> dict[str, Any]:
    """Return {"r": [n, 3 m] or [3 n, m] of the dtype of x}."""
    return {"r": tf.concat([x, y, z], axis=1 if axis == "last" else 0)}
