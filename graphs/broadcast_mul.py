"""tensor times 0.7 broadcast to a full tensor: path B of the instruction experiment.

Given:    0.7 --BroadcastTo-- [n,m]; x [n,m] --Mul-- y [n,m]
Expected: the vector form of the multiply on the device, unless a pass folds the
          broadcast away; then both paths are one instruction and prove nothing.

Serves C1, with scalar_mul as path A. `scalar=input` feeds the 0.7, so that constant
folding cannot see it.
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
    one = constant(tf, 0.7, x) if scalar == "constant" else s
    return {"y": x * tf.broadcast_to(one, x.shape.as_list())}
