"""What a worker does for each kind of job; failures are left to child.py."""

from __future__ import annotations

import sys
import time
from typing import Callable, Mapping

import numpy as np

from ge_harness.backends.base import BackendFailure, Compiled, Evidence
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import Environment, FailureKind, RunRequest, RunSuccess
from ge_harness.worker import arrays, backend_lookup, environment
from ge_harness.worker.job_folder import Job, JobFolder


class Phase:
    """How far a job has come: it names the failure of an unexpected exception.

    Attributes:
        kind: the failure that an exception would be now.
        doing: what is being done, for the message.
        salvage: makes a result of what is there although a later step raised, given a
            note that says so; None before every output is stored.
    """

    def __init__(self) -> None:
        self.kind = FailureKind.BUILD
        self.doing = "starting"
        self.salvage: Callable[[str], RunSuccess] | None = None

    def enter(self, kind: FailureKind, doing: str) -> None:
        """Say what is being done from now on."""
        self.kind, self.doing = kind, doing


def run(folder: JobFolder, job: Job, phase: Phase) -> RunSuccess:
    """Compile the case, execute every set `repeat` times and store what came out.

    Raises:
        BackendFailure: the backend gave up, or gave something that is no output.
    """
    started = time.monotonic()
    request = _request(job)
    phase.enter(FailureKind.UNAVAILABLE, f"loading backend {request.backend!r}")
    backend = backend_lookup.load(request.backend)
    phase.enter(FailureKind.COMPILE, "compiling")
    compiled = backend.compile(request, folder.path)
    phase.enter(FailureKind.RUN, "running")
    executed = _Executions(folder, request)
    try:
        executed.all_sets(compiled, phase)
    finally:
        executed.close()
    phase.enter(FailureKind.RUN, "reading the compiler's evidence")

    def success(evidence: Evidence) -> RunSuccess:
        return _success(folder, job, executed, evidence,
                        duration_s=time.monotonic() - started)

    phase.salvage = lambda note: success(Evidence(notes=(note,)))
    return success(compiled.evidence())


def _success(folder: JobFolder, job: Job, executed: _Executions, evidence: Evidence, *,
             duration_s: float) -> RunSuccess:
    request = _request(job)
    dumped = folder.dumps_dir.is_dir() and any(folder.dumps_dir.iterdir())
    return RunSuccess(
        request=request,
        output_paths=tuple(str(path) for path in folder.output_paths(request)),
        output_hashes=tuple(executed.hashes), repeatable=not executed.differing,
        dump_dir=str(folder.dumps_dir) if dumped else "", passes=evidence.passes,
        effects=evidence.effects, sent=evidence.sent,
        artifact_hashes=evidence.artifact_hashes,
        duration_s=duration_s,
        environment=environment.describe(
            job.removed, pools(request.threads), evidence.route),
        notes=evidence.notes + tuple(executed.differing))


class _Executions:
    """The executions of one request: outputs to disk, hashes, first differences."""

    def __init__(self, folder: JobFolder, request: RunRequest) -> None:
        self._folder = folder
        self._case = request.case
        self._repeat = max(1, request.repeat)
        self._inputs = folder.input_paths(request)
        self._files = [arrays.ArrayFile(path, stacked=self._case.set_count > 1)
                       for path in folder.output_paths(request)]
        self.hashes: list[tuple[str, ...]] = []
        self.differing: list[str] = []

    def all_sets(self, compiled: Compiled, phase: Phase) -> None:
        """Execute every set `repeat` times."""
        for index in range(self._case.set_count):
            phase.enter(FailureKind.RUN, f"running set {index}")
            inputs = arrays.load_set(
                self._inputs, self._case.inputs, self._case.set_count, index)
            first: tuple[str, ...] = ()
            for repeat in range(self._repeat):
                outputs = self._outputs(
                    compiled.execute(inputs), compiled.float64_outputs)
                hashes = tuple(arrays.digest(array) for array in outputs)
                self.hashes.append(hashes)
                if repeat == 0:
                    first = hashes
                    for file, array in zip(self._files, outputs):
                        file.append(array)
                elif hashes != first and not self.differing:
                    self._keep(index, repeat, outputs, first)

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    def _outputs(self, found: Mapping[str, np.ndarray],
                 wide: bool) -> list[np.ndarray]:
        missing = [port.spec.name for port in self._case.outputs
                   if port.spec.name not in found]
        if missing:
            raise BackendFailure(
                FailureKind.GARBAGE, f"no output {missing[0]!r} came back")
        return [arrays.checked(port, found[port.spec.name], wide=wide)
                for port in self._case.outputs]

    def _keep(self, index: int, repeat: int, outputs: list[np.ndarray],
              first: tuple[str, ...]) -> None:
        """Store the first outputs that differ from those of repeat 0 of their set."""
        where = self._folder.differing_dir / f"set{index}_repeat{repeat}"
        named = {}
        for number, (port, array) in enumerate(zip(self._case.outputs, outputs)):
            path = self._folder.array_path(where, port.spec.name, number)
            if arrays.digest(array) != first[number]:
                named[path.name] = array
        arrays.save_all(where, named)
        names = ", ".join(sorted(named))
        self.differing.append(
            f"not deterministic: set {index}, repeat {repeat} differs from repeat 0; "
            f"kept in outputs/differing/{where.name}: {names}")


def pools(threads: int) -> tuple[tuple[str, int], ...]:
    """Return (pool, size) pairs: what was asked and what TensorFlow says it has."""
    own: tuple[tuple[str, int], ...] = (("environment", threads),)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not hasattr(tensorflow, "config"):
        return own
    from ge_harness.backends import tf_loader

    return own + tf_loader.pools(tensorflow)


def build(folder: JobFolder, job: Job, phase: Phase) -> BuiltCase:
    """Make a subgraph into a frozen GraphDef and its ports.

    Raises:
        GraphError: the subgraph cannot be found, read or built.
        UnavailableError: TensorFlow is not here.
    """
    from ge_harness.backends import tf_loader
    from ge_harness.worker import built
    from graphs.build import build_graph
    from graphs.source import resolve

    phase.enter(FailureKind.BUILD, f"building {job.source!r}")
    source = resolve(job.source)
    tensorflow = tf_loader.load()
    graph = build_graph(
        tf_loader.compat_v1(tensorflow), source, built.options_from(job.options))
    folder.graph_path.write_bytes(graph.graph_def)
    return built.record(graph, job.source, str(folder.graph_path), environment.describe(
        job.removed, pools(job.threads), "build"))


def probe(folder: JobFolder, job: Job, phase: Phase) -> Environment:
    """Import TensorFlow and say what is here.

    Raises:
        UnavailableError: TensorFlow is not here or does not import.
    """
    from ge_harness.backends import tf_loader

    phase.enter(FailureKind.UNAVAILABLE, "importing TensorFlow")
    tf_loader.load()
    return environment.describe(job.removed, (), "probe")


def _request(job: Job) -> RunRequest:
    if job.request is None:
        raise BackendFailure(FailureKind.BUILD, "the job has no request")
    return job.request
