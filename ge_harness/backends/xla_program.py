"""A graph as one XLA compilation, on each of the three stacks.

TensorFlow 2 compiles a `tf.function(jit_compile=True)`; 1.15 a cluster of
`xla.compile` inside a v1 Session. In both the fed tensors are parameters and every
constant of the graph stays a constant of the compilation, as it is for a user.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

from ge_harness.backends import node_walk, tf_loader
from ge_harness.backends.base import BackendFailure
from ge_harness.backends.static_values import strip
from ge_harness.records.run import FailureKind
from ge_harness.records.tensor import Case, Port


class Program:
    """Something that runs a graph; made ready before, executed many times.

    Attributes:
        route: how it executes, for the record.
        compilations: how many XLA compilations one signature needs, None if unknown.
        notes: sentences a reader must know.
    """

    route = ""
    compilations: int | None = None
    notes: tuple[str, ...] = ()

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Execute once: port name -> array in both directions (bfloat16 as bits)."""
        raise NotImplementedError

    def traces(self) -> int | None:
        """Return how often functions were traced so far, None where nothing counts."""
        return None


class WholeFunction(Program):
    """TensorFlow 2: the graph inside one jitted function."""

    compilations = 1

    def __init__(self, tf: Any, case: Case, *, grappler: bool) -> None:
        self.route = "tf.function(jit_compile=True)"
        self._tf = tf
        self._case = case
        self._count = 0
        body = graph_body(tf, case)

        def f(*args: Any) -> Any:
            self._count += 1
            return body(args)

        signature = [tensor_spec(tf, port) for port in case.inputs]
        jitted = tf.function(f, input_signature=signature, autograph=False,
                             jit_compile=True)
        self._call = jitted
        if grappler:
            self.route += " inside a tf.function with Grappler on"
            self.notes = (
                "Grappler is on, as in a user's script; TensorFlow hands the function "
                "that XLA compiles past it",)
            self._call = tf.function(lambda *args: jitted(*args), autograph=False,
                                     input_signature=signature)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Execute once."""
        tf = self._tf
        fed = feeds(tf, self._case, inputs)
        try:
            values = self._call(*[tf.constant(fed[port.tensor])
                                  for port in self._case.inputs])
        except (tf.errors.OpError, ValueError, TypeError, KeyError) as error:
            raise compile_failure(tf, error, "the graph") from error
        return collect(self._case, values)

    def traces(self) -> int | None:
        """Return how often the body was traced."""
        return self._count


class WholeCluster(Program):
    """TensorFlow 1.15: the graph as one `xla.compile` cluster in a v1 Session."""

    route = "v1 session, xla.compile"
    compilations = 1

    def __init__(self, tf: Any, case: Case, *, grappler: bool, threads: int) -> None:
        self._tf = tf
        self._case = case
        body = graph_body(tf, case)
        v1 = tf.compat.v1
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._placeholders = [
                v1.placeholder(port.spec.dtype, port.spec.shape, name=f"arg{index}")
                for index, port in enumerate(case.inputs)]
            self._outputs = cluster(tf, lambda *args: body(args), self._placeholders)
        self._session = v1.Session(
            graph=self._graph, config=session_config(tf, threads, grappler=grappler))
        if grappler:
            self.notes = ("Grappler is on, as in a user's script; it rewrites the "
                          "graph before XLA sees it",)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Execute once."""
        fed = feeds(self._tf, self._case, inputs)
        feed_dict = {placeholder: fed[port.tensor] for placeholder, port
                     in zip(self._placeholders, self._case.inputs)}
        try:
            values = self._session.run(self._outputs, feed_dict)
        except self._tf.errors.OpError as error:
            raise compile_failure(self._tf, error, "the graph") from error
        return collect(self._case, values)


def graph_body(tf: Any, case: Case) -> Callable[[Sequence[Any]], list[Any]]:
    """Return what puts the case's graph into the function or cluster being traced.

    Raises:
        BackendFailure: the graph cannot be read, or lacks a node it needs.
    """
    graph_def = tf_loader.read_graph_def(tf, case.graph_path)
    fetches = [node_walk.canonical(port.tensor) for port in case.outputs]
    fed = [node_walk.canonical(port.tensor) for port in case.inputs]
    steps = node_walk.plan(graph_def, fetches, fed)
    needed = tf.compat.v1.GraphDef()
    needed.library.CopyFrom(graph_def.library)
    needed.versions.CopyFrom(graph_def.versions)
    needed.node.extend(strip(step.node) for step in steps)
    used = {name for step in steps for name in step.sources}

    def body(args: Sequence[Any]) -> list[Any]:
        given = dict(zip(fed, args))
        inner = [name for name in fetches if name not in given]
        values = dict(given)
        if inner:
            values.update(zip(inner, tf.graph_util.import_graph_def(
                needed, name="",
                input_map={name: given[name] for name in fed if name in used},
                return_elements=inner)))
        return [tf.identity(values[name]) for name in fetches]

    return body


def cluster(tf: Any, body: Callable[..., list[Any]], args: Sequence[Any]) -> list[Any]:
    """Put `body` into an XLA cluster of the default graph of TensorFlow 1.15."""
    from tensorflow.python.compiler.xla import xla

    try:
        return list(xla.compile(body, list(args)))
    except (ValueError, TypeError, KeyError, NotImplementedError,
            tf.errors.OpError) as error:
        raise compile_failure(tf, error, "the graph") from error


def session_config(tf: Any, threads: int, *, grappler: bool) -> Any:
    """Return the configuration of a v1 Session, Grappler on or off."""
    config = tf_loader.session_config(tf, threads)
    if grappler:
        rewrite = config.graph_options.rewrite_options
        rewrite.disable_meta_optimizer = False
        rewrite.min_graph_nodes = -1
    return config


def pin_threads(tf: Any, threads: int) -> None:
    """Say to TensorFlow 1.15 what its sessions are given, so that it is recorded."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def tensor_spec(tf: Any, port: Port) -> Any:
    """Return the TensorSpec of a port."""
    return tf.TensorSpec(port.spec.shape, tf.as_dtype(port.spec.dtype))


def feeds(tf: Any, case: Case,
          inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return tensor name -> array as TensorFlow takes it."""
    return {port.tensor: tf_loader.to_tf_array(
        tf, inputs[port.spec.name], port.spec.dtype) for port in case.inputs}


def collect(case: Case, values: Sequence[Any]) -> dict[str, np.ndarray]:
    """Return port name -> array of a run's values."""
    return {port.spec.name: tf_loader.from_tf_array(value)
            for port, value in zip(case.outputs, values)}


def compile_failure(tf: Any, error: BaseException, what: str) -> BackendFailure:
    """Return the named failure for what XLA or TensorFlow raised.

    A check inside the program that failed is a failure of the run; what XLA cannot
    compile is a failure of the compilation.
    """
    text = tf_loader.first_line(error)
    if isinstance(error, tf.errors.ResourceExhaustedError):
        return BackendFailure(FailureKind.OUT_OF_MEMORY, f"XLA, {what}: {text}")
    return BackendFailure(FailureKind.COMPILE, f"XLA cannot compile {what}: {text}")
