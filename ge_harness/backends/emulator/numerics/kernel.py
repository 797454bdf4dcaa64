"""What every kernel of the model shares: widening, instructions, sums, products.

A `KernelPolicy` is a rounding policy of the interpreter. Its `compute` looks up the
operator's function in a table of the chip and side; what the table lacks is done in
float32, correctly rounded where IEEE says so and from float64 otherwise.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Callable, Dict, Mapping, Sequence

import numpy as np

from dumps.graphdef import NodeDef
from ge_harness.backends.emulator.numerics import blocks, casts, reduction
from ge_harness.backends.emulator.numerics.compositions import Steps
from ge_harness.backends.emulator.numerics.unit import Unit
from ge_harness.backends.emulator.params import EmulatorParams
from ge_harness.interpreter.policy import (
    Elementwise,
    Policy,
    cast_to_integer,
    plain_reduce,
)
from ge_harness.interpreter.value import Tensor, is_float, storage_dtype, values

Step = Callable[..., np.ndarray]
Table = Dict[str, Step]
"""Operator -> function of `Steps` and float32 operands."""

NARROW = ("float16", "bfloat16")


def table_of(**functions: Callable[..., np.ndarray]) -> Table:
    """Return a table of functions that take the `Unit` of the steps; rounded once."""
    return {name: _once(function) for name, function in functions.items()}


def _once(function: Callable[..., np.ndarray]) -> Step:
    def run(steps: Steps, *operands: np.ndarray) -> np.ndarray:
        return steps.out(function(steps.unit, *operands))

    return run


def _binary(name: str) -> Step:
    def run(steps: Steps, *operands: np.ndarray) -> np.ndarray:
        return steps.out(getattr(steps.unit, name)(*operands))

    return run


_BY_FUNCTION: Mapping[object, Step] = {
    np.add: _binary("add"), np.subtract: _binary("sub"), np.multiply: _binary("mul"),
    np.true_divide: _binary("div"), np.sqrt: _binary("sqrt"), np.exp: _binary("exp"),
    np.log: _binary("ln"), np.maximum: _binary("maximum"),
    np.minimum: _binary("minimum"),
}
"""Functions of the interpreter's compound kernels, as instructions."""


@dataclass(frozen=True)
class KernelPolicy(Policy):
    """Arithmetic of one kernel.

    Attributes:
        chip: "910b" or "950".
        params: the model's parameters.
        element_bytes: of the unified buffer for one reduced element.
    """

    chip: str = "910b"
    params: EmulatorParams = dataclasses.field(default_factory=EmulatorParams)
    element_bytes: int = 12

    @property
    def unit(self) -> Unit:
        """The chip's instructions."""
        return Unit(self.chip, self.params)

    def table(self) -> Table:
        """Return the functions of this side and chip."""
        return {}

    def order(self, node: NodeDef) -> reduction.Order:
        """Return how a node's sums are added."""
        return reduction.fused_order(self.chip, self.params, self.element_bytes)

    def steps(self, node: NodeDef, dtype: str) -> Steps:
        """Return the arithmetic between the operations of one node."""
        return Steps(self.unit)

    def dtype_of(self, node: NodeDef) -> str:
        """Return the storage dtype that a node works on, by its attribute T."""
        return self.held(str(node.attr("T") or "float32"))

    def held(self, dtype: str) -> str:
        """Return the dtype that tensors of a dtype are stored in."""
        is_half = self.params.global_precision_mode == "fp16" and dtype == "float32"
        return "float16" if is_half else dtype

    def work_dtype(self, node: NodeDef, dtype: str) -> str:
        """Return float32 for all but float64, which no kernel of the chips has."""
        return "float64" if dtype == "float64" else "float32"

    def keep(self, node: NodeDef, tensor: Tensor) -> Tensor:
        """Return a tensor as stored."""
        return tensor

    def compute(self, node: NodeDef, op: Elementwise,
                operands: Sequence[np.ndarray]) -> np.ndarray:
        """Run an elementwise function in blocks."""
        step = self.function_of(node, op)
        if step is None or any(x.dtype != np.float32 for x in operands):
            return self._plain(op, operands)
        steps = self.steps(node, self.dtype_of(node))

        def run(*parts: np.ndarray) -> np.ndarray:
            return step(steps, *parts)

        return blocks.blocked(run, operands)

    def function_of(self, node: NodeDef, op: Elementwise) -> Step | None:
        """Return what computes `op` in this node, None for the function itself."""
        return self.table().get(node.op) or _BY_FUNCTION.get(op.function)

    def _plain(self, op: Elementwise, operands: Sequence[np.ndarray]) -> np.ndarray:
        wide = op.kind == "function" and operands[0].dtype == np.float32

        def run(*parts: np.ndarray) -> np.ndarray:
            if wide:
                return np.asarray(op.function(
                    *[x.astype(np.float64) for x in parts])).astype(np.float32)
            return np.asarray(op.function(*parts))

        return blocks.blocked(run, operands)

    def reduce(self, node: NodeDef, kind: str, array: np.ndarray, *,
               axes: tuple[int, ...], dtype: str) -> np.ndarray:
        """Reduce float32 in the kernel's order; other dtypes in NumPy's."""
        if array.dtype != np.float32:
            return plain_reduce(kind, array, axes)
        return reduction.reduce(kind, array, axes, self.order(node), self.unit)

    def contract(self, node: NodeDef, left: np.ndarray, right: np.ndarray,
                 dtype: str) -> np.ndarray:
        """Multiply matrices with a float32 accumulator."""
        if left.dtype != np.float32:
            return np.asarray(np.matmul(left, right))
        if self.params.matmul_accum == "hf32" and dtype == "float32":
            left, right = casts.hf32(left), casts.hf32(right)
        return matrix_product(left, right, self.params)

    def round(self, array: np.ndarray, dtype: str) -> np.ndarray:
        """Return a float result as storage."""
        return casts.to_storage(
            np.asarray(array), dtype,
            saturate=self.params.overflow_mode == "saturate")

    def rounding(self, dtype: str) -> Callable[[np.ndarray], np.ndarray] | None:
        """Return what rounds float32 to a narrow dtype in place, None for others."""
        if dtype not in NARROW:
            return None

        def run(array: np.ndarray) -> np.ndarray:
            if array.dtype != np.float32:
                return array
            return values(Tensor(self.round(array, dtype), dtype), "float32")

        return run

    def store(self, node: NodeDef, index: int, array: np.ndarray,
              dtype: str) -> Tensor:
        """Round a result to its dtype."""
        dtype = self.held(dtype)
        if not is_float(dtype):
            return Tensor(np.asarray(array, dtype=storage_dtype(dtype)), dtype)
        return Tensor(self.round(array, dtype), dtype)

    def cast(self, node: NodeDef, tensor: Tensor, dtype: str) -> Tensor:
        """Convert; floats round once, fractions are cut off, int8 may hop."""
        dtype = self.held(dtype)
        if not is_float(tensor.dtype):
            if not is_float(dtype):
                return Tensor(cast_to_integer(tensor.array, dtype), dtype)
            wide = tensor.array.astype(np.float64)
            return Tensor(casts.to_storage(wide, dtype), dtype)
        if is_float(dtype):
            source = "float64" if tensor.dtype == "float64" else "float32"
            return Tensor(self.round(values(tensor, source), dtype), dtype)
        return Tensor(cast_to_integer(self.hop(tensor, dtype), dtype), dtype)

    def hop(self, tensor: Tensor, dtype: str) -> np.ndarray:
        """Return a tensor as float32 on its way to an integer dtype."""
        wide = values(tensor, "float64" if tensor.dtype == "float64" else "float32")
        wanted = self.params.extra_fp16_hop_to_int8
        hops = dtype == "uint8" or (dtype == "int8" and self.chip == "910b")
        if wanted != "auto":
            hops = wanted == "true" and dtype in ("int8", "uint8")
        if not hops or wide.dtype != np.float32:
            return wide
        return casts.narrowed(wide, "float16")


def matrix_product(left: np.ndarray, right: np.ndarray,
                   params: EmulatorParams) -> np.ndarray:
    """Multiply float32 matrices, K in tiles and parts, each sum rounded to float32.

    Inside one tile the order is that of NumPy's library, which is not the cube's (not
    public) and differs between libraries.

    Args:
        left: [..., m, k].
        right: [..., k, n].
        params: `matmul_k_tile`, `matmul_accum`, `matmul_k_cores`.
    """
    length = left.shape[-1]
    parts = params.matmul_k_cores if params.matmul_accum == "split_k" else 1
    size = max(-(-length // (16 * parts)) * 16, 16) if parts > 1 else max(length, 1)
    ends = [(start, min(start + size, length)) for start in range(
        0, max(length, 1), size)]
    total = _tiled_product(left, right, ends[0], params.matmul_k_tile)
    for end in ends[1:]:
        part = _tiled_product(left, right, end, params.matmul_k_tile)
        total = np.add(total, part, out=total)
    return total


def _tiled_product(left: np.ndarray, right: np.ndarray, ends: tuple[int, int],
                   tile: int) -> np.ndarray:
    """Multiply a part of K, added up tile by tile."""
    start, end = ends
    tile = tile or max(end - start, 1)
    first = min(start + tile, end)
    total = np.matmul(left[..., start:first], right[..., start:first, :])
    for begin in range(start + tile, end, tile):
        stop = min(begin + tile, end)
        product = np.matmul(left[..., begin:stop], right[..., begin:stop, :])
        total = np.add(total, product, out=total)
    return np.asarray(total)
