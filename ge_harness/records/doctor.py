"""What this machine can run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        what: what was looked at.
        found: what is there.
        status: "ok", "warn", "fail" or "skip" (not looked at, since an earlier check
            failed).
        mend: how to mend it, "" where nothing is to be done.
    """

    what: str
    found: str
    status: str
    mend: str = ""


@dataclass(frozen=True)
class BackendHealth:
    """Whether one backend can run here.

    Attributes:
        name: the backend.
        label: what it is.
        compiler: it compiles (the eager base line and the reference do not).
        usable: it can be asked to run.
        reason: why not, or what was found.
        checks: every check, in order.
    """

    name: str
    label: str
    compiler: bool
    usable: bool
    reason: str
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class DoctorReport:
    """Every backend asked for.

    Attributes:
        works: the backend asked for works, or at least one compiler where none was
            named.
        asked: the backend asked for, "" for all.
        python: version of the interpreter.
        platform: operating system and machine.
        backends: one entry a backend.
    """

    works: bool
    asked: str
    python: str
    platform: str
    backends: tuple[BackendHealth, ...]
