"""What was packed to be sent to somebody, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PackedFile:
    """A file in the archive.

    Attributes:
        path: its name there.
        size_bytes: its size there, in bytes.
        removed: secrets and home paths taken out of it.
        cut: its middle was left out.
    """

    path: str
    size_bytes: int
    removed: int = 0
    cut: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A file that is not in the archive.

    Attributes:
        path: its name there, had it been taken.
        size_bytes: its size, in bytes.
        why: why it was left out.
    """

    path: str
    size_bytes: int
    why: str


@dataclass(frozen=True)
class PackReport:
    """An archive.

    Attributes:
        archive: the file; its name alone in the list inside it.
        size_bytes: its size, in bytes; 0 in the list inside it.
        limit_bytes: the limit it keeps to, in bytes.
        files: what is in it, in order.
        left_out: what is not, in order.
        removed: secrets and home paths taken out, over all files.
        version: version of ge_harness that packed it.
    """

    archive: str
    size_bytes: int
    limit_bytes: int
    files: tuple[PackedFile, ...]
    left_out: tuple[LeftOut, ...]
    removed: int
    version: str
