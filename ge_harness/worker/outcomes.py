"""From how a worker ended to the record that its caller gets."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Union

import numpy as np

from ge_harness.errors import InternalError, UsageError
from ge_harness.records.job import JobFailure
from ge_harness.records.run import FailureKind, RunFailure, RunRequest, RunSuccess
from ge_harness.report.plain import printable
from ge_harness.worker import arrays, post_mortem
from ge_harness.worker.job_folder import JobFolder, Outcome
from ge_harness.worker.supervise import Done, Task

Result = Union[RunSuccess, RunFailure]


def of_run(task: Task, done: Done) -> Result:
    """Return what came of a run.

    Raises:
        InternalError: the folder holds the outcome of another kind of job.
    """
    outcome = read(task, done)
    request = task.request
    if request is None or not isinstance(outcome, (RunSuccess, RunFailure)):
        raise InternalError(f"{task.folder.outcome_path} is not the outcome of a run")
    if isinstance(outcome, RunSuccess):
        alone_s = outcome.duration_s if task.shared else done.end.duration_s
        return dataclasses.replace(outcome, request=request, duration_s=alone_s,
                                   notes=outcome.notes + done.notes)
    text = outcome.message + _kept(task.folder, request)
    return dataclasses.replace(
        outcome, request=request, message=message(request, text))


def job_failure(outcome: Outcome) -> JobFailure:
    """Return the failure of a job that is not a run.

    Raises:
        InternalError: it is something else.
    """
    if not isinstance(outcome, JobFailure):
        raise InternalError(f"a worker answered with {type(outcome).__name__}")
    return dataclasses.replace(outcome, message=printable(outcome.message))


def read(task: Task, done: Done) -> Outcome:
    """Return what the worker wrote, or the named failure where that is nothing."""
    log_path, end = task.folder.log_path, done.end
    if done.unfinished:
        kind, text = post_mortem.diagnose(end, log_path, task.timeout_s)
        return _failure(task, done, kind, text)
    try:
        outcome = task.folder.read_outcome()
    except (UsageError, OSError, KeyError, TypeError, ValueError) as error:
        return _failure(task, done, FailureKind.GARBAGE,
                        f"its outcome cannot be read: {error}")
    if isinstance(outcome, RunSuccess):
        for path in outcome.output_paths:
            fault = _fault(path)
            if fault:
                return _failure(task, done, FailureKind.GARBAGE,
                                f"output {path} cannot be read: {fault}")
    return outcome


def _failure(task: Task, done: Done, kind: FailureKind, text: str) -> Outcome:
    log = str(task.folder.log_path)
    if task.request is None:
        return JobFailure(kind, text, done.end.status, log, done.end.duration_s)
    return RunFailure(task.request, kind, text, done.end.status, log,
                      done.end.duration_s)


def _fault(path: str) -> str:
    """Return why an array cannot be mapped, "" where it can."""
    try:
        np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        return str(error)
    return ""


def _kept(folder: JobFolder, request: RunRequest) -> str:
    """Return the words for sets that were finished before a failure, "" for none."""
    total = request.case.set_count
    finished = arrays.finished_sets(folder.output_paths(request)) if total > 1 else 0
    if not finished:
        return ""
    return (f"; {finished} of {total} sets are finished and kept in "
            f"{folder.outputs_dir}")


def message(request: RunRequest, text: str) -> str:
    """Return one line that begins with what was attempted."""
    case = request.case
    what = f"{request.backend} ({request.mode.value}) on {case.subgraph}"
    where = f" {case.variant}" if case.variant else ""
    return printable(f"{what}{where}: {text}")


def of_os_error(error: OSError) -> tuple[FailureKind, str]:
    """Return the failure of a job whose folder could not be prepared."""
    if error.errno in arrays.DISK_FULL:
        return FailureKind.DISK_FULL, f"no room left on the disk: {error}"
    place = f" {Path(str(error.filename))}" if error.filename else ""
    return FailureKind.BUILD, f"cannot prepare the job: {error.strerror}{place}"
