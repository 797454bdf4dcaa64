"""The parent's side of the warm workers: started on demand, ended with this process."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any, Mapping, Tuple

from absl import logging

from ge_harness.worker import process
from ge_harness.worker.job_folder import JobFolder

_START_S = 300.0
_MOST_SERVERS = 2

Key = Tuple[Tuple[str, str], ...]


class WarmGoneError(Exception):
    """The warm worker ended or never came up; the job can be done by a cold one."""


class WarmServer:
    """One warm worker: a process with TensorFlow imported under one environment."""

    def __init__(self, variables: Key, log_path: Path) -> None:
        ours, theirs = socket.socketpair()
        with log_path.open("ab") as log, theirs:
            self._process = subprocess.Popen(
                process.command("warm_server", [str(theirs.fileno())]),
                env=dict(variables), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
                pass_fds=[theirs.fileno()])
        self._connection = ours
        self._pending = b""
        self.pid = self._process.pid

    def await_ready(self) -> None:
        """Wait until TensorFlow is imported.

        Raises:
            WarmGoneError: it is not; the text says why.
        """
        message = self.receive(_START_S)
        if message is None:
            raise WarmGoneError(f"not ready after {_START_S:g} s")
        if not message.get("ready"):
            raise WarmGoneError(str(message.get("why", "answered nonsense")))

    def start(self, folder: JobFolder, late: Mapping[str, str]) -> WarmProcess:
        """Fork a worker for one job.

        Raises:
            WarmGoneError: the warm worker is gone.
        """
        line = json.dumps({"job": str(folder.path), "late": dict(late)}) + "\n"
        try:
            self._connection.sendall(line.encode("utf-8"))
        except OSError as error:
            raise WarmGoneError(f"ended: {error.strerror}") from error
        while True:
            message = self.receive(_START_S)
            if message is None:
                raise WarmGoneError("does not answer")
            if message.get("started") == str(folder.path):
                return WarmProcess(self, int(message["pid"]))

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the next message, or None after `timeout_s`.

        Raises:
            WarmGoneError: the warm worker is gone.
        """
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left_s = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self._connection], [], [], left_s)
            if not ready:
                return None
            try:
                data = self._connection.recv(1 << 16)
            except OSError as error:
                raise WarmGoneError(f"ended: {error.strerror}") from error
            if not data:
                raise WarmGoneError("ended")
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        message = json.loads(line.decode("utf-8"))
        return message if isinstance(message, dict) else {}

    def close(self) -> None:
        """End it and every process it started."""
        with contextlib.suppress(OSError):
            self._connection.close()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.end_group(self.pid)
            self._process.wait()


class WarmProcess:
    """A worker forked from a warm one; same methods as `process.ColdProcess`."""

    def __init__(self, server: WarmServer, pid: int) -> None:
        self._server = server
        self.pid = pid

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit status (negative: signal), or None after `timeout_s`.

        Raises:
            WarmGoneError: the warm worker is gone, and this process with it.
        """
        message = self._server.receive(timeout_s)
        if message is not None and message.get("exited") == self.pid:
            return int(message["status"])
        return None

    def kill(self) -> None:
        """End it with everything it started, having asked for its stacks."""
        process.ask_stacks(self.pid)
        process.end_group(self.pid)


class WarmPool:
    """The warm workers of this process, by the environment they were started with."""

    def __init__(self) -> None:
        self._servers: OrderedDict[Key, WarmServer] = OrderedDict()
        self._failed: dict[Key, str] = {}
        self._owner = os.getpid()

    def get(self, variables: Key, log_path: Path) -> WarmServer:
        """Return a warm worker, started if need be.

        Raises:
            WarmGoneError: it does not come up, or did not before.
        """
        if variables in self._failed:
            raise WarmGoneError(self._failed[variables])
        if variables in self._servers:
            self._servers.move_to_end(variables)
            return self._servers[variables]
        while len(self._servers) >= _MOST_SERVERS:
            self._servers.popitem(last=False)[1].close()
        server = WarmServer(variables, log_path)
        try:
            server.await_ready()
        except WarmGoneError as error:
            server.close()
            self._failed[variables] = str(error)
            logging.info("warm worker: %s", error)
            raise
        except BaseException:
            server.close()
            raise
        self._servers[variables] = server
        return server

    def drop(self, variables: Key) -> None:
        """Forget a warm worker that is gone; the next job starts another."""
        server = self._servers.pop(variables, None)
        if server is not None:
            server.close()

    def close(self) -> None:
        """End all of them (a forked copy of this process leaves them alone)."""
        if os.getpid() != self._owner:
            return
        while self._servers:
            self._servers.popitem()[1].close()


POOL = WarmPool()
atexit.register(POOL.close)
