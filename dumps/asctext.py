"""The debug texts of an AscGraph, in the three dialects that AutoFuse has printed.

One reader takes all: a node's head is `name: Type (id)` or
`[id] name : ascir.ops.Type`; its properties are lines that begin with a dot, and
`.y...` lines begin an output whose further properties are indented deeper or spelled
`.y.dtype = ...`.

Source: reference graph_dumps.md section 6.3.
"""

from __future__ import annotations

import re
from typing import Any

from dumps import dtypes
from dumps.records import (
    DumpGraph,
    DumpNode,
    Edge,
    NodeDetail,
    TensorDesc,
    WarningLog,
)
from dumps.source import shown

# All are matched on stripped lines, and none can backtrack over a run of blanks.
_GRAPH = re.compile(r"(?:Asc)?Graph\s*(?::\s*)?(\S.*)\Z", re.IGNORECASE)
_AXIS = re.compile(r"([A-Za-z_]\w*)\((\d{1,9})\)\s*:\s*(.*)\Z")
_OLD_TYPE = re.compile(r"\s*([A-Za-z]\w*)\s*\((-?\d{1,9})\)\Z")
_NEW_ID = re.compile(r"\[(-?\d{1,9})\]")
_TENSOR = re.compile(
    r"\.(y\d{0,4}|[a-z]\w*)(?:\[(\d{1,4})\])?\s*:\s*([A-Za-z]\w*)\Z")
_PROPERTY = re.compile(r"\.([A-Za-z_][\w.\[\]]*)\s*=\s*(.*)\Z")
_INPUT = re.compile(r"x\d{0,4}\Z")
_OUTPUT = re.compile(r"(y\d{0,4})(?:\[(\d{1,4})\])?\.(\w+)\Z")
_REFERENCE = re.compile(r"(.+)\.(y\d{0,4}|[a-z]\w*)(?:\[(\d{1,4})\])?\Z")
_DATA_TYPES = re.compile(r"(?:u?int\d{1,2}|float\d{0,2}(?:_\w+)?|bfloat16|bool|double|"
                         r"complex\d+|DT_\w+|unknown|undefined)\Z", re.IGNORECASE)
_INTEGER = re.compile(r"-?\d{1,18}\Z")
_LOOKS_LIKE_NODE = re.compile(r":\s*[A-Z]\w*\s*\(\d{1,9}\)")
_LONGEST_AXIS = 4000
_MOST_INPUTS = 100000
_NEW_TYPE = "ascir.ops."
_SECTIONS = ("sizes:", "axis:", "nodes:")
_FRAME = re.compile(r"[=-]{10,}\Z")


def parse(text: str, log: WarningLog) -> DumpGraph | None:
    """Read a debug text; None where it holds no node and no axis.

    Args:
        text: the file.
        log: takes what is not understood.
    """
    reader = _Reader(log)
    lines = text.split("\n")
    views = [number for number, line in enumerate(lines)
             if "VIEW 2" in line and line.strip().startswith("VIEW 2")]
    first = views[0] if views else 0
    for number, line in enumerate(lines[:first], 1):
        reader.title(line, number)
    for number, line in enumerate(lines[first:], first + 1):
        if not line:
            continue
        stripped = line.strip()
        if stripped.startswith(("VIEW 3", "End of Dump")):
            reader.is_complete = any("End of Dump" in each
                                     for each in lines[number - 1:])
            break
        if log.is_hopeless:
            log.give_up(number, sum(map(_is_node_line, lines[number - 1:])))
            break
        if stripped:
            reader.take(line.rstrip(), number)
    if views and not reader.is_complete:
        log.add(len(lines), "the text ends before 'End of Dump'")
    elif not views and lines[-1]:
        log.add(len(lines), "the last line has no end: the text may be cut short")
    return reader.graph()


def _is_node_line(line: str) -> bool:
    return _NEW_TYPE in line or (
        ":" in line and _LOOKS_LIKE_NODE.search(line) is not None)


def shape(repeats: tuple[str, ...]) -> tuple[int, ...]:
    """Return sizes as a shape; a symbol is -1."""
    return tuple(int(size) if _INTEGER.match(size) else -1 for size in repeats)


class _Node:
    """A node while its lines come in."""

    def __init__(self, name: str, kind: str, number: int, line: int) -> None:
        self.name = name
        self.kind = kind
        self.number = number
        self.line = line
        self.inputs: dict[str, list[str]] = {}
        self.outputs: dict[tuple[str, int], dict[str, Any]] = {}
        self.values: dict[str, Any] = {"id": number}
        self.is_single = True

    def output(self, port: str, index: int, line: int) -> dict[str, Any]:
        """Return the properties of an output, a new one where there is none."""
        return self.outputs.setdefault((port, index), {"line": line})

    def record(self) -> DumpNode:
        """Return the node."""
        inputs = tuple(_edge(text) for port in sorted(self.inputs, key=_rank)
                       for text in self.inputs[port])
        descs = tuple(_desc(values) for values in self.outputs.values())
        return DumpNode(self.name, self.kind, inputs, (), self.line,
                        NodeDetail(self.values, (), descs))


class _Reader:
    """Takes a debug text line by line.

    Attributes:
        is_complete: the end mark of the text was seen.
    """

    def __init__(self, log: WarningLog) -> None:
        self.is_complete = False
        self._log = log
        self._name = ""
        self._axes: list[dict[str, Any]] = []
        self._nodes: list[_Node] = []
        self._output: tuple[dict[str, Any], int] | None = None
        self._section = ""
        # The last node's line could not be read: its properties are nobody's.
        self._is_lost = False

    def title(self, line: str, number: int) -> None:
        """Take a line of what comes before the part that is parsed."""
        match = _GRAPH.match(line.strip())
        if match and not self._name:
            self._name = match.group(1)
        elif "ascir.ops." in line and line.strip().startswith("["):
            self._log.lose(number, 1, "a node before the part called VIEW 2")

    def take(self, line: str, number: int) -> None:
        """Take a line."""
        stripped = line.strip()
        if _FRAME.match(stripped) or stripped.startswith(("#", "VIEW 2")):
            return
        if stripped.lower() in _SECTIONS:
            self._section = stripped.lower()
            return
        if stripped.startswith("."):
            self._property(stripped, len(line) - len(line.lstrip()), number)
            return
        head = _head(stripped)
        if head is not None:
            self._nodes.append(_Node(*head, number))
            self._output = None
            self._is_lost = False
        elif not self._nodes and _AXIS.match(stripped):
            self._axis(stripped)
        elif not self._nodes and self._is_title(stripped):
            self.title(line, number)
        elif _NEW_TYPE in stripped or _LOOKS_LIKE_NODE.search(stripped):
            self._log.lose(number, 1, f"line not understood: {shown(line)}")
            self._is_lost = True
        else:
            self._log.add(number, f"line not understood: {shown(line)}")

    def _is_title(self, line: str) -> bool:
        """Say whether a line before the nodes may be no node at all."""
        return (self._section != "nodes:" and _NEW_TYPE not in line
                and not _LOOKS_LIKE_NODE.search(line)
                and line.replace("\t", " ").isprintable())

    def _axis(self, line: str) -> None:
        match = _AXIS.match(line)
        if match is None:
            return
        about = match.group(3)[:_LONGEST_AXIS].rstrip(" ,")
        found: dict[str, Any] = {"id": int(match.group(2)), "name": match.group(1)}
        size = re.search(r"size:\s*([^,\s]+)", about)
        origin = re.search(r"from:\s*\{([^}]*)\}", about)
        word = re.match(r"[A-Z_]+\b", about)
        found["axis_type"] = word.group(0) if word else ""
        found["size"] = size.group(1) if size else "" if word else about
        found["from"] = tuple(_names(origin.group(1))) if origin else ()
        self._axes.append(found)

    def _property(self, line: str, indent: int, number: int) -> None:
        if self._is_lost:
            return
        if not self._nodes:
            self._log.add(number, "a property before the first node")
            return
        node = self._nodes[-1]
        tensor = _TENSOR.match(line)
        if tensor and _DATA_TYPES.match(tensor.group(3)):
            values = node.output(tensor.group(1), int(tensor.group(2) or 0), number)
            self._once(values, "dtype", number)
            values["dtype"] = tensor.group(3)
            self._output = (values, indent)
            return
        match = _PROPERTY.match(line)
        if match is None:
            self._log.add(number, f"property not understood: {shown(line)}")
            return
        key, value = match.group(1), match.group(2).rstrip(" ,")
        flat = _OUTPUT.match(key)
        if flat:
            values = node.output(flat.group(1), int(flat.group(2) or 0), number)
            values[flat.group(3)] = _value(value)
        elif self._output is not None and indent > self._output[1]:
            self._output[0][key] = _value(value)
        elif _INPUT.match(key):
            self._once(node.inputs, key, number)
            names = _names(value.strip("{} "))
            if len(names) > _MOST_INPUTS:
                self._log.add(number, f"more than {_MOST_INPUTS:,} inputs; the rest of "
                              "them left out")
            node.inputs[key] = names[:_MOST_INPUTS]
        else:
            self._once(node.values, key, number)
            node.values[key] = _value(value)

    def _once(self, values: dict[str, Any], key: str, number: int) -> None:
        """Note a property that a node has twice: the head of another is missing."""
        node = self._nodes[-1]
        if key in values and node.is_single:
            node.is_single = False
            self._log.lose(number, 1, f"property {shown(key)} twice under "
                           f"{shown(node.name)}: the line of another node is missing")

    def graph(self) -> DumpGraph | None:
        """Return the graph, None where nothing was found."""
        if not self._nodes and not self._axes:
            return None
        nodes = [node.record() for node in self._nodes]
        outputs = tuple(edge for node in nodes if node.type == "Output"
                        for edge in node.inputs if edge is not None)
        return DumpGraph(self._name, self._log.path, "ascgraph", nodes, log=self._log,
                         outputs=outputs, attributes={"axis": tuple(self._axes)})


def _head(line: str) -> tuple[str, str, int] | None:
    """Return name, type and number where a line is the head of a node."""
    new = _NEW_ID.match(line)
    if new and _NEW_TYPE in line:
        left, _, kind = line[new.end():].rpartition(_NEW_TYPE)
        left = left.rstrip()
        if not left.endswith(":") or not kind.isidentifier():
            return None
        return left[:-1].strip(), kind, int(new.group(1))
    left, _, right = line.rpartition(":")
    old = _OLD_TYPE.match(right)
    name = left.strip()
    if old is None or not name or name[0] in ".[(":
        return None
    return name, old.group(1), int(old.group(2))


def _rank(port: str) -> tuple[int, str]:
    return (int(port[1:]) if port[1:].isdigit() else 0, port)


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _edge(text: str) -> Edge | None:
    if not text or text in ("nil", "null", "None"):
        return None
    match = _REFERENCE.match(text)
    if match is None:
        return Edge(text, 0)
    port, index = match.group(2), match.group(3)
    if index is not None:
        return Edge(match.group(1), int(index))
    number = port[1:]
    return Edge(match.group(1),
                max(0, int(number) - 1) if number.isdigit() and port[0] == "y" else 0)


def _value(text: str) -> Any:
    """Return a number as int, braces and brackets as a tuple of text, else text."""
    text = text.strip()
    if _INTEGER.match(text):
        return int(text)
    if len(text) >= 2 and text[0] in "{(" and text[-1] in "})":
        return tuple(_names(text[1:-1]))
    return text


def _desc(values: dict[str, Any]) -> TensorDesc:
    raw = str(values.get("dtype") or "undefined")
    repeats = values.get("repeats")
    more = {key: value for key, value in values.items() if key not in ("dtype", "line")}
    return TensorDesc(
        dtypes.from_name(raw), raw_dtype=raw, line=int(values["line"]), attributes=more,
        shape=shape(repeats) if isinstance(repeats, tuple) else None)
