"""The folder of an experiment: reports of every backend, shared inputs and jobs."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy as np

from ge_harness.errors import UsageError
from ge_harness.experiment.inputs import store_array
from ge_harness.experiment.store import RunFolder, read_document
from ge_harness.records import serialize
from ge_harness.records.experiment import ExperimentReport

ALL_FILE = "experiments.json"
_STEM = "experiment-"
_LONGEST = 120
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
    """Return a text fit for a file name; one too long ends in a digest of all of it."""
    name = _UNSAFE.sub("_", text)
    if len(name) > _LONGEST:
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
        name = f"{name[:_LONGEST - 13]}-{digest}"
    return name.strip("._") or "part"


def source_key(source: str) -> str:
    """Return a subgraph's name; for a file, with a digest of what is in it.

    Files of one name in two folders, or a file that changed, are told apart.
    """
    path = Path(source)
    if not path.is_file():
        return path.name
    return f"{path.name}-{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"


def digest_of(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the first digits of a hash of named arrays, shapes and all."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:12]


def report_name(report: ExperimentReport) -> str:
    """Return the file a report is kept in, beside those of other backends."""
    return f"{_STEM}{safe(report.backend.name)}.json"


def write(folder: RunFolder, report: ExperimentReport) -> Path:
    """Keep a report."""
    return folder.write(report_name(report), serialize.dumps("experiment", report))


def report_files(path: Path) -> list[Path]:
    """Return the files of the reports under a folder, sorted."""
    return sorted(path.rglob(f"{_STEM}*.json"))


def read(file: Path) -> dict[str, Any]:
    """Return a kept report.

    Raises:
        UsageError: it cannot be read, or is not ours.
    """
    return read_document("experiment", file)


def read_all(path: Path) -> list[dict[str, Any]]:
    """Return the reports under a folder, sorted by file.

    Raises:
        UsageError: one of them is not ours.
    """
    return [read(file) for file in report_files(path)]


def write_all(folder: RunFolder, reports: Sequence[Mapping[str, Any]],
              skipped: Sequence[str]) -> None:
    """Keep what a call found, and what it could not begin."""
    folder.write(ALL_FILE, serialize.dumps("experiments", {
        "experiments": list(reports), "skipped": list(skipped)}))


def read_skipped(path: Path) -> list[str]:
    """Return what the last finished call could not begin, [] where none finished.

    Raises:
        UsageError: the file is not ours.
    """
    file = path / ALL_FILE
    if not file.is_file():
        return []
    kept = read_document("experiments", file)
    return [str(line) for line in kept.get("skipped") or ()]


def load(path: str) -> np.ndarray:
    """Return an array that a worker wrote, mapped.

    Args:
        path: .npy file.

    Returns:
        [...] storage dtype.
    """
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def save(folder: RunFolder, name: str, array: np.ndarray) -> str:
    """Keep an array and return its path relative to the folder.

    Raises:
        NoRoomError: the disk is full.
        UsageError: it cannot be written.
    """
    path = folder.path / "data" / f"{safe(name)}.npy"
    path.parent.mkdir(exist_ok=True)
    store_array(path, array)
    return folder.relative(str(path))


def relative(folder: RunFolder, paths: Sequence[str]) -> list[str]:
    """Return paths relative to the folder."""
    return [folder.relative(path) for path in paths]


def with_call(report: ExperimentReport, reason: str, command: str) -> ExperimentReport:
    """Return a report that says why this backend, and how to repeat it."""
    line = dataclasses.replace(
        report.backend, reason=f"{reason}; {report.backend.reason}")
    return dataclasses.replace(report, backend=line, command=command)
