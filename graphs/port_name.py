"""Names of ports: unique within a case and safe as file names."""

from __future__ import annotations

import re
import zlib

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 80


def safe(text: str) -> str:
    """Return a copy of `text` that is safe as a file name anywhere.

    Args:
        text: a name out of a GraphDef, of any length and content.
    """
    name = _UNSAFE.sub("_", text).strip(".-_") or "tensor"
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}_{zlib.crc32(text.encode('utf-8', 'replace')):08x}"
    return name


def unique(text: str, taken: set[str]) -> str:
    """Return a safe name that is not taken yet, and take it.

    Names that differ in case alone count as the same: some file systems say so.

    Args:
        text: the wish.
        taken: lower-case names in use; the name is added.
    """
    base, name, number = safe(text), safe(text), 1
    while name.lower() in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name.lower())
    return name


def of_tensor(tensor: str) -> str:
    """Return what a tensor is called by default: "node", or "node_1" past output 0."""
    node, _, index = tensor.rpartition(":")
    return node if index == "0" else f"{node}_{index}"
