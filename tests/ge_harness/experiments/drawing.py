"""A graph that is deliberately not deterministic: it adds noise that it draws.

x float32[5,7] --+-- y
noise -----------+
"""

from __future__ import annotations

from graphs.subgraph import Input

INPUTS = (Input("x", (5, 7), "float32"),)


def build(tf, x):
    """Return {"y": [5, 7] float32}."""
    return {"y": x + tf.random.uniform([5, 7])}
