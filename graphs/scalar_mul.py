"""tensor times scalar 0.7: path A of the instruction experiment.

Given:    x [n,m] --Mul(0.7)-- y [n,m]
Expected: the scalar form of the multiply (Muls) on the device.

Serves C1, with broadcast_mul as path B. `scalar=input` feeds the 0.7 instead.
"""

from __future__ import annotations

from typing import Any

from graphs.blocks import constant
from graphs.distribution import Uniform, Values
from graphs.subgraph import Input

CLAIMS = ("C1",)
TARGETS = ("AutoFusePass",)
VARIANTS = {"scalar": ("constant", "input")}
INPUTS = (
    Input("x", (127, 129), paper=(1024, 1024), distribution=Uniform(-1.0, 1.0)),
    Input("s", (), distribution=Values((0.7,)), role="scalar",
          when=("scalar", "input")),
)


def build(tf: Any, x: Any, scalar: str, s: Any = None) -> dict[str, Any]:
    """Return {"y": [n, m] of the dtype of x}."""
    return {"y": x * (constant(tf, 0.7, x) if scalar == "constant" else s)}
