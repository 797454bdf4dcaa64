"""Graphs in sessions of GE: a whole graph in one, or every operator in its own.

Sessions stay open until the worker ends: closing the last one shuts GE down, and an
outcome that is on disk by then cannot be lost to it.

Source: reference: tf_adapter.md sections 3, 4.6 and 6 (B7); tf_adapter_examples.md
sections 4 and 8.
"""

from __future__ import annotations

import atexit
import contextlib
from typing import Any, Mapping, Sequence

import numpy as np

from ge_harness.backends import (
    ge_errors,
    node_walk,
    tf_loader,
    tf_nodes,
    xla_nodewise,
)
from ge_harness.backends.base import BackendFailure
from ge_harness.backends.ge_offload import OffloadProof
from ge_harness.backends.static_values import is_floating
from ge_harness.records.run import FailureKind
from ge_harness.records.tensor import Case

# Marks of the adapter's scopes; all other private attributes are TensorFlow's own.
_KEPT_ATTRIBUTES = frozenset((
    "_disable_autofuse_scope", "_keep_dtype", "_without_npu_compile",
    "_super_kernel_scope", "_op_vectorcore_num", "_disable_lifting"))
_OPEN: list[Any] = []


class Unit:
    """One graph in one session; its first execution is the one that is watched."""

    def __init__(self, tf: Any, graph: Any, config: Any, what: str) -> None:
        self._tf = tf
        self._what = what
        self._watched = False
        self._session = tf.compat.v1.Session(graph=graph, config=config)
        if not _OPEN:
            atexit.register(close_all)
        _OPEN.append(self._session)

    def run(self, fetches: Sequence[Any], feed: Mapping[Any, np.ndarray],
            proof: OffloadProof, expected: Sequence[tuple[str, str]]
            ) -> list[np.ndarray]:
        """Execute once.

        Args:
            fetches: tensors.
            feed: placeholder -> array.
            proof: sees the first execution.
            expected: (name, op) of the nodes that must leave the host.

        Raises:
            BackendFailure: GE failed, or nothing proves that it ran at all.
        """
        v1 = self._tf.compat.v1
        options = metadata = None
        if not self._watched:
            options = v1.RunOptions(output_partition_graphs=True)
            metadata = v1.RunMetadata()
        try:
            values = self._session.run(list(fetches), dict(feed), options=options,
                                       run_metadata=metadata)
        except (self._tf.errors.OpError, RuntimeError, ValueError) as error:
            raise failure(self._tf, error, self._what) from error
        if metadata is not None:
            self._watched = True
            proof.check(self._what, metadata, expected)
        return [np.asarray(value) for value in values]


class WholeGraph:
    """The graph as GE gets it from a user."""

    mode = "whole graph"

    def __init__(self, tf: Any, case: Case, config: Any, proof: OffloadProof) -> None:
        self._tf = tf
        self._case = case
        self._proof = proof
        graph_def = tf_loader.read_graph_def(tf, case.graph_path)
        fed = [node_walk.canonical(port.tensor) for port in case.inputs]
        fetches = [node_walk.canonical(port.tensor) for port in case.outputs]
        steps = node_walk.plan(graph_def, fetches, fed)
        self._expected = tuple((step.node.name, step.node.op) for step in steps)
        graph = tf.Graph()
        with graph.as_default():
            self._places = {name: tf.compat.v1.placeholder(
                port.spec.dtype, port.spec.shape, name=name.rpartition(":")[0])
                for name, port in zip(fed, case.inputs)}
            self._fetches = _import(tf, graph_def, steps, self._places, fetches)
        self._unit = Unit(tf, graph, config, "the graph")

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Execute once: port name -> array in both directions (bfloat16 as bits)."""
        feed = {self._places[node_walk.canonical(port.tensor)]: tf_loader.to_tf_array(
            self._tf, inputs[port.spec.name], port.spec.dtype)
            for port in self._case.inputs}
        values = self._unit.run(self._fetches, feed, self._proof, self._expected)
        return {port.spec.name: tf_loader.from_tf_array(value)
                for port, value in zip(self._case.outputs, values)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return ()


class Nodewise:
    """Every operator a graph and session of its own, its inputs fed.

    Floating constants are fed, so that GE can fold nothing into an operator; whole
    numbers that it must know (shapes, axes, permutations) are constants.
    """

    mode = "nodewise: one operator a session run"

    def __init__(self, tf: Any, case: Case, config: Any, proof: OffloadProof,
                 threads: int) -> None:
        self._tf = tf
        self._case = case
        self._config = config
        self._proof = proof
        self._plan = xla_nodewise.plan(tf, case, threads)
        self._steps = {step.node.name: step for step in self._plan.steps}
        self._units: dict[tuple[object, ...], _Node] = {}

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Execute every operator once."""
        values: dict[str, Any] = dict(self._plan.known)
        for port in self._case.inputs:
            values[port.tensor] = tf_loader.to_tf_array(
                self._tf, inputs[port.spec.name], port.spec.dtype)
        found = node_walk.walk(
            self._plan.steps, values, [port.tensor for port in self._case.outputs],
            self._run_node)
        return {port.spec.name: tf_loader.from_tf_array(value)
                for port, value in zip(self._case.outputs, found)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return (f"{len(self._units)} operators, each compiled alone; hand-on ops and "
                "whole numbers known beforehand are not run on the device",)

    def _run_node(self, node: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        if node.name not in self._plan.compiled:
            return list(inputs[:1])
        key = (node.name, *[np.shape(value) for value in inputs])
        if key not in self._units:
            fixed = {place for place, name in enumerate(self._steps[node.name].sources)
                     if name in self._plan.known
                     and not is_floating(self._plan.known[name])}
            self._units[key] = _Node(self._tf, node, inputs, fixed, self._config)
        return self._units[key].run(inputs, self._proof)


class _Node:
    """One operator in a session."""

    def __init__(self, tf: Any, node: Any, inputs: Sequence[Any], fixed: set[int],
                 config: Any) -> None:
        v1 = tf.compat.v1
        graph = tf.Graph()
        self._places: dict[int, Any] = {}
        with graph.as_default():
            tensors = []
            for place, value in enumerate(inputs):
                if place in fixed:
                    tensors.append(tf.constant(value))
                    continue
                self._places[place] = v1.placeholder(
                    tf.as_dtype(np.asarray(value).dtype), np.shape(value),
                    name=f"in{place}")
                tensors.append(self._places[place])
            try:
                self._fetches = tf_nodes.trace_node(tf, node, tensors)
            except (ValueError, TypeError, KeyError, tf.errors.OpError) as error:
                raise BackendFailure(
                    FailureKind.BUILD, f"{xla_nodewise.place(node)} alone makes no "
                    f"graph: {tf_loader.first_line(error)}") from error
        self._expected = ((node.name, node.op),)
        self._unit = Unit(tf, graph, config, xla_nodewise.place(node))

    def run(self, inputs: Sequence[Any], proof: OffloadProof) -> list[np.ndarray]:
        """Execute once."""
        feed = {tensor: inputs[place] for place, tensor in self._places.items()}
        return self._unit.run(self._fetches, feed, proof, self._expected)


def failure(tf: Any, error: BaseException, what: str) -> BackendFailure:
    """Return the named failure of an exception of `Session.run`."""
    text = str(getattr(error, "message", "") or error)
    kind, words = ge_errors.explain(text)
    if kind is None:
        return tf_loader.failure_of(tf, error, what)
    return BackendFailure(kind, f"{what}: {words}")


def close_all() -> None:
    """Close every session, the last one first; a failure to close is GE's affair."""
    while _OPEN:
        session = _OPEN.pop()
        with contextlib.suppress(RuntimeError, ValueError):
            session.close()


def _import(tf: Any, graph_def: Any, steps: Sequence[node_walk.Step],
            places: Mapping[str, Any], fetches: Sequence[str]) -> list[Any]:
    """Put the needed part of a graph into the default graph; return the fetches."""
    needed = tf.compat.v1.GraphDef()
    needed.library.CopyFrom(graph_def.library)
    needed.versions.CopyFrom(graph_def.versions)
    needed.node.extend(_bare(step.node) for step in steps)
    used = {name for step in steps for name in step.sources}
    inner = [name for name in fetches if name not in places]
    found = dict(places)
    try:
        found.update(zip(inner, tf.graph_util.import_graph_def(
            needed, name="", return_elements=inner, input_map={
                name: tensor for name, tensor in places.items() if name in used})))
    except (ValueError, TypeError, KeyError, tf.errors.OpError) as error:
        raise BackendFailure(
            FailureKind.BUILD, f"TensorFlow {tf.__version__} does not take the graph: "
            f"{tf_loader.first_line(error)}") from error
    return [tf.identity(found[name]) if name in places else found[name]
            for name in fetches]


def _bare(node: Any) -> Any:
    """Return a copy of a NodeDef without placement and TensorFlow's own marks."""
    copy = type(node)()
    copy.CopyFrom(node)
    copy.device = ""
    for name in [name for name in copy.attr if name.startswith("_")
                 and name not in _KEPT_ATTRIBUTES]:
        del copy.attr[name]
    return copy
