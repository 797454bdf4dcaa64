"""q k^T, softmax, p v: one attention head's core, without mask.

Given:    q,k,v [b,h,s,d] --BatchMatMul-- Mul(scale) --softmax-- BatchMatMul-- y
Expected: two BatchMatMul kernels and a softmax between; under XLA two dots and the
          loop fusions of the softmax.

Serves B. Three sums (two of them in matmuls) in an order of the compiler's choosing.
"""

from __future__ import annotations

import math
from typing import Any

from graphs.blocks import constant
from graphs.blocks import softmax as softmax_of
from graphs.subgraph import Input

CLAIMS = ("B",)
TARGETS = ("SoftmaxFusionPass", "AutoFusePass")
VARIANTS = {"softmax": ("primitives", "own")}
INPUTS = tuple(Input(name, (2, 3, 33, 16), paper=(8, 16, 1024, 64))
               for name in ("q", "k", "v"))


def build(tf: Any, q: Any, k: Any, v: Any, softmax: str) -> dict[str, Any]:
    """Return {"y": [b, h, s, d] of the dtype of q}."""
    scale = constant(tf, 1.0 / math.sqrt(q.shape.as_list()[-1]), q)
    scores = tf.matmul(q, k, transpose_b=True) * scale
    return {"y": tf.matmul(softmax_of(tf, scores, softmax), v)}
