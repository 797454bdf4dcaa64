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
    """Which ops treat subnormals as zeros, coming in and going out.

    A processor flushes what float32 and float64 instructions read ("denormals are
    zero") and write ("flush to zero"). float16 never is: its subnormals are normal in
    float32, where it is computed. bfloat16 is, since it shares float32's exponents.

    Attributes:
        inputs: dtypes whose operands are flushed.
        outputs: dtypes whose results are flushed.
        except_ops: (op, dtype) pairs made of integer instructions, never flushed.
        casts: (from, to) pairs of Cast that are flushed; the others move bits.
    """

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    except_ops: tuple[tuple[str, str], ...] = ()
    casts: tuple[tuple[str, str], ...] = ()

    def reads(self, op: str, dtype: str) -> bool:
        """Return whether `op` flushes operands of `dtype`."""
        return dtype in self.inputs and (op, dtype) not in self.except_ops

    def writes(self, op: str, dtype: str) -> bool:
        """Return whether `op` flushes results of `dtype`."""
        return dtype in self.outputs and (op, dtype) not in self.except_ops


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
        if is_float(tensor.dtype) and self.flush.reads(node.op, tensor.dtype):
            return flushed(array, tensor.dtype)
        return array

    def compute(self, node: NodeDef, op: Elementwise,
                operands: Sequence[np.ndarray]) -> np.ndarray:
        """Run a function in the work dtype; "function" kinds in float64, rounded."""
        work = operands[0].dtype
        if op.kind == "exact" or not np.issubdtype(work, np.floating):
            return super().compute(node, op, operands)
        if op.kind == "arithmetic":
            result = super().compute(node, op, operands)
            if work == np.float32 and self.flush.writes(node.op, "float32"):
                return self._tiny_before_rounding(node, op, operands, result)
            return result
        wide = super().compute(node, op, [x.astype(np.float64) for x in operands])
        return wide.astype(work) if np.issubdtype(wide.dtype, np.floating) else wide

    def _tiny_before_rounding(self, node: NodeDef, op: Elementwise,
                              operands: Sequence[np.ndarray],
                              result: np.ndarray) -> np.ndarray:
        """Flush what reaches the smallest normal number only by subnormal rounding.

        x86 calls a result tiny when, rounded to 24 bits with an unbounded exponent, it
        lies below 2^-126; NumPy has rounded it to the coarser subnormal grid already.
        Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1,
        section 4.9.1.5 (numeric underflow).
        """
        edge = np.abs(result) == np.float32(2.0 ** -126)
        if not edge.any():
            return result
        parts = [np.broadcast_to(x, result.shape)[edge].astype(np.float64)
                 for x in operands]
        wide = super().compute(node, op, parts)
        tiny = np.abs(wide) < 2.0 ** -126 - 2.0 ** -151
        out = result.copy()
        out[edge] = np.where(tiny, np.copysign(np.float32(0), result[edge]),
                             result[edge])
        return out

    def step(self, node: NodeDef, array: np.ndarray, dtype: str,
             part: str = "") -> np.ndarray:
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
        if self.flush.writes(node.op, dtype):
            array = flushed(array, dtype)
        return Tensor(rounded(array, dtype), dtype)

    def cast(self, node: NodeDef, tensor: Tensor, dtype: str) -> Tensor:
        """Round between floats (to 16 bits by way of float32), convert otherwise."""
        source = tensor.array
        flush = (tensor.dtype, dtype) in self.flush.casts
        if is_float(tensor.dtype):
            source = values(tensor, _exact_dtype(tensor.dtype))
            if flush and tensor.dtype in self.flush.inputs:
                source = flushed(source, tensor.dtype)
        if not is_float(dtype):
            return Tensor(cast_to_integer(source, dtype), dtype)
        step = "float64" if dtype == "float64" else "float32"
        result = np.asarray(source).astype(step)
        if flush and dtype in self.flush.outputs:
            result = flushed(result, dtype)
        return Tensor(rounded(result, dtype), dtype)


def _exact_dtype(dtype: str) -> str:
    return "float64" if dtype == "float64" else "float32"


def _sequential(kind: str, array: np.ndarray, axes: tuple[int, ...],
                accumulator: str) -> np.ndarray:
    """Add or multiply one by one, rounding each time; axes stay at length 1."""
    kept = tuple(i for i in range(array.ndim) if i not in axes)
    lanes = array.transpose(axes + kept).reshape((-1,) + tuple(
        array.shape[i] for i in kept))
    function = np.add if kind == "sum" else np.multiply
    if accumulator == "float16":
        # NumPy's running sum goes one by one and rounds each time; its sum does not.
        half = function.accumulate(lanes.astype(np.float16), axis=0)
        total = half[-1].astype(array.dtype)
    else:
        total = _as(lanes[0], accumulator)
        for row in lanes[1:]:
            total = _as(function(total, row), accumulator)
    shape = tuple(1 if i in axes else n for i, n in enumerate(array.shape))
    return np.reshape(total, shape)


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

_BITWISE = tuple((op, dtype) for op in ("Neg", "Abs") for dtype in (
    "float32", "float64", "bfloat16"))
_FLUSHING = ("float32", "float64", "bfloat16")
_CASTS = (("float32", "float64"), ("float64", "float32"), ("bfloat16", "float64"),
          ("float64", "bfloat16"), ("float32", "bool"), ("float64", "bool"))


def eager_policy(version: str, *, denormals_are_zero: bool = True) -> EagerPolicy:
    """Return the eager policy of a TensorFlow version on an x86 CPU.

    Its threads flush float32 and float64 subnormals. Measured on 1.15.5, 2.6.5 and
    2.21.0 (docs/interpreter.md, "Eager TensorFlow").

    Args:
        version: TensorFlow's, "2.21.0".
        denormals_are_zero: whether operands are flushed too. Always so, except that
            TensorFlow 2.6 stops doing it, in the whole process, at its first
            bfloat16 product.
    """
    old = version.startswith("1.")
    casts = _CASTS + ((("bfloat16", "bool"),) if old else ())
    flush = Flush(_FLUSHING if denormals_are_zero else (), _FLUSHING, _BITWISE, casts)
    return EagerPolicy(name=f"eager {version}", flush=flush,
                       nan_minmax="first" if old else "propagate")
