"""protobuf text of any surface, token by token, without recursion."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Callable

from dumps.records import WarningLog
from dumps.source import shown
from dumps.textlines import MAX_DEPTH
from dumps.textvalue import string_end

if TYPE_CHECKING:
    from dumps.textproto import Items, Message

# Groups: word (name, number, enum), bracket or separator, quote, anything else.
_TOKEN = re.compile(
    rb"[ \t\r\n\f\v]*(?:#[^\n]*|([\w.+-]+)|([{}<>\[\]:,;])|([\"'])"
    rb"|([^ \t\r\n\f\v\w{}<>\[\]:,;\"'#.+-]+))")
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f]")
_SPACE = re.compile(rb"[ \t\r\n\f\v]*")
_CLOSERS = {b"{": b"}", b"<": b">"}
_MOST_PROBLEMS = 2000
_DEEPEST = 10000
# Text that TextFormat prints is not read here; this much takes some seconds.
_MOST_TOKENS = 2000000
_WORD, _MARK, _QUOTE, _OTHER, _END = 1, 2, 3, 4, 0


def parse(data: bytes, make: Callable[[int], Message], line: int,
          log: WarningLog) -> Items:
    """Read any text of the format.

    Args:
        data: the text.
        make: called with a line number, gives an empty message.
        line: 1-based line of the first byte.
        log: takes what is wrong.

    Returns:
        The fields of the outermost level.
    """
    reader = _TokenReader(data, make, line, log)
    reader.run()
    return reader.root


class _TokenReader:
    """A cursor over the tokens and the stack of open messages.

    Attributes:
        root: fields of the outermost level.
    """

    def __init__(self, data: bytes, make: Callable[[int], Message], line: int,
                 log: WarningLog) -> None:
        self._data = data
        self._make = make
        self._log = log
        self._place = 0
        self._line = line
        self._counted = 0
        self._start = 0
        self.root: Items = []
        self._items = self.root
        self._list_key: str | None = None
        # Open messages: the fields around, the list being filled, the closing bracket.
        self._stack: list[tuple[Items, str | None, bytes]] = []
        self._too_deep = 0
        self._problems = 0
        self._tokens = 0

    def run(self) -> None:
        """Read to the end of the text."""
        while True:
            kind, token = self._next()
            if kind == _END:
                break
            if token in (b"}", b">"):
                self._close(token)
            elif self._list_key is not None:
                self._list_value(kind, token)
            elif kind == _WORD:
                self._field(token.decode("utf-8", "replace"))
            elif token == b"[":
                self._extension()
            elif token not in (b",", b";"):
                self._wrong(kind, token, "a field name")
        if self._stack or self._too_deep:
            depth = len(self._stack) + self._too_deep
            self._problem(f"text ends inside {depth} messages")

    def _next(self) -> tuple[int, bytes]:
        """Return the next token, comments left out; a quote gives the whole string."""
        self._tokens += 1
        if self._tokens == _MOST_TOKENS:
            rest = len(self._data) - self._place
            self._log.add(self._line_here(), "irregular text of more than "
                          f"{_MOST_TOKENS:,} words; the last {rest:,} bytes left out")
            self._place = len(self._data)
        while True:
            match = _TOKEN.match(self._data, self._place)
            if match is None or (match.lastindex is None
                                 and match.end() == self._place):
                self._start = self._place = len(self._data)
                return _END, b""
            self._place = match.end()
            kind = match.lastindex
            if kind is None:
                continue
            self._start = match.start(kind)
            if kind == _QUOTE:
                return _QUOTE, self._string()
            return kind, match.group(kind)

    def _string(self) -> bytes:
        end = string_end(self._data, self._start)
        if end < 0:
            end = self._data.find(b"\n", self._start)
            end = len(self._data) if end < 0 else end
            self._problem("string not closed: "
                          + shown(self._data[self._start:self._start + 80]))
            self._place = end
            return self._data[self._start:end]
        self._place = end + 1
        token = self._data[self._start:end + 1]
        if _CONTROL.search(token):
            self._problem(f"control bytes in a string: {shown(token)}")
            self._place = max(self._place, end + 1)
        return token

    def _line_here(self) -> int:
        """Return the line of the last token."""
        self._line += self._data.count(b"\n", self._counted, self._start)
        self._counted = max(self._counted, self._start)
        return self._line

    def _field(self, key: str) -> None:
        """Read what follows a field's name."""
        line = self._line_here()
        kind, token = self._next()
        if token == b":" and kind == _MARK:
            kind, token = self._next()
        self._value(key, line, kind, token)

    def _value(self, key: str, line: int, kind: int, token: bytes) -> None:
        if kind == _WORD:
            if token == b"-":
                following, rest = self._next()
                token += rest if following == _WORD else b""
            self._add(key, token, line)
        elif kind == _QUOTE:
            self._add(key, self._strings(token), line)
        elif token in _CLOSERS and kind == _MARK:
            self._open(key, line, _CLOSERS[token])
        elif token == b"[" and kind == _MARK and self._list_key is None:
            self._list_key = key
        else:
            self._problem(f"field {shown(key)} without a value", line)
            if kind != _END:
                self._place = self._start

    def _strings(self, first: bytes) -> bytes:
        """Join the strings that stand side by side."""
        parts = [first]
        while True:
            space = _SPACE.match(self._data, self._place)
            after = space.end() if space else self._place
            if self._data[after:after + 1] not in (b'"', b"'"):
                return first if len(parts) == 1 else b" ".join(parts)
            parts.append(self._next()[1])

    def _list_value(self, kind: int, token: bytes) -> None:
        key = self._list_key or ""
        if token == b"]" and kind == _MARK:
            self._list_key = None
        elif token in (b",", b";") and kind == _MARK:
            return
        elif kind in (_WORD, _QUOTE) or token in _CLOSERS:
            self._value(key, self._line_here(), kind, token)
        else:
            self._wrong(kind, token, "a list entry")
            self._list_key = None

    def _extension(self) -> None:
        """Read a field named in brackets: an extension or a packed message's type."""
        end = self._data.find(b"]", self._start, self._start + 1000)
        if end < 0:
            self._wrong(_MARK, b"[", "a field name in brackets")
            return
        key = self._data[self._start + 1:end].decode("utf-8", "replace").strip()
        self._place = end + 1
        self._field(key)

    def _add(self, key: str, value: bytes, line: int) -> None:
        if not self._too_deep:
            self._items.append((key, value, line))

    def _open(self, key: str, line: int, closer: bytes) -> None:
        if self._too_deep or len(self._stack) >= MAX_DEPTH:
            if not self._too_deep:
                self._log.add(line, f"nested deeper than {MAX_DEPTH} levels, left out")
            self._too_deep += 1
            self._list_key = None
            if self._too_deep > _DEEPEST:
                self._stop()
            return
        child = self._make(line)
        self._items.append((key, child, line))
        self._stack.append((self._items, self._list_key, closer))
        self._items = child.items
        self._list_key = None

    def _close(self, token: bytes) -> None:
        if self._too_deep:
            self._too_deep -= 1
            return
        if self._list_key is not None:
            self._problem("a list was not closed")
            self._list_key = None
        if not self._stack:
            self._problem("a closing bracket without its message")
            return
        items, list_key, closer = self._stack.pop()
        if closer != token:
            self._problem("a message closed by the other bracket")
        self._items, self._list_key = items, list_key

    def _problem(self, message: str, line: int = 0) -> None:
        """Note a problem; text that has nothing else is not read to its end."""
        self._log.add(line or self._line_here(), message)
        self._problems += 1
        if self._problems == _MOST_PROBLEMS:
            self._stop()

    def _stop(self) -> None:
        rest = len(self._data) - self._place
        self._log.add(self._line_here(), f"damaged throughout; {rest:,} more bytes "
                      "left out")
        self._place = self._start = len(self._data)

    def _wrong(self, kind: int, token: bytes, expected: str) -> None:
        self._problem(f"found {shown(token)}, expected {expected}")
