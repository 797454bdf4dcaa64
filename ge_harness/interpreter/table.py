"""Every op the interpreter has, from its families' tables."""

from __future__ import annotations

from ge_harness.interpreter import (
    ops_array,
    ops_binary,
    ops_check,
    ops_grad,
    ops_matrix,
    ops_nn,
    ops_reduce,
    ops_shape,
    ops_unary,
)
from ge_harness.interpreter.call import OpTable

FEEDS = frozenset(("Placeholder", "PlaceholderV2", "PlaceholderWithDefault"))
"""Ops whose value comes from outside."""

FAMILIES: tuple[tuple[str, OpTable], ...] = (
    ("Elementwise, one tensor", ops_unary.OPS),
    ("Elementwise, several tensors", ops_binary.OPS),
    ("Reductions", ops_reduce.OPS),
    ("Matrix products", ops_matrix.OPS),
    ("Neural network kernels", ops_nn.OPS),
    ("Gradients", ops_grad.OPS),
    ("Movement", ops_array.OPS),
    ("Shapes, fills, casts", ops_shape.OPS),
    ("Checks and order", ops_check.OPS),
)

OPS: OpTable = {}
for _, _table in FAMILIES:
    OPS.update(_table)
