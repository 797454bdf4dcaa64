"""TensorFlow's GraphDef as text, as the adapter writes it before GE takes over.

Nodes and edges at once, attributes on demand. Function bodies are subgraphs. For a
GraphDef in full, to be computed with, see `dumps.graphdef`.

Source: reference graph_dumps.md section 1.5; TensorFlow's graph.proto, node_def.proto,
attr_value.proto, function.proto.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

from dumps import dtypes, ge_tree
from dumps.outline import BLOCK, Head, Part, string_field
from dumps.records import (
    DumpGraph,
    DumpNode,
    Edge,
    NodeDetail,
    TensorDesc,
    TensorValue,
    WarningLog,
)
from dumps.source import MAX_BYTES, load, shown
from dumps.textgraph import Graphs, TextReader
from dumps.textproto import Message
from dumps.textvalue import to_int, to_text

FORMAT = "tf_pbtxt"
# Attributes that give the dtype of every output, where a node has them.
_DTYPE_KEYS = ("dtype", "DstT")


def read(path: str | Path, *, max_bytes: int = MAX_BYTES) -> DumpGraph:
    """Read a GraphDef text.

    Returns:
        The graph; its functions are the subgraphs.

    Raises:
        DumpError: the file cannot be read, is too large, or holds no GraphDef.
    """
    return parse(load(path, max_bytes), path)


def parse(data: bytes, path: object) -> DumpGraph:
    """Read the text of a GraphDef; `path` is for messages.

    Raises:
        DumpError: the text holds no GraphDef.
    """
    return _Reader(data, path).read()


def attr_value(value: Message, log: WarningLog) -> Any:
    """Return an AttrValue as a plain Python value, None where it holds nothing."""
    if not value.items:
        return None
    key, content, line = value.items[-1]
    if isinstance(content, bytes):
        return _scalar(key, content, log, line)
    if key == "shape":
        return _shape(content, log)
    if key == "tensor":
        return _tensor(content, log)
    if key == "func":
        return {"name": content.text("name"), "attr": _attributes(content, log)}
    if key == "list":
        return tuple(attr_value(Message(line, [(name, item, line)]), log)
                     for name, item, line in content.items)
    return ge_tree.tree(content)


def _scalar(key: str, token: bytes, log: WarningLog, line: int) -> Any:
    if key == "type":
        return dtypes.from_name(to_text(token))
    return ge_tree.scalar_value(key, token, log, line)


def _attributes(owner: Message, log: WarningLog) -> ge_tree.Attributes:
    raw = {entry.text("key"): entry for entry in owner.messages("attr")}

    def decode(entry: Message) -> Any:
        value = entry.message("value")
        return None if value is None else attr_value(value, log)

    return ge_tree.Attributes(raw, decode)


def _shape(content: Message, log: WarningLog) -> tuple[int, ...] | None:
    """Return a TensorShapeProto; None where even the rank is unknown."""
    if content.boolean("unknown_rank"):
        return None
    found = []
    for dim in content.messages("dim"):
        size = dim.integer("size", -1 if dim.scalar("size") is not None else 0)
        if size == -1 and to_int(dim.scalar("size") or b"") is None:
            log.add(dim.line, f"axis {shown(dim.scalar('size') or b'')} of a shape, "
                    "expected a number")
        found.append(size)
    return tuple(found)


def _tensor(content: Message, log: WarningLog) -> TensorValue:
    raw = content.text("dtype", "DT_INVALID")
    shape = content.message("tensor_shape")
    more = {key: tuple(ge_tree.plain(token) for token in content.scalars(key))
            for key in content.names() if key.endswith("_val")}
    return TensorValue(
        TensorDesc(dtypes.from_name(raw), shape=None if shape is None
                   else _shape(shape, log), raw_dtype=raw, line=content.line,
                   attributes=more),
        content.data("tensor_content"))


class _Reader(TextReader):
    FORMAT = FORMAT
    ITEM = b"node"
    TYPE = b"op"
    WRAPPER = b""
    GRAPH = frozenset((b"node", b"library", b"versions", b"version", b"debug_info"))
    EXPECTED = "the text of a TensorFlow GraphDef (node {)"

    def head(self, place: int, lead: bytes) -> Head:
        name, after = string_field(self.data, place, lead + b'name: "')
        kind, after = string_field(self.data, after, lead + b'op: "')
        inputs = []
        start = lead + b'input: "'
        token, after = string_field(self.data, after, start)
        while token is not None:
            inputs.append(token)
            token, after = string_field(self.data, after, start)
        return Head(name, kind, inputs, after)

    def edges_of(self, head: Head, line: int) -> DumpNode:
        inputs: list[Edge | None] = []
        controls = []
        for text in head.inputs:
            if text.startswith("^"):
                controls.append(text[1:])
                continue
            # Inside a function it is node:port:index.
            name, colon, rest = text.partition(":")
            index = rest.rpartition(":")[2]
            if colon and index.isdigit() and index.isascii() and len(index) < 10:
                inputs.append(Edge(name, int(index)))
            else:
                inputs.append(Edge(text, 0) if text else None)
        return DumpNode(head.name or "", head.type or "", tuple(inputs),
                        tuple(controls), line)

    def detail_of(self, message: Message) -> NodeDetail:
        attrs = _attributes(message, self.log)
        functions = []
        for entry in message.messages("attr"):
            value = entry.message("value") or Message()
            functions += [each.text("name") for each in value.messages("func")]
            listed = value.message("list")
            if listed is not None:
                functions += [each.text("name") for each in listed.messages("func")]
        fields = {key: message.text(key) for key in ("device",)
                  if message.scalar(key) is not None}
        for key in message.names():
            if key not in ("name", "op", "input", "device", "attr",
                           "experimental_debug_info", "experimental_type"):
                self.log.unknown[key] += len(message.all(key))
                self.log.add(message.line, f"unknown field {shown(key)} passed over")
        return NodeDetail(attrs, (), _output_descs(attrs, message.line),
                          tuple(functions), fields)

    def graphs_of(self, message: Message) -> Graphs:
        graphs = [self._graph(message, "node")]
        for library in message.messages("library"):
            graphs += self._functions(library)
        return graphs

    def field_graphs(self, part: Part, line: int) -> Graphs | None:
        if part.key != b"library" or part.kind != BLOCK:
            return None
        whole = self.parse(part, line, 0)
        if not part.is_closed:
            self.log.add(line, "function library not closed")
        return [graph for library in whole.messages("library")
                for graph in self._functions(library)]

    def _functions(self, library: Message) -> Graphs:
        graphs = []
        for function in library.messages("function"):
            graph = self._graph(function, "node_def")
            signature = function.message("signature") or Message()
            graph.name = signature.text("name")
            graph.inputs = tuple(arg.text("name")
                                 for arg in signature.messages("input_arg"))
            graph.outputs = tuple(
                edge for entry in function.messages("ret")
                for edge in self.edges_of(
                    Head("", "", [entry.text("value")], 0), 0).inputs
                if edge is not None)
            graphs.append(graph)
        return graphs

    def _graph(self, message: Message, key: str) -> DumpGraph:
        nodes = []
        pending = message.messages(key)[::-1]
        while pending:
            item = pending.pop()
            if not item.items:
                self.log.add(item.line, "empty operator left out")
                continue
            nodes.append(self._node(item))
            inner = item.messages(key)
            if inner:
                self.log.add(item.line, "operator not closed")
                pending.extend(inner[::-1])
        return DumpGraph("", self.log.path, FORMAT, nodes, line=message.line,
                         log=self.log)

    def _node(self, item: Message) -> DumpNode:
        head = Head(item.text("name"), item.text("op"), item.texts("input"), 0)
        if not head.name or not head.type:
            self.log.add(item.line, "operator without a name or a type")
        node = self.edges_of(head, item.line)
        node._detail = lambda: self.detail_of(item)
        return node

    def outputs_of(self, nodes: list[DumpNode], listed: list[str]) -> Sequence[Any]:
        return ()


def _output_descs(attrs: ge_tree.Attributes, line: int) -> tuple[TensorDesc, ...]:
    """Return what the attributes say of the outputs: shapes, rarely dtypes."""
    shapes = attrs.get("_output_shapes")
    dtype = next((attrs[key] for key in _DTYPE_KEYS
                  if isinstance(attrs.get(key), str)), "undefined")
    if not isinstance(shapes, tuple):
        return () if dtype == "undefined" else (TensorDesc(dtype, line=line),)
    return tuple(TensorDesc(dtype, line=line, shape=shape)
                 for shape in shapes if shape is None or isinstance(shape, tuple))
