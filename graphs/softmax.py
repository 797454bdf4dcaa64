"""softmax over the last axis, from primitives or through TensorFlow's Softmax op.

Given:    x [n,m] --Max-- Sub --Exp-- Sum --RealDiv-- y [n,m]
Expected: a softmax kernel on the device. AutoFuse fuses Sub with Exp; the division
          stays apart, since it would close a circle through the sum.

Serves B and C2 (order of the sum).
"""

from __future__ import annotations

from typing import Any

from graphs.blocks import softmax as softmax_of
from graphs.distribution import Normal
from graphs.subgraph import Input

CLAIMS = ("B", "C2")
TARGETS = ("SoftmaxFusionPass", "AutoFusePass")
VARIANTS = {"softmax": ("primitives", "own")}
INPUTS = (Input("x", (37, 250), paper=(16384, 4096), distribution=Normal(std=3.0)),)


def build(tf: Any, x: Any, softmax: str) -> dict[str, Any]:
    """Return {"y": [n, m] of the dtype of x}."""
    return {"y": softmax_of(tf, x, softmax)}
