"""mul, add, gelu, mul: one elementwise chain, the plainest target of AutoFuse.

Given:    x [n,m] --Mul(a)-- Add(b [m]) -- gelu(...9 or so ops) --Mul(c)-- y [n,m]
Expected: one AscBackend kernel from x, a, b, c to y; under XLA one loop fusion.

Serves B (fused against eager error) and A. Differences come from intermediates that
the fused loop keeps in more than the dtype, and from multiply-add contraction.
"""

from __future__ import annotations

from typing import Any

from graphs.blocks import gelu as gelu_of
from graphs.subgraph import Input

CLAIMS = ("A", "B")
TARGETS = ("AutoFusePass", "GeluFusionPass")
VARIANTS = {"gelu": ("tanh", "erf")}
INPUTS = (
    Input("x", (63, 257), paper=(2048, 4096)),
    Input("a", (63, 257), paper=(2048, 4096)),
    Input("b", (257,), paper=(4096,), role="weight"),
    Input("c", (63, 257), paper=(2048, 4096)),
)
SHAPES = {"one": {"x": (1, 1), "a": (1, 1), "b": (1,), "c": (1, 1)}}


def build(tf: Any, x: Any, a: Any, b: Any, c: Any, gelu: str) -> dict[str, Any]:
    """Return {"y": [n, m] of the dtype of x}."""
    return {"y": gelu_of(tf, x * a + b, gelu) * c}
