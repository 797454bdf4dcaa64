"""GE's messages, already a tree of fields, as graph records.

Used by every reader whose file holds GraphDef, OpDef and AttrDef in some spelling:
text, JSON, and text inside attributes. Field names are those of ge_ir.proto.

Source: reference graph_dumps.md sections 3.2 to 3.6.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping

from dumps import dtypes
from dumps.records import (
    DumpGraph,
    DumpNode,
    Edge,
    NodeDetail,
    TensorDesc,
    TensorValue,
    WarningLog,
)
from dumps.source import shown
from dumps.textproto import Message
from dumps.textvalue import is_string, to_bool, to_bytes, to_float, to_int, to_text

OP_LISTS = frozenset((
    "input_name", "src_name", "src_index", "dst_name", "dst_index", "input_i",
    "output_i", "workspace", "workspace_bytes", "is_input_const"))
OP_SCALARS = frozenset(("has_out_attr", "id", "stream_id"))
OP_OTHER = frozenset((
    "name", "type", "input", "attr", "attr_groups", "input_desc", "output_desc",
    "subgraph_name"))
GRAPH_FIELDS = frozenset(("name", "input", "output", "op", "attr", "attr_groups"))
_DESC_OTHER = frozenset(("name", "dtype", "shape", "layout", "attr"))
_SCALAR_KINDS = {"s": "a string", "bt": "bytes in quotes", "i": "an integer",
                 "f": "a number", "b": "true or false",
                 "expression": "bytes in quotes"}


class Attributes(Mapping[str, Any]):
    """Attributes by key; a value is decoded when it is first asked for."""

    def __init__(self, raw: dict[str, Any],
                 decode: Callable[[Any], Any]) -> None:
        self._raw = raw
        self._decode = decode
        self._ready: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        if key not in self._ready:
            self._ready[key] = self._decode(self._raw[key])
        return self._ready[key]

    def __contains__(self, key: object) -> bool:
        return key in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __repr__(self) -> str:
        return f"Attributes({sorted(self._raw)!r})"


def attributes(owner: Message, log: WarningLog, key: str = "attr") -> Attributes:
    """Return the attributes of a message; of equal keys the last one counts."""
    raw = {entry.text("key"): entry for entry in owner.messages(key)}
    return Attributes(raw, lambda entry: _entry_value(entry, log))


def _entry_value(entry: Message, log: WarningLog) -> Any:
    value = entry.message("value")
    return None if value is None else attr_value(value, log)


def attr_value(value: Message, log: WarningLog) -> Any:
    """Return an AttrDef as a plain Python value.

    Strings are str (bytes where they are not UTF-8), byte fields bytes, dtypes NumPy's
    names, lists tuples, functions {"name": ..., "attr": ...}, descriptors and tensors
    records, graphs `DumpGraph`; None where the value was dropped.
    """
    if not value.items:
        return None
    key, content, line = value.items[-1]
    if isinstance(content, bytes):
        return scalar_value(key, content, log, line)
    if key == "list":
        return _list_value(content, log)
    if key == "func":
        return {"name": content.text("name"), "attr": attributes(content, log)}
    if key == "td":
        return tensor_desc(content, log)
    if key == "t":
        return tensor_value(content, log)
    if key == "g":
        return graph(content, log, "ge_proto")
    if key in ("list_list_int", "list_list_i"):
        return _rows(content, "list_list_i", "list_i")
    if key in ("list_list_float", "list_list_f"):
        return _rows(content, "list_list_f", "list_f")
    log.unknown[key] += 1
    log.add(line, f"attribute of unknown kind {shown(key)}")
    return None


def scalar_value(key: str, token: bytes, log: WarningLog, line: int) -> Any:
    """Return an AttrDef's scalar; a token that is no such value comes back as text.

    Args:
        key: the field of the AttrDef that holds it.
        token: as the file spells it.
        log: takes a token that is no such value.
        line: line of the token.
    """
    found = _scalar(key, token)
    is_text = key in ("s", "bt", "expression")
    if (is_text and not is_string(token)) or (not is_text and isinstance(found, str)
                                              and key in _SCALAR_KINDS):
        log.add(line, f"value {shown(token)}, expected {_SCALAR_KINDS[key]}")
    return found


def _scalar(key: str, token: bytes) -> Any:
    if key == "s":
        data = to_bytes(token)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data
    if key == "bt":
        return to_bytes(token)
    bare = to_bytes(token)
    if key == "i":
        number = to_int(bare)
        return to_text(token) if number is None else number
    if key == "f":
        real = to_float(bare)
        return to_text(token) if real is None else real
    if key == "b":
        truth = to_bool(bare)
        return to_text(token) if truth is None else truth
    if key == "dt":
        number = to_int(bare)
        return dtypes.from_name(to_text(token)) if number is None \
            else dtypes.from_internal(number)
    return plain(token)


def plain(token: bytes) -> Any:
    """Return a scalar of unknown type by its looks."""
    if is_string(token):
        return to_text(token)
    number = to_int(token)
    if number is not None:
        return number
    if token in (b"true", b"false"):
        return token == b"true"
    real = to_float(token)
    return to_text(token) if real is None else real


def _list_value(content: Message, log: WarningLog) -> tuple[Any, ...]:
    found = []
    for key, item, line in content.items:
        if key == "val_type":
            continue
        if isinstance(item, bytes):
            found.append(scalar_value(key, item, log, line))
        elif key == "td":
            found.append(tensor_desc(item, log))
        elif key == "t":
            found.append(tensor_value(item, log))
        elif key == "g":
            found.append(graph(item, log, "ge_proto"))
        elif key == "na":
            found.append({"name": item.text("name"), "attr": attributes(item, log)})
        else:
            log.unknown[key] += 1
    return tuple(found)


def _rows(content: Message, outer: str, inner: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(plain(token) for token in row.scalars(inner))
                 for row in content.messages(outer))


def tensor_value(content: Message, log: WarningLog) -> TensorValue:
    """Return a TensorDef."""
    desc = content.message("desc")
    return TensorValue(TensorDesc() if desc is None else tensor_desc(desc, log),
                       content.data("data"))


def tensor_desc(message: Message, log: WarningLog) -> TensorDesc:
    """Return a TensorDescriptor; what has no field of its own is in `attributes`."""
    raw = message.text("dtype") or "DT_UNDEFINED"
    attrs = attributes(message, log)
    number = to_int(raw.encode())
    if number is None and not dtypes.is_known(raw):
        log.add(message.line, f"dtype {shown(raw)} is not known")
    shape = message.message("shape")
    origin = attrs.get("origin_shape")
    if attrs.get("origin_shape_initialized") is False or not isinstance(origin, tuple):
        origin = None
    more = {}
    for key in message.names():
        if key not in _DESC_OTHER:
            values = message.scalars(key)
            more[key] = plain(values[-1]) if values else None
    return TensorDesc(
        dtype=dtypes.from_name(raw) if number is None else dtypes.from_ir(number),
        format=message.text("layout"),
        shape=None if shape is None else _dims(shape, log),
        origin_dtype=_origin_dtype(attrs.get("origin_data_type")),
        origin_format=str(attrs.get("origin_format") or ""),
        origin_shape=origin, name=message.text("name"), raw_dtype=raw,
        line=message.line, attributes=Layered(more, attrs))


def _dims(shape: Message, log: WarningLog) -> tuple[int, ...]:
    """Return the axes of a shape; one that is no number is unknown (-1)."""
    found = []
    for token in shape.scalars("dim"):
        number = to_int(token)
        if number is None:
            log.add(shape.line, f"axis {shown(token)} of a shape, expected a number")
        found.append(-1 if number is None else number)
    return tuple(found)


def _origin_dtype(value: Any) -> str:
    if isinstance(value, int):
        return dtypes.from_internal(value)
    named = isinstance(value, str) and value not in ("", "DT_UNDEFINED")
    return dtypes.from_name(value) if named else ""


class Layered(Attributes):
    """Attributes of a descriptor, and its remaining fields where no key is equal."""

    def __init__(self, fields: dict[str, Any], attrs: Attributes) -> None:
        raw: dict[str, Any] = dict.fromkeys(attrs)
        raw.update((key, None) for key in fields if key not in raw)
        super().__init__(raw, lambda _: None)
        self._fields = fields
        self._attrs = attrs

    def __getitem__(self, key: str) -> Any:
        return self._attrs[key] if key in self._attrs else self._fields[key]


def edges(tokens: list[str], log: WarningLog,
          line: int) -> tuple[tuple[Edge | None, ...], tuple[str, ...]]:
    """Return data inputs and control inputs of an operator.

    Args:
        tokens: "producer:index", "" for an empty slot, "producer:-1" for a control.
        log: takes an input without an index.
        line: line of the operator.
    """
    inputs: list[Edge | None] = []
    controls = []
    for token in tokens:
        if not token:
            inputs.append(None)
            continue
        name, colon, index = token.rpartition(":")
        if index == "-1" and colon:
            controls.append(name)
            continue
        if not colon or not index.isdigit() or len(index) > 9 or not index.isascii():
            log.add(line, f"input {shown(token)} without an output number")
            inputs.append(Edge(token, 0))
            continue
        inputs.append(Edge(name, int(index)))
    return tuple(inputs), tuple(controls)


def node_detail(op: Message, log: WarningLog) -> NodeDetail:
    """Return what an OpDef says beyond name, type and inputs."""
    fields: dict[str, Any] = {}
    for key in op.names():
        if key in OP_LISTS:
            fields[key] = tuple(plain(token) for token in op.scalars(key))
        elif key in OP_SCALARS:
            values = op.scalars(key)
            fields[key] = plain(values[-1]) if values else None
        elif key not in OP_OTHER:
            found = op.all(key)
            log.unknown[key] += len(found)
            fields[key] = tuple(plain(v) if isinstance(v, bytes) else tree(v)
                                for v in found)
        elif key == "attr_groups":
            fields[key] = tuple(tree(group) for group in op.messages(key))
    return NodeDetail(
        attributes(op, log),
        tuple(tensor_desc(desc, log) for desc in op.messages("input_desc")),
        tuple(tensor_desc(desc, log) for desc in op.messages("output_desc")),
        tuple(op.texts("subgraph_name")), fields)


def tree(message: Message) -> dict[str, Any]:
    """Return a message the reader has no record for: key to tuple of values."""
    return {key: tuple(plain(value) if isinstance(value, bytes) else tree(value)
                       for value in message.all(key))
            for key in message.names()}


def node(op: Message, log: WarningLog) -> DumpNode:
    """Return an OpDef as a node, its details on demand."""
    inputs, controls = edges(op.texts("input"), log, op.line)
    name, kind = op.text("name"), op.text("type")
    if not name or not kind:
        log.add(op.line, "operator without a "
                + " and a ".join(w for w, v in (("name", name), ("type", kind))
                                 if not v))
    return DumpNode(name, kind, inputs, controls, op.line,
                    lambda: node_detail(op, log))


def graph(message: Message, log: WarningLog, format: str) -> DumpGraph:
    """Return a GraphDef; operators that damage pushed into others come out again."""
    nodes = []
    pending = message.messages("op")[::-1]
    while pending:
        op = pending.pop()
        if not op.items:
            log.add(op.line, "empty operator left out")
            continue
        nodes.append(node(op, log))
        inner = op.messages("op")
        if inner:
            log.add(op.line, "operator not closed")
            pending.extend(reversed(inner))
    return DumpGraph(
        message.text("name"), log.path, format, nodes, inputs=message.texts("input"),
        outputs=outputs(nodes, message.texts("output"), log), line=message.line,
        log=log, attributes=lambda: attributes(message, log))


def outputs(nodes: list[DumpNode], listed: list[str],
            log: WarningLog) -> tuple[Edge, ...]:
    """Return a graph's outputs: as listed, else the inputs of its NetOutput."""
    if listed:
        return tuple(e for e in edges(listed, log, 0)[0] if e is not None)
    for each in nodes:
        if each.type == "NetOutput":
            return tuple(edge for edge in each.inputs if edge is not None)
    return ()
