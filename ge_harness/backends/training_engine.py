"""Executes steps of training: op by op, in a function, or in a session.

One engine a process. The state stays inside the engine; what goes in and out a step is
a batch, a learning rate and two numbers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Tuple

import numpy as np

from ge_harness.backends import (
    ge,
    ge_config,
    ge_request,
    ge_route,
    ge_session,
    tf_loader,
    training_model,
    xla_program,
)
from ge_harness.backends.base import BackendFailure
from ge_harness.backends.ge_offload import OffloadProof
from ge_harness.backends.training_graph import Watch
from ge_harness.records.run import FailureKind, RunRequest
from ge_harness.records.training import TrainingConfig
from ge_harness.switches import grappler_options

# Ops of a session that no compiler is given.
_AROUND = frozenset((
    "Const", "Placeholder", "VarHandleOp", "ReadVariableOp", "AssignVariableOp",
    "VarIsInitializedOp", "NoOp", "Identity", "IdentityN", "Shape"))

Numbers = Tuple[np.ndarray, np.ndarray]


class Engine:
    """Holds the state of a training run and moves it on.

    Attributes:
        route: how it executes, for the record.
        sent: options as the compiler got them.
    """

    route = ""
    sent: tuple[tuple[str, str], ...] = ()

    def load(self, arrays: list[np.ndarray]) -> None:
        """Take a state over, in the order of `State.flat`."""
        raise NotImplementedError

    def arrays(self) -> list[np.ndarray]:
        """Return the state, in the order of `State.flat`."""
        raise NotImplementedError

    def step(self, tokens: np.ndarray, rate: np.float32) -> Numbers:
        """Do one step and return (loss, norm of the gradient), [] float32 both.

        Args:
            tokens: [batch, sequence + 1] int32.
            rate: from `training_model.rate`.

        Raises:
            BackendFailure: the compiler or an op failed.
        """
        raise NotImplementedError

    def evaluate(self, tokens: np.ndarray) -> np.ndarray:
        """Return the loss of a batch, [] float32, from [batch, sequence + 1] int32."""
        raise NotImplementedError

    def notes(self) -> tuple[str, ...]:
        """Return sentences a reader must know, once steps were done."""
        return ()


def make(request: RunRequest, config: TrainingConfig, job_dir: Path) -> Engine:
    """Return the engine of a backend.

    Raises:
        BackendFailure: it cannot train here.
    """
    if request.backend == "ge":
        return GeEngine(request, config, job_dir)
    tf = tf_loader.load()
    graphs = Watch(job_dir / "dumps" / "graphs.json")
    functions = tf_loader.major_minor(tf)[0] >= 2
    if request.backend == "eager":
        tf_loader.start(tf, request.threads)
        return EagerEngine(tf, config)
    if request.backend not in ("xla", "grappler"):
        raise BackendFailure(FailureKind.UNAVAILABLE,
                             f"{request.backend} does not train")
    if functions:
        tf_loader.start(tf, request.threads)
        return FunctionEngine(tf, request, config, graphs)
    xla_program.pin_threads(tf, request.threads)
    return SessionEngine(tf, request, config, graphs)


class EagerEngine(Engine):
    """Every op on its own, as Python reaches it."""

    route = "eager, op by op, gradients by tf.GradientTape"

    def __init__(self, tf: Any, config: TrainingConfig) -> None:
        self._tf = tf
        self._config = config
        self._state = training_model.State([], [], [])
        self.sent = (("grappler", "off"), ("jit", "off"),
                     ("onednn", tf_loader.onednn(tf)))

    def load(self, arrays: list[np.ndarray]) -> None:
        """Take a state over."""
        self._state = training_model.unflatten(
            [self._tf.constant(array) for array in arrays])

    def arrays(self) -> list[np.ndarray]:
        """Return the state."""
        return [np.array(tensor.numpy()) for tensor in self._state.flat]

    def step(self, tokens: np.ndarray, rate: np.float32) -> Numbers:
        """Do one step."""
        tf = self._tf
        try:
            found = training_model.step(
                tf, self._config, self._state, tf.constant(tokens),
                tf.constant(np.asarray(rate)))
        except (tf.errors.OpError, ValueError, TypeError) as error:
            raise tf_loader.failure_of(tf, error, "a step of training") from error
        self._state = found[0]
        return np.asarray(found[1].numpy()), np.asarray(found[2].numpy())

    def evaluate(self, tokens: np.ndarray) -> np.ndarray:
        """Return the loss of a batch."""
        return np.asarray(training_model.evaluate(
            self._tf, self._config, self._state.weights,
            self._tf.constant(tokens)).numpy())


class FunctionEngine(EagerEngine):
    """TensorFlow 2: the step as one `tf.function`, for XLA or for Grappler."""

    def __init__(self, tf: Any, request: RunRequest, config: TrainingConfig,
                 graphs: Watch) -> None:
        super().__init__(tf, config)
        jit = request.backend == "xla"
        self.route = f"tf.function({'jit_compile=True' if jit else ''})"
        self._watch = None if jit else graphs
        if jit:
            self.sent = (("XLA_FLAGS", os.environ.get("XLA_FLAGS", "")),
                         ("grappler", "off"))
        else:
            self.sent = _grappler_function(tf, request)

        def train(rate: Any, tokens: Any, *flat: Any) -> Any:
            state, loss, norm = training_model.step(
                tf, config, training_model.unflatten(flat), tokens, rate)
            return (loss, norm, *[tf.identity(each) for each in state.flat])

        def judge(tokens: Any, *weights: Any) -> Any:
            return training_model.evaluate(tf, config, list(weights), tokens)

        self._train = tf.function(train, autograph=False, jit_compile=jit)
        self._judge = tf.function(judge, autograph=False, jit_compile=jit)

    def step(self, tokens: np.ndarray, rate: np.float32) -> Numbers:
        """Do one step; the first one compiles."""
        tf = self._tf
        given = (tf.constant(np.asarray(rate)), tf.constant(tokens), *self._state.flat)
        try:
            if self._watch is not None and not self._watch.done:
                found = self._watch.function(lambda: self._train(*given))
            else:
                found = self._train(*given)
        except (tf.errors.OpError, ValueError, TypeError) as error:
            raise xla_program.compile_failure(tf, error, "the step of training"
                                              ) from error
        self._state = training_model.unflatten(found[2:])
        return np.asarray(found[0].numpy()), np.asarray(found[1].numpy())

    def evaluate(self, tokens: np.ndarray) -> np.ndarray:
        """Return the loss of a batch."""
        return np.asarray(self._judge(
            self._tf.constant(tokens), *self._state.weights).numpy())


def _grappler_function(tf: Any, request: RunRequest) -> tuple[tuple[str, str], ...]:
    options = grappler_options.options(request.setting, str(tf.__version__))
    tf.config.optimizer.set_experimental_options(
        {"disable_meta_optimizer": False, "min_graph_nodes": -1, **options})
    return (("grappler", "on"), *sorted(
        (name, "ON" if value else "OFF") for name, value in options.items()
        if value is not None))


class SessionEngine(Engine):
    """A v1 session that holds the state in variables: TensorFlow 1.15, and GE."""

    def __init__(self, tf: Any, request: RunRequest, config: TrainingConfig,
                 graphs: Watch) -> None:
        self._tf = tf
        self._request = request
        self._config = config
        self._watch = graphs
        self._build()
        self._session = self._open()

    def load(self, arrays: list[np.ndarray]) -> None:
        """Take a state over."""
        for place, starter, array in zip(self._places, self._starters, arrays):
            self._session.run(starter, {place: array})

    def arrays(self) -> list[np.ndarray]:
        """Return the state."""
        return [np.array(self._session.run(read)) for read in self._reads]

    def step(self, tokens: np.ndarray, rate: np.float32) -> Numbers:
        """Do one step; the first one compiles."""
        found = self._run([self._loss, self._norm, self._update],
                          {self._tokens: tokens, self._rate: np.asarray(rate)})
        return np.asarray(found[0]), np.asarray(found[1])

    def evaluate(self, tokens: np.ndarray) -> np.ndarray:
        """Return the loss of a batch."""
        return np.asarray(self._run(self._judged, {self._tokens: tokens}))

    def _run(self, fetches: Any, feed: Any) -> Any:
        first = isinstance(fetches, list) and not self._watch.done
        options = metadata = None
        if first:
            options = self._tf.compat.v1.RunOptions(output_partition_graphs=True)
            metadata = self._tf.compat.v1.RunMetadata()
        try:
            found = self._session.run(fetches, feed, options=options,
                                      run_metadata=metadata)
        except (self._tf.errors.OpError, RuntimeError, ValueError) as error:
            raise self._failure(error) from error
        if first:
            self._watched(metadata, fetches)
        return found

    def _failure(self, error: BaseException) -> BackendFailure:
        return xla_program.compile_failure(self._tf, error, "the step of training")

    def _watched(self, metadata: Any, fetches: list[Any]) -> None:
        kept = [each.op.name if hasattr(each, "op") else each.name for each in fetches]
        self._watch.session(self._tf, self._graph, kept, metadata)

    def _open(self) -> Any:
        grappler = self._request.backend == "grappler"
        config = xla_program.session_config(
            self._tf, self._request.threads, grappler=grappler)
        self.route = "v1 session, xla.compile"
        self.sent = (("XLA_FLAGS", os.environ.get("XLA_FLAGS", "")),
                     ("grappler", "off"))
        if grappler:
            self.route = "v1 session"
            options = grappler_options.options(
                self._request.setting, str(self._tf.__version__))
            self.sent = (("grappler", "on"), *_set_rewrites(
                config.graph_options.rewrite_options, options))
        return self._tf.compat.v1.Session(graph=self._graph, config=config)

    def _build(self) -> None:
        tf, v1 = self._tf, self._tf.compat.v1
        self._graph = tf.Graph()
        first = training_model.initial(self._config)
        with self._graph.as_default():
            self._tokens = v1.placeholder(
                "int32", [self._config.batch, self._config.sequence + 1], "tokens")
            self._rate = v1.placeholder("float32", [], "rate")
            self._places = [v1.placeholder("float32", each.shape) for each in first]
            kept = [v1.Variable(place, use_resource=True, trainable=False,
                                name=f"state{number}")
                    for number, place in enumerate(self._places)]
            self._starters = [each.initializer for each in kept]
            self._reads = [each.read_value() for each in kept]
            found = self._compiled(self._train, [
                self._rate, self._tokens, *self._reads])
            self._loss, self._norm = found[0], found[1]
            self._update = tf.group(*[
                each.assign(value) for each, value in zip(kept, found[2:])])
            weights = self._reads[:len(self._reads) // 3]
            self._judged = self._compiled(self._judge, [self._tokens, *weights])[0]

    def _compiled(self, body: Any, inputs: list[Any]) -> list[Any]:
        if self._request.backend == "xla":
            return xla_program.cluster(self._tf, body, inputs)
        return list(body(*inputs))

    def _train(self, rate: Any, tokens: Any, *flat: Any) -> list[Any]:
        state, loss, norm = training_model.step(
            self._tf, self._config, training_model.unflatten(flat), tokens, rate)
        return [self._tf.identity(each) for each in (loss, norm, *state.flat)]

    def _judge(self, tokens: Any, *weights: Any) -> list[Any]:
        return [self._tf.identity(training_model.evaluate(
            self._tf, self._config, list(weights), tokens))]


def _set_rewrites(rewrite: Any, options: Any) -> list[tuple[str, str]]:
    """Put Grappler's options into a RewriterConfig and return them in words."""
    words = []
    for name, value in sorted(options.items()):
        if value is None:
            continue
        words.append((name, "ON" if value else "OFF"))
        if name == "disable_model_pruning":
            rewrite.disable_model_pruning = value
        elif name == "memory_optimization":
            rewrite.memory_optimization = (
                rewrite.DEFAULT_MEM_OPT if value else rewrite.NO_MEM_OPT)
        else:
            setattr(rewrite, name, rewrite.ON if value else rewrite.OFF)
    return words


class GeEngine(SessionEngine):
    """The step in a session of GE, through the adapter of TensorFlow.

    Not run on hardware yet: built on the public source, tested on the stand-in.
    """

    def __init__(self, request: RunRequest, config: TrainingConfig, job_dir: Path
                 ) -> None:
        self._folder = ge_request.dumps_dir(job_dir)
        self._plan = ge_request.plan_of(
            request, job_dir, ge_route.route_of(tf_loader.installed()))
        ge.prepare_process(self._plan, self._folder)
        tf = tf_loader.load()
        ge_route.start_adapter(tf, self._plan.route, job_dir / "log.txt")
        self._proof = OffloadProof(self._folder)
        super().__init__(tf, request, config, Watch(self._folder / "graphs.json"))
        self.route = f"{ge_route.SPOKEN[self._plan.route]}, state in variables"
        self.sent = ge_request.relative(self._plan.sent, self._folder)

    def notes(self) -> tuple[str, ...]:
        """Return how the offload was proved, and what the plan says."""
        return (*self._proof.notes(), *self._plan.warnings, *self._plan.notes)

    def _open(self) -> Any:
        return self._tf.compat.v1.Session(graph=self._graph, config=(
            ge_config.session_config(self._tf, self._plan, self._request.threads)))

    def _failure(self, error: BaseException) -> BackendFailure:
        return ge_session.failure(self._tf, error, "the step of training")

    def _watched(self, metadata: Any, fetches: list[Any]) -> None:
        expected = [(op.name, op.type) for op in self._graph.get_operations()
                    if op.type not in _AROUND]
        self._proof.check("the step of training", metadata, expected)
        super()._watched(metadata, fetches)
