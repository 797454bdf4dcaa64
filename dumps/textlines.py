"""The regular surface of protobuf text: one field a line, two blanks a level.

`parse_regular` reads sound text and gives up (None) at the first irregularity, so that
what it returns is what a full parser returns. `parse_damaged` reads text that once was
regular and uses the indentation to find its way past the damage.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Callable

from dumps.records import WarningLog
from dumps.source import shown
from dumps.textvalue import string_end

if TYPE_CHECKING:
    from dumps.textproto import Items, Message

MAX_DEPTH = 100
# Groups: indent, key of a message, key of a scalar, plain value, string with escapes.
_LINE = re.compile(
    rb'^( *)(?:([A-Za-z_]\w*) \{|([A-Za-z_]\w*): '
    rb'(?:("[^"\\\n]*"|[\w+.-]+)|("[^\n]*"))|\})(?:\n|\Z)', re.MULTILINE)
_PART = re.compile(
    rb'( *)(?:([A-Za-z_]\w*) \{|([A-Za-z_]\w*): '
    rb'(?:("[^"\\\n]*"|[\w+.-]+)|("[^\n]*))|(\}))\Z')
_NOT_CONTROL = bytes((9, 10)) + bytes(range(32, 256))
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f]")
_BLANK = re.compile(rb"\s*(?:#.*)?\Z")
# Lines out of place before the rest of a part is left out; less where the file has
# many such parts.
_MOST_ASTRAY = 20000
_MOST_ASTRAY_LATER = 100


def parse_regular(data: bytes, make: Callable[[int], Message], line: int,
                  depth: int) -> Items | None:
    """Read regular text.

    Args:
        data: whole fields, each line ended.
        make: called with a line number, gives an empty message.
        line: 1-based line of the first byte.
        depth: level of the first field.

    Returns:
        The fields, or None where the text is not regular throughout.
    """
    if data.translate(None, _NOT_CONTROL):
        return None
    rows = _LINE.findall(data)
    whole = data.count(b"\n") + (0 if data.endswith(b"\n") else 1)
    if len(rows) != whole or not rows:
        return [] if not data else None
    names: dict[bytes, str] = {}
    items: Items = []
    stack = [items]
    indent = first = 2 * depth
    for number, (blank, opened, key, value, string) in enumerate(rows, line):
        if opened:
            if len(blank) != indent or len(stack) > MAX_DEPTH:
                return None
            child = make(number)
            items.append((names.get(opened) or _name(names, opened), child, number))
            items = child.items
            stack.append(items)
            indent += 2
        elif key:
            if len(blank) != indent or (string and not _is_one_string(string)):
                return None
            items.append(
                (names.get(key) or _name(names, key), value or string, number))
        else:
            indent -= 2
            if len(blank) != indent or indent < first:
                return None
            stack.pop()
            items = stack[-1]
    return items if len(stack) == 1 else None


def _name(names: dict[bytes, str], key: bytes) -> str:
    found = names[key] = key.decode("ascii", "replace")
    return found


def _is_one_string(token: bytes) -> bool:
    return string_end(token, 0) == len(token) - 1


def parse_damaged(data: bytes, make: Callable[[int], Message], line: int,
                  where: tuple[int, WarningLog]) -> Items:
    """Read what is left of regular text; the indentation says where a line belongs.

    Args:
        data: the text.
        make: called with a line number, gives an empty message.
        line: 1-based line of the first byte.
        where: level of the first field, and the log for what is wrong.

    Returns:
        The fields that could be placed; a message that was cut short holds what came
        before the cut.
    """
    log = where[1]
    reader = _DamagedReader(make, where[0], log)
    limit = _MOST_ASTRAY_LATER if log.is_hopeless else _MOST_ASTRAY
    number = line
    start = 0
    while start < len(data):
        if reader.astray > limit:
            log.add(number, f"damaged throughout; {len(data) - start:,} more bytes "
                    "left out")
            break
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        reader.take(data[start:end], number)
        start = end + 1
        number += 1
    reader.finish(number)
    return reader.root


class _DamagedReader:
    """Places one line after the other.

    Attributes:
        root: fields of the outermost level.
        astray: lines that had no place.
    """

    def __init__(self, make: Callable[[int], Message], depth: int,
                 log: WarningLog) -> None:
        self.astray = 0
        self._make = make
        self._first = depth
        self._log = log
        self.root: Items = []
        self._stack = [self.root]
        self._is_astray = False

    def take(self, text: bytes, number: int) -> None:
        """Place a line."""
        match = _PART.match(text)
        if match is None:
            if not _BLANK.match(text):
                self.astray += 1
                self._log.add(number, f"line not understood: {shown(text)}")
            return
        blank, opened, key, value, string, closed = match.groups()
        level = len(blank) // 2 - self._first
        if closed:
            self._close(level, number)
            return
        if not self._reach(level, number):
            return
        if opened:
            self._open(opened, number)
            return
        if string is not None and not _is_one_string(string):
            self._log.add(number, f"string not closed: {shown(string)}")
        elif _CONTROL.search(value or string or b""):
            self._log.add(number, f"control bytes in a string: {shown(text.strip())}")
        self._stack[-1].append(
            (key.decode("ascii", "replace"), value or string or b"", number))

    def finish(self, number: int) -> None:
        """Note messages that the text leaves open."""
        if len(self._stack) > 1:
            self._log.add(number, f"text ends inside {len(self._stack) - 1} messages")

    def _open(self, opened: bytes, number: int) -> None:
        child = self._make(number)
        self._stack[-1].append((opened.decode("ascii", "replace"), child, number))
        if len(self._stack) <= MAX_DEPTH:
            self._stack.append(child.items)

    def _close(self, level: int, number: int) -> None:
        if not 0 <= level < len(self._stack) - 1:
            self.astray += 1
            if not self._is_astray:
                self._log.add(number, "a closing bracket without its message")
            return
        self._is_astray = False
        if level < len(self._stack) - 2:
            self._log.add(number, "a message was not closed")
        del self._stack[level + 1:]

    def _reach(self, level: int, number: int) -> bool:
        """Make `level` the current one; False where its message is not there."""
        if level > len(self._stack) - 1:
            self.astray += 1
            self._log.problems += 1
            if not self._is_astray:
                self._log.add(number, "a message was not opened; its fields left out")
            self._is_astray = True
            return False
        self._is_astray = False
        if level < len(self._stack) - 1:
            self.astray += 1
            self._log.add(number, "a message was not closed")
            del self._stack[max(level, 0) + 1:]
        return True
