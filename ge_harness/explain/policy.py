"""A rounding policy that takes hypotheses, and one that lists where they can act.

Every result of a 16-bit op is kept in float32 and rounded by the node that reads it,
so that each edge can be left unrounded on its own. With no hypothesis this is the eager
policy: rounding is idempotent, so it may come late.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Mapping, NamedTuple, Sequence

import numpy as np

from dumps.graphdef import AttrValue, NodeDef
from ge_harness.explain.arithmetic import (
    as_dtype,
    fused_multiply_add,
    ordered_product,
    ordered_sum,
    two_step_rsqrt,
)
from ge_harness.interpreter.eager import EagerPolicy
from ge_harness.interpreter.graph import data_inputs
from ge_harness.interpreter.policy import Elementwise
from ge_harness.interpreter.value import Tensor, flushed, is_float, rounded, values

EDGE, STEP, CONTRACTION = "unrounded edge", "unrounded step", "contraction"
SUM, PRODUCT, ALGORITHM = "sum", "product sum", "algorithm"
RECIPROCAL, KERNEL, DISTRIBUTION = "reciprocal", "kernel", "distribution"
REASSOCIATION = "reassociation"

AXES = "axes"
TWO_ROUNDINGS = "1/sqrt with the root rounded"
OWN_DTYPE, SINGLE = "in its own dtype", "in float32"

_WIDE = ("float16", "bfloat16")
_PRODUCTS = ("Mul", "Square", "SquaredDifference")
_MULTIPLY = (np.multiply, np.square)


class Key(NamedTuple):
    """Where a hypothesis acts.

    Attributes:
        kind: see `records.explanation.Hypothesis`.
        node: name of the node.
        place: "input 0", the part of a step, or "".
    """

    kind: str
    node: str
    place: str = ""


State = Mapping[Key, str]
RunKernel = Callable[[NodeDef, str, Sequence[np.ndarray]], np.ndarray]
"""(node, dtype to run it in, operands, float32) -> [...] float32 values."""


@dataclass(frozen=True)
class ExplainPolicy(EagerPolicy):
    """Op-by-op rounding, but for the hypotheses.

    Attributes:
        state: the hypotheses; the value says what holds at the key.
        run_kernel: runs one function on the candidate's backend; None where nothing
            can.
        factors: products met so far, their factors by node; for contractions.
        shifted: sums with 1 met so far; for distributions.
        inputs: the nodes that products read.
    """

    name: str = "explain"
    state: State = field(default_factory=dict)
    run_kernel: RunKernel | None = None
    factors: dict[str, Sequence[np.ndarray]] = field(
        default_factory=dict, compare=False)
    shifted: dict[str, tuple[np.ndarray, float, float]] = field(
        default_factory=dict, compare=False)
    inputs: dict[str, Sequence[str]] = field(default_factory=dict, compare=False)

    def operand(self, node: NodeDef, index: int, tensor: Tensor) -> np.ndarray:
        """Return an input, rounded now unless its edge is unrounded."""
        if tensor.dtype in _WIDE and tensor.is_wide:
            tensor = self.read(node, index, tensor)
        return super().operand(node, index, tensor)

    def read(self, node: NodeDef, index: int, tensor: Tensor) -> Tensor:
        """Return a wide tensor as the node sees it."""
        if Key(EDGE, node.name, f"input {index}") in self.state:
            return tensor
        return Tensor(rounded(tensor.array, tensor.dtype), tensor.dtype)

    def compute(self, node: NodeDef, op: Elementwise,
                operands: Sequence[np.ndarray]) -> np.ndarray:
        """Run a function as the hypotheses say."""
        if operands[0].dtype == np.float32:
            if node.op in _PRODUCTS and op.function in _MULTIPLY:
                self.factors[node.name] = (operands[0], operands[-1])
                self.inputs[node.name] = [port.node for port in data_inputs(node)]
            special = self._special(node, op, operands)
            if special is not None:
                return special
            if op.function in (np.add, np.subtract) and len(operands) == 2:
                self._remember_shift(node, op, operands)
        return super().compute(node, op, operands)

    def forget(self) -> None:
        """Drop what earlier nodes left; called between input sets."""
        self.factors.clear()
        self.shifted.clear()

    def _remember_shift(self, node: NodeDef, op: Elementwise,
                        operands: Sequence[np.ndarray]) -> None:
        """Write down that a node adds 1 to, or takes it from, a tensor or the reverse.

        Kept as (x, a, b) for a result of a * x + b, with a and b either 1 or -1.
        """
        sign = 1.0 if op.function is np.add else -1.0
        left, right = operands
        if right.size == 1 and abs(float(right.reshape(-1)[0])) == 1:
            self.shifted[node.name] = (left, 1.0, sign * float(right.reshape(-1)[0]))
        elif left.size == 1 and abs(float(left.reshape(-1)[0])) == 1:
            self.shifted[node.name] = (right, sign, float(left.reshape(-1)[0]))

    def _special(self, node: NodeDef, op: Elementwise,
                 operands: Sequence[np.ndarray]) -> np.ndarray | None:
        if op.function in (np.add, np.subtract):
            return self._contracted(node, op, operands)
        if node.op == "Mul":
            moved = self._reassociated(node, operands)
            return self._distributed(node, operands) if moved is None else moved
        dtype = str(node.attr("T", "float32"))
        kernel = self.state.get(Key(KERNEL, node.name))
        if kernel is not None and self.run_kernel is not None and len(operands) == 1:
            own = dtype if kernel == OWN_DTYPE else "float32"
            return self.run_kernel(node, own, [as_dtype(operands[0], own)])
        if self.state.get(Key(ALGORITHM, node.name)) == TWO_ROUNDINGS:
            return two_step_rsqrt(operands[0], dtype)
        if (op.function is np.true_divide
                and Key(RECIPROCAL, node.name) in self.state):
            with np.errstate(all="ignore"):
                reciprocal = np.asarray(np.float32(1) / operands[1])
                if node.op != "Mean" or node.attr("keep_dims", False):
                    self.factors[node.name] = (operands[0], reciprocal)
                return np.asarray(operands[0] * reciprocal)
        return None

    def _contracted(self, node: NodeDef, op: Elementwise,
                    operands: Sequence[np.ndarray]) -> np.ndarray | None:
        for place, port in enumerate(data_inputs(node)[:2]):
            if Key(CONTRACTION, node.name, f"input {place}") not in self.state:
                continue
            factors = self.factors.get(port.node)
            if factors is None:
                continue
            a, b = factors
            other = operands[1 - place]
            if op.function is np.subtract:
                a, other = (a, -other) if place == 0 else (-a, other)
            return fused_multiply_add(a, b, other)
        return None

    def _distributed(self, node: NodeDef,
                     operands: Sequence[np.ndarray]) -> np.ndarray | None:
        """Return (x + 1) * y as x * y + y in one rounding, where that is assumed."""
        for place, port in enumerate(data_inputs(node)[:2]):
            if Key(DISTRIBUTION, node.name, f"input {place}") in self.state:
                return self._shifted_product(port.node, operands[1 - place])
        return None

    def _shifted_product(self, source: str, other: np.ndarray) -> np.ndarray | None:
        """Return (a * x + b) * other in one rounding, a and b being 1 or -1."""
        known = self.shifted.get(source)
        if known is None:
            return None
        x, scale, shift = known
        return fused_multiply_add(np.float32(scale) * x, other,
                                  np.float32(shift) * other)

    def _reassociated(self, node: NodeDef,
                      operands: Sequence[np.ndarray]) -> np.ndarray | None:
        """Return (a * b) * c as a * (b * c) or b * (a * c), where that is assumed."""
        for place, port in enumerate(data_inputs(node)[:2]):
            key = Key(REASSOCIATION, node.name, f"input {place}")
            factors = self.factors.get(port.node)
            if key not in self.state or factors is None:
                continue
            last = int(self.state[key].split()[1])
            inner = factors[1 - last] * operands[1 - place]
            if Key(EDGE, node.name, f"input {place}") not in self.state:
                inner = as_dtype(inner, str(node.attr("T", "float32")))
            if Key(DISTRIBUTION, port.node, f"input {last}") in self.state:
                return self._shifted_product(self.inputs[port.node][last], inner)
            return np.asarray(factors[last] * inner)
        return None

    def step(self, node: NodeDef, array: np.ndarray, dtype: str,
             part: str = "") -> np.ndarray:
        """Return an intermediate of a kernel, rounded unless that step is not."""
        if Key(STEP, node.name, part) in self.state:
            return array
        return super().step(node, array, dtype, part)

    def reduce(self, node: NodeDef, kind: str, array: np.ndarray, *,
               axes: tuple[int, ...], dtype: str) -> np.ndarray:
        """Reduce with the accumulator and in the order of the hypothesis."""
        value = self.state.get(Key(SUM, node.name))
        if value is None or kind != "sum" or not axes or array.dtype != np.float32:
            return super().reduce(node, kind, array, axes=axes, dtype=dtype)
        if value in (OWN_DTYPE, SINGLE):
            if self.run_kernel is None:
                return super().reduce(node, kind, array, axes=axes, dtype=dtype)
            own = dtype if value == OWN_DTYPE else "float32"
            return self.run_kernel(sum_node(axes), own, [as_dtype(array, own)])
        accumulator, order = value.split(", ", 1)
        wide = ordered_sum(array.astype(accumulator), axes, order)
        return wide.astype(np.float32)

    def contract(self, node: NodeDef, left: np.ndarray, right: np.ndarray,
                 dtype: str) -> np.ndarray:
        """Multiply matrices in the order of the hypothesis."""
        value = self.state.get(Key(PRODUCT, node.name), "")
        if not value or left.dtype != np.float32:
            return super().contract(node, left, right, dtype)
        if value in (OWN_DTYPE, SINGLE) and self.run_kernel is not None:
            own = dtype if value == OWN_DTYPE else "float32"
            made, operands = product_node(node, left, right)
            return self.run_kernel(made, own, [as_dtype(x, own) for x in operands])
        if value.startswith("float64"):
            wide = np.matmul(left.astype(np.float64), right.astype(np.float64))
            return np.asarray(wide.astype(np.float32))
        return ordered_product(left, right, fused=value.endswith("fused"))

    def store(self, node: NodeDef, index: int, array: np.ndarray,
              dtype: str) -> Tensor:
        """Keep a 16-bit result wide; round any other."""
        array = np.asarray(array)
        if dtype not in _WIDE or array.dtype != np.float32:
            return super().store(node, index, array, dtype)
        if self.flush.writes(node.op, dtype):
            array = flushed(array, dtype)
        return Tensor(array, dtype)

    def cast(self, node: NodeDef, tensor: Tensor, dtype: str) -> Tensor:
        """Convert; a result of 16 bits stays wide until it is read."""
        if tensor.dtype in _WIDE and tensor.is_wide:
            tensor = self.read(node, 0, tensor)
        if tensor.dtype == "float32" and dtype in _WIDE:
            return Tensor(tensor.array, dtype)
        if tensor.is_wide:
            return Tensor(values(tensor, "float32"), dtype) if is_float(
                dtype) and dtype != "float64" else super().cast(
                    node, Tensor(tensor.array, "float32"), dtype)
        return super().cast(node, tensor, dtype)


def product_node(node: NodeDef, left: np.ndarray, right: np.ndarray
                 ) -> tuple[NodeDef, tuple[np.ndarray, np.ndarray]]:
    """Return a node that multiplies matrices as `node` does, and its operands.

    Args:
        node: MatMul, a BatchMatMul or an Einsum.
        left: [..., m, k] as it is multiplied; a transposition is undone where the node
            does it.
        right: [..., k, n] likewise.
    """
    flat = left.ndim == 2 and right.ndim == 2
    names = ("transpose_a", "transpose_b") if flat else ("adj_x", "adj_y")
    turned = [bool(node.attr(name, False)) for name in names]
    operands = [np.ascontiguousarray(np.swapaxes(array, -1, -2)) if turn else array
                for array, turn in zip((left, right), turned)]
    made = NodeDef("product", "MatMul" if flat else "BatchMatMulV2", ("x0", "x1"), "",
                   tuple((name, AttrValue("b", turn))
                         for name, turn in zip(names, turned)))
    return made, (operands[0], operands[1])


def sum_node(axes: tuple[int, ...]) -> NodeDef:
    """Return a node that sums over axes and keeps them; the axes are an attribute."""
    return NodeDef("sum", "Sum", ("x0", AXES), "", (
        (AXES, AttrValue("list", tuple(AttrValue("i", axis) for axis in axes))),
        ("Tidx", AttrValue("type", "int32")), ("keep_dims", AttrValue("b", True))))


def final(tensor: Tensor) -> np.ndarray:
    """Return an output of the graph as it is stored."""
    if tensor.dtype in _WIDE and tensor.is_wide:
        return rounded(tensor.array, tensor.dtype)
    return tensor.array


@dataclass(frozen=True)
class RecordingPolicy(ExplainPolicy):
    """Rounds after each op and writes down every place where a hypothesis can act.

    Attributes:
        places: key -> what is known of the place: "dtype" of the tensor, "size" of a
            sum, "source" of an edge.
    """

    places: dict[Key, dict[str, str]] = field(default_factory=dict, compare=False)

    def read(self, node: NodeDef, index: int, tensor: Tensor) -> Tensor:
        """Write an edge down."""
        source = data_inputs(node)[index].node
        self._note(Key(EDGE, node.name, f"input {index}"), source=source)
        return super().read(node, index, tensor)

    def compute(self, node: NodeDef, op: Elementwise,
                operands: Sequence[np.ndarray]) -> np.ndarray:
        """Write contractions, divisions and functions down."""
        if operands[0].dtype == np.float32:
            if op.function in (np.add, np.subtract) and node.op != "AddN":
                for place, port in enumerate(data_inputs(node)[:2]):
                    if (port.node in self.factors
                            or Key(RECIPROCAL, port.node) in self.places):
                        self._note(Key(CONTRACTION, node.name, f"input {place}"),
                                   source=port.node)
            elif node.op == "Mul":
                for place, port in enumerate(data_inputs(node)[:2]):
                    if port.node in self.shifted:
                        self._note(Key(DISTRIBUTION, node.name, f"input {place}"),
                                   source=port.node)
                    if self.inputs.get(port.node, ())[1:]:
                        self._note(Key(REASSOCIATION, node.name, f"input {place}"),
                                   source=port.node)
            elif op.function is np.true_divide:
                self._note(Key(RECIPROCAL, node.name))
            elif op.kind == "function" and len(operands) == 1:
                self._note(Key(KERNEL, node.name),
                           dtype=str(node.attr("T", "float32")), op=node.op)
                if node.op == "Rsqrt":
                    self._note(Key(ALGORITHM, node.name))
        return super().compute(node, op, operands)

    def step(self, node: NodeDef, array: np.ndarray, dtype: str,
             part: str = "") -> np.ndarray:
        """Write a rounding inside an op down."""
        if dtype in _WIDE:
            self._note(Key(STEP, node.name, part))
        return super().step(node, array, dtype, part)

    def reduce(self, node: NodeDef, kind: str, array: np.ndarray, *,
               axes: tuple[int, ...], dtype: str) -> np.ndarray:
        """Write a sum down."""
        size = 1
        for axis in axes:
            size *= array.shape[axis]
        if kind == "sum" and size > 1 and array.dtype == np.float32:
            self._note(Key(SUM, node.name), dtype=dtype, size=str(size))
        return super().reduce(node, kind, array, axes=axes, dtype=dtype)

    def contract(self, node: NodeDef, left: np.ndarray, right: np.ndarray,
                 dtype: str) -> np.ndarray:
        """Write a matrix product down."""
        if left.dtype == np.float32:
            work = left.size * right.shape[-1]
            self._note(Key(PRODUCT, node.name), dtype=dtype, size=str(work))
        return super().contract(node, left, right, dtype)

    def _note(self, key: Key, **known: str) -> None:
        self.places.setdefault(key, known)
