"""layer norm over the last axis, from primitives or through FusedBatchNormV3.

Given:    x [n,m] --Mean-- Sub --Square-- Mean --Add eps-- Rsqrt --Mul, Mul, Add-- y
Expected: LayerNorm on the device. AutoFuse leaves the first mean alone, fuses Sub with
          Square, and Add with Rsqrt; with autofuse_enable_pass=reduce the means too.

Serves B and C2 (order of the two sums). Variant `own`: TensorFlow has no layer norm op;
as in Keras, rows are the channels of a batch norm.
"""

from __future__ import annotations

from typing import Any

from graphs.blocks import layer_norm, layer_norm_own
from graphs.distribution import Normal
from graphs.subgraph import Input

CLAIMS = ("B", "C2")
TARGETS = ("LayerNormFusionPass", "AutoFusePass")
VARIANTS = {"layernorm": ("primitives", "own")}
INPUTS = (
    Input("x", (37, 250), paper=(16384, 4096), distribution=Normal(0.5, 2.0)),
    Input("gain", (250,), paper=(4096,), distribution=Normal(1.0, 0.1), role="weight"),
    Input("bias", (250,), paper=(4096,), distribution=Normal(0.0, 0.1), role="weight"),
)


def build(tf: Any, x: Any, gain: Any, bias: Any, layernorm: str) -> dict[str, Any]:
    """Return {"y": [n, m] of the dtype of x}."""
    form = layer_norm if layernorm == "primitives" else layer_norm_own
    return {"y": form(tf, x, gain, bias)}
