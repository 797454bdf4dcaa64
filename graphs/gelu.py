"""gelu alone, in its tanh and its erf form.

Given:    x [n,m] --Mul, Mul, Mul, Add, Mul, Tanh, Add, Mul, Mul-- y [n,m]
Expected: a Gelu kernel on the device; one loop fusion under XLA.

Serves B and C3: tanh and erf are computed by other algorithms on other compilers.
"""

from __future__ import annotations

from typing import Any

from graphs.blocks import gelu as gelu_of
from graphs.distribution import Normal
from graphs.subgraph import Input

CLAIMS = ("B", "C3")
TARGETS = ("GeluFusionPass", "AutoFusePass")
VARIANTS = {"gelu": ("tanh", "erf")}
INPUTS = (Input("x", (63, 257), paper=(2048, 4096), distribution=Normal(std=2.0)),)


def build(tf: Any, x: Any, gelu: str) -> dict[str, Any]:
    """Return {"y": [n, m] of the dtype of x}."""
    return {"y": gelu_of(tf, x, gelu)}
