"""Readable dumps: GE's graph as one line a node, made for reading by eye.

They have no control edges, shapes, dtypes, formats or private attributes, and nothing
in them is escaped: names are told apart from punctuation by being defined in the file.

Source: reference graph_dumps.md section 4.3.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Any

from dumps.errors import DumpError
from dumps.records import DumpGraph, DumpNode, Edge, NodeDetail, WarningLog
from dumps.source import MAX_BYTES, check_text, load, shown

FORMAT = "readable"
_GRAPH = re.compile(r'graph\("(.*)"\):\Z')
_LEFT = re.compile(r"\s*%(.+?) : \[#?users=(\d{1,9})\] = ", re.DOTALL)
_NODE = re.compile(r"Node\[type=([^\]]*)\] \(")
_ELEMENT = re.compile(r"get_element\[node=%(.*)\]\((\d{1,9})\)\Z", re.DOTALL)
_RETURN = re.compile(r"\s+return \((.*)\)\Z", re.DOTALL)
_PORT = re.compile(r"(?:\A|, )([A-Za-z_]\w*)=%")
_KEY = re.compile(r", ([A-Za-z_][\w.]*): ")
_FIRST_KEY = re.compile(r"([A-Za-z_][\w.]*): ")
_INTEGER = re.compile(r"-?\d{1,300}\Z")
_FLOAT = re.compile(r"-?(?:\d{1,300}\.?\d{0,300}(?:[eE][+-]?\d{1,5})?|inf|nan)\Z")
_MOST_GRAPHS = 20000
_MOST_INPUTS = 100000
_OPEN, _CLOSE = "[{(", "]})"


def read(path: str | Path, *, max_bytes: int = MAX_BYTES) -> DumpGraph:
    """Read a readable dump.

    Returns:
        The first graph; further graphs of the file are its subgraphs.

    Raises:
        DumpError: the file cannot be read, is too large, or holds no graph.
    """
    return parse(load(path, max_bytes), path)


def parse(data: bytes, path: object) -> DumpGraph:
    """Read the text of a readable dump; `path` is for messages.

    Raises:
        DumpError: the text holds no graph.
    """
    log = WarningLog(path)
    lines = check_text(data, path).decode("utf-8", "replace").split("\n")
    blocks: list[_Block] = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        if log.is_hopeless or len(blocks) > _MOST_GRAPHS:
            log.give_up(number, sum("] = Node[" in each for each in lines[number - 1:]))
            break
        line = line.rstrip()
        match = _GRAPH.match(line)
        if match:
            blocks.append(_Block(match.group(1), number, log))
        elif line:
            if not blocks:
                if "] = Node[" not in line:
                    log.add(number, f"found {shown(line)}, expected graph(\"name\"):")
                    continue
                log.add(number, "operators before the head of a graph")
                blocks.append(_Block("", number, log))
            blocks[-1].take(line, number)
    if not blocks:
        raise DumpError(path, 1, shown(lines[0][:80]), 'graph("<name>"):')
    graphs = [block.graph() for block in blocks]
    graphs[0].subgraphs = tuple(graphs[1:])
    return graphs[0]


class _Block:
    """One graph while its lines come in; names are looked up at the end."""

    def __init__(self, name: str, line: int, log: WarningLog) -> None:
        self._name = name
        self._line = line
        self._log = log
        self._nodes: list[tuple[str, str, str, int]] = []
        self._elements: dict[str, Edge] = {}
        self._names: set[str] = set()
        self._result: str | None = None

    def take(self, line: str, number: int) -> None:
        """Take in a line of the graph."""
        left = _LEFT.match(line)
        right = line[left.end():] if left else ""
        node = _NODE.match(right)
        element = _ELEMENT.match(right)
        result = _RETURN.match(line)
        if left and node and right.endswith(")"):
            self._nodes.append(
                (left.group(1), node.group(1), right[node.end():-1], number))
            self._names.add(left.group(1))
        elif left and element:
            self._elements[left.group(1)] = Edge(element.group(1),
                                                 int(element.group(2)))
        elif result:
            self._result = result.group(1)
        elif "Node[" in line or (left and "get_element" not in line):
            self._log.lose(number, 1, f"line not understood: {shown(line)}")
        else:
            self._log.add(number, f"line not understood: {shown(line)}")

    def graph(self) -> DumpGraph:
        """Return the graph with its edges resolved."""
        if self._result is None:
            self._log.add(self._line, f"graph {shown(self._name)} has no return line: "
                          "it may be cut short")
        nodes = [self._node(*each) for each in self._nodes]
        outputs = self._outputs(self._result or "")
        return DumpGraph(self._name, self._log.path, FORMAT, nodes, outputs=outputs,
                         line=self._line, log=self._log)

    def _node(self, name: str, kind: str, body: str, number: int) -> DumpNode:
        inputs: tuple[tuple[str, Edge], ...] = ()
        rest = body
        if body.startswith("inputs = ("):
            end = self._inputs_end(body)
            inputs = self._edges(body[len("inputs = ("):end], number)
            rest = body[end + 1:].lstrip(", ")
        attrs: dict[str, Any] = {}
        if rest.startswith("attrs = {") and rest.endswith("}"):
            attrs = _attributes(rest[len("attrs = {"):-1])
        elif rest:
            self._log.add(number, f"attributes not understood: {shown(rest)}")
        subgraphs = tuple(value[1:] for value in attrs.values()
                          if isinstance(value, str) and value.startswith("%"))
        detail = NodeDetail(attrs, subgraphs=subgraphs,
                            fields={"input_name": tuple(port for port, _ in inputs)})
        return DumpNode(name, kind, tuple(edge for _, edge in inputs), (), number,
                        detail)

    def _inputs_end(self, body: str) -> int:
        """Return where the bracket after the inputs stands."""
        end = body.find("), attrs = {")
        return end if end >= 0 else max(body.rfind(")"), len("inputs = ("))

    def _edges(self, text: str, number: int) -> tuple[tuple[str, Edge], ...]:
        """Split `port=%name, port=%name`; a name may hold a comma."""
        marks = list(islice(_PORT.finditer(text), _MOST_INPUTS + 1))
        if len(marks) > _MOST_INPUTS:
            self._log.add(number, f"more than {_MOST_INPUTS:,} inputs; the rest of "
                          "them left out")
        if not marks and text.strip():
            self._log.add(number, f"inputs not understood: {shown(text)}")
        found: list[tuple[str, Edge]] = []
        for place, mark in enumerate(marks):
            end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
            found.append((mark.group(1), self._edge(text[mark.end():end], number)))
        return tuple(found)

    def _edge(self, name: str, number: int) -> Edge:
        if name in self._elements:
            return self._elements[name]
        if name not in self._names:
            self._log.add(number, f"input {shown(name)} is not defined in the graph")
        return Edge(name, 0)

    def _outputs(self, text: str) -> tuple[Edge, ...]:
        if not text.strip():
            return ()
        if text.startswith("%"):
            return (self._edge(text[1:], self._line),)
        return tuple(edge for _, edge in self._edges(text, self._line))


def _attributes(text: str) -> dict[str, Any]:
    """Split `key: value, ...`; commas inside brackets and quotes do not count."""
    found: dict[str, Any] = {}
    first = _FIRST_KEY.match(text)
    if first is None:
        return found
    key, start = first.group(1), first.end()
    depth_at = _outer_commas(text)
    for mark in _KEY.finditer(text):
        if mark.start() in depth_at and mark.start() >= start:
            found[key] = _value(text[start:mark.start()])
            key, start = mark.group(1), mark.end()
    found[key] = _value(text[start:])
    return found


def _outer_commas(text: str) -> set[int]:
    """Return the offsets of commas outside of brackets and quotes."""
    found = set()
    depth = 0
    quoted = False
    for place, character in enumerate(text):
        if character == '"' and text[place - 1:place] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth = max(0, depth - 1)
        elif character == "," and depth == 0:
            found.add(place)
    return found


def _value(text: str) -> Any:
    """Return a printed value as a number, boolean, string or tuple."""
    text = text.strip()
    if text[:1] in "[{" and text[-1:] in "]}" and len(text) >= 2:
        inner = text[1:-1].strip()
        parts = re.split(r",\s*|\s+", inner) if inner else []
        return tuple(_scalar(part) for part in parts if part)
    return _scalar(text)


def _scalar(text: str) -> Any:
    if _INTEGER.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if text in ("true", "false"):
        return text == "true"
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text
