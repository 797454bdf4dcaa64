"""Fused kernels: widened at the loads, rounded at the stores.

Source: reference: numerics_model.md sections 1, 2.1, 3, 5.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Sequence

import numpy as np

from dumps.graphdef import NodeDef
from ge_harness.backends.emulator.numerics import casts
from ge_harness.backends.emulator.numerics import compositions as c
from ge_harness.backends.emulator.numerics import functions as f
from ge_harness.backends.emulator.numerics.compositions import Steps
from ge_harness.backends.emulator.numerics.kernel import (
    NARROW,
    KernelPolicy,
    Step,
    Table,
    table_of,
)
from ge_harness.backends.emulator.numerics.unit import Unit
from ge_harness.interpreter.policy import Elementwise
from ge_harness.interpreter.value import Tensor, is_float, values

_SHARED: Table = {
    **table_of(
        RealDiv=Unit.div, Rsqrt=Unit.rsqrt, Reciprocal=f.reciprocal, Inv=f.reciprocal,
        Sigmoid=f.sigmoid, Sqrt=Unit.sqrt, Exp=Unit.exp, Log=Unit.ln),
    "Square": c.square, "SigmoidGrad": c.sigmoid_grad, "TanhGrad": c.tanh_grad,
    "RsqrtGrad": c.rsqrt_grad, "ReluGrad": c.relu_grad, "Elu": c.elu,
    "EluGrad": c.elu_grad, "Log1p": c.log1p,
}
_TABLES: dict[str, Table] = {
    "910b": {
        **_SHARED,
        **table_of(Div=Unit.div, Tanh=f.tanh_v1, Erf=f.erf_v1, Gelu=f.gelu_v1,
                   Pow=f.power_v1),
        "DivNoNan": c.div_no_nan, "FloorDiv": c.floor_div},
    "950": {
        **_SHARED,
        **table_of(Div=Unit.div_exact, Tanh=f.tanh_v2, Erf=f.erf_v2, Gelu=f.gelu_v2,
                   Pow=f.power_v2),
        "DivNoNan": c.div_no_nan_exact, "FloorDiv": c.floor_div_corrected},
}
LIBM = table_of(Tanh=f.tanh_libm, Erf=f.erf_libm, Gelu=f.gelu_libm, Pow=f.power_libm)
_HALF = {"ReluGrad": c.relu_grad_half}
_SUMS = frozenset(("Add", "AddV2", "Sub", "BiasAdd", "AddN", "Adds"))
_PRODUCTS = frozenset(("Mul", "Muls", "Square"))


def with_libm(table: Table, policy: KernelPolicy) -> Table:
    """Return a table with the functions whose `*_form` is libm made exact."""
    forms = {"Tanh": policy.params.tanh_form, "Erf": policy.params.erf_form,
             "Gelu": policy.params.gelu_form, "Pow": policy.params.pow_form}
    exact = {name: LIBM[name] for name, form in forms.items() if form == "libm"}
    return {**table, **exact} if exact else table


@dataclass(frozen=True)
class FusedPolicy(KernelPolicy):
    """Arithmetic inside one AscGraph.

    Attributes:
        low_precision: the graph keeps its storage dtypes.
        products: result of a product -> its operands, where sums contract; filled
            while a graph runs.
    """

    name: str = "fused"
    low_precision: bool = False
    products: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = dataclasses.field(
        default_factory=dict)

    @property
    def is_narrow(self) -> bool:
        """Whether operators round to the storage dtype, at each AscIR operation."""
        return self.low_precision or self.params.fused_compute_dtype == "storage"

    def table(self) -> Table:
        """Return the fused functions of the chip."""
        return with_libm(_TABLES[self.chip], self)

    def steps(self, node: NodeDef, dtype: str) -> Steps:
        """Return arithmetic that rounds between operations only where it is narrow."""
        return Steps(self.unit, self.rounding(dtype) if self.is_narrow else None)

    def function_of(self, node: NodeDef, op: Elementwise) -> Step | None:
        """Return the function; constants of ReluGrad go by the tensor's dtype."""
        if node.op in _HALF and self.dtype_of(node) == "float16":
            return _HALF[node.op]
        return super().function_of(node, op)

    def compute(self, node: NodeDef, op: Elementwise,
                operands: Sequence[np.ndarray]) -> np.ndarray:
        """Run a function; with contraction a sum takes in the product before it."""
        if not self.params.fma_contraction:
            return super().compute(node, op, operands)
        if node.op in _SUMS and op.function in (np.add, np.subtract):
            found = self._contracted(op, operands)
            if found is not None:
                return found
        result = super().compute(node, op, operands)
        if node.op in _PRODUCTS and result.dtype == np.float32:
            pair = (operands[0], operands[-1])
            self.products[id(result)] = (result, *pair)
        return result

    def _contracted(self, op: Elementwise,
                    operands: Sequence[np.ndarray]) -> np.ndarray | None:
        a, b = operands
        if id(a) in self.products:
            _, left, right = self.products[id(a)]
            return casts.fma(left, right, -b if op.function is np.subtract else b)
        if id(b) in self.products:
            _, left, right = self.products[id(b)]
            return casts.fma(-left if op.function is np.subtract else left, right, a)
        return None

    def step(self, node: NodeDef, array: np.ndarray, dtype: str,
             part: str = "") -> np.ndarray:
        """Return an intermediate, rounded only where operations round."""
        rounding = self.rounding(dtype) if self.is_narrow else None
        return array if rounding is None else rounding(array)

    def store(self, node: NodeDef, index: int, array: np.ndarray,
              dtype: str) -> Tensor:
        """Return a result, still float32 unless operators round."""
        dtype = self.held(dtype)
        rounds = self.is_narrow or self.params.fused_round_at == "operators"
        if rounds or dtype not in NARROW or array.dtype != np.float32:
            return super().store(node, index, array, dtype)
        return Tensor(np.asarray(array), dtype)

    def cast(self, node: NodeDef, tensor: Tensor, dtype: str) -> Tensor:
        """Return a Cast's result: between floats it is deleted.

        A cast from an integer goes to float32; the store rounds.
        """
        dtype = self.held(dtype)
        deleted = self.params.drop_float_casts and not self.is_narrow
        floats = ("float16", "bfloat16", "float32")
        if tensor.dtype in floats and dtype in floats:
            if deleted:
                return Tensor(values(tensor, "float32"), dtype)
            rounded = super().cast(node, tensor, dtype)
            return Tensor(values(rounded, "float32"), dtype)
        if not is_float(tensor.dtype) and dtype in NARROW and not self.is_narrow:
            return Tensor(tensor.array.astype(np.float32), dtype)
        return super().cast(node, tensor, dtype)
