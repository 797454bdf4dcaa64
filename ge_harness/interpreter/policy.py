"""Rounding policies: one evaluator, many arithmetics.

An op function says what is computed; everything that rounds goes through the policy, a
decision for each node and edge:

    keep      a fed or constant tensor enters the graph
    operand   a node reads an input          (widening, flush of subnormals)
    compute   an elementwise function runs   (its working precision, its algorithm)
    step      an intermediate inside one op  (compound kernels such as Softmax)
    reduce    a sum, product, maximum ...    (accumulator, order)
    contract  a matrix product               (accumulator, order)
    store     a result leaves the node       (rounding to the dtype, or not)

`Policy` itself is the fp64 reference: floats are float64 on every edge, nothing is ever
rounded to a narrower format, integers and booleans are exact. `EagerPolicy` (module
`eager`) rounds after every op. A policy for fused regions overrides `store` (no
rounding on inner edges), `reduce` and `contract` (order), and lists other algorithms in
`algorithms`; it sees the NodeDef, so it can decide by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, NamedTuple, Sequence

import numpy as np

from dumps.graphdef import NodeDef
from ge_harness.interpreter.value import Tensor, is_float, values

Function = Callable[..., np.ndarray]


class Elementwise(NamedTuple):
    """An elementwise function as the tables list it.

    Attributes:
        function: arrays of one dtype to an array of the same broadcast shape.
        kind: "exact" (no rounding can occur: Neg, Maximum), "arithmetic" (IEEE's
            correctly rounded operations) or "function" (Exp, Tanh: worked out in
            float64 and rounded once, since no two libraries agree on the last bit).
    """

    function: Function
    kind: str = "arithmetic"


@dataclass(frozen=True)
class Policy:
    """The fp64 reference.

    Attributes:
        name: shown in records.
        algorithms: (op, function) pairs that replace the table's function of that op.
        nan_minmax: what Maximum, Minimum, Max and Min do with NaN: "propagate", or
            "first" (the first operand is kept unless the second is beyond it).
    """

    name: str = "fp64"
    algorithms: tuple[tuple[str, Function], ...] = ()
    nan_minmax: str = "propagate"

    def work_dtype(self, node: NodeDef, dtype: str) -> str:
        """Return the dtype that float arithmetic of this node is done in."""
        return "float64"

    def keep(self, node: NodeDef, tensor: Tensor) -> Tensor:
        """Return a fed or constant tensor as the policy holds it."""
        if not is_float(tensor.dtype):
            return tensor
        return Tensor(values(tensor, "float64"), tensor.dtype)

    def operand(self, node: NodeDef, index: int, tensor: Tensor) -> np.ndarray:
        """Return an input of a node, ready for arithmetic.

        Returns:
            [...] float array of `work_dtype`; integers and booleans as they are.
        """
        if not is_float(tensor.dtype):
            return tensor.array
        return values(tensor, self.work_dtype(node, tensor.dtype))

    def compute(self, node: NodeDef, op: Elementwise,
                operands: Sequence[np.ndarray]) -> np.ndarray:
        """Run an elementwise function on operands that `operand` gave."""
        return np.asarray(self.algorithm(node, op)(*operands))

    def algorithm(self, node: NodeDef, op: Elementwise) -> Function:
        """Return the function that works for `op` in this node."""
        return next((f for name, f in self.algorithms if name == node.op), op.function)

    def step(self, node: NodeDef, array: np.ndarray, dtype: str,
             part: str = "") -> np.ndarray:
        """Return an intermediate of a compound kernel, rounded where that rounds.

        Args:
            node: the node.
            array: [...] the intermediate, in the work dtype.
            dtype: of the tensor that the kernel works on.
            part: what it is: "difference", "square", "power", "total", "log",
                "product" or "quotient"; a kernel can round one and not another.
        """
        return array

    def reduce(self, node: NodeDef, kind: str, array: np.ndarray, *,
               axes: tuple[int, ...], dtype: str) -> np.ndarray:
        """Reduce over axes.

        Args:
            node: the node.
            kind: "sum", "prod", "max" or "min".
            array: [...] as `operand` gave it.
            axes: to reduce, each in 0..rank-1.
            dtype: of the tensor, for policies whose accumulator depends on it.

        Returns:
            array with the reduced axes kept at length 1; identity for empty axes.
        """
        return plain_reduce(kind, array, axes)

    def contract(self, node: NodeDef, left: np.ndarray, right: np.ndarray,
                 dtype: str) -> np.ndarray:
        """Multiply matrices: [..., m, k] by [..., k, n] to [..., m, n]."""
        return np.asarray(np.matmul(left, right))

    def store(self, node: NodeDef, index: int, array: np.ndarray,
              dtype: str) -> Tensor:
        """Return result `index` of a node as its consumers will see it.

        Args:
            node: the node.
            index: of the result.
            array: [...] in the work dtype, or integers or booleans.
            dtype: TensorFlow's dtype of the result.
        """
        if is_float(dtype):
            return Tensor(np.asarray(array, dtype=np.float64), dtype)
        return Tensor(np.asarray(array, dtype=dtype), dtype)

    def cast(self, node: NodeDef, tensor: Tensor, dtype: str) -> Tensor:
        """Return a Cast's result; between floats the reference changes nothing."""
        if is_float(dtype):
            source = tensor.array
            if is_float(tensor.dtype):
                source = values(tensor, "float64")
            return Tensor(np.asarray(source).astype(np.float64), dtype)
        return Tensor(cast_to_integer(self.operand(node, 0, tensor), dtype), dtype)


def plain_reduce(kind: str, array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Reduce in the array's own dtype, with NumPy's order; axes stay at length 1."""
    if not axes:
        return array
    if kind in ("max", "min") and array.size == 0:
        shape = tuple(1 if i in axes else n for i, n in enumerate(array.shape))
        return np.full(shape, _extreme(kind, array.dtype), dtype=array.dtype)
    if kind in ("sum", "prod"):
        add = np.add if kind == "sum" else np.multiply
        return np.asarray(add.reduce(
            array, axis=axes, keepdims=True, dtype=array.dtype))
    pick = np.maximum if kind == "max" else np.minimum
    return np.asarray(pick.reduce(array, axis=axes, keepdims=True))


def cast_to_integer(array: np.ndarray, dtype: str) -> np.ndarray:
    """Convert to an integer dtype or bool as C does on x86.

    Fractions are cut off. NaN and what int64 (for int32 and int64) cannot hold become
    the smallest integer; narrower integers keep the low bits. TensorFlow's versions
    differ for values out of range, which C leaves undefined.
    """
    if dtype == "bool":
        return np.asarray(array != 0)
    if not np.issubdtype(array.dtype, np.floating):
        return array.astype(dtype)
    width = 64 if dtype in ("int64", "uint64", "uint32") else 32
    low, high = -(2.0 ** (width - 1)), 2.0 ** (width - 1)
    wide = np.trunc(array.astype(np.float64))
    upper = 2.0 ** 64 if dtype == "uint64" else high
    with np.errstate(all="ignore"):
        fits = (wide >= low) & (wide < upper)
        above = fits & (wide >= high)
        signed = np.where(fits, np.where(above, wide - 2.0 ** 64, wide), low)
    return np.asarray(signed.astype(np.int64).astype(dtype))


def _extreme(kind: str, dtype: np.dtype) -> object:
    """Return the identity of a maximum or minimum."""
    if dtype == np.bool_:
        return kind == "min"
    if np.issubdtype(dtype, np.floating):
        return -np.inf if kind == "max" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if kind == "max" else limits.max


FP64 = Policy()
"""The reference: everything in float64."""
