"""TensorFlow op by op: no Grappler, no auto-jit, no function, nothing cached.

Each NodeDef is executed on its own, so each op's result is rounded to its dtype at the
op's border. Constants are made from their protos as arrays on every execution:
TensorFlow's cache of eager scalars, which takes -0.0 for 0.0, is never asked
(cases: F06).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from ge_harness.backends import node_walk, tf_loader
from ge_harness.backends.base import (
    Backend,
    BackendFailure,
    Compiled,
    Evidence,
    Probe,
)
from ge_harness.records.run import FailureKind, RunRequest
from ge_harness.records.tensor import Case

_REFUSED = frozenset((
    "If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase",
    "PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient", "Switch",
    "RefSwitch", "Merge", "RefMerge", "Enter", "Exit", "NextIteration", "LoopCond"))


class EagerBackend(Backend):
    """The base line a user migrates from; not the truth."""

    name = "eager"
    label = "TensorFlow op by op: base line, not truth"

    def probe(self) -> Probe:
        """Say whether TensorFlow is here."""
        return tf_loader.probe()

    def compile(self, request: RunRequest, job_dir: Path) -> EagerGraph:
        """Read the graph and put its nodes in order.

        Raises:
            BackendFailure: the graph cannot be read or be executed op by op.
        """
        tf = tf_loader.load()
        tf_loader.start(tf, request.threads)
        return EagerGraph(tf, request.case)


class EagerGraph(Compiled):
    """A graph executed node by node."""

    def __init__(self, tf: Any, case: Case) -> None:
        self._tf = tf
        self._case = case
        self._fetches = [port.tensor for port in case.outputs]
        graph_def = tf_loader.read_graph_def(tf, case.graph_path)
        self._steps = node_walk.plan(
            graph_def, self._fetches, [port.tensor for port in case.inputs])
        for step in self._steps:
            _check(step.node)

    def execute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run every node once.

        Args:
            inputs: port name -> array of the port's shape (uint16 bits for bfloat16).

        Raises:
            BackendFailure: an op raised; the message names it.
        """
        feeds = {port.tensor: feed(self._tf, inputs[port.spec.name], port.spec.dtype)
                 for port in self._case.inputs}
        values = node_walk.walk(self._steps, feeds, self._fetches, self._run_node)
        return {port.spec.name: tf_loader.from_tf_array(value)
                for port, value in zip(self._case.outputs, values)}

    def evidence(self) -> Evidence:
        """Return the route and the kernels chosen."""
        return Evidence(
            route="eager, node by node",
            sent=(("grappler", "off"), ("jit", "off"),
                  ("onednn", tf_loader.onednn(self._tf))))

    def _run_node(self, node: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        try:
            return tf_loader.execute_node(self._tf, node, inputs)
        except BackendFailure as failure:
            raise BackendFailure(
                failure.kind, f"{_place(node)}: {failure}") from failure
        except (self._tf.errors.OpError, TypeError, ValueError) as error:
            raise tf_loader.failure_of(self._tf, error, _place(node)) from error


def feed(tf: Any, array: np.ndarray, dtype: str) -> Any:
    """Return an eager tensor of an input array (uint16 bits for bfloat16)."""
    from tensorflow.python.eager import context

    with context.eager_mode(), tf.device("/cpu:0"):
        return tf.constant(tf_loader.to_tf_array(tf, array, dtype))


def _place(node: Any) -> str:
    return f"op {node.op}, node {node.name!r}"


def _check(node: Any) -> None:
    """Refuse what needs a graph around it.

    Raises:
        BackendFailure: control flow or a function call.
    """
    if node.op in _REFUSED:
        raise BackendFailure(
            FailureKind.BUILD, f"{_place(node)}: control flow and function calls "
            "cannot be run op by op")
