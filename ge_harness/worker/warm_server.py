"""The warm worker: imports TensorFlow once and forks a process for each job.

Talks over a socket of its own in JSON lines; its standard output is a log. No op is
touched here, so a fork starts with TensorFlow imported and nothing decided: XLA_FLAGS
may still be set in it. Ends, with every process it started, when the socket closes.

Source: reference xla_cpu.md section 2 (fork server).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from ge_harness.errors import UnavailableError
from ge_harness.worker import child, process
from ge_harness.worker.environment import LATE
from ge_harness.worker.job_folder import JobFolder


def main() -> None:
    """Serve the socket whose number is on the command line."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    status = 0
    try:
        _Server(connection).serve()
    except (OSError, ValueError):
        traceback.print_exc()
        status = 1
    os._exit(status)


class _Server:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._pending = b""
        self._running: set[int] = set()
        self._wake, self._wake_end = os.pipe()
        os.set_blocking(self._wake_end, False)
        os.set_blocking(self._wake, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def serve(self) -> None:
        """Import TensorFlow, say so, and do what is asked until the socket closes."""
        try:
            self._say(ready=True, tensorflow=_import())
        except UnavailableError as error:
            self._say(ready=False, why=str(error))
            return
        while True:
            ready = select.select([self._connection.fileno(), self._wake], [], [])[0]
            if self._wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 4096)
                self._reap()
            if self._connection.fileno() in ready and not self._listen():
                break
        for pid in self._running:
            process.end_group(pid)

    def _listen(self) -> bool:
        data = self._connection.recv(1 << 16)
        if not data:
            return False
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            asked = json.loads(line.decode("utf-8"))
            self._start(JobFolder(Path(asked["job"])), dict(asked["late"]))
        return True

    def _start(self, folder: JobFolder, late: dict[str, str]) -> None:
        server = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._child(folder, late, server)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._running.add(pid)
        self._say(started=str(folder.path), pid=pid)

    def _child(self, folder: JobFolder, late: dict[str, str], server: int) -> None:
        """Be the worker of one job; never returns."""
        status = child.EXIT_NO_OUTCOME
        try:
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for end in (self._wake, self._wake_end):
                os.close(end)
            self._connection.close()
            log = os.open(str(folder.log_path), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.close(log)
            child.settle(server)
            for name in LATE:
                os.environ.pop(name, None)
            os.environ.update(late)
            status = child.run_jobs([folder])
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)

    def _reap(self) -> None:
        for pid in tuple(self._running):
            if os.waitid(os.P_PID, pid,
                         os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            process.end_group(pid)
            _, status = os.waitpid(pid, 0)
            self._running.discard(pid)
            code = (-os.WTERMSIG(status) if os.WIFSIGNALED(status)
                    else os.WEXITSTATUS(status))
            self._say(exited=pid, status=code)

    def _say(self, **message: Any) -> None:
        self._connection.sendall(json.dumps(message).encode("utf-8") + b"\n")


def _import() -> str:
    """Import what every job needs and return TensorFlow's version."""
    from ge_harness.backends import tf_loader

    tensorflow = tf_loader.load()
    return str(tensorflow.__version__)


if __name__ == "__main__":
    main()
