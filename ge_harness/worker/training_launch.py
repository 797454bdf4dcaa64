"""The parent's side of a training run: a worker is started, watched, started again."""

from __future__ import annotations

import dataclasses
import os
import threading
from pathlib import Path
from typing import Callable, Union

from ge_harness.backends.base import Backend
from ge_harness.errors import SwitchError
from ge_harness.records import serialize
from ge_harness.records.job import JobFailure
from ge_harness.records.run import (
    Environment,
    FailureKind,
    RunFailure,
    RunRequest,
)
from ge_harness.records.tensor import Case
from ge_harness.records.training import TrainingConfig
from ge_harness.worker import (
    backend_lookup,
    environment,
    job_folder,
    outcomes,
    supervise,
)
from ge_harness.worker.job_folder import TRAIN, Job, JobFolder
from ge_harness.worker.training import STATE_DIR
from ge_harness.worker.training_state import TrainingFolder

_LOOK_S = 5.0
# XLA's texts after every pass would be hundreds of megabytes for a step of training.
_EVERY_PASS = "--xla_dump_hlo_pass_re=.*"

Outcome = Union[Environment, JobFailure]


def request_of(backend: str, threads: int, timeout_s: float) -> RunRequest:
    """Return a request without a graph: what a backend needs to plan a training run."""
    case = Case("gpt2", "", 0, "", (), (), ())
    return RunRequest(case, backend, threads=threads, timeout_s=timeout_s)


def train(request: RunRequest, config: TrainingConfig, state_dir: Path,
          job_root: Path, say: Callable[[str], None]) -> Outcome:
    """Train in a worker, from the last checkpoint in `state_dir` if there is one.

    Args:
        request: from `request_of`, with switches.
        config: what to train.
        state_dir: folder of the run, made if need be; `TrainingFolder` reads it.
        job_root: each process gets a new folder in it.
        say: called now and then with the state of affairs.

    Raises:
        UsageError: nothing can be written there.
        UnavailableError: the backend is not built yet.
    """
    job_folder.writable(state_dir)
    job_folder.writable(job_root)
    backend = backend_lookup.load(request.backend)
    probe = backend.probe()
    if not probe.usable:
        return JobFailure(FailureKind.UNAVAILABLE, probe.reason, None, "")
    try:
        folder = job_folder.create(job_root, f"train-{state_dir.name}")
        variables = _environment(backend, request, folder)
        plain = serialize.to_plain(config)
        folder.write_job(Job(
            TRAIN, variables.removed, request, threads=request.threads,
            options=tuple(sorted({**plain, STATE_DIR: str(state_dir)}.items()))))
    except SwitchError as error:
        return JobFailure(FailureKind.INVALID_SWITCH, str(error), None, "")
    except OSError as error:
        return JobFailure(*outcomes.of_os_error(error), None, "")
    return _watched(folder, variables, request, TrainingFolder(state_dir), say)


def _environment(backend: Backend, request: RunRequest, folder: JobFolder
                 ) -> environment.WorkerEnvironment:
    extra = backend.environment(request, folder.path)
    if "XLA_FLAGS" in extra:
        extra["XLA_FLAGS"] = extra["XLA_FLAGS"].replace(_EVERY_PASS, "")
    return environment.prepare(os.environ, extra, request.threads)


def _watched(folder: JobFolder, variables: environment.WorkerEnvironment,
             request: RunRequest, state: TrainingFolder,
             say: Callable[[str], None]) -> Outcome:
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_S):
            try:
                text = state.progress_path.read_text(encoding="utf-8").strip()
            except OSError:
                continue
            say(f"{state.path.name}: {text}")

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    task = supervise.Task(folder, variables, request.timeout_s, warm=False)
    try:
        done = supervise.do([task])[0]
    finally:
        over.set()
        watcher.join()
    found = outcomes.read(task, done)
    if isinstance(found, Environment):
        return found
    if isinstance(found, RunFailure):
        found = JobFailure(found.kind, found.message, found.exit_code, found.log_path,
                           found.duration_s)
    failure = outcomes.job_failure(found)
    return dataclasses.replace(failure, message=f"training on {request.backend}: "
                               f"{failure.message}")
