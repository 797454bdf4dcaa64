"""A graph one node at a time, every node an XLA compilation of its own.

The base line that isolates passes and fusion: the same compiler with the same flags,
but no compilation holds more than one operator. Floating constants are arguments, so
that nothing can be folded into them; integers that a compilation must know (shapes,
axes, permutations) are computed beforehand and stay constants.

Source: reference/xla_cpu.md section 3.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from ge_harness.backends import node_walk, static_values, tf_loader, tf_nodes
from ge_harness.backends.base import BackendFailure
from ge_harness.backends.static_values import strip
from ge_harness.backends.xla_program import (
    Program,
    cluster,
    collect,
    compile_failure,
    feeds,
    session_config,
)
from ge_harness.records.run import FailureKind
from ge_harness.records.tensor import Case

# Ops that hand their input on; compiling them would say nothing.
_PASSED_ON = frozenset(("Identity", "Snapshot", "StopGradient", "PreventGradient"))


class NodePlan(NamedTuple):
    """What the walk over a graph needs.

    Attributes:
        steps: nodes in order, but for those whose outputs are all known and those
            without outputs (Assert, NoOp), which XLA drops from a whole graph too.
        known: "node:index" -> array of what is known without running.
        compiled: names of the nodes that XLA compiles.
    """

    steps: tuple[node_walk.Step, ...]
    known: Mapping[str, np.ndarray]
    compiled: tuple[str, ...]


def plan(tf: Any, case: Case, threads: int) -> NodePlan:
    """Read the graph and decide which nodes are compiled.

    Raises:
        BackendFailure: the graph cannot be read or be taken apart.
    """
    graph_def = tf_loader.read_graph_def(tf, case.graph_path)
    fetches = [port.tensor for port in case.outputs]
    steps = node_walk.plan(graph_def, fetches, [port.tensor for port in case.inputs])
    known = static_values.find(tf, steps, case.inputs, threads)
    left = tuple(step for step in steps if f"{step.node.name}:0" not in known
                 and tf_nodes.op_definition(step.node.op).output_arg)
    compiled = tuple(step.node.name for step in left
                     if step.node.op not in _PASSED_ON)
    return NodePlan(left, known, compiled)


class Nodewise(Program):
    """The walk; what a node's compilation is, is the stack's."""

    def __init__(self, tf: Any, case: Case, plan: NodePlan, plant: str = "") -> None:
        self._tf = tf
        self._case = case
        self._plan = plan
        self._plant = plant
        self.compilations = len(plan.compiled)
        if plant and plant not in plan.compiled:
            raise BackendFailure(
                FailureKind.BUILD, f"no compiled node {plant!r} to plant an error in; "
                f"there are {', '.join(sorted(plan.compiled))}")
        if plant:
            self.notes = (f"a wrong rounding was planted in node {plant!r}: a test",)

    def constant_inputs(self, step: node_walk.Step) -> dict[int, np.ndarray]:
        """Return the inputs of a node that stay constants: place -> array."""
        return {place: self._plan.known[name]
                for place, name in enumerate(step.sources)
                if name in self._plan.known
                and not static_values.is_floating(self._plan.known[name])}


class NodewiseFunctions(Nodewise):
    """TensorFlow 2: each node its own jitted function."""

    route = "nodewise: a tf.function(jit_compile=True) for each node"

    def __init__(self, tf: Any, case: Case, plan: NodePlan, plant: str = "") -> None:
        super().__init__(tf, case, plan, plant)
        self._count = 0
        self._functions = {
            step.node.name: self._function(step) for step in plan.steps
            if step.node.name in plan.compiled}
        self._constants = {
            name: tf.constant(value) for name, value in plan.known.items()}

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Execute every node once."""
        tf = self._tf
        values = dict(self._constants)
        values.update((name, tf.constant(array)) for name, array
                      in feeds(tf, self._case, inputs).items())
        fetches = [port.tensor for port in self._case.outputs]
        found = node_walk.walk(self._plan.steps, values, fetches, self._run_node)
        return collect(self._case, found)

    def traces(self) -> int | None:
        """Return how often bodies were traced."""
        return self._count

    def _run_node(self, node: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        function = self._functions.get(node.name)
        if function is None:
            return list(inputs[:1])
        tf = self._tf
        try:
            outputs = list(function(inputs))
        except (tf.errors.OpError, ValueError, TypeError, KeyError) as error:
            raise compile_failure(tf, error, place(node)) from error
        if node.name == self._plant:
            outputs[0] = tf.constant(planted(outputs[0].numpy()))
        return outputs

    def _function(self, step: node_walk.Step) -> Callable[[Sequence[Any]], Any]:
        tf = self._tf
        fixed = self.constant_inputs(step)
        moving = [place for place in range(len(step.sources)) if place not in fixed]
        node = strip(step.node)

        def f(*args: Any) -> Any:
            self._count += 1
            return one_node(tf, node, fixed, dict(zip(moving, args)))

        jitted = tf.function(f, autograph=False, jit_compile=True)
        return lambda inputs: jitted(*[inputs[place] for place in moving])


class NodewiseClusters(Nodewise):
    """TensorFlow 1.15: each node its own cluster, all in one Session."""

    route = "nodewise: an xla.compile cluster for each node in a v1 session"

    def __init__(self, tf: Any, case: Case, plan: NodePlan, plant: str = "",
                 threads: int = 2) -> None:
        super().__init__(tf, case, plan, plant)
        if plant:
            raise BackendFailure(FailureKind.UNAVAILABLE,
                                 "an error can be planted on TensorFlow 2 only")
        v1 = tf.compat.v1
        self._known_feeds: dict[Any, np.ndarray] = {}
        self._places: dict[str, Any] = {}
        self._graph = tf.Graph()
        with self._graph.as_default():
            values: dict[str, Any] = {}
            for port in case.inputs:
                values[port.tensor] = self._places[port.tensor] = v1.placeholder(
                    port.spec.dtype, port.spec.shape)
            for name, array in plan.known.items():
                values[name] = v1.placeholder(array.dtype, array.shape)
                self._known_feeds[values[name]] = array
            self._fetches = node_walk.walk(
                self._ordered(), values, [port.tensor for port in case.outputs],
                self._build_node)
        self._session = v1.Session(
            graph=self._graph, config=session_config(tf, threads, grappler=False))

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Execute every node once."""
        fed = feeds(self._tf, self._case, inputs)
        feed_dict = {self._places[name]: array for name, array in fed.items()}
        feed_dict.update(self._known_feeds)
        try:
            values = self._session.run(self._fetches, feed_dict)
        except self._tf.errors.OpError as error:
            raise compile_failure(self._tf, error, "a node") from error
        return collect(self._case, values)

    def _ordered(self) -> tuple[node_walk.Step, ...]:
        self._steps = {step.node.name: step for step in self._plan.steps}
        return self._plan.steps

    def _build_node(self, node: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        if node.name not in self._plan.compiled:
            return list(inputs[:1])
        fixed = self.constant_inputs(self._steps[node.name])
        moving = [place for place in range(len(inputs)) if place not in fixed]
        bare = strip(node)
        return cluster(
            self._tf,
            lambda *args: one_node(self._tf, bare, fixed, dict(zip(moving, args))),
            [inputs[place] for place in moving])


def one_node(tf: Any, node: Any, fixed: Mapping[int, np.ndarray],
             moving: Mapping[int, Any]) -> list[Any]:
    """Put one node into the function or cluster being traced.

    Args:
        tf: TensorFlow.
        node: the NodeDef.
        fixed: place of an input -> its constant value.
        moving: place of an input -> parameter of the function.
    """
    inputs = [tf.constant(fixed[place]) if place in fixed else moving[place]
              for place in range(len(fixed) + len(moving))]
    return tf_nodes.trace_node(tf, node, inputs)


def place(node: Any) -> str:
    """Return the node's description for messages."""
    return f"op {node.op}, node {node.name!r}"


def planted(array: np.ndarray) -> np.ndarray:
    """Return a copy with the last bit of one finite, nonzero element changed.

    Args:
        array: [...] floating point, bfloat16 as TensorFlow's own dtype.
    """
    storage = {2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize]
    wide = np.asarray(array).astype(np.float64).ravel()
    good = np.flatnonzero(np.isfinite(wide) & (wide != 0))
    bits = np.array(array, copy=True).view(storage).ravel()
    if good.size:
        bits[good[good.size // 2]] ^= storage(1)
    return bits.view(array.dtype).reshape(array.shape)
