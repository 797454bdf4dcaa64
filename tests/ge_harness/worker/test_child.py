from __future__ import annotations

import errno

import pytest

from ge_harness.backends.base import BackendFailure
from ge_harness.errors import SwitchError, UnavailableError, UsageError
from ge_harness.records.run import FailureKind
from ge_harness.worker import child, execution
from graphs.errors import GraphError, GraphUnsupportedError


class ResourceExhaustedError(Exception):
    """Named as TensorFlow names its own."""


@pytest.mark.parametrize(("error", "kind", "words"), [
    (BackendFailure(FailureKind.NOT_OFFLOADED, "stayed"), FailureKind.NOT_OFFLOADED,
     "stayed"),
    (MemoryError(), FailureKind.OUT_OF_MEMORY, "MemoryError"),
    (ResourceExhaustedError("OOM when allocating\nmore"), FailureKind.OUT_OF_MEMORY,
     "OOM when allocating"),
    (OSError(errno.ENOSPC, "No space left"), FailureKind.DISK_FULL, "No space left"),
    (OSError(errno.EACCES, "Permission denied"), FailureKind.COMPILE, "Permission"),
    (UnavailableError("no TensorFlow"), FailureKind.UNAVAILABLE, "no TensorFlow"),
    (GraphUnsupportedError("no bf16 Erf"), FailureKind.UNAVAILABLE, "no bf16 Erf"),
    (GraphError("no such node"), FailureKind.BUILD, "no such node"),
    (SwitchError("no pass"), FailureKind.INVALID_SWITCH, "no pass"),
    (UsageError("bad"), FailureKind.BUILD, "bad"),
    (ZeroDivisionError("division"), FailureKind.COMPILE, "while compiling"),
    (SystemExit(0), FailureKind.COMPILE, "SystemExit"),
    (KeyboardInterrupt(), FailureKind.KILLED, "interrupted while compiling"),
    (GeneratorExit("user"), FailureKind.COMPILE, "GeneratorExit"),
], ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "")
def test_each_exception_has_its_kind_and_one_line(error, kind, words):
    phase = execution.Phase()
    phase.enter(FailureKind.COMPILE, "compiling")
    found, text = child.classify(error, phase)
    assert found is kind
    assert words in text
    assert "\n" not in text
