"""The only place that prints: answers to stdout, progress to stderr."""

from __future__ import annotations

import sys
import time
from typing import Any

from ge_harness.records import serialize
from ge_harness.report.plain import printable

_PROGRESS_EVERY_S = 10.0


def answer(text: str) -> None:
    """Print an answer for people on stdout."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def document(kind: str, body: Any) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(serialize.dumps(kind, body))
    sys.stdout.flush()


def note(text: str) -> None:
    """Print one line for people on stderr."""
    sys.stderr.write(f"ge_harness: {printable(text)}\n")
    sys.stderr.flush()


class Progress:
    """Progress on stderr: a line in place on a terminal, one every 10 s otherwise."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._last = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def __call__(self, text: str, done: int = 1) -> None:
        """Say that `done` more parts are finished."""
        self._done += done
        now = time.monotonic()
        if self._terminal:
            line = printable(f"[{self._done}/{self._total}] {text}", 78)
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
        elif now - self._last >= _PROGRESS_EVERY_S:
            self._last = now
            note(f"{self._done} of {self._total} done: {text}")

    def close(self) -> None:
        """Clear the line of a terminal."""
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
