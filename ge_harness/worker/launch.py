"""The parent's side of the workers: requests in, outcomes out.

One process at a time, so that runs do not disturb one another. A run is forked from a
warm worker where its backend allows it, else it gets a fresh process; requests of one
configuration whose backend has no warm worker share a fresh process, and what is not
finished when that dies is done again one by one.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Callable, Sequence

from ge_harness.backends.base import Backend, BackendFailure
from ge_harness.errors import SwitchError, UnavailableError
from ge_harness.records.job import BuiltCase, JobFailure
from ge_harness.records.run import Environment, FailureKind, RunFailure, RunRequest
from ge_harness.worker import (
    backend_lookup,
    built,
    environment,
    job_folder,
    outcomes,
    supervise,
)
from ge_harness.worker.job_folder import BUILD, PROBE, RUN, Job
from ge_harness.worker.outcomes import Result
from ge_harness.worker.supervise import Task
from graphs.built import BuildOptions
from graphs.source import resolve

OnProgress = Callable[[int, int, Result], None]

_BUILD_THREADS = 2
HASH_SEED = "hash_seed"
"""Option of a request: PYTHONHASHSEED of its worker, 0 where it has none."""


def launch(requests: Sequence[RunRequest], job_root: Path, *,
           on_progress: OnProgress | None = None) -> list[Result]:
    """Do every run and return what came of each, in the order of the requests.

    Ctrl-C ends the workers and raises KeyboardInterrupt; what `on_progress` was given
    by then, and every outcome.json under `job_root`, stays.

    Args:
        requests: the runs.
        job_root: each run gets a new folder in it.
        on_progress: called after each run with (done, total, result).

    Raises:
        UsageError: nothing can be written in `job_root`.
        UnknownNameError: a request names no backend.
    """
    root = Path(os.path.abspath(job_root))  # noqa: PTH100 - keeps the user's links
    job_folder.writable(root)
    return _Launch(root, requests, on_progress).all_runs()


def build(source: str, options: BuildOptions, job_root: Path,
          timeout_s: float = 300.0) -> BuiltCase | JobFailure:
    """Build a subgraph into a GraphDef on disk, in a worker.

    Args:
        source: what the user calls the subgraph: a name, a file or a folder.
        options: how to build it.
        job_root: the job gets a new folder in it.
        timeout_s: limit on the worker's wall time, in seconds.

    Raises:
        GraphError: there is no such subgraph.
        UsageError: nothing can be written in `job_root`.
    """
    found = resolve(source)
    text = os.path.abspath(found.path) if found.path else found.name  # noqa: PTH100
    outcome = _single(Job(BUILD, source=text, options=built.options_to(options),
                          threads=_BUILD_THREADS), job_root, timeout_s)
    if isinstance(outcome, BuiltCase):
        return dataclasses.replace(outcome, source=source)
    return outcomes.job_failure(outcome)


def probe_stack(job_root: Path, timeout_s: float = 120.0) -> Environment | JobFailure:
    """Import TensorFlow in a worker and return what is there.

    Raises:
        UsageError: nothing can be written in `job_root`.
    """
    outcome = _single(Job(PROBE, threads=_BUILD_THREADS), job_root, timeout_s)
    return (outcome if isinstance(outcome, Environment)
            else outcomes.job_failure(outcome))


def _single(job: Job, job_root: Path, timeout_s: float) -> job_folder.Outcome:
    """Do one job that is not a run."""
    root = Path(os.path.abspath(job_root))  # noqa: PTH100 - keeps the user's links
    job_folder.writable(root)
    variables = environment.prepare(os.environ, {}, job.threads)
    job = dataclasses.replace(job, removed=variables.removed)
    try:
        folder = job_folder.create(root, job.kind)
        folder.write_job(job)
    except OSError as error:
        kind, text = outcomes.of_os_error(error)
        return JobFailure(kind, text, None, "")
    task = Task(folder, variables, timeout_s, warm=True)
    return outcomes.read(task, supervise.do([task])[0])


class _Launch:
    """The runs of one call: prepared, done, reported."""

    def __init__(self, root: Path, requests: Sequence[RunRequest],
                 on_progress: OnProgress | None) -> None:
        self._root = root
        self._requests = requests
        self._on_progress = on_progress
        self._results: dict[int, Result] = {}
        self._backends = {name: _backend(name)
                          for name in sorted({r.backend for r in requests})}

    def all_runs(self) -> list[Result]:
        """Do every run and return the results in order."""
        waiting = []
        for index in range(len(self._requests)):
            task = self._prepare(index)
            if task is not None:
                waiting.append((index, task))
        while waiting:
            first = waiting[0][1]
            group = [pair for pair in waiting
                     if pair[1] is first or _may_share(first, pair[1])]
            waiting = [pair for pair in waiting if pair not in group]
            self._do(group)
        return [self._results[index] for index in range(len(self._requests))]

    def _do(self, group: Sequence[tuple[int, Task]]) -> None:
        """Do the runs of one process; after its death the unfinished one by one."""
        ends = supervise.do([task for _, task in group])
        for (index, task), end in zip(group, ends):
            again = None
            if end.unfinished and len(group) > 1 and not end.end.timed_out:
                again = self._prepare(index)
            if again is None:
                self._keep(index, outcomes.of_run(task, end))
            else:
                self._keep(index, outcomes.of_run(again, supervise.do([again])[0]))

    def _prepare(self, index: int) -> Task | None:
        """Make the folder of a run, or record why it cannot begin."""
        request = self._requests[index]
        try:
            return self._task(index, request)
        except BackendFailure as error:
            self._never(index, error.kind, str(error))
        except SwitchError as error:
            self._never(index, FailureKind.INVALID_SWITCH, str(error))
        except OSError as error:
            self._never(index, *outcomes.of_os_error(error))
        return None

    def _task(self, index: int, request: RunRequest) -> Task:
        """Make the folder of a run.

        Raises:
            BackendFailure: the backend is not usable here.
            SwitchError: a switch cannot be sent.
            OSError: the folder cannot be written, or an input cannot be read.
        """
        backend = self._backends[request.backend]
        if isinstance(backend, UnavailableError):
            raise BackendFailure(FailureKind.UNAVAILABLE, str(backend))
        probe = backend.probe()
        if not probe.usable:
            raise BackendFailure(FailureKind.UNAVAILABLE, probe.reason)
        folder = job_folder.create(
            self._root, f"{index:03d}-{request.backend}-{request.mode.value}")
        extra = dict(backend.environment(request, folder.path))
        hash_seed = dict(request.options).get(HASH_SEED, "")
        if hash_seed:
            extra["PYTHONHASHSEED"] = hash_seed
        variables = environment.prepare(os.environ, extra, request.threads)
        folder.write_job(Job(RUN, variables.removed, request))
        own_path = any(str(folder.path) in value for name, value in extra.items()
                       if name not in environment.LATE)
        warm = (backend.warm and not request.cold and not own_path
                and backend_lookup.needs_tensorflow(request.backend))
        return Task(folder, variables, request.timeout_s, warm, request,
                    shared=not backend.warm and not request.cold)

    def _never(self, index: int, kind: FailureKind, text: str) -> None:
        request = self._requests[index]
        self._keep(index, RunFailure(
            request, kind, outcomes.message(request, text), None, ""))

    def _keep(self, index: int, result: Result) -> None:
        self._results[index] = result
        if self._on_progress is not None:
            self._on_progress(len(self._results), len(self._requests), result)


def _backend(name: str) -> Backend | UnavailableError:
    try:
        return backend_lookup.load(name)
    except UnavailableError as error:
        return error


def _may_share(first: Task, other: Task) -> bool:
    """Return whether two runs differ in nothing but their case."""
    if first.request is None or other.request is None:
        return False
    return (first.shared and other.shared and first.environment == other.environment
            and dataclasses.replace(other.request, case=first.request.case)
            == first.request)
