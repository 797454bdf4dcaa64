"""The fields of one level of regular protobuf text, found without reading inside them.

TextFormat indents by two blanks a level and strings hold no raw newline, so a line that
starts at a level's own indent is a field of that level or the bracket that closes one.
Finding these lines is a search for a few bytes, and that is what makes a dump of
megabytes readable in milliseconds. What does not fit is handed back as a chunk.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Pattern

from dumps.source import check_text
from dumps.textvalue import string_end, to_text

# A line that TextFormat would not print, after its newline.
_ODD_LINE = re.compile(
    rb'\n(?! *(?:[A-Za-z_]\w*(?: \{|: (?:"[^\n]*"|[\w+.-]+))|\})?(?:\n|\Z))')
_LONG_LINE = re.compile(rb"\n[^\n]{500,}")
_STRING_LINE = re.compile(rb'\n *[A-Za-z_]\w*: "')
_CONTROL_LINE = re.compile(rb"\n[^\n]*?[\x00-\x08\x0b-\x1f]")
_NOT_CONTROL = bytes((9, 10)) + bytes(range(32, 256))
_QUOTE = re.compile(rb"[\"']")
_EDGES: dict[tuple[int, bytes], tuple[Pattern[bytes], Pattern[bytes]]] = {}
BLOCK, SCALAR, CHUNK = "block", "scalar", "chunk"


class Part(NamedTuple):
    """One field of a level.

    Attributes:
        kind: `BLOCK` (a message), `SCALAR`, or `CHUNK` (text that is not regular).
        key: the field's name, b"" for a chunk.
        value: the raw token of a scalar.
        start: offset of the newline before the field's first line.
        end: offset of the newline that ends its last line.
        is_closed: False for a block whose closing bracket is not where it belongs.
    """

    kind: str
    key: bytes
    value: bytes
    start: int
    end: int
    is_closed: bool


class Head(NamedTuple):
    """The fields at the beginning of an operator.

    Attributes:
        name: None where it does not stand where it regularly does.
        type: likewise.
        inputs: as in the file.
        after: offset of the newline after these fields.
    """

    name: str | None
    type: str | None
    inputs: list[str]
    after: int


def outline(data: bytes, start: int, end: int, indent: int,
            repeated: bytes) -> list[Part]:
    """Find the fields of a level.

    A block ends at its closing bracket, or where the next block of the repeated field
    begins; other lines at this indent inside a block are damage to its content.

    Args:
        data: the text; a newline stands at `start` and at `end` (or `end` is its end).
        start: offset of the newline before the first line of the level.
        end: offset of the newline that ends its last line.
        indent: blanks before a field of this level.
        repeated: field of this level that most blocks are.
    """
    head, edge = _patterns(indent, repeated)
    parts: list[Part] = []
    done = start
    match = head.search(data, start, end)
    while match is not None:
        begin = match.start()
        if begin > done:
            _add_chunk(parts, data, done, begin)
        done = match.end()
        if not match.group(2):
            parts.append(
                Part(SCALAR, match.group(1), match.group(3), begin, done, True))
        else:
            closed = edge.search(data, done, end)
            if closed is None:
                parts.append(Part(BLOCK, match.group(1), b"", begin, end, False))
                return parts
            is_closed = closed.group(1) is not None
            done = closed.end() if is_closed else closed.start()
            parts.append(
                Part(BLOCK, match.group(1), b"", begin, done, is_closed))
        match = head.search(data, done, end)
    if end > done:
        _add_chunk(parts, data, done, end)
    return parts


def _patterns(indent: int, repeated: bytes) -> tuple[Pattern[bytes], Pattern[bytes]]:
    """Return what finds a field of a level, and what ends a block of it."""
    found = _EDGES.get((indent, repeated))
    if found is None:
        found = _EDGES[indent, repeated] = (
            re.compile(rb"\n {%d}([A-Za-z_]\w*)(?: (\{)|: ([^\n]*))(?=\n|\Z)" % indent),
            re.compile(rb"\n {%d}(?:(\})|%b \{)(?=\n|\Z)" % (indent, repeated)))
    return found


def _add_chunk(parts: list[Part], data: bytes, start: int, end: int) -> None:
    """Add irregular text, joined to the chunk before it where they touch."""
    if parts and parts[-1].kind == CHUNK and parts[-1].end == start:
        start = parts.pop().start
    if data[start:min(end, start + 1000)].strip() or end - start > 1000:
        parts.append(Part(CHUNK, b"", b"", start, end, True))


def is_regular(data: bytes) -> bool:
    """Say whether every line is one TextFormat prints and brackets come in pairs.

    Args:
        data: the text, a newline before it and at its end.
    """
    if has_control_bytes(data):
        return False
    # Kernel binaries are most of a file, and all there is to check is how they end.
    pieces = []
    done = 0
    for match in _LONG_LINE.finditer(data, 0, len(data) - 1):
        start, end = match.span()
        if data[end - 1] == 0x22 and _STRING_LINE.match(data, start):
            pieces.append(data[done:start])
            done = end
    short = b"".join(pieces) + data[done:] if pieces else data
    return (_ODD_LINE.search(short, 0, len(short) - 1) is None
            and short.count(b" {\n") == short.count(b" }\n") + short.count(b"\n}\n"))


def has_control_bytes(data: bytes) -> bool:
    """Say whether there are bytes that text has no use for, save tab and newline."""
    return bool(data.translate(None, _NOT_CONTROL))


def odd_lines(data: bytes, limit: int = 10000) -> list[int]:
    """Return where lines stand that are not regular: offsets of their newlines.

    Args:
        data: the text, a newline before it and at its end.
        limit: stop after so many.
    """
    found: set[int] = set()
    patterns = [_ODD_LINE] + ([_CONTROL_LINE] if has_control_bytes(data) else [])
    for pattern in patterns:
        for match in pattern.finditer(data, 0, len(data) - 1):
            found.add(match.start())
            if len(found) >= limit:
                break
    return sorted(found)


def prepare(data: bytes, path: object) -> bytes:
    """Return the text with a newline before it and after it, CR gone.

    Raises:
        DumpError: the bytes are not text.
    """
    data = check_text(data, path)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    return b"\n%b" % data if data.endswith(b"\n") else b"\n%b\n" % data


def string_field(data: bytes, place: int, head: bytes) -> tuple[str | None, int]:
    r"""Read a string field that should stand after the newline at `place`.

    Args:
        data: the text.
        place: offset of a newline.
        head: that newline, blanks, the key and the opening quote (b'\n  name: "').

    Returns:
        The string and the newline after it; None and `place` where it is not there.
    """
    if not data.startswith(head, place):
        return None, place
    start = place + len(head)
    end = data.find(b"\n", start)
    end = len(data) if end < 0 else end
    if end <= start or data[end - 1] != 0x22:
        return None, place
    token = data[start:end - 1]
    if b"\\" in token:
        return to_text(data[start - 1:end]), end
    return token.decode("utf-8", "surrogateescape"), end


def count_outside_strings(pattern: Pattern[bytes], data: bytes) -> int:
    """Count matches that do not end in a string; strings end with their line."""
    count = 0
    place = 0  # what stands before has been looked at, and no string is open here
    for match in pattern.finditer(data):
        at = match.end() - 1
        if at < place:
            continue
        place = max(place, data.rfind(b"\n", place, at) + 1)
        quote = _QUOTE.search(data, place, at)
        while quote is not None:
            end = string_end(data, quote.start())
            if end < 0:
                end = data.find(b"\n", at)
                end = len(data) if end < 0 else end
            place = end + 1
            quote = _QUOTE.search(data, place, at) if place <= at else None
        if place <= at:
            count += 1
            place = at
    return count
