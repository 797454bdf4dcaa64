"""The worker: does what the request of each job folder asks and writes its outcome.

Runs in a process of its own, cold (`main`) or forked from a warm one (`run_jobs`). Its
standard output is its log and never a channel: the outcome is a file. This is one of
the two places where every exception is caught; the other is cli/main.py.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Callable, Sequence

from ge_harness.backends.base import BackendFailure
from ge_harness.errors import HarnessError, SwitchError, UnavailableError
from ge_harness.records.job import JobFailure
from ge_harness.records.run import FailureKind, RunFailure
from ge_harness.worker import arrays, execution
from ge_harness.worker.job_folder import (
    BUILD,
    PROBE,
    RUN,
    TRAIN,
    Job,
    JobFolder,
    Outcome,
)

EXIT_DISK_FULL = 28
EXIT_NO_OUTCOME = 29
_PR_SET_PDEATHSIG = 1
# Found by name, so that TensorFlow is not imported to look at an exception.
_OUT_OF_MEMORY = ("ResourceExhaustedError", "MemoryError", "ArrayMemoryError")


def main() -> None:
    """Run the job folders named on the command line, after the parent's process id."""
    settle(int(sys.argv[1]))
    sys.exit(run_jobs([JobFolder(Path(argument)) for argument in sys.argv[2:]]))


def settle(parent: int) -> None:
    """Make this process one that leaves traces and never outlives its parent."""
    die_with_parent(parent)
    with contextlib.suppress(OSError):
        # Where memory runs out, this process is to go, not the one that keeps books.
        Path("/proc/self/oom_score_adj").write_text("500")
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    # The parent asks for the stacks before it kills a process that took too long.
    faulthandler.register(signal.SIGUSR1)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to end this process when its parent ends (Linux only)."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(EXIT_NO_OUTCOME)


def run_jobs(folders: Sequence[JobFolder]) -> int:
    """Do the jobs in order and return the exit status of the process."""
    status = 0
    for folder in folders:
        status = run_job(folder) or status
    return status


def run_job(folder: JobFolder) -> int:
    """Do one job; returns 0 once its outcome is written, else the exit status."""
    started = time.monotonic()
    phase = execution.Phase()
    try:
        os.chdir(str(folder.path))
        job = folder.read_job()
    except (HarnessError, OSError, KeyError, TypeError, ValueError):
        traceback.print_exc()
        return EXIT_NO_OUTCOME
    try:
        outcome = _KINDS[job.kind](folder, job, phase)
    except BaseException as error:  # noqa: BLE001 - the net of the worker
        _log(error)
        kind, text = classify(error, phase)
        if phase.salvage is not None and not isinstance(error, BackendFailure):
            outcome = phase.salvage(f"no evidence of what the compiler did: {text}")
        else:
            outcome = _failed(folder, job, kind, text, time.monotonic() - started)
    try:
        folder.write_outcome(outcome)
    except OSError as error:
        _log(error)
        return EXIT_DISK_FULL if error.errno in arrays.DISK_FULL else EXIT_NO_OUTCOME
    return 0


def classify(error: BaseException, phase: execution.Phase) -> tuple[FailureKind, str]:
    """Return the kind of failure an exception is, and one line about it."""
    first = str(error).strip().split("\n")[0]
    names = [base.__name__ for base in type(error).__mro__]
    said = f"{type(error).__name__}: {first}" if first else type(error).__name__
    if isinstance(error, BackendFailure):
        return error.kind, first
    if isinstance(error, KeyboardInterrupt):
        return FailureKind.KILLED, f"interrupted while {phase.doing}"
    if any(name in names for name in _OUT_OF_MEMORY):
        return FailureKind.OUT_OF_MEMORY, said
    if isinstance(error, OSError) and error.errno in arrays.DISK_FULL:
        return FailureKind.DISK_FULL, f"no room left on the disk: {first}"
    if isinstance(error, UnavailableError) or "GraphUnsupportedError" in names:
        return FailureKind.UNAVAILABLE, first
    if isinstance(error, SwitchError):
        return FailureKind.INVALID_SWITCH, first
    if isinstance(error, HarnessError) or "GraphError" in names:
        return FailureKind.BUILD, first
    return phase.kind, f"{said} (while {phase.doing})"


def _failed(folder: JobFolder, job: Job, kind: FailureKind, text: str,
            duration_s: float) -> Outcome:
    if job.request is None:
        return JobFailure(kind, text, 0, str(folder.log_path), duration_s)
    return RunFailure(job.request, kind, text, 0, str(folder.log_path), duration_s)


def _log(error: BaseException) -> None:
    with contextlib.suppress(OSError, ValueError):
        traceback.print_exception(type(error), error, error.__traceback__)


def _train(folder: JobFolder, job: Job, phase: execution.Phase) -> Outcome:
    from ge_harness.worker import training  # the engines of all backends

    return training.train(folder, job, phase)


_KINDS: dict[str, Callable[[JobFolder, Job, execution.Phase], Outcome]] = {
    RUN: execution.run, BUILD: execution.build, PROBE: execution.probe, TRAIN: _train}

if __name__ == "__main__":
    main()
