"""ge_proto dumps: GE's ModelDef as protobuf text.

Name, type and inputs of the operators are read at once, everything else when it is
asked for. A bare GraphDef, as AutoFuse serialises it, is read as well.

Source: reference graph_dumps.md section 3.
"""

from __future__ import annotations

import bisect
import re
from pathlib import Path
from typing import Any, Mapping, NamedTuple

from dumps import ge_tree, textproto
from dumps.errors import DumpError
from dumps.outline import BLOCK, CHUNK, SCALAR, Part, odd_lines, outline
from dumps.records import DumpGraph, DumpNode, NodeDetail, WarningLog
from dumps.source import MAX_BYTES, check_text, load, shown
from dumps.textproto import Message
from dumps.textvalue import to_text

FORMAT = "ge_proto"
_MODEL_FIELDS = frozenset((b"name", b"version", b"custom_version", b"graph", b"attr",
                           b"attr_groups"))
_GRAPH_FIELDS = frozenset(name.encode() for name in ge_tree.GRAPH_FIELDS)
_OPERATOR_HEAD = re.compile(rb"(?:^|[\s{<>};,])op\s*:?\s*[{<]")


class IndexEntry(NamedTuple):
    """Where an operator stands.

    Attributes:
        name: its name.
        type: its type.
        line: 1-based line it begins at.
    """

    name: str
    type: str
    line: int


def read(path: str | Path, *, max_bytes: int = MAX_BYTES) -> DumpGraph:
    """Read a ge_proto dump.

    Returns:
        The dumped graph; further graphs of the file are its subgraphs.

    Raises:
        DumpError: the file cannot be read, is too large, or holds no graph.
    """
    return parse(load(path, max_bytes), path)


def parse(data: bytes, path: object) -> DumpGraph:
    """Read the text of a ge_proto dump; `path` is for messages.

    Raises:
        DumpError: the text holds no graph.
    """
    log = WarningLog(path)
    reader = _Reader(_prepare(data, path), log)
    graphs = reader.model()
    if not any(graph.nodes for graph in graphs) and _OPERATOR_HEAD.search(data):
        log = WarningLog(path)
        graphs = _from_tree(data, log)
    if not graphs:
        first = data.lstrip()[:80].split(b"\n")[0]
        raise DumpError(path, 1, shown(first), "the text of a GE graph (graph {)")
    for graph in graphs[1:]:
        if graph.name and graph.name == graphs[0].name:
            log.add(graph.line, f"a second graph {shown(graph.name)}: "
                    "the file holds several dumps, one after the other")
    main = graphs[0]
    main.subgraphs = tuple(graphs[1:])
    return main


def index(path: str | Path, *, max_bytes: int = MAX_BYTES) -> list[IndexEntry]:
    """Return where the operators of a dump stand, without edges and checks.

    Raises:
        DumpError: the file cannot be read or is too large.
    """
    data = _prepare(load(path, max_bytes), path)
    entries: list[IndexEntry] = []
    for top in outline(data, 0, len(data), 0):
        if top.kind == SCALAR or top.key == b"attr":
            continue
        whole = top.key == b"op"
        inner = [top] if whole else outline(
            data, data.find(b"\n", top.start + 1), top.end, 2)
        lead = b"\n" + b" " * (2 if whole else 4)
        counted, line = 0, 0
        for part in inner:
            if part.key == b"op":
                line += data.count(b"\n", counted, part.start + 1)
                counted = part.start + 1
                name, kind, _ = _head(data, data.find(b"\n", counted), lead)
                entries.append(IndexEntry(name or "", kind or "", line))
    return entries


def _prepare(data: bytes, path: object) -> bytes:
    """Return the text with a newline before it and after it, CR gone."""
    data = check_text(data, path)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    return b"\n%b" % data if data.endswith(b"\n") else b"\n%b\n" % data


def _head(data: bytes, place: int, lead: bytes) -> tuple[str | None, str | None, int]:
    """Read name and type of an operator from where they regularly stand.

    Args:
        data: the text.
        place: offset of the newline before the operator's first field.
        lead: that newline and the blanks before a field.

    Returns:
        Name, type (None where they do not stand there) and the newline after them.
    """
    found: list[str | None] = []
    for key in (b'name: "', b'type: "'):
        start = place + len(lead) + len(key)
        end = data.find(b"\n", start)
        if not data.startswith(lead + key, place) or data[end - 1] != 0x22:
            found.append(None)
            continue
        found.append(to_text(data[start - 1:end]))
        place = end
    return found[0], found[1], place


class _Operator:
    """An operator's place in the text; parses its details when called."""

    __slots__ = ("depth", "end", "line", "reader", "start")

    def __init__(self, reader: _Reader, start: int, end: int, line: int,
                 depth: int) -> None:
        self.reader = reader
        self.start = start
        self.end = end
        self.line = line
        self.depth = depth

    def text(self) -> bytes:
        return self.reader.data[self.start + 1:self.end + 1]

    def message(self) -> Message:
        whole = textproto.parse(self.text(), self.reader.log.path, self.reader.log,
                                line=self.line, depth=self.depth)
        return whole.message("op") or Message(self.line)

    def __call__(self) -> NodeDetail:
        return ge_tree.node_detail(self.message(), self.reader.log)


class _Reader:
    """One file while it is read, and what its nodes need afterwards."""

    def __init__(self, data: bytes, log: WarningLog) -> None:
        self.data = data
        self.log = log
        self._counted = 0
        self._lines = 0
        self._odd = odd_lines(data, 0, len(data) - 1)
        self._is_balanced = data.count(b"{\n") == data.count(b"}\n")
        self._names_seen = 0

    def line_at(self, place: int) -> int:
        """Return the line that starts after the newline at `place`."""
        if place + 1 < self._counted:
            self._counted = self._lines = 0
        self._lines += self.data.count(b"\n", self._counted, place + 1)
        self._counted = place + 1
        return self._lines

    def model(self) -> list[DumpGraph]:
        """Read the whole file as a ModelDef, or as a GraphDef without one around it."""
        parts = outline(self.data, 0, len(self.data) - 1, 0)
        if any(part.key == b"op" for part in parts):
            return [self._graph(parts, 1, 0, {})]
        graphs: list[DumpGraph] = []
        around = [part for part in parts if part.key == b"attr"]
        model = _LazyAttributes(self, around, 0)
        for part in parts:
            self._model_part(part, graphs, model if not graphs else {})
        return graphs

    def _model_part(self, part: Part, graphs: list[DumpGraph],
                    model: Mapping[str, Any] | _LazyAttributes) -> None:
        line = self.line_at(part.start)
        holds_operators = part.kind != SCALAR and self.data.find(
            b"\n  op {\n", part.start, part.end) >= 0
        if part.kind == BLOCK and (part.key == b"graph" or holds_operators):
            if part.key != b"graph":
                self.log.add(line, f"found {shown(part.key)}, expected 'graph'; "
                             "read as one")
            if not part.is_closed:
                self.log.add(self.line_at(part.end), "graph not closed")
            graphs.append(self._region(part, line, model))
        elif part.kind == CHUNK:
            self._loose(part, line, graphs, holds_operators)
        elif part.key not in _MODEL_FIELDS:
            self.log.unknown[part.key.decode("ascii", "replace")] += 1
            self.log.add(line, f"unknown field {shown(part.key)} passed over")
        elif part.key == b"name" and graphs:
            self.log.add(line, "a second model begins: the file holds several dumps, "
                         "one after the other")

    def _region(self, part: Part, line: int,
                model: Mapping[str, Any] | _LazyAttributes) -> DumpGraph:
        inside = self.data.find(b"\n", part.start + 1)
        end = part.end - 2 if part.is_closed else part.end
        return self._graph(outline(self.data, inside, max(end, inside), 2), line, 1,
                           model, ends_open=not part.is_closed)

    def _loose(self, part: Part, line: int, graphs: list[DumpGraph],
               holds_operators: bool) -> None:
        """Take in text between the graphs that is no regular field."""
        if not holds_operators:
            found = _from_text(self.data[part.start + 1:part.end], line, self.log)
            graphs.extend(found)
            self._count_lost(part, line, sum(len(graph.nodes) for graph in found), 1)
            return
        self.log.add(line, "operators outside of a graph, or a damaged head of one")
        extra = self._graph(outline(self.data, part.start, part.end, 2), line, 1, {},
                            ends_open=True)
        if not graphs:
            graphs.append(extra)
        else:
            last = graphs[-1]
            last.nodes = (*last.nodes, *extra.nodes)

    def _graph(self, parts: list[Part], line: int, depth: int,
               model: Mapping[str, Any] | _LazyAttributes,
               *, ends_open: bool = False) -> DumpGraph:
        nodes: list[DumpNode] = []
        texts: dict[bytes, list[str]] = {b"name": [], b"input": [], b"output": []}
        attrs = []
        for part in parts:
            if part.key == b"op" and part.kind == BLOCK:
                last = ends_open and part is parts[-1] and not part.is_closed
                self._operator(part, depth, nodes, last)
            elif part.kind == SCALAR and part.key in texts:
                texts[part.key].append(to_text(part.value))
            elif part.key == b"attr":
                attrs.append(part)
            elif part.kind == CHUNK:
                self._chunk(part, depth, nodes)
            elif part.key not in _GRAPH_FIELDS:
                self._unknown(part, depth)
        return DumpGraph(
            texts[b"name"][-1] if texts[b"name"] else "", self.log.path, FORMAT, nodes,
            inputs=texts[b"input"], line=line, log=self.log,
            outputs=ge_tree.outputs(nodes, texts[b"output"], self.log),
            attributes=_LazyAttributes(self, attrs, depth, model))

    def _operator(self, part: Part, depth: int, nodes: list[DumpNode],
                  is_last: bool) -> None:
        line = self.line_at(part.start)
        place = _Operator(self, part.start, part.end, line, depth)
        inside = self.data.find(b"\n", part.start + 1)
        lead = b"\n" + b" " * (2 * depth + 2)
        name, kind, after = _head(self.data, inside, lead)
        if is_last:
            self.log.lose(line, 1, f"the text ends inside {shown(name or 'it')}")
            return
        tokens, after = self._inputs(after, lead)
        if name and kind and part.is_closed and self._is_sound(part) \
                and not self.data.startswith((lead + b"name:", lead + b"type:"), after):
            inputs, controls = ge_tree.edges(tokens, self.log, line)
            nodes.append(DumpNode(name, kind, inputs, controls, line, place,
                                  place.text))
            return
        if not part.is_closed:
            self.log.add(line, f"operator {shown(name or '')} not closed")
        message = place.message()
        if not message.items:
            self.log.add(line, "empty operator left out")
            return
        node = ge_tree.node(message, self.log)
        nodes.append(DumpNode(node.name, node.type, node.inputs, node.controls, line,
                              lambda: node.detail, place.text))

    def _inputs(self, after: int, lead: bytes) -> tuple[list[str], int]:
        """Read the inputs that follow the type."""
        tokens = []
        head = lead + b'input: "'
        data = self.data
        while data.startswith(head, after):
            start = after + len(head)
            after = data.find(b"\n", start)
            token = data[start:after - 1]
            tokens.append(to_text(data[start - 1:after]) if b"\\" in token
                          else token.decode("utf-8", "surrogateescape"))
        return tokens, after

    def _is_sound(self, part: Part) -> bool:
        """Say whether an operator's lines are regular and its brackets in pairs."""
        data, start, end = self.data, part.start, part.end
        if self._odd:
            place = bisect.bisect_left(self._odd, start)
            if place < len(self._odd) and self._odd[place] < end:
                return False
        return self._is_balanced or data.count(b"{\n", start, end + 1) == data.count(
            b"}\n", start, end + 1)

    def _chunk(self, part: Part, depth: int, nodes: list[DumpNode]) -> None:
        """Take the operators out of text that is not regular."""
        line = self.line_at(part.start)
        trial = WarningLog(self.log.path)
        whole = textproto.parse(self.data[part.start + 1:part.end + 1], self.log.path,
                                trial, line=line, depth=depth)
        found = ge_tree.graph(whole, self.log, FORMAT).nodes
        nodes.extend(found)
        for warning in trial.all():
            self.log.add(warning.line, warning.message)
        if not found and whole.items:
            self.log.add(line, f"field {shown(whole.items[0][0])} out of place")
        self._count_lost(part, line, len(found), depth)

    def _count_lost(self, part: Part, line: int, found: int, depth: int) -> None:
        text = self.data[part.start:part.end]
        heads = len(_OPERATOR_HEAD.findall(text))
        orphans = text.count(b'\n%btype: "' % (b" " * (2 * depth + 2)))
        lost = max(heads, orphans) - found
        if lost > 0:
            self.log.lose(line, lost, "their text is damaged beyond reading")

    def _unknown(self, part: Part, depth: int) -> None:
        line = self.line_at(part.start)
        self.log.unknown[part.key.decode("ascii", "replace")] += 1
        lead = b"\n" + b" " * (2 * depth + 2)
        if part.kind == BLOCK and self.data.find(
                lead + b'type: "', part.start, part.end) >= 0:
            self.log.lose(line, 1, f"found {shown(part.key)}, expected 'op'")
        else:
            self.log.add(line, f"unknown field {shown(part.key)} passed over")


class _LazyAttributes:
    """Attributes of a graph, and of the model around it; parsed when called."""

    def __init__(self, reader: _Reader, parts: list[Part], depth: int,
                 model: Mapping[str, Any] | _LazyAttributes | None = None) -> None:
        self._reader = reader
        self._parts = parts
        self._depth = depth
        self._model = model

    def __call__(self) -> Mapping[str, Any]:
        reader = self._reader
        whole = Message()
        for part in self._parts:
            text = reader.data[part.start + 1:part.end + 1]
            whole.items.extend(textproto.parse(
                text, reader.log.path, reader.log, line=reader.line_at(part.start),
                depth=self._depth).items)
        own = ge_tree.attributes(whole, reader.log)
        around = self._model() if callable(self._model) else self._model
        if not around:
            return own
        return ge_tree.Layered(dict(around), own)


def _from_tree(data: bytes, log: WarningLog) -> list[DumpGraph]:
    """Read text of any surface."""
    graphs = _from_text(check_text(data, log.path), 1, log)
    found = sum(len(graph.nodes) for graph in graphs)
    lost = len(_OPERATOR_HEAD.findall(data)) - found
    if lost > 0 and log.all():
        log.lose(0, lost, "their text is damaged beyond reading")
    return graphs


def _from_text(text: bytes, line: int, log: WarningLog) -> list[DumpGraph]:
    whole = textproto.parse(text, log.path, log, line=line)
    graphs = [ge_tree.graph(message, log, FORMAT)
              for message in whole.messages("graph")]
    if whole.messages("op"):
        loose = ge_tree.graph(whole, log, FORMAT)
        if graphs:
            log.add(loose.nodes[0].line if loose.nodes else line,
                    "operators outside of a graph")
            graphs[-1].nodes = (*graphs[-1].nodes, *loose.nodes)
        else:
            graphs.append(loose)
    return graphs
