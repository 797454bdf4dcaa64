"""Single operators: read in the storage dtype, one rounding at the end.

Source: reference: numerics_model.md sections 1, 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumps.graphdef import NodeDef
from ge_harness.backends.emulator.numerics import eager_910b, eager_950, reduction
from ge_harness.backends.emulator.numerics.compositions import Steps
from ge_harness.backends.emulator.numerics.fused import with_libm
from ge_harness.backends.emulator.numerics.kernel import KernelPolicy, Step, Table
from ge_harness.backends.emulator.numerics.unit import NarrowUnit
from ge_harness.interpreter.policy import Elementwise

_SOFTMAX = frozenset(("Softmax", "SoftmaxV2", "LogSoftmax"))


@dataclass(frozen=True)
class EagerPolicy(KernelPolicy):
    """Arithmetic of one single-operator kernel."""

    name: str = "single operator"

    def table(self) -> Table:
        """Return the functions of the chip."""
        own = eager_910b.TABLE if self.chip == "910b" else eager_950.TABLE
        return with_libm(own, self)

    def function_of(self, node: NodeDef, op: Elementwise) -> Step | None:
        """Return the function; some go by the dtype."""
        dtype = self.dtype_of(node)
        if self.chip == "910b" and dtype == "float16" and node.op in eager_910b.HALF:
            return eager_910b.HALF[node.op]
        if self.chip != "910b" and dtype == "float32" and node.op in eager_950.SINGLE:
            return eager_950.SINGLE[node.op]
        return super().function_of(node, op)

    def order(self, node: NodeDef) -> reduction.Order:
        """Return how single operators add; norm kernels are written by hand."""
        if node.op == "LayerNorm" and self.params.eager_reduce_order == "auto":
            return reduction.repeats_order(self.chip, self.params)
        return reduction.eager_order(self.chip, self.params, self.element_bytes)

    def steps(self, node: NodeDef, dtype: str) -> Steps:
        """Return float32 arithmetic; native float16 where that is asked for."""
        rounding = self.rounding("float16")
        if self.is_native(node.op, dtype) and rounding is not None:
            return Steps(NarrowUnit(self.chip, self.params, rounding))
        return Steps(self.unit)

    def is_native(self, op: str, dtype: str) -> bool:
        """Say whether each step of an operator rounds to float16."""
        return (self.chip == "910b" and dtype == "float16" and
                op in eager_910b.UNLOCATED and
                self.params.eager_unlocated_910b == "native_steps")

    def step(self, node: NodeDef, array: np.ndarray, dtype: str,
             part: str = "") -> np.ndarray:
        """Round the two intermediates that kernels are known to hold narrow."""
        rounding = self.rounding(dtype)
        if rounding is None:
            return array
        if node.op in _SOFTMAX and part == "difference" and dtype == "float16":
            wanted = self.params.eager_softmax_sub_dtype
            is_half = self.chip == "910b" if wanted == "auto" else wanted == "fp16"
            return rounding(array) if is_half else array
        return rounding(array) if self.is_native(node.op, dtype) else array
