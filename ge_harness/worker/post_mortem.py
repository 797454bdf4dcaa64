"""Names the failure of a worker that ended without an outcome."""

from __future__ import annotations

import re
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from ge_harness.backends import ge_errors
from ge_harness.records.run import FailureKind
from ge_harness.worker.child import EXIT_DISK_FULL

_TAIL_BYTES = 64 << 10
_FULL_BYTES = 64 << 10
# Searched in this order, only where a worker died of itself.
_LOG_SIGNS = (
    (FailureKind.INVALID_SWITCH, re.compile(r"Unknown flags? in XLA_FLAGS: *(.*)"),
     "XLA does not know a flag: {}"),
    (FailureKind.OUT_OF_MEMORY,
     re.compile(r"(std::bad_alloc|MemoryError|Cannot allocate memory|"
                r"OOM when allocating|[Oo]ut of memory)"), "out of memory ({})"),
    (FailureKind.DISK_FULL, re.compile(r"(No space left on device)"),
     "no room left on the disk ({})"),
)


@dataclass(frozen=True)
class End:
    """How a worker ended.

    Attributes:
        status: exit status, negative for a signal, None where it never began.
        timed_out: the time limit was over and it was killed for it.
        oom_kills: processes that the kernel killed for memory meanwhile.
        duration_s: wall time, in seconds.
    """

    status: int | None
    timed_out: bool = False
    oom_kills: int = 0
    duration_s: float = 0.0


def diagnose(end: End, log_path: Path, timeout_s: float) -> tuple[FailureKind, str]:
    """Return the kind of failure and one line about it.

    Args:
        end: how the worker ended, having left no outcome.
        log_path: its log.
        timeout_s: the limit it had.
    """
    if end.timed_out:
        return FailureKind.TIMEOUT, (
            f"not done after {timeout_s:g} s; killed with all its processes. A higher "
            "limit: --timeout=SECONDS")
    log = tail(log_path)
    number = _signal(end.status)
    if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number == signal.SIGKILL and end.oom_kills:
            return FailureKind.OUT_OF_MEMORY, "killed by the kernel: out of memory"
        return FailureKind.KILLED, (
            f"killed from outside with {_spell(number)} (by somebody, or by a limit on "
            "memory)")
    if end.status == EXIT_DISK_FULL or _full(log_path.parent):
        return FailureKind.DISK_FULL, (
            f"no room left on the disk of {log_path.parent}; free some, or give "
            "another folder with --out=DIR")
    if number == signal.SIGABRT:
        reason = ge_errors.abort_reason(log)
        if reason is not None:
            return reason
    for kind, pattern, text in _LOG_SIGNS:
        found = pattern.findall(log)
        if found:
            return kind, text.format(found[-1].strip())
    return _unexplained(end.status, number, log)


def _unexplained(status: int | None, number: int, log: str) -> tuple[FailureKind, str]:
    said = last_words(log)
    ending = f"; its last words: {said}" if said else ""
    if number:
        return FailureKind.CRASH, f"crashed with {_spell(number)}{ending}"
    if status == 0:
        return FailureKind.GARBAGE, f"ended normally and left no outcome{ending}"
    return FailureKind.CRASH, f"ended with status {status} and left no outcome{ending}"


def tail(path: Path) -> str:
    """Return the end of a log, "" where there is none."""
    try:
        with path.open("rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - _TAIL_BYTES))
            return log.read().decode("utf-8", "replace")
    except OSError:
        return ""


def last_words(log: str) -> str:
    """Return the last line that was not written by Python's own crash handler."""
    before = re.split(r"(?m)^Fatal Python error: |^Current thread 0x", log)[0]
    lines = [line.strip() for line in before.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def oom_kills() -> int:
    """Return how many processes the kernel has killed for memory since it started."""
    try:
        text = Path("/proc/vmstat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    match = re.search(r"(?m)^oom_kill (\d+)$", text)
    return int(match[1]) if match else 0


def _full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(str(folder)).free < _FULL_BYTES
    except OSError:
        return False


def _signal(status: int | None) -> int:
    """Return the signal behind a status, also as a shell reports it; 0 for none."""
    if status is None:
        return 0
    if status < 0:
        return -status
    return status - 128 if status - 128 in set(signal.Signals) else 0


def _spell(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"
