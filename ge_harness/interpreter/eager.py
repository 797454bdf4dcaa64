"""The eager policy: each op's result rounded to its dtype, as op-by-op TensorFlow does.

Fields say what differs between stacks and kernels: which ops flush float32 subnormals,
what accumulators hold, how Maximum treats NaN. `eager_policy` picks the fields of a
TensorFlow version; `EAGER` is IEEE arithmetic without flushing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import numpy as np

from dumps.graphdef import NodeDef
from ge_harness.interpreter.policy import (
    Elementwise,
    Policy,
    cast_to_integer,
    plain_reduce,
)
from ge_harness.interpreter.value import (
    Tensor,
    flushed,
    is_float,
    rounded,
    storage_dtype,
    values,
)

_WORK = (("float16", "float32"), ("bfloat16", "float32"))


@dataclass(frozen=True)
class Flush:
    """Which ops treat float32 subnormals as zeros, coming in and going out.

    Attributes:
        dtypes: dtypes whose arithmetic flushes ("float32" and, where it is done by
            way of float32, "bfloat16"). float16's subnormals are normal in float32.
        except_ops: (op, dtype) pairs that do not.
        extra_ops: (op, dtype) pairs that do although their dtype is not listed.
    """

    dtypes: tuple[str, ...] = ()
    except_ops: tuple[tuple[str, str], ...] = ()
    extra_ops: tuple[tuple[str, str], ...] = ()

    def applies(self, op: str, dtype: str) -> bool:
        """Return whether `op` on `dtype` flushes."""
        if dtype in self.dtypes:
            return (op, dtype) not in self.except_ops
        return (op, dtype) in self.extra_ops


@dataclass(frozen=True)
class EagerPolicy(Policy):
    """Round to the dtype after every op.

    Attributes:
        name: shown in records.
        work_dtypes: (dtype, dtype its arithmetic is done in); itself where not listed.
        accumulators: (dtype, dtype sums are kept in between additions); the work dtype
            where not listed. TensorFlow keeps float16 sums in float16.
        product_accumulators: the same for matrix products.
        sum_order: "sequential" (one by one) or "pairwise" (NumPy's); used where an
            accumulator is not the work dtype, else NumPy's order holds.
        round_steps: whether compound kernels round their intermediates to the dtype.
        flush: which ops flush subnormals.
    """

    name: str = "eager"
    work_dtypes: tuple[tuple[str, str], ...] = _WORK
    accumulators: tuple[tuple[str, str], ...] = (
        ("float16", "float16"), ("bfloat16", "float32"))
    product_accumulators: tuple[tuple[str, str], ...] = ()
    sum_order: str = "sequential"
    round_steps: bool = True
    flush: Flush = Flush()

    def work_dtype(self, node: NodeDef, dtype: str) -> str:
        """Return the dtype that float arithmetic of this node is done in."""
        return dict(self.work_dtypes).get(dtype, dtype)

    def keep(self, node: NodeDef, tensor: Tensor) -> Tensor:
        """Return a fed or constant tensor in its own dtype."""
        return tensor

    def operand(self, node: NodeDef, index: int, tensor: Tensor) -> np.ndarray:
        """Return an input widened to the work dtype, subnormals flushed if so set."""
        array = super().operand(node, index, tensor)
        if is_float(tensor.dtype) and self.flush.applies(node.op, tensor.dtype):
            return flushed(array)
        return array

    def compute(self, node: NodeDef, op: Elementwise,
                operands: Sequence[np.ndarray]) -> np.ndarray:
        """Run a function in the work dtype; "function" kinds in float64, rounded."""
        work = operands[0].dtype
        if op.kind != "function" or not np.issubdtype(work, np.floating):
            return super().compute(node, op, operands)
        wide = super().compute(node, op, [x.astype(np.float64) for x in operands])
        return wide.astype(work) if np.issubdtype(wide.dtype, np.floating) else wide

    def step(self, node: NodeDef, array: np.ndarray, dtype: str) -> np.ndarray:
        """Return an intermediate rounded to the dtype, in the work dtype."""
        if not self.round_steps or not is_float(dtype):
            return array
        work = self.work_dtype(node, dtype)
        return values(Tensor(rounded(array, dtype), dtype), work)

    def reduce(self, node: NodeDef, kind: str, array: np.ndarray, *,
               axes: tuple[int, ...], dtype: str) -> np.ndarray:
        """Reduce with the accumulator of the dtype, in `sum_order`."""
        accumulator = dict(self.accumulators).get(dtype)
        own = accumulator is None or accumulator == array.dtype.name
        if own or kind not in ("sum", "prod") or not axes or not array.size:
            return plain_reduce(kind, array, axes)
        if self.sum_order == "pairwise":
            return _pairwise(kind, array, axes, str(accumulator))
        return _sequential(kind, array, axes, str(accumulator))

    def contract(self, node: NodeDef, left: np.ndarray, right: np.ndarray,
                 dtype: str) -> np.ndarray:
        """Multiply matrices in the product accumulator's dtype."""
        wanted = dict(self.product_accumulators).get(dtype)
        if wanted is None:
            return super().contract(node, left, right, dtype)
        wide = np.matmul(left.astype(wanted), right.astype(wanted))
        return np.asarray(wide).astype(left.dtype)

    def store(self, node: NodeDef, index: int, array: np.ndarray,
              dtype: str) -> Tensor:
        """Round a result to its dtype."""
        if not is_float(dtype):
            return Tensor(np.asarray(array, dtype=storage_dtype(dtype)), dtype)
        array = np.asarray(array)
        if self.flush.applies(node.op, dtype):
            array = flushed(array)
        return Tensor(rounded(array, dtype), dtype)

    def cast(self, node: NodeDef, tensor: Tensor, dtype: str) -> Tensor:
        """Round between floats, convert otherwise."""
        source = tensor.array
        if is_float(tensor.dtype):
            source = values(tensor, _exact_dtype(tensor.dtype))
            if self.flush.applies(node.op, tensor.dtype):
                source = flushed(source)
        if not is_float(dtype):
            return Tensor(cast_to_integer(source, dtype), dtype)
        return Tensor(self._cast_float(node, source, dtype), dtype)

    def _cast_float(self, node: NodeDef, source: np.ndarray, dtype: str) -> np.ndarray:
        """Round to a float dtype; the 16-bit ones by way of float32, as Eigen does."""
        if dtype in ("float16", "bfloat16"):
            with np.errstate(all="ignore"):
                source = source.astype(np.float32)
        elif dtype == "float32":
            source = rounded(source, dtype)
        if self.flush.applies(node.op, dtype) and source.dtype == np.float32:
            source = flushed(source)
        return rounded(source, dtype)


def _exact_dtype(dtype: str) -> str:
    return "float64" if dtype == "float64" else "float32"


def _sequential(kind: str, array: np.ndarray, axes: tuple[int, ...],
                accumulator: str) -> np.ndarray:
    """Add or multiply one by one, rounding each time; axes stay at length 1."""
    kept = tuple(i for i in range(array.ndim) if i not in axes)
    lanes = array.transpose(axes + kept).reshape((-1,) + tuple(
        array.shape[i] for i in kept))
    total = _as(lanes[0], accumulator)
    function = np.add if kind == "sum" else np.multiply
    for row in lanes[1:]:
        total = _as(function(total, row), accumulator)
    shape = tuple(1 if i in axes else n for i, n in enumerate(array.shape))
    return total.reshape(shape)


def _pairwise(kind: str, array: np.ndarray, axes: tuple[int, ...],
              accumulator: str) -> np.ndarray:
    """Add or multiply halves, rounding each time; axes stay at length 1."""
    function = np.add if kind == "sum" else np.multiply
    for axis in axes:
        while array.shape[axis] > 1:
            half = array.shape[axis] // 2
            left, right, rest = np.split(array, [half, 2 * half], axis=axis)
            array = np.concatenate(
                [_as(function(left, right), accumulator), rest], axis=axis)
    return array


def _as(array: np.ndarray, accumulator: str) -> np.ndarray:
    """Return the array with its values rounded to the accumulator's dtype."""
    work = array.dtype.name
    return values(Tensor(rounded(array, accumulator), accumulator), work)


EAGER = EagerPolicy()
"""IEEE arithmetic, nothing flushed."""
