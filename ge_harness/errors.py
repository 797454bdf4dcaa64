"""The exceptions that ge_harness raises.

    HarnessError
    ├── UsageError              exit 2   the request itself is wrong
    │   ├── UnknownNameError             a name nothing is registered under
    │   ├── SwitchError                  a switch that would not do what it says
    │   └── PlanError                    a plan file that cannot be read
    ├── UnavailableError        exit 3   the backend or extra is not usable here
    ├── SearchError             exit 4   a search found no answer it could defend
    ├── NoRoomError             exit 4   the disk or the memory is full
    └── InternalError           exit 70  a fault of the harness itself

`dumps.DumpError` and `graphs.GraphError` stand alone: their packages are used without
this one. The command line treats both as exit 2. A run of a compiler that fails raises
nothing: it is returned as a `records.RunFailure`.
"""

from __future__ import annotations

import difflib
from typing import Iterable


class HarnessError(Exception):
    """Base of every error that ge_harness raises on purpose.

    The text says what was attempted, what was found and where, what was expected, and
    the way out, in at most three lines.
    """

    exit_code = 70


class UsageError(HarnessError):
    """The command, option, file or value given by the user cannot be used."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is not in the table it was looked up in.

    Attributes:
        kind: what the name should have been, in the singular ("backend").
        name: the name as given.
        known: every name that would have been accepted, sorted.
        nearest: the known name most like `name`, or "" where none is close.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        self.nearest = nearest_name(name, self.known)
        hint = f" Did you mean {self.nearest!r}?" if self.nearest else ""
        shown = ", ".join(self.known) if len(self.known) <= 40 else (
            f"{len(self.known)} names")
        super().__init__(f"no {kind} named {name!r}; known: {shown}.{hint}")


class SwitchError(UsageError):
    """A compiler switch or option that would not do what it says."""


class PlanError(UsageError):
    """A plan file that cannot be read.

    Attributes:
        path: the file.
        line: 1-based line of the fault, 0 where there is none.
    """

    def __init__(self, path: object, line: int, found: str, way_out: str) -> None:
        self.path = str(path)
        self.line = line
        super().__init__(f"{path}:{line}: {found}. {way_out}")


class UnavailableError(HarnessError):
    """Something the request needs is not usable on this machine."""

    exit_code = 3


class SearchError(HarnessError):
    """A search that cannot give an answer it could defend."""

    exit_code = 4


class NoRoomError(HarnessError):
    """There is no room left on the disk or in memory for what was asked."""

    exit_code = 4


class InternalError(HarnessError):
    """A fault of the harness itself; names where the details are kept."""

    exit_code = 70


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the known name most like `name`, or "" where none is close."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else ""
