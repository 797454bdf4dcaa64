"""A case under hypotheses: evaluates the graph on every input set and compares bits."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

import numpy as np

from ge_harness.explain.policy import (
    ExplainPolicy,
    Key,
    RecordingPolicy,
    RunKernel,
    final,
)
from ge_harness.interpreter import graph as graphs
from ge_harness.interpreter.eager import eager_policy
from ge_harness.interpreter.evaluate import evaluate_tensors
from ge_harness.records.tensor import Case

State = Mapping[Key, str]


class Model:
    """One case, evaluated as often as the search asks.

    Args:
        case: graph, ports and input files.
        tensorflow: its version, which decides what is flushed.
        run_kernel: runs single functions on the candidate's backend, or None.

    Raises:
        DumpError: the graph file cannot be read.
        EvaluationError: the interpreter does not take the graph.
    """

    def __init__(self, case: Case, tensorflow: str,
                 run_kernel: RunKernel | None = None) -> None:
        self.graph = graphs.load(Path(case.graph_path))
        self.run_kernel = run_kernel
        self._case = case
        self._base = eager_policy(tensorflow or "2")
        self._names = [port.tensor for port in case.outputs]
        arrays = [np.load(path, allow_pickle=False) for path in case.input_paths]
        stacked = case.set_count > 1
        self._sets = [
            {port.tensor: array[index] if stacked else array
             for port, array in zip(case.inputs, arrays)}
            for index in range(case.set_count)]

    def places(self) -> dict[Key, dict[str, str]]:
        """Return every place where a hypothesis can act."""
        policy = RecordingPolicy(flush=self._base.flush,
                                 nan_minmax=self._base.nan_minmax)
        evaluate_tensors(self.graph, self._sets[0], self._names, policy)
        return policy.places

    def bits(self, state: State) -> np.ndarray:
        """Return [elements] bits of all outputs, each output's sets together."""
        policy = ExplainPolicy(
            flush=self._base.flush, nan_minmax=self._base.nan_minmax,
            state=dict(state), run_kernel=self.run_kernel)
        found: list[list[np.ndarray]] = [[] for _ in self._names]
        for inputs in self._sets:
            policy.forget()
            tensors = evaluate_tensors(self.graph, inputs, self._names, policy)
            for parts, name in zip(found, self._names):
                parts.append(as_bits(final(tensors[name])))
        return np.concatenate([part for parts in found for part in parts])


def as_bits(array: np.ndarray) -> np.ndarray:
    """Return [elements] uint64, each the bits of an element."""
    array = np.ascontiguousarray(array)
    if array.dtype == np.bool_:
        return array.reshape(-1).astype(np.uint64)
    width = array.dtype.itemsize
    return array.reshape(-1).view(f"u{width}").astype(np.uint64)


def loaded_bits(paths: Sequence[str]) -> np.ndarray:
    """Return the bits of stored outputs in the order of `Model.bits`."""
    return np.concatenate([as_bits(np.load(path, allow_pickle=False))
                           for path in paths])
