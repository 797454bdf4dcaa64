"""MatMul, then BiasAdd: say the chain in one line, it is shown by `list subgraphs`.

Given:    x [8,16] --MatMul(w [16,4])-- [8,4] --BiasAdd(b [4])-- y [8,4]
Expected: x [8,16] --MatMul(w [16,4], bias b [4])--------------- y [8,4]

Then, for the reader: which claims it serves, and where differences would come from.
"""

from __future__ import annotations

from graphs.blocks import constant
from graphs.distribution import Normal
from graphs.subgraph import Input

# Optional: experiments it serves (A, B, C1, C2, C3, D, E, S).
CLAIMS = ("B",)
# Optional: passes it should provoke, spelled as the compiler spells them.
TARGETS = ("MatMulBiasAddFusionPass",)
# Optional: forms of it. The first value is the default; build() is handed the value.
VARIANTS = {"scale": ("none", "half")}
# Name, desk shape, dtypes (several: it follows --dtype), paper shape, distribution.
INPUTS = (
    Input("x", (8, 16), paper=(2048, 4096)),
    Input("w", (16, 4), paper=(4096, 4096), distribution=Normal(std=0.05),
          role="weight"),
    Input("b", (4,), paper=(4096,), role="weight"),
)
# Optional: more shapes worth trying.
SHAPES = {"one": {"x": (1, 1), "w": (1, 1), "b": (1,)}}


def build(tf, x, w, b, scale):
    """Return {"y": [8, 4]}. tf is tensorflow.compat.v1; x, w, b are placeholders."""
    y = tf.nn.bias_add(tf.matmul(x, w), b)
    if scale == "half":
        # Never a Python float: a constant of the graph's dtype, rounded once.
        y = y * constant(tf, 0.5, y)
    return {"y": y}
