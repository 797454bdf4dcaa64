"""Watches a worker until it ends: time limits, interrupts, a warm worker that dies."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Sequence, Union

from absl import logging

from ge_harness.records.run import RunRequest
from ge_harness.worker import post_mortem, warm
from ge_harness.worker.environment import LATE, WorkerEnvironment
from ge_harness.worker.job_folder import JobFolder
from ge_harness.worker.post_mortem import End
from ge_harness.worker.process import ColdProcess

_LOOK_S = 0.1
# Between the last outcome and the end of the process (a device is given back).
_GOODBYE_S = 30.0
_KILL_S = 30.0

Process = Union[ColdProcess, warm.WarmProcess]


@dataclass(frozen=True)
class Task:
    """A job folder and how its worker is to be started.

    Attributes:
        folder: the job folder, its request written.
        environment: variables of the worker.
        timeout_s: limit on the wall time of this job, in seconds.
        warm: it may be forked from a warm worker.
        request: the run, None for other kinds of job.
        shared: its process may do other jobs of the same configuration.
    """

    folder: JobFolder
    environment: WorkerEnvironment
    timeout_s: float
    warm: bool
    request: RunRequest | None = None
    shared: bool = False


@dataclass(frozen=True)
class Done:
    """How the worker of one task ended.

    Attributes:
        end: the end of its process.
        unfinished: it left no outcome for this task.
        notes: sentences a reader must know.
    """

    end: End
    unfinished: bool
    notes: tuple[str, ...] = ()


def do(tasks: Sequence[Task]) -> list[Done]:
    """Do tasks in one process, in order, and return how each ended.

    Args:
        tasks: one task, or several of one configuration that share a process.

    Raises:
        KeyboardInterrupt: after the worker was ended.
    """
    notes: tuple[str, ...] = ()
    if len(tasks) == 1 and tasks[0].warm:
        try:
            return [_warm(tasks[0])]
        except warm.WarmGoneError as error:
            logging.info("warm worker of %s: %s", tasks[0].folder.path, error)
            notes = (f"the warm worker {error}; done in a fresh process",)
    before = post_mortem.oom_kills()
    variables = dict(tasks[0].environment.variables)
    started = time.monotonic()
    process = ColdProcess([task.folder for task in tasks], variables)
    status, late = _watch(process, tasks)
    end = End(status, False, post_mortem.oom_kills() - before,
              time.monotonic() - started)
    return [_done(task, end, task is late, notes) for task in tasks]


def _warm(task: Task) -> Done:
    """Do one task in a process forked from a warm worker.

    Raises:
        WarmGoneError: the warm worker is not there, or went while this was done.
    """
    before = post_mortem.oom_kills()
    key = task.environment.at_import
    server = warm.POOL.get(key, task.folder.path.parent / "warm_worker.txt")
    started = time.monotonic()
    late_variables = {name: value for name, value in task.environment.variables
                      if name in LATE}
    try:
        process = server.start(task.folder, late_variables)
        status, late = _watch(process, [task])
    except BaseException:
        warm.POOL.drop(key)
        raise
    end = End(status, False, post_mortem.oom_kills() - before,
              time.monotonic() - started)
    return _done(task, end, late is not None, ())


def _done(task: Task, end: End, timed_out: bool, notes: tuple[str, ...]) -> Done:
    if timed_out:
        end = End(end.status, True, end.oom_kills, end.duration_s)
    return Done(end, not task.folder.outcome_path.exists(), notes)


def _watch(process: Process, tasks: Sequence[Task]) -> tuple[int | None, Task | None]:
    """Wait for the end of a process; return its status and the task that took too long.

    Each task has its own limit, counted from the outcome of the one before it.
    """
    current = 0
    deadline = time.monotonic() + tasks[0].timeout_s
    try:
        while True:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                break
            status = process.wait(min(_LOOK_S, left_s))
            if status is not None:
                return status, None
            while current < len(tasks) and tasks[current].folder.outcome_path.exists():
                current += 1
                limit_s = tasks[current].timeout_s if current < len(tasks) else (
                    _GOODBYE_S)
                deadline = time.monotonic() + limit_s
    except BaseException:
        process.kill()
        with contextlib.suppress(warm.WarmGoneError):
            process.wait(_KILL_S)
        raise
    process.kill()
    late = tasks[current] if current < len(tasks) else None
    return process.wait(_KILL_S), late
