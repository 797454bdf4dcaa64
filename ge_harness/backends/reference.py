"""The reference backend: the graph op by op in float64 by NumPy, in a worker."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

import numpy as np

from dumps.errors import DumpError
from ge_harness.backends.base import (
    Backend,
    BackendFailure,
    Compiled,
    Evidence,
    Probe,
)
from ge_harness.interpreter.errors import EvaluationError, GraphRaisedError
from ge_harness.interpreter.evaluate import evaluate
from ge_harness.interpreter.graph import load
from ge_harness.interpreter.policy import FP64
from ge_harness.records.run import FailureKind, RunRequest
from ge_harness.records.tensor import Case


class ReferenceBackend(Backend):
    """The truth that every other side is measured against."""

    name = "reference"
    label = "the graph op by op in float64 by NumPy: the truth"

    def probe(self) -> Probe:
        """Say that it is usable: it needs NumPy alone."""
        return Probe(True, f"NumPy {np.__version__}")

    def compile(self, request: RunRequest, job_dir: Path) -> ReferenceGraph:
        """Read the graph.

        Raises:
            BackendFailure: it cannot be read or is inconsistent.
        """
        return ReferenceGraph(request.case)


class ReferenceGraph(Compiled):
    """A graph and the policy it is evaluated under."""

    float64_outputs = True

    def __init__(self, case: Case) -> None:
        self._case = case
        try:
            self._graph = load(case.graph_path)
        except (DumpError, EvaluationError) as error:
            raise BackendFailure(FailureKind.BUILD, str(error)) from error

    def execute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Evaluate once.

        Args:
            inputs: port name -> array of the port's shape (uint16 bits for bfloat16).

        Returns:
            port name -> float64 for every float port, the port's dtype for the others.

        Raises:
            BackendFailure: an op is unknown or cannot be evaluated (build), or a check
                in the graph raised (run).
        """
        feeds = {port.tensor: inputs[port.spec.name] for port in self._case.inputs}
        wanted = [port.tensor for port in self._case.outputs]
        try:
            found = evaluate(self._graph, feeds, wanted, FP64)
        except GraphRaisedError as error:
            raise BackendFailure(FailureKind.RUN, str(error)) from error
        except EvaluationError as error:
            raise BackendFailure(FailureKind.BUILD, str(error)) from error
        return {port.spec.name: found[port.tensor] for port in self._case.outputs}

    def evidence(self) -> Evidence:
        """Return the route."""
        return Evidence(route="float64, node by node, NumPy")
