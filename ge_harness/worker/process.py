"""A worker in a fresh process, and the start line that all workers share."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Mapping, Sequence

from ge_harness.worker.job_folder import JobFolder

# The folder that holds this package comes first on the path only where Python would
# not find it otherwise; the user's working directory never does.
_START = ("import sys; root = sys.argv.pop(1); "
          "sys.path[:1] = [] if root in sys.path[1:] else [root]; "
          "from ge_harness.worker.{0} import main; main()")
_LONGEST_NAP_S = 0.05


def command(module: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs `main` of a module of this package."""
    root = str(Path(__file__).resolve().parents[2])
    return [sys.executable, "-c", _START.format(module), root, *arguments]


class ColdProcess:
    """A fresh process that does jobs in order, in a process group of its own."""

    def __init__(self, folders: Sequence[JobFolder],
                 variables: Mapping[str, str]) -> None:
        arguments = [str(os.getpid())] + [str(folder.path) for folder in folders]
        with folders[0].log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command("child", arguments), env=dict(variables),
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True)
        self.pid = self._process.pid

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit status (negative: signal), or None after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        nap_s = 0.001
        while not _ended(self.pid):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return None
            time.sleep(min(nap_s, left_s))
            nap_s = min(2 * nap_s, _LONGEST_NAP_S)
        end_group(self.pid)
        return self._process.wait()

    def kill(self) -> None:
        """End it with everything it started, having asked for its stacks."""
        ask_stacks(self.pid)
        end_group(self.pid)


def _ended(pid: int) -> bool:
    """Return whether a child has ended; it stays there to be waited for."""
    try:
        return os.waitid(
            os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def ask_stacks(pid: int) -> None:
    """Have a worker write where its threads are into its log."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGUSR1)
        time.sleep(0.05)


def end_group(pid: int) -> None:
    """Kill a process group; one that is gone already is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
