"""x*a+b: one multiply, one add.

Given:    x [n,m] --Mul(a)-- AddV2(b) -- y
Expected: one loop fusion.
"""
from __future__ import annotations

from typing import Any

from graphs.subgraph import Input

INPUTS = (Input("x", (63, 257)), Input("a", (63, 257)), Input("b", (63, 257)))
def build(tf: Any, x: Any, a: Any, b: Any) -> dict[str, Any]:
    """Return y."""
    return {"y": x * a + b}
