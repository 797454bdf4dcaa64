"""Models that `atc --mode=5` (or `--mode=1`) turned into JSON.

Operators are decoded one by one, so that the line of each is known and a file cut short
gives those that came before the cut. GE leaves out sizes, kernel binaries and the
graph's outputs; a single float comes back in the six digits it was printed with.

Source: reference graph_dumps.md section 4.2.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable

from dumps import ge_tree
from dumps.errors import DumpError
from dumps.records import DumpGraph, WarningLog
from dumps.source import MAX_BYTES, check_text, load, shown
from dumps.textlines import MAX_DEPTH
from dumps.textproto import Message
from dumps.textvalue import unescape

FORMAT = "atc_json"
_SPACE = re.compile(r"[ \t\r\n]*")
_TYPE = re.compile(r'"type"\s*:\s*"')
# Single bytes fields are escaped once more by the writer, list entries are not.
_ESCAPED = frozenset(("s", "bt", "expression"))
_MOST_RECOVERIES = 100
_LONGEST_NUMBER = 400


def read(path: str | Path, *, max_bytes: int = MAX_BYTES) -> DumpGraph:
    """Read a model in atc's JSON.

    Returns:
        The first graph; further graphs of the file are its subgraphs.

    Raises:
        DumpError: the file cannot be read, is too large, or holds no graph.
    """
    return parse(load(path, max_bytes), path)


def parse(data: bytes, path: object) -> DumpGraph:
    """Read the JSON of a model; `path` is for messages.

    Raises:
        DumpError: the text holds no graph.
    """
    log = WarningLog(path)
    text = check_text(data, path).decode("utf-8", "replace")
    walker = _Walker(text, log)
    walker.read()
    if not walker.graphs:
        line, found = walker.stopped or (1, shown(text.lstrip()[:60]))
        raise DumpError(path, line, found, 'a JSON object with a list "graph"')
    walker.graphs[0].items.extend(
        ("attr", message, message.line) for message in walker.model.messages("attr"))
    graphs = [ge_tree.graph(message, log, FORMAT) for message in walker.graphs]
    graphs[0].subgraphs = tuple(graphs[1:])
    graphs[0].check_references()
    return graphs[0]


class _DamagedError(Exception):
    """The text is no JSON at this offset."""

    def __init__(self, place: int, reason: str) -> None:
        self.place = place
        super().__init__(reason)


class _Walker:
    """Walks the outer objects by hand and leaves the inner ones to json.

    Attributes:
        graphs: messages like GraphDef, in order.
        model: fields beside the graphs.
        stopped: line and reason, where the text stopped being JSON.
    """

    def __init__(self, text: str, log: WarningLog) -> None:
        self._text = text
        self._log = log
        self._decoder = json.JSONDecoder(parse_int=_whole, strict=False)
        self._counted = 0
        self._line = 1
        self._recoveries = 0
        self._rest_is_counted = False
        self.graphs: list[Message] = []
        self.model = Message()
        self.stopped: tuple[int, str] | None = None

    def read(self) -> None:
        """Walk the file to its end, or to where it is no JSON any more."""
        try:
            end = self._object(self._skip(0), self._model_member)
            rest = self._text[self._skip(end):]
            if rest:
                self._log.add(self._line_at(end),
                              f"text after the model: {shown(rest)}")
        except _DamagedError as error:
            line = self._line_at(error.place)
            self.stopped = (line, str(error))
            self._log.add(line, f"not JSON from here on: {error}")
            lost = len(_TYPE.findall(self._text, error.place))
            if lost and not self._rest_is_counted:
                self._log.lose(line, lost, "the text is damaged")

    def _model_member(self, key: str, place: int) -> int:
        if key == "graph" and self._text.startswith("[", place):
            return self._array(place, self._graph)
        value, end = self._value(place)
        self.model.items.extend(_fields(key, value, self._line_at(place)))
        return end

    def _graph(self, place: int) -> int:
        message = Message(self._line_at(place))
        self.graphs.append(message)

        def member(key: str, at: int) -> int:
            if key == "op" and self._text.startswith("[", at):
                return self._array(at, lambda start: self._operator(message, start))
            value, end = self._value(at)
            message.items.extend(_fields(key, value, self._line_at(at)))
            return end

        return self._object(place, member)

    def _operator(self, graph: Message, place: int) -> int:
        """Decode an operator; past a damaged one go on with the next."""
        line = self._line_at(place)
        try:
            value, end = self._value(place)
        except _DamagedError as error:
            following = self._next_operator(place)
            if following is None:
                self._rest_is_counted = True
                lost = max(1, len(_TYPE.findall(self._text, place)))
                self._log.lose(line, lost, f"the text ends or is damaged ({error})")
                raise
            self._log.lose(line, 1, f"not JSON at line {self._line_at(error.place)} "
                           f"({error})")
            return following
        if not isinstance(value, dict):
            self._log.add(line, f"found {shown(str(value))}, expected an operator")
            return end
        graph.items.append(("op", _message(value, line, 0), line))
        return end

    def _next_operator(self, place: int) -> int | None:
        """Return where to go on: before the next operator of the same indent."""
        self._recoveries += 1
        start = self._text.rfind("\n", 0, place) + 1
        indent = self._text[start:place]
        if indent.strip() or self._recoveries > _MOST_RECOVERIES:
            return None
        found = self._text.find(f"\n{indent}{{", place)
        return None if found < 0 else -(found + 1)

    # JSON.

    def _skip(self, place: int) -> int:
        match = _SPACE.match(self._text, place)
        return match.end() if match else place

    def _value(self, place: int) -> tuple[Any, int]:
        try:
            return self._decoder.raw_decode(self._text, place)
        except RecursionError as error:
            raise _DamagedError(place, "nested too deep") from error
        except json.JSONDecodeError as error:
            raise _DamagedError(error.pos, error.msg) from error
        except (ValueError, StopIteration) as error:
            raise _DamagedError(place, str(error)) from error

    def _object(self, place: int, member: Callable[[str, int], int]) -> int:
        """Visit the members of an object; return the offset after it."""
        if not self._text.startswith("{", place):
            raise _DamagedError(place, "an object must begin here")
        place = self._skip(place + 1)
        while not self._text.startswith("}", place):
            key, place = self._value(place)
            place = self._skip(place)
            if not isinstance(key, str) or not self._text.startswith(":", place):
                raise _DamagedError(place, "a key and a colon must stand here")
            place = self._separator(member(key, self._skip(place + 1)), "}")
        return place + 1

    def _array(self, place: int, element: Callable[[int], int]) -> int:
        """Visit the elements of an array; return the offset after it."""
        place = self._skip(place + 1)
        while not self._text.startswith("]", place):
            end = element(place)
            place = self._skip(-end) if end < 0 else self._separator(end, "]")
        return place + 1

    def _separator(self, place: int, closing: str) -> int:
        place = self._skip(place)
        if self._text.startswith(",", place):
            return self._skip(place + 1)
        if not self._text.startswith(closing, place):
            raise _DamagedError(place, f"',' or '{closing}' must stand here")
        return place

    def _line_at(self, place: int) -> int:
        if place < self._counted:
            self._counted, self._line = 0, 1
        self._line += self._text.count("\n", self._counted, place)
        self._counted = place
        return self._line


def _whole(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError("a number of too many digits")
    return int(digits)


def _message(value: dict[str, Any], line: int, depth: int) -> Message:
    """Return a JSON object as the message it was made from."""
    message = Message(line)
    if depth < MAX_DEPTH:
        for key, content in value.items():
            message.items.extend(_fields(key, content, line, depth))
    return message


def _fields(key: str, content: Any, line: int,
            depth: int = 0) -> list[tuple[str, Any, int]]:
    if isinstance(content, list):
        return [(key, _content(key, item, line, (depth, True)), line)
                for item in content]
    return [(key, _content(key, content, line, (depth, False)), line)]


def _content(key: str, content: Any, line: int, where: tuple[int, bool]) -> Any:
    depth, is_listed = where
    if isinstance(content, dict):
        return _message(content, line, depth + 1)
    if isinstance(content, bool):
        return b"true" if content else b"false"
    if isinstance(content, (int, float)):
        return repr(content).encode("ascii")
    if isinstance(content, str):
        data = content.encode("utf-8", "surrogatepass")
        if key in _ESCAPED and not is_listed:
            data = unescape(data)
        return _quoted(data)
    return Message(line)


def _quoted(data: bytes) -> bytes:
    for plain, escaped in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        data = data.replace(plain, escaped)
    return b'"%b"' % data
