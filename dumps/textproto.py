r"""protobuf's text format without protobuf: bytes in, a tree with line numbers out.

`parse` takes any text of the format: `{ }` and `< >` messages, lists, comments, both
quotes, adjacent strings, commas and semicolons. The trees know no schema: every field
is repeated, every scalar is kept as the bytes that stood in the file and converted when
it is asked for. Damage gives a warning and never an exception.

Three ways in, all giving the same tree for the same sound text: the regular surface
that TextFormat prints (a field a line, two blanks a level) is read line by line; other
text token by token; and text of the regular surface that is damaged line by line again,
with the indentation telling which messages were meant to be open.

Source: reference graph_dumps.md section 3.1 (surface of the dumps); Protocol Buffers
documentation, "Text Format Language Specification" (tokens and escapes).
"""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple, Union

from dumps import textlines, texttokens
from dumps.records import WarningLog
from dumps.textvalue import to_bool, to_bytes, to_float, to_int, to_text

__all__ = ["Message", "parse", "to_bool", "to_bytes", "to_float", "to_int", "to_text"]

Value = Union[bytes, "Message"]
Item = Tuple[str, Value, int]
Items = List[Item]
_FIELD_LINE = re.compile(rb"^ *(?:\w+(?: \{|: .*)|\})$", re.MULTILINE)


class Message:
    """One message: its fields in order, each a scalar's bytes or another message.

    Attributes:
        line: 1-based line of the field that opened it; 1 for the whole text.
        items: (key, value, line) in order; a value is a `Message` or a raw token
            (b'"text"', b"12", b"DT_FLOAT") for the converters below.
    """

    __slots__ = ("_index", "items", "line")

    def __init__(self, line: int = 1, items: Items | None = None) -> None:
        self.line = line
        self.items: Items = [] if items is None else items
        self._index: dict[str, list[Value]] | None = None

    def all(self, key: str) -> list[Value]:
        """Return every value of a field in order, [] where it does not occur."""
        if self._index is None:
            index: dict[str, list[Value]] = {}
            for name, value, _ in self.items:
                index.setdefault(name, []).append(value)
            self._index = index
        return self._index.get(key, [])

    def names(self) -> Iterator[str]:
        """Yield the names of the fields that occur, each once, in order."""
        self.all("")
        return iter(self._index or {})

    def messages(self, key: str) -> list[Message]:
        """Return the values of a field that are messages."""
        return [value for value in self.all(key) if isinstance(value, Message)]

    def message(self, key: str) -> Message | None:
        """Return the last value of a field that is a message, None without."""
        found = self.messages(key)
        return found[-1] if found else None

    def scalars(self, key: str) -> list[bytes]:
        """Return the raw tokens of a field's scalar values."""
        return [value for value in self.all(key) if isinstance(value, bytes)]

    def scalar(self, key: str) -> bytes | None:
        """Return the raw token of a field's last scalar value, None without."""
        found = self.scalars(key)
        return found[-1] if found else None

    def text(self, key: str, default: str = "") -> str:
        """Return a string, or the name of an enum value."""
        token = self.scalar(key)
        return default if token is None else to_text(token)

    def texts(self, key: str) -> list[str]:
        """Return every string of a field."""
        return [to_text(token) for token in self.scalars(key)]

    def data(self, key: str) -> bytes:
        """Return a bytes field, b"" where it does not occur."""
        token = self.scalar(key)
        return b"" if token is None else to_bytes(token)

    def integer(self, key: str, default: int = 0) -> int:
        """Return an integer; the default where there is none or it is not one."""
        token = self.scalar(key)
        found = None if token is None else to_int(token)
        return default if found is None else found

    def integers(self, key: str) -> list[int]:
        """Return every value of a field that is an integer."""
        found = [to_int(token) for token in self.scalars(key)]
        return [value for value in found if value is not None]

    def number(self, key: str, default: float = 0.0) -> float:
        """Return a float; the default where there is none or it is not one."""
        token = self.scalar(key)
        found = None if token is None else to_float(token)
        return default if found is None else found

    def boolean(self, key: str, default: bool = False) -> bool:
        """Return a boolean; the default where there is none or it is not one."""
        token = self.scalar(key)
        found = None if token is None else to_bool(token)
        return default if found is None else found

    def line_of(self, key: str) -> int:
        """Return the line of a field's first value, this message's own without."""
        return next((line for name, _, line in self.items if name == key), self.line)

    def __eq__(self, other: object) -> bool:
        # Not recursive through attributes of other classes; depth is capped by parse.
        return (isinstance(other, Message) and self.line == other.line
                and self.items == other.items)

    __hash__ = None  # type: ignore[assignment]  # it is a mutable list inside

    def __repr__(self) -> str:
        return f"Message(line={self.line}, {len(self.items)} fields)"


def parse(data: bytes, path: object, log: WarningLog | None = None,
          *, line: int = 1, depth: int = 0) -> Message:
    """Parse text into a tree.

    Args:
        data: the text, or a part of it that holds whole fields.
        path: where it came from, for warnings.
        log: takes the warnings; without one they are dropped.
        line: 1-based line of the first byte.
        depth: level of the first field, for text cut out of a larger one.

    Returns:
        The fields of `data`. Messages nested deeper than 100 levels are left out, with
        a warning.
    """
    items = textlines.parse_regular(data, Message, line, depth)
    if items is not None:
        return Message(line, items)
    trial = WarningLog(path)
    items = texttokens.parse(data, Message, line, trial)
    log = log if log is not None else WarningLog(path)
    if trial.all() and _looks_regular(data):
        return Message(line, textlines.parse_damaged(data, Message, line, (depth, log)))
    for warning in trial.all():
        log.add(warning.line, warning.message)
    return Message(line, items)


def _looks_regular(data: bytes) -> bool:
    """Say whether nine of ten lines have the surface that TextFormat prints."""
    lines = data.count(b"\n") + 1
    return len(_FIELD_LINE.findall(data)) >= 0.8 * lines
