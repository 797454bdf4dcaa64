"""The files below a path and what each of them is.

The name decides where it says something, the first bytes otherwise. Files of several
processes stay apart: a run is named after the folder that names its process.

Source: reference: graph_dumps.md sections 1.3 to 1.5.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Iterator

from dumps import detect, fusion_result, hlo_passes, kernel_meta, names, plog, trace
from dumps.errors import DumpError
from dumps.records import DumpWarning
from dumps.source import base_name, shown

GRAPH, FUSION, TRACE, LOG, KERNEL, HLO, OTHER = (
    "graph", "fusion_result", "trace", "plog", "kernel_meta", "hlo_pass", "other")
MOST_FILES = 200000
_MOST_WARNINGS = 200
_HEAD_BYTES = 4096
# Keys at the top of a model turned into JSON; other JSON files are no dumps.
_MODEL_MARKS = (b'"graph"', b'"op"', b'"attr"', b'"custom_version"')
_TEXT_ENDINGS = (".txt", ".pbtxt", ".json", ".log", ".air", "")


@dataclass(frozen=True)
class DumpFile:
    """One file.

    Attributes:
        path: the file.
        kind: "graph", "fusion_result", "trace", "plog", "kernel_meta", "hlo_pass" or
            "other".
        run: the process it belongs to, or its folder; "" for the given folder itself.
        format: format of a graph, "" where only the content can tell.
        serial: serial number in its name.
        graph_id: graph id in its name.
        suffix: stage as the name spells it, "" where it names none.
    """

    path: str
    kind: str
    run: str = ""
    format: str = ""
    serial: int | None = None
    graph_id: int | None = None
    suffix: str = ""


def discover(path: str | Path) -> tuple[list[DumpFile], list[DumpWarning]]:
    """Return the files at or below a path, sorted by folder and name.

    Raises:
        DumpError: there is no such file or folder.
    """
    root = Path(path)
    warnings: list[DumpWarning] = []
    try:
        is_folder, is_file = root.is_dir(), root.is_file()
    except (OSError, ValueError) as error:
        raise DumpError(path, 0, shown(str(error)), "a file or folder") from error
    if is_file:
        only = classify(root, "")
        if only.kind in (OTHER, HLO):
            only = replace(only, kind=GRAPH)
        return [only], warnings
    if not is_folder and root.exists():
        raise DumpError(path, 0, "neither a file nor a folder",
                        "a dump file or a folder of dumps")
    if not is_folder:
        raise DumpError(path, 0, "nothing there", "a dump file or a folder of dumps")
    found: list[DumpFile] = []
    for each in _walk(root, warnings):
        if len(found) >= MOST_FILES:
            warnings.append(DumpWarning(str(root), 0, f"more than {MOST_FILES:,} files;"
                                        " the rest is left out"))
            break
        found.append(classify(each, _run(each, root)))
    return _hlo_folders(found), warnings


def _hlo_folders(files: list[DumpFile]) -> list[DumpFile]:
    """Take XLA's other files out of the graphs where it dumped pass by pass."""
    folders = {str(Path(file.path).parent) for file in files if file.kind == HLO}
    return [replace(file, kind=HLO) if str(Path(file.path).parent) in folders
            and Path(file.path).name.find("module_") >= 0 else file for file in files]


def classify(path: Path, run: str) -> DumpFile:
    """Say what one file is."""
    name = base_name(path)
    if hlo_passes.parse_name(name) is not None:
        return DumpFile(str(path), HLO, run)
    parsed = names.parse(path)
    if parsed is not None:
        return DumpFile(str(path), GRAPH, run, parsed.format, parsed.serial,
                        parsed.graph_id, parsed.suffix)
    head = _head(path)
    for kind, reader in ((FUSION, fusion_result), (KERNEL, kernel_meta), (TRACE, trace),
                         (LOG, plog)):
        if reader.looks_like(name, head):  # type: ignore[attr-defined]
            return DumpFile(str(path), kind, run)
    known = None
    if Path(name).suffix in _TEXT_ENDINGS:
        known = detect.by_content(head, name)
        if known == "atc_json" and not any(mark in head for mark in _MODEL_MARKS):
            known = None
    if known is not None:
        return DumpFile(str(path), GRAPH, run, known)
    return DumpFile(str(path), OTHER, run)


def _walk(root: Path, warnings: list[DumpWarning]) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        warnings.append(DumpWarning(str(error.filename), 0,
                                    error.strerror or "cannot be read"))

    def left_out(folder: str, name: str, why: str) -> None:
        if len(warnings) < _MOST_WARNINGS:
            warnings.append(DumpWarning(str(Path(folder) / name), 0, why))

    for folder, inner, files in os.walk(str(root), onerror=failed):
        inner.sort()
        for name in inner:
            if Path(folder, name).is_symlink():
                left_out(folder, name, "a link to a folder, not followed")
        for name in sorted(files):
            path = Path(folder) / name
            try:
                if path.is_file():
                    yield path
                else:
                    left_out(folder, name, "no regular file, left out")
            except OSError as error:
                failed(error)


def _run(path: Path, root: Path) -> str:
    pid, device = names.process_of(path.relative_to(root.parent)
                                   if root.parent != root else path)
    if pid is not None:
        return f"pid {pid}" + ("" if device is None else f", device {device}")
    folder = path.parent.relative_to(root)
    return "" if str(folder) == "." else str(folder)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return b""
    if head.startswith(b"\x1f\x8b"):
        try:
            return zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
        except zlib.error:
            return b""
    return head
