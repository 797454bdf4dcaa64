"""Kernel descriptions (kernel_meta/*.json): what a determinism check compares.

`sha256` is the SHA-256 of the object file of the same name; equal names mean an equal
compile input. Source: reference: graph_dumps.md section 5.4.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

from dumps import source
from dumps.errors import DumpError
from dumps.records import DumpWarning

MAX_BYTES = 16 * 1024 * 1024
_CHUNK = 1 << 20


@dataclass(frozen=True)
class KernelMeta:
    """One kernel description.

    Attributes:
        path: the file.
        name: name of the kernel's files, without ending.
        kernel_name: entry point of the kernel.
        core_type: "AiCore", "VectorCore", "MIX", ...; "" where not given.
        block_dim: number of blocks, None where not given.
        sha256: hash of the object file as the description says, in lower case.
        object_sha256: hash of the object file beside it, "" where there is none.
        fields: every field of the file.
        warnings: what is odd.
    """

    path: str
    name: str
    kernel_name: str
    core_type: str
    block_dim: int | None
    sha256: str
    object_sha256: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False)
    warnings: tuple[DumpWarning, ...] = ()


def read(path: str | Path) -> KernelMeta:
    """Read a kernel description and hash the object file beside it.

    Raises:
        DumpError: the file cannot be read or is no kernel description.
    """
    data = source.check_text(source.load(path, MAX_BYTES), path)
    try:
        fields = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise DumpError(path, line, "text that is not JSON",
                        "a kernel description") from error
    if not isinstance(fields, dict) or not isinstance(fields.get("kernelName"), str):
        raise DumpError(path, 1, source.shown(data), "an object with kernelName")
    warnings = []
    sha256 = _text(fields.get("sha256")).lower()
    if not sha256:
        warnings.append(DumpWarning(str(path), 0, "no sha256 of the object file"))
    found = _hash(Path(path), fields)
    if found and sha256 and found != sha256:
        warnings.append(DumpWarning(
            str(path), 0, f"sha256 says {source.shown(sha256)}, the object file beside "
            f"it has {found}"))
    block_dim = fields.get("blockDim")
    is_count = isinstance(block_dim, int) and not isinstance(block_dim, bool)
    return KernelMeta(
        str(path), _text(fields.get("binFileName")) or Path(path).stem,
        fields["kernelName"], _text(fields.get("coreType")),
        block_dim if is_count else None, sha256, found, fields, tuple(warnings))


def looks_like(name: str, head: bytes) -> bool:
    """Say whether a file may be a kernel description, by its first bytes."""
    return name.endswith(".json") and (b'"kernelName"' in head
                                       or b'"binFileName"' in head)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _hash(path: Path, fields: Mapping[str, Any]) -> str:
    ending = _text(fields.get("binFileSuffix")) or ".o"
    if ending not in (".o", ".bin"):
        ending = ".o"
    beside = path.with_name(path.name[:-len(".json")] + ending
                            if path.name.endswith(".json") else path.name + ending)
    digest = hashlib.sha256()
    try:
        if not beside.is_file():
            return ""
        with beside.open("rb") as stream:
            for part in iter(lambda: stream.read(_CHUNK), b""):
                digest.update(part)
    except (OSError, ValueError):
        return ""
    return digest.hexdigest()
