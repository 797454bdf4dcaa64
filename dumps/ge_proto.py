"""ge_proto dumps: GE's ModelDef as protobuf text.

Name, type and inputs of the operators are read at once, everything else when it is
asked for. A bare GraphDef, as AutoFuse serializes it, is read as well.

Source: reference graph_dumps.md section 3.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

from dumps import ge_tree
from dumps.outline import Head, outline, string_field
from dumps.records import DumpGraph, DumpNode, NodeDetail
from dumps.source import MAX_BYTES, check_text, load
from dumps.textgraph import Graphs, TextReader
from dumps.textproto import Message

FORMAT = "ge_proto"


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
    return _Reader(data, path).read()


def index(path: str | Path, *, max_bytes: int = MAX_BYTES) -> list[IndexEntry]:
    """Return where the operators of a dump stand, without edges and checks.

    Raises:
        DumpError: the file cannot be read or is too large.
    """
    data = check_text(load(path, max_bytes), path)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    return _index(data, 2, 1) or _index(b"\n" + data, 0, 0)


def _index(data: bytes, indent: int, first_line: int) -> list[IndexEntry]:
    """Find the operators at an indent, whatever is around them."""
    lead = b"\n" + b" " * (indent + 2)
    entries: list[IndexEntry] = []
    counted, line = 0, first_line
    for part in outline(data, 0, len(data), indent, b"op"):
        if part.key == b"op":
            line += data.count(b"\n", counted, part.start + 1)
            counted = part.start + 1
            after = data.find(b"\n", counted)
            name, after = string_field(data, after, lead + b'name: "')
            kind, _ = string_field(data, after, lead + b'type: "')
            entries.append(IndexEntry(name or "", kind or "", line))
    return entries


class _Reader(TextReader):
    FORMAT = FORMAT
    ITEM = b"op"
    MODEL = frozenset((b"name", b"version", b"custom_version", b"attr", b"attr_groups"))
    GRAPH = frozenset(name.encode() for name in ge_tree.GRAPH_FIELDS)
    EXPECTED = "the text of a GE graph (graph {)"

    def head(self, place: int, lead: bytes) -> Head:
        name, after = string_field(self.data, place, lead + b'name: "')
        kind, after = string_field(self.data, after, lead + b'type: "')
        inputs = []
        start = lead + b'input: "'
        token, after = string_field(self.data, after, start)
        while token is not None:
            inputs.append(token)
            token, after = string_field(self.data, after, start)
        return Head(name, kind, inputs, after)

    def edges_of(self, head: Head, line: int) -> DumpNode:
        inputs, controls = ge_tree.edges(head.inputs, self.log, line)
        return DumpNode(head.name or "", head.type or "", inputs, controls, line)

    def detail_of(self, message: Message) -> NodeDetail:
        return ge_tree.node_detail(message, self.log)

    def graphs_of(self, message: Message) -> Graphs:
        return [ge_tree.graph(message, self.log, FORMAT)]

    def attributes_of(self, parts: Message) -> Mapping[str, Any]:
        return ge_tree.attributes(parts, self.log)

    def outputs_of(self, nodes: list[DumpNode], listed: list[str]) -> Sequence[Any]:
        return ge_tree.outputs(nodes, listed, self.log)
