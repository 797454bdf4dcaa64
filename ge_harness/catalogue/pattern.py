"""Regular expressions that users give, bounded in length and in time.

Python's matcher can need time exponential in the text. Where the system has timers
(every Unix, main thread) a search is stopped after the time limit; elsewhere
expressions with a repetition inside a repetition are refused.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from typing import Any, Pattern

from ge_harness.errors import UsageError

TIME_LIMIT_S = 2.0
LONGEST_PATTERN = 1000
LONGEST_TEXT = 4000
_NESTED = re.compile(r"\([^()]*[*+}][^()]*\)\s*[*+{]")


class _OutOfTimeError(Exception):
    """The timer ran out inside a search."""


class BoundedPattern:
    """A compiled expression whose searches together may take `TIME_LIMIT_S`.

    Attributes:
        text: the expression as given.
    """

    def __init__(self, text: str, compiled: Pattern[str]) -> None:
        self.text = text
        self._compiled = compiled
        self._left_s = TIME_LIMIT_S

    def search(self, name: str) -> bool:
        """Say whether the expression is found in the first 4,000 characters of a name.

        Raises:
            UsageError: the searches took longer than the limit.
        """
        begin = time.monotonic()
        found = self._bounded(name[:LONGEST_TEXT])
        self._left_s -= time.monotonic() - begin
        if found is None or self._left_s <= 0:
            raise UsageError(
                f"the expression {_short(self.text)} took longer than "
                f"{TIME_LIMIT_S:g} s to search; avoid repetitions inside repetitions")
        return found

    def _bounded(self, name: str) -> bool | None:
        if not _has_timer():
            return self._compiled.search(name) is not None
        before = signal.signal(signal.SIGALRM, _stop)
        signal.setitimer(signal.ITIMER_REAL, max(self._left_s, 0.001))
        try:
            return self._compiled.search(name) is not None
        except _OutOfTimeError:
            return None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def compile_pattern(text: str) -> BoundedPattern:
    """Compile an expression a user gave.

    Raises:
        UsageError: it is too long, not a regular expression, or cannot be bounded here.
    """
    if len(text) > LONGEST_PATTERN:
        raise UsageError(f"found an expression of {len(text)} characters, expected at "
                         f"most {LONGEST_PATTERN}")
    try:
        compiled = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"{_short(text)} is not a regular expression: {error}; put a "
                         "backslash before characters meant as themselves") from error
    if not _has_timer() and _NESTED.search(text):
        raise UsageError(f"the expression {_short(text)} repeats a repetition, which "
                         "can take forever; write it without")
    return BoundedPattern(text, compiled)


def _stop(signum: int, frame: Any) -> None:
    raise _OutOfTimeError


def _has_timer() -> bool:
    return (hasattr(signal, "setitimer")
            and threading.current_thread() is threading.main_thread())


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
