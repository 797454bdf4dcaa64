"""A graph in graph mode, and the graphs before and after Grappler of a run."""

from __future__ import annotations

import contextlib
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from ge_harness.backends import tf_loader
from ge_harness.backends.base import BackendFailure
from ge_harness.backends.xla_program import (
    collect,
    feeds,
    graph_body,
    pin_threads,
    tensor_spec,
)
from ge_harness.records.run import RunRequest

Options = Mapping[str, "bool | None"]


class Ran(NamedTuple):
    """One run.

    Attributes:
        outputs: port name -> array (bfloat16 as bits).
        before: NodeDefs as Grappler got them, () where nothing was watched.
        after: NodeDefs as Grappler left them.
        executed: NodeDefs that were executed: placement and kernel choice follow
            Grappler.
    """

    outputs: dict[str, np.ndarray]
    before: Sequence[Any] = ()
    after: Sequence[Any] = ()
    executed: Sequence[Any] = ()


class GraphProgram:
    """A graph that can be run under different optimizer options.

    Attributes:
        route: how it executes, for the record.
    """

    route = ""

    def run(self, inputs: Mapping[str, np.ndarray], options: Options, *,
            watch: bool) -> Ran:
        """Run once.

        Args:
            inputs: port name -> array.
            options: optimizer options, None for TensorFlow's default.
            watch: keep the graphs.

        Raises:
            BackendFailure: an op raised.
        """
        raise NotImplementedError


def build(tf: Any, request: RunRequest) -> GraphProgram:
    """Return the stack's way of running a graph.

    Raises:
        BackendFailure: the graph cannot be read or lacks a node.
    """
    if tf_loader.major_minor(tf)[0] >= 2:
        tf_loader.start(tf, request.threads)
        return FunctionProgram(tf, request)
    pin_threads(tf, request.threads)
    return SessionProgram(tf, request)


def run_failure(tf: Any, error: BaseException) -> BackendFailure:
    """Return the named failure of a graph, with the line that tells something.

    TensorFlow 2.21 begins with "Graph execution error:" and a trace of Python.
    """
    failure = tf_loader.failure_of(tf, error, "graph mode")
    lines = [line.strip() for line in str(error).splitlines()]
    if not lines or "Graph execution error" not in lines[0]:
        return failure
    telling = [line for line in lines[1:] if line and not line.startswith((
        "Detected at", "<stack", "File ", "[["))]
    return BackendFailure(failure.kind, f"graph mode: {(telling or lines)[0]}")


class FunctionProgram(GraphProgram):
    """TensorFlow 2: a `tf.function`, traced anew for every set of options."""

    route = "tf.function"

    def __init__(self, tf: Any, request: RunRequest) -> None:
        self._tf = tf
        self._case = request.case
        self._body = graph_body(tf, request.case)
        self._functions: dict[tuple[tuple[str, object], ...], Any] = {}

    def run(self, inputs: Mapping[str, np.ndarray], options: Options, *,
            watch: bool) -> Ran:
        """Run once."""
        tf = self._tf
        from tensorflow.python.eager import context

        tf.config.optimizer.set_experimental_options(
            {"disable_meta_optimizer": False, "min_graph_nodes": -1, **options})
        fed = feeds(tf, self._case, inputs)
        given = [tf.constant(fed[port.tensor]) for port in self._case.inputs]
        if watch:
            context.context().enable_run_metadata()
        try:
            outputs = collect(self._case, self._function(options)(*given))
        except (tf.errors.OpError, ValueError, TypeError, KeyError) as error:
            raise run_failure(tf, error) from error
        finally:
            graphs = _function_graphs(context.context()) if watch else ()
        if not graphs:
            return Ran(outputs)
        main = graphs[0]
        return Ran(outputs, tuple(main.pre_optimization_graph.node),
                   tuple(main.post_optimization_graph.node),
                   tuple(node for part in main.partition_graphs for node in part.node))

    def _function(self, options: Options) -> Any:
        key = tuple(sorted(options.items()))
        if key not in self._functions:
            def f(*args: Any) -> Any:
                return self._body(args)

            self._functions[key] = self._tf.function(
                f, autograph=False, input_signature=[
                    tensor_spec(self._tf, port) for port in self._case.inputs])
        return self._functions[key]


def _function_graphs(eager_context: Any) -> tuple[Any, ...]:
    metadata = eager_context.export_run_metadata()
    eager_context.disable_run_metadata()
    return tuple(metadata.function_graphs)


class SessionProgram(GraphProgram):
    """TensorFlow 1.15: a v1 Session for every set of options."""

    route = "v1 session"

    def __init__(self, tf: Any, request: RunRequest) -> None:
        self._tf = tf
        self._case = request.case
        self._threads = request.threads
        v1 = tf.compat.v1
        body = graph_body(tf, request.case)
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._placeholders = [
                v1.placeholder(port.spec.dtype, port.spec.shape, name=f"arg{index}")
                for index, port in enumerate(request.case.inputs)]
            try:
                self._outputs = body(self._placeholders)
            except (ValueError, TypeError, KeyError, tf.errors.OpError) as error:
                raise run_failure(tf, error) from error
        self._sessions: dict[tuple[tuple[str, object], ...], Any] = {}
        self._before: Sequence[Any] = ()

    def run(self, inputs: Mapping[str, np.ndarray], options: Options, *,
            watch: bool) -> Ran:
        """Run once."""
        fed = feeds(self._tf, self._case, inputs)
        feed_dict = {placeholder: fed[port.tensor] for placeholder, port
                     in zip(self._placeholders, self._case.inputs)}
        if not watch:
            return Ran(self._run(self._session(options), feed_dict, None))
        if not self._before:
            # What the session makes of the graph without Grappler: pruned and placed.
            off = self._tf.compat.v1.RunMetadata()
            with contextlib.suppress(BackendFailure):  # what Grappler may strip
                self._run(self._session({}, grappler=False), feed_dict, off)
                self._before = _partitions(off)
        metadata = self._tf.compat.v1.RunMetadata()
        outputs = self._run(self._session(options), feed_dict, metadata)
        after = _partitions(metadata)
        return Ran(outputs, self._before, after, after)

    def _run(self, session: Any, feed_dict: Mapping[Any, Any],
             metadata: Any) -> dict[str, np.ndarray]:
        run_options = None
        if metadata is not None:
            run_options = self._tf.compat.v1.RunOptions(output_partition_graphs=True)
        try:
            values = session.run(self._outputs, feed_dict, options=run_options,
                                 run_metadata=metadata)
        except self._tf.errors.OpError as error:
            raise run_failure(self._tf, error) from error
        return collect(self._case, values)

    def _session(self, options: Options, *, grappler: bool = True) -> Any:
        key = (("grappler", grappler), *sorted(options.items()))
        if key not in self._sessions:
            config = tf_loader.session_config(self._tf, self._threads)
            rewrite = config.graph_options.rewrite_options
            if grappler:
                _set_options(rewrite, options)
            self._sessions[key] = self._tf.compat.v1.Session(
                graph=self._graph, config=config)
        return self._sessions[key]


def _set_options(rewrite: Any, options: Options) -> None:
    """Put options into a RewriterConfig."""
    rewrite.disable_meta_optimizer = False
    rewrite.min_graph_nodes = -1
    for name, value in options.items():
        if value is None:
            continue
        if name == "disable_model_pruning":
            rewrite.disable_model_pruning = value
        elif name == "memory_optimization":
            rewrite.memory_optimization = (
                rewrite.DEFAULT_MEM_OPT if value else rewrite.NO_MEM_OPT)
        else:
            setattr(rewrite, name, rewrite.ON if value else rewrite.OFF)


def _partitions(metadata: Any) -> tuple[Any, ...]:
    return tuple(node for graph in metadata.partition_graphs for node in graph.node)
