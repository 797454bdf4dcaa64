"""matmul, add, layer norm, gelu: the front half of a transformer's feed-forward block.

Given:    x [b,s,k] --Reshape-- MatMul(w [k,m]) --Add(b)-- layer norm --gelu-- y [b,s,m]
Expected: MatMul with bias, LayerNorm and Gelu kernels on the device; the elementwise
          tail in AscBackend kernels; under XLA a dot and two or three loop fusions.

Serves A (1,000 runs, one hash) and B. At desk size the fp16 matmul is 4 MFLOP, since
TensorFlow 1.15 and 2.6 multiply fp16 at 0.4 GFLOP/s.
"""

from __future__ import annotations

from typing import Any

from graphs.blocks import gelu as gelu_of
from graphs.blocks import layer_norm
from graphs.distribution import Normal
from graphs.subgraph import Input

CLAIMS = ("A", "B")
TARGETS = ("MatMulBiasAddFusionPass", "LayerNormFusionPass", "GeluFusionPass",
           "AutoFusePass")
VARIANTS = {"gelu": ("tanh", "erf")}
INPUTS = (
    Input("x", (2, 15, 256), paper=(8, 2048, 4096)),
    Input("w", (256, 258), paper=(4096, 4096), distribution=Normal(std=0.02),
          role="weight"),
    Input("b", (258,), paper=(4096,), distribution=Normal(std=0.1), role="weight"),
    Input("gain", (258,), paper=(4096,), distribution=Normal(1.0, 0.1), role="weight"),
    Input("bias", (258,), paper=(4096,), distribution=Normal(0.0, 0.1), role="weight"),
)


def build(tf: Any, x: Any, w: Any, b: Any, gain: Any, bias: Any, gelu: str
          ) -> dict[str, Any]:
    """Return {"y": [b, s, m] of the dtype of x}."""
    batch, length, width = x.shape.as_list()
    flat = tf.matmul(tf.reshape(x, (batch * length, width)), w) + b
    bent = gelu_of(tf, layer_norm(tf, flat, gain, bias), gelu)
    return {"y": tf.reshape(bent, (batch, length, w.shape.as_list()[1]))}
