"""What an op function is given: the node, its input tensors and the policy."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence

import numpy as np

from dumps.graphdef import NodeDef
from ge_harness.interpreter.errors import EvaluationError
from ge_harness.interpreter.policy import Elementwise, Policy
from ge_harness.interpreter.value import Tensor, is_float, values


class Call:
    """One execution of one node.

    Attributes:
        node: the node.
        inputs: its input tensors, control inputs left out.
        policy: what rounds.
    """

    def __init__(self, node: NodeDef, inputs: Sequence[Tensor], policy: Policy) -> None:
        self.node = node
        self.inputs = inputs
        self.policy = policy

    def attr(self, name: str, default: Any = None) -> Any:
        """Return the plain value of an attribute."""
        return self.node.attr(name, default)

    def text(self, name: str, default: str = "") -> str:
        """Return a string attribute."""
        value = self.node.attr(name)
        return value.decode("utf-8", "replace") if value is not None else default

    def numbers(self, name: str) -> list[Any]:
        """Return a list attribute as plain values."""
        return [item.value for item in self.node.attr(name, ())]

    def need(self, condition: bool, problem: str) -> None:
        """Raise for a node that is inconsistent.

        Raises:
            EvaluationError: `condition` does not hold.
        """
        if not condition:
            raise EvaluationError(
                f"cannot evaluate {self.node.op} node {self.node.name!r}: {problem}",
                self.node.name)

    def dtype(self, index: int = 0) -> str:
        """Return the dtype of an input."""
        return self._input(index).dtype

    def load(self, index: int = 0) -> np.ndarray:
        """Return an input ready for arithmetic, as the policy gives it."""
        return self.policy.operand(self.node, index, self._input(index))

    def raw(self, index: int = 0) -> np.ndarray:
        """Return the stored elements of an input."""
        return self._input(index).array

    def ints(self, index: int) -> list[int]:
        """Return an integer input (axes, shapes) as Python integers."""
        tensor = self._input(index)
        self.need(not is_float(tensor.dtype) and tensor.dtype != "bool",
                  f"input {index} is {tensor.dtype}, expected integers")
        return [int(value) for value in tensor.array.reshape(-1)]

    def axes(self, index: int, rank: int) -> tuple[int, ...]:
        """Return an input of axes, each brought into 0..rank-1 and checked."""
        found = []
        for axis in self.ints(index):
            self.need(-max(rank, 1) <= axis < max(rank, 1),
                      f"axis {axis} of a tensor of rank {rank}")
            if rank:
                found.append(axis % rank)
        return tuple(sorted(set(found)))

    def axis(self, value: int, rank: int) -> int:
        """Return one axis brought into 0..rank-1 and checked."""
        self.need(-rank <= value < rank, f"axis {value} of a tensor of rank {rank}")
        return value % rank

    def compute(self, op: Elementwise, *operands: np.ndarray) -> np.ndarray:
        """Run an elementwise function through the policy."""
        return self.policy.compute(self.node, op, operands)

    def step(self, array: np.ndarray, part: str) -> np.ndarray:
        """Round an intermediate of a compound kernel on input 0 through the policy."""
        return self.policy.step(self.node, array, self.dtype(), part)

    def store(self, array: np.ndarray, dtype: str = "", index: int = 0) -> Tensor:
        """Return a result through the policy; the dtype is input 0's by default."""
        return self.policy.store(self.node, index, array, dtype or self.dtype())

    def moved(self, array: np.ndarray, index: int = 0) -> Tensor:
        """Return moved elements of an input: never rounded, never converted."""
        return Tensor(np.asarray(array), self.dtype(index))

    def alike(self, indices: Sequence[int]) -> list[np.ndarray]:
        """Return the stored elements of several inputs in one storage.

        Under a policy that keeps some edges wide, inputs of one op can differ.
        """
        tensors = [self._input(index) for index in indices]
        if len({tensor.array.dtype for tensor in tensors}) <= 1:
            return [tensor.array for tensor in tensors]
        self.need(len({tensor.dtype for tensor in tensors}) == 1, "inputs of dtypes "
                  + ", ".join(tensor.dtype for tensor in tensors))
        wide = "float64" if any(
            tensor.array.dtype == np.float64 for tensor in tensors) else "float32"
        return [values(tensor, wide) for tensor in tensors]

    def _input(self, index: int) -> Tensor:
        self.need(index < len(self.inputs),
                  f"{len(self.inputs)} inputs, expected at least {index + 1}")
        return self.inputs[index]


OpFunction = Callable[[Call], List[Tensor]]
OpTable = Dict[str, OpFunction]
