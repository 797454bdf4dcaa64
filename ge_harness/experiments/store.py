"""The folder of an experiment: reports of every backend, shared inputs and jobs."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, Sequence

import numpy as np

from ge_harness.errors import UsageError
from ge_harness.experiment.store import RunFolder
from ge_harness.records import serialize
from ge_harness.records.experiment import ExperimentReport

_UNSAFE = re.compile(r"[^A-Za-z0-9_.=-]+")


def inner(folder: RunFolder, name: str) -> RunFolder:
    """Return the folder of one experiment inside that of a call, made if need be.

    Raises:
        UsageError: it cannot be made.
    """
    path = folder.path / safe(name)
    try:
        for each in (path, path / "inputs", path / "jobs"):
            each.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot write there: {error.strerror}") from error
    return RunFolder(path)


def safe(text: str) -> str:
    """Return a text fit for a file name."""
    return _UNSAFE.sub("_", text)[:120].strip("._") or "part"


def report_name(report: ExperimentReport) -> str:
    """Return the file a report is kept in, beside those of other backends."""
    return f"experiment-{safe(report.backend.name)}.json"


def write(folder: RunFolder, report: ExperimentReport) -> Path:
    """Keep a report."""
    return folder.write(report_name(report), serialize.dumps("experiment", report))


def read_all(path: Path) -> list[dict[str, Any]]:
    """Return the reports under a folder, sorted by file.

    Raises:
        UsageError: one of them is not ours.
    """
    return [serialize.loads("experiment", file.read_text(encoding="utf-8"), file)
            for file in sorted(path.rglob("experiment-*.json"))]


def load(path: str) -> np.ndarray:
    """Return an array that a worker wrote, mapped.

    Args:
        path: .npy file.

    Returns:
        [...] storage dtype.
    """
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def save(folder: RunFolder, name: str, array: np.ndarray) -> str:
    """Keep an array and return its path relative to the folder."""
    path = folder.path / "data" / f"{safe(name)}.npy"
    path.parent.mkdir(exist_ok=True)
    np.save(str(path), array, allow_pickle=False)
    return folder.relative(str(path))


def relative(folder: RunFolder, paths: Sequence[str]) -> list[str]:
    """Return paths relative to the folder."""
    return [folder.relative(path) for path in paths]


def with_call(report: ExperimentReport, reason: str, command: str) -> ExperimentReport:
    """Return a report that says why this backend, and how to repeat it."""
    line = dataclasses.replace(
        report.backend, reason=f"{reason}; {report.backend.reason}")
    return dataclasses.replace(report, backend=line, command=command)
