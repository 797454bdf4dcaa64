"""A piece of work in a forked process of its own, before TensorFlow is used.

XLA reads its flags once, at its first use, and may end the process over them. Whatever
needs other flags, or may die, is done in a fork of the worker, which has TensorFlow
imported and no op run.

Source: reference/xla_cpu.md section 2.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
from pathlib import Path
from typing import Callable, Mapping, NamedTuple

_LONGEST_LOG_BYTES = 4 << 20


class ForkEnd(NamedTuple):
    """How the process ended.

    Attributes:
        status: exit status, negative for a signal, None where it took too long.
        log: what it wrote to standard output and standard error.
    """

    status: int | None
    log: str


def run(work: Callable[[], None], variables: Mapping[str, str], log_path: Path,
        timeout_s: float) -> ForkEnd:
    """Run `work` in a fork and wait for it.

    Args:
        work: what to do; returning is success, raising is status 3.
        variables: environment variables to set there first.
        log_path: where its output is kept.
        timeout_s: after so many seconds it is killed.
    """
    log_path.parent.mkdir(parents=True, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        _child(work, variables, log_path)
    status = _wait(pid, timeout_s)
    try:
        data = log_path.read_bytes()[-_LONGEST_LOG_BYTES:]
    except OSError:
        data = b""
    return ForkEnd(status, data.decode("utf-8", "replace"))


def _child(work: Callable[[], None], variables: Mapping[str, str],
           log_path: Path) -> None:
    """Do the work and end the process; nothing of the parent's is flushed or closed."""
    status = 3
    try:
        out = os.open(str(log_path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.environ.update(variables)
        work()
        status = 0
    except BaseException:  # noqa: BLE001 (a fork must not return into the parent's code)
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(status)


def _wait(pid: int, timeout_s: float) -> int | None:
    end = time.monotonic() + timeout_s
    pause_s = 0.002
    while True:
        done, raw = os.waitpid(pid, os.WNOHANG)
        if done:
            return -os.WTERMSIG(raw) if os.WIFSIGNALED(raw) else os.WEXITSTATUS(raw)
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.05)
