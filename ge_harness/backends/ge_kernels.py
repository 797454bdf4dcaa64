"""The kernels GE compiled for a run, as hashes.

Names hold a hash of what was asked to be compiled, so equal names with unequal hashes
mean that a compile does not repeat itself. The hash is that of the device kernel as its
description says it; for a fused operator the library around it also holds host code and
may name build folders, so the library itself is not hashed.

Source: reference: tf_adapter.md section 9.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

_MOST_BYTES = 16 << 20
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_PLACES = ("cache", "work", "collect")


def kernel_hashes(dumps_dir: Path) -> tuple[tuple[str, str], ...]:
    """Return (name, sha256) of every kernel found below a run's dumps, sorted.

    The cache of the run comes first; what is compiled beside it (`kernel_meta`) counts
    where the cache lacks the name. A name with several hashes in one place is listed
    with each: then a compile of this very run did not repeat itself.
    """
    found: set[tuple[str, str]] = set()
    for place in _PLACES:
        known = {name for name, _ in found}
        kernels = (_read(path) for path in _descriptions(dumps_dir / place))
        found.update(kernel for kernel in kernels
                     if kernel is not None and kernel[0] not in known)
    return tuple(sorted(found))


def chip_of(dumps_dir: Path) -> str:
    """Return the chip that kernels were compiled for, "" where nothing says."""
    try:
        folders = sorted(path.name for path in dumps_dir.glob("cache/kernel_cache/*")
                         if path.is_dir())
    except OSError:
        return ""
    return folders[0] if len(folders) == 1 else ""


def _descriptions(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.rglob("*.json")
                      if not path.name.endswith("_pre.json"))
    except OSError:
        return []


def _read(path: Path) -> tuple[str, str] | None:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not (
            "binFileName" in fields or "kernelName" in fields):
        return None
    digest = fields.get("sha256")
    if not isinstance(digest, str) or _SHA256.fullmatch(digest) is None:
        return None
    name = fields.get("binFileName")
    return (f"kernel/{name if isinstance(name, str) and name else path.stem}",
            digest.lower())
