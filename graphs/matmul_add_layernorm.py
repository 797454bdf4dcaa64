"""matmul, add, layer norm: a projection with its residual norm.

Given:    x [n,k] --MatMul(w [k,m])-- Add(b [m]) -- layer norm (8 ops) -- y [n,m]
Expected: MatMul with bias, then LayerNorm, on the device; AutoFuse fuses what is
          elementwise between the sums.

Serves B. Matmul and both means sum in an order of the compiler's choosing.
"""

from __future__ import annotations

from typing import Any

from graphs.blocks import layer_norm
from graphs.distribution import Normal
from graphs.subgraph import Input

CLAIMS = ("B",)
TARGETS = ("MatMulBiasAddFusionPass", "LayerNormFusionPass", "AutoFusePass")
INPUTS = (
    Input("x", (33, 128), paper=(16384, 4096)),
    Input("w", (128, 130), paper=(4096, 4096), distribution=Normal(std=0.05),
          role="weight"),
    Input("b", (130,), paper=(4096,), distribution=Normal(std=0.1), role="weight"),
    Input("gain", (130,), paper=(4096,), distribution=Normal(1.0, 0.1), role="weight"),
    Input("bias", (130,), paper=(4096,), distribution=Normal(0.0, 0.1), role="weight"),
)


def build(tf: Any, x: Any, w: Any, b: Any, gain: Any, bias: Any) -> dict[str, Any]:
    """Return {"y": [n, m] of the dtype of x}."""
    return {"y": layer_norm(tf, tf.nn.bias_add(tf.matmul(x, w), b), gain, bias)}
