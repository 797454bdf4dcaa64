"""Bytes of a file, gz accepted, bounded; and text from it made fit for a message."""

from __future__ import annotations

import zlib
from pathlib import Path

from dumps.errors import DumpError

MAX_BYTES = 256 * 1024 * 1024
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20
_LOOKED_AT = 65536
_TEXT_BYTES = bytes(range(0x20, 0x7F)) + b"\t\n\r\f\v"


def load(path: str | Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return a file's bytes, unpacked where they are gzip.

    Args:
        path: the file.
        max_bytes: refuse more than this, packed or unpacked.

    Raises:
        DumpError: the file cannot be read, is empty, not sound gzip, or too large.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise DumpError(path, 0, "no regular file", "a dump file")
        if size > max_bytes:
            raise _too_large(path, size, max_bytes)
        with path.open("rb") as file:
            data = file.read(size + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DumpError(path, 0, shown(reason), "a readable file") from error
    if data.startswith(_GZIP):
        data = _unpack(path, data, max_bytes)
    if len(data) > max_bytes:
        raise _too_large(path, len(data), max_bytes)
    if not data:
        raise DumpError(path, 0, "an empty file", "a dump")
    return data


def _unpack(path: Path, packed: bytes, max_bytes: int) -> bytes:
    """Unpack gzip; a file cut short gives what came before the cut."""
    parts: list[bytes] = []
    total = 0
    rest = packed
    while rest.startswith(_GZIP) and total <= max_bytes:
        unpacker = zlib.decompressobj(wbits=31)
        pending = rest
        while pending and not unpacker.eof:
            try:
                part = unpacker.decompress(pending, _CHUNK)
            except zlib.error as error:
                if parts:
                    return b"".join(parts)
                raise DumpError(path, 0, f"damaged gzip ({error})", "a gzip file") \
                    from error
            pending = unpacker.unconsumed_tail
            total += len(part)
            parts.append(part)
            if total > max_bytes:
                raise _too_large(path, total, max_bytes)
            if not part and not pending:
                break
        rest = unpacker.unused_data
    return b"".join(parts)


def _too_large(path: Path, size: int, max_bytes: int) -> DumpError:
    return DumpError(path, 0, f"{size:,} bytes or more",
                     f"at most {max_bytes:,} bytes (max_bytes raises the limit)")


def base_name(path: str | Path) -> str:
    """Return the file name without ".gz"."""
    name = Path(path).name
    return name[:-3] if name.endswith(".gz") else name


def shown(text: bytes | str, longest: int = 60) -> str:
    """Return untrusted text quoted, on one line, printable and short."""
    if isinstance(text, bytes):
        text = text[:longest + 1].decode("utf-8", "backslashreplace")
    short = text[:longest]
    safe = ascii(short)
    return safe if len(text) <= longest else f"{safe}..."


def check_text(data: bytes, path: object) -> bytes:
    """Return `data` as UTF-8 without a byte-order mark.

    Raises:
        DumpError: the bytes are not text.
    """
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"),
                           (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            if encoding == "utf-8":
                return data[len(mark):]
            return data[len(mark):].decode(encoding, "replace").encode("utf-8")
    head = data[:_LOOKED_AT].replace(b"\0", b"")
    odd = len(head.translate(None, _TEXT_BYTES))
    if odd > len(head) // 3 or (not head and len(data) <= _LOOKED_AT):
        raise DumpError(path, 1, f"binary bytes {shown(data[:16])}", "a text dump")
    return data


__all__ = ["MAX_BYTES", "base_name", "check_text", "load", "shown"]
