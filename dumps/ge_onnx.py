"""ge_onnx dumps: GE's graph in the shape of an ONNX model, as protobuf text.

They hold less than ge_proto dumps: strings of operators only at level 1, never dtypes,
functions or graph attributes, and not which operator runs a subgraph.

Source: reference graph_dumps.md section 4.1.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Sequence

from dumps import dtypes, ge_tree
from dumps.outline import BLOCK, CHUNK, Head, Part, outline, string_field
from dumps.records import DumpGraph, DumpNode, NodeDetail, TensorDesc, WarningLog
from dumps.source import MAX_BYTES, load, shown
from dumps.textgraph import Graphs, TextReader
from dumps.textproto import Message
from dumps.textvalue import to_float, to_int

FORMAT = "ge_onnx"
# op_type of the nodes that stand for a graph.
_SUBGRAPH = "subgraph"
_FIELDS = ge_tree.OP_LISTS | ge_tree.OP_SCALARS | {"input_desc_nums",
                                                   "output_desc_nums"}
_DESC = re.compile(r"(input|output)_desc_(.+):(\d{1,6})\Z", re.DOTALL)
_NUMBERS = {"INT": ("i", to_int), "INTS": ("ints", to_int), "FLOAT": ("f", to_float),
            "FLOATS": ("floats", to_float)}
_PACKED = re.compile(r"(input|output)_desc_(\d{1,6})\Z")


def read(path: str | Path, *, max_bytes: int = MAX_BYTES) -> DumpGraph:
    """Read a ge_onnx dump.

    Returns:
        The main graph; nodes that stand for a graph are its subgraphs, not operators.

    Raises:
        DumpError: the file cannot be read, is too large, or holds no graph.
    """
    return parse(load(path, max_bytes), path)


def parse(data: bytes, path: object) -> DumpGraph:
    """Read the text of a ge_onnx dump; `path` is for messages.

    Raises:
        DumpError: the text holds no graph.
    """
    return _Reader(data, path).read()


def attribute_value(attribute: Message, log: WarningLog) -> Any:
    """Return an attribute as a plain Python value; what is not printed is zero.

    Args:
        attribute: its message.
        log: takes a number that is none.
    """
    kind = attribute.text("type")
    if kind in _NUMBERS:
        key, convert = _NUMBERS[kind]
        for token in attribute.scalars(key):
            if convert(token) is None:
                log.add(attribute.line, f"value {shown(token)}, expected a number")
    if kind == "INT":
        return attribute.integer("i")
    if kind == "INTS":
        return tuple(attribute.integers("ints"))
    if kind == "STRING":
        return attribute.text("s")
    if kind == "STRINGS":
        return tuple(attribute.texts("strings"))
    if kind == "FLOAT":
        return attribute.number("f")
    if kind == "FLOATS":
        return tuple(ge_tree.plain(token) for token in attribute.scalars("floats"))
    found = {key: value for key, value in ge_tree.tree(attribute).items()
             if key not in ("name", "type")}
    return found or None


class _Reader(TextReader):
    FORMAT = FORMAT
    ITEM = b"node"
    TYPE = b"op_type"
    MODEL = frozenset((b"ir_version", b"producer_name", b"producer_version", b"domain",
                       b"model_version", b"doc_string", b"opset_import",
                       b"metadata_props"))
    GRAPH = frozenset((b"name", b"node", b"input", b"output", b"initializer",
                       b"doc_string", b"value_info"))
    EXPECTED = "the text of an ONNX model of GE (graph { node {)"

    def head(self, place: int, lead: bytes) -> Head:
        inputs: list[str] = []
        after = place
        for key in (b"input", b"output"):
            start = lead + key + b': "'
            token, after = string_field(self.data, after, start)
            while token is not None:
                if key == b"input":
                    inputs.append(token)
                token, after = string_field(self.data, after, start)
        name, after = string_field(self.data, after, lead + b'name: "')
        kind, after = string_field(self.data, after, lead + b'op_type: "')
        return Head(name, kind, inputs, after)

    def edges_of(self, head: Head, line: int) -> DumpNode:
        inputs, controls = ge_tree.edges(head.inputs, self.log, line)
        return DumpNode(head.name or "", _plain_type(head.type or ""), inputs, controls,
                        line)

    def inner_graphs(self, part: Part, head: Head, depth: int) -> Graphs | None:
        if head.type != _SUBGRAPH or depth > 60:
            return None
        indent = 2 * depth + 2
        graphs: Graphs = []
        for attribute in self._blocks(part, b"attribute", indent):
            for content in self._blocks(attribute, b"g", indent + 2):
                line = self.line_at(content.start)
                graphs.extend(self.block(content, line, indent // 2 + 2))
        return graphs or None

    def _blocks(self, part: Part, key: bytes, indent: int) -> list[Part]:
        inside = self.data.find(b"\n", part.start + 1)
        end = part.end - indent + 1 if part.is_closed else part.end
        found = []
        for each in outline(self.data, inside, max(end, inside), indent, key):
            if each.kind == CHUNK:
                self.damaged(each, indent // 2)
            elif each.kind == BLOCK and each.key == key:
                found.append(each)
                if not each.is_closed:
                    self.log.add(self.line_at(each.end),
                                 f"{shown(key)} of a subgraph not closed")
        return found

    def graphs_of(self, message: Message) -> Graphs:
        nodes: list[DumpNode] = []
        inner: Graphs = []
        pending = message.messages("node")[::-1]
        while pending:
            item = pending.pop()
            if not item.items:
                self.log.add(item.line, "empty operator left out")
                continue
            contents = [graph for attribute in item.messages("attribute")
                        for graph in attribute.messages("g")]
            if item.text("op_type") == _SUBGRAPH and contents:
                for content in contents:
                    inner.extend(self.graphs_of(content))
            else:
                nodes.append(self._node(item))
            if item.messages("node"):
                self.log.add(item.line, "operator not closed")
                pending.extend(item.messages("node")[::-1])
        graph = DumpGraph(
            message.text("name"), self.log.path, FORMAT, nodes, line=message.line,
            inputs=message.texts("input"), log=self.log,
            outputs=self.outputs_of(nodes, message.texts("output")))
        return [graph, *inner]

    def _node(self, item: Message) -> DumpNode:
        head = Head(item.text("name"), item.text("op_type"), item.texts("input"), 0)
        if not head.name or not head.type:
            self.log.add(item.line, "operator without a name or a type")
        node = self.edges_of(head, item.line)
        node._detail = lambda: self.detail_of(item)
        return node

    def outputs_of(self, nodes: list[DumpNode], listed: list[str]) -> Sequence[Any]:
        return ge_tree.outputs(nodes, listed, self.log)

    def detail_of(self, message: Message) -> NodeDetail:
        values: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        ports: dict[str, dict[int, dict[str, Any]]] = {"input": {}, "output": {}}
        for attribute in message.messages("attribute"):
            name = attribute.text("name")
            match = _DESC.match(name) or _PACKED.match(name)
            if match is None:
                target = fields if name in _FIELDS else values
                target[name] = attribute_value(attribute, self.log)
                continue
            number = int(match.group(match.lastindex or 0))
            port = ports[match.group(1)].setdefault(number, {"": message.line})
            if match.lastindex == 3:
                port[match.group(2)] = attribute_value(attribute, self.log)
            else:
                port.update(self._unpack(attribute_value(attribute, self.log),
                                         attribute.line))
        return NodeDetail(values, self._descs(ports["input"]),
                          self._descs(ports["output"]), (), fields)

    def _unpack(self, text: Any, line: int) -> dict[str, Any]:
        """Read a descriptor written as one JSON string (20 tensors or more)."""
        try:
            found = json.loads(text) if len(text) < 100000 else None
        except (ValueError, TypeError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self.log.add(line, f"descriptor {shown(str(text))} is no JSON object")
            return {}
        return {str(key): tuple(value) if isinstance(value, list) else value
                for key, value in found.items()}

    def _descs(self, ports: dict[int, dict[str, Any]]) -> tuple[TensorDesc, ...]:
        count = max(ports, default=-1) + 1
        if count > len(ports) + 1000:
            count = min(count, len(ports) + 1000)
        return tuple(_desc(ports.get(number, {})) for number in range(count))


def _desc(port: dict[str, Any]) -> TensorDesc:
    raw = str(port.get("dtype") or "DT_UNDEFINED")
    number = to_int(raw.encode("utf-8", "replace"))
    origin = str(port.get("origin_dtype") or "DT_UNDEFINED")
    shape, origin_shape = _shape(port.get("shape")), _shape(port.get("origin_shape"))
    if origin == "DT_UNDEFINED" and origin_shape == () and shape:
        origin_shape = None  # never set; the writer prints that as a scalar
    more = {}
    for key, value in port.items():
        if key.startswith("attr_"):
            more[key[5:]] = value
        elif key not in ("", "dtype", "layout", "shape", "origin_dtype",
                         "origin_layout", "origin_shape"):
            more[key] = value
    return TensorDesc(
        dtype=dtypes.from_name(raw) if number is None else dtypes.from_ir(number),
        format=str(port.get("layout") or ""), shape=shape,
        origin_dtype="" if origin == "DT_UNDEFINED" else dtypes.from_name(origin),
        origin_format=str(port.get("origin_layout") or ""),
        origin_shape=origin_shape, raw_dtype=raw,
        line=int(port.get("") or 0), attributes=more)


def _shape(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, tuple):
        return None
    return tuple(dim for dim in value if isinstance(dim, int))


def _plain_type(kind: str) -> str:
    return kind[3:] if kind.startswith("ge:") else kind
