"""Reader of TensorFlow GraphDef files, .pb and .pbtxt, without TensorFlow.

`read` takes a file, `parse` bytes; the records are in `graphdef_records`, the writer in
`graphdef_write`, text files in `graphdef_text`, the elements of tensors in
`graphdef_tensor`. All of their public names are here too.

Source: TensorFlow, core/framework/{graph,node_def,attr_value,tensor,types,function,
op_def}.proto (v1.15 to v2.21).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, Callable

from dumps.errors import DumpError
from dumps.graphdef_records import (
    ArgDef,
    AttrValue,
    FunctionDef,
    FunctionName,
    GraphDef,
    NodeDef,
    TensorValue,
    dtype_name,
)
from dumps.graphdef_tensor import (
    VALUE_FIELDS,
    narrow_content,
    tensor_array,
    tensor_value,
)
from dumps.graphdef_write import encode, write
from dumps.wire import Message, map_entry, raw_field, signed

__all__ = [
    "ArgDef", "AttrValue", "FunctionDef", "FunctionName", "GraphDef", "NodeDef",
    "TensorValue", "dtype_name", "encode", "parse", "parse_function_library", "read",
    "tensor_array", "tensor_value", "write",
]

_TEXT_SUFFIXES = (".pbtxt", ".txt", ".textproto", ".prototxt")


def read(path: str | Path) -> GraphDef:
    """Read a GraphDef file, text or binary.

    A file is taken for text by its suffix (.pbtxt, .txt, .textproto, .prototxt).

    Raises:
        DumpError: the file cannot be read or is no GraphDef.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DumpError(path, 0, reason, "a readable GraphDef file") from error
    if path.suffix in _TEXT_SUFFIXES:
        from dumps.graphdef_text import parse_text

        return parse_text(data, path)
    return parse(data, path)


def parse(data: bytes, path: object = "<bytes>") -> GraphDef:
    """Read an encoded GraphDef.

    Args:
        data: [n] the encoded message.
        path: where it came from, for messages.

    Raises:
        DumpError: the bytes are no GraphDef, or one without any node.
    """
    message = Message(data, path)
    nodes: list[NodeDef] = []
    functions: tuple[FunctionDef, ...] = ()
    extra, library_extra = b"", b""
    for number, wire_type, value, at in message.fields():
        if number == 1:
            nodes.append(_node(message.child(value, at)))
        elif number == 2:
            more, rest = parse_function_library(message.child(value, at))
            functions, library_extra = functions + more, library_extra + rest
        else:
            extra += raw_field(number, wire_type, value)
    if not nodes:
        raise DumpError(path, 0, "no node", "a GraphDef with at least one node")
    return GraphDef(tuple(nodes), functions, extra, library_extra)


def parse_function_library(message: Message) -> tuple[tuple[FunctionDef, ...], bytes]:
    """Read a FunctionDefLibrary; returns its functions and its other fields' bytes."""
    functions, extra = [], b""
    for number, wire_type, value, at in message.fields():
        if number == 1:
            functions.append(_function(message.child(value, at)))
        else:
            extra += raw_field(number, wire_type, value)
    return tuple(functions), extra


def _node(message: Message) -> NodeDef:
    texts = {1: "", 2: "", 4: ""}
    inputs: list[str] = []
    attrs: list[tuple[str, Any]] = []
    extra, begin = b"", message.offset
    for number, wire_type, value, at in message.fields():
        if number in texts:
            texts[number] = message.text(value, at)
        elif number == 3:
            inputs.append(message.text(value, at))
        elif number == 5:
            attrs.append(map_entry(message.child(value, at), _attr))
        else:
            extra += raw_field(number, wire_type, value)
    if not texts[1] or not texts[2]:
        raise DumpError(message.path, begin, "a node without name or op", "both")
    return NodeDef(texts[1], texts[2], tuple(inputs), texts[4], _unique(attrs), extra)


def _unique(pairs: list[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Keep the last value of a repeated map key, as protobuf does; sort by key."""
    return tuple(sorted(dict(pairs).items()))


def _attr(message: Message) -> AttrValue:
    result = AttrValue("none")
    for number, _, value, at in message.fields():
        if number == 1:
            result = AttrValue("list", _attr_list(message.child(value, at)))
        elif number == 9:
            result = AttrValue("placeholder", message.text(value, at))
        elif number == 10:
            result = AttrValue("func", _function_name(message.child(value, at)))
        elif number in _SINGLE:
            kind, decode = _SINGLE[number]
            result = AttrValue(kind, decode(message, value, at))
    return result


def _attr_list(message: Message) -> tuple[AttrValue, ...]:
    items: list[AttrValue] = []
    for number, _, value, at in message.fields():
        if number in (3, 5, 6):
            kind, decode = _SINGLE[number]
            items += [AttrValue(kind, decode(message, raw, at))
                      for raw in message.varints(value, at)]
        elif number == 4:
            raw_floats = message.fixed(value, at, 4)
            items += [AttrValue("f", one) for one, in struct.iter_unpack(
                "<f", raw_floats)]
        elif number == 9:
            items.append(AttrValue("func", _function_name(message.child(value, at))))
        elif number in _SINGLE:
            kind, decode = _SINGLE[number]
            items.append(AttrValue(kind, decode(message, value, at)))
    return tuple(items)


def _function_name(message: Message) -> FunctionName:
    name, attrs = "", []
    for number, _, value, at in message.fields():
        if number == 1:
            name = message.text(value, at)
        elif number == 2:
            attrs.append(map_entry(message.child(value, at), _attr))
    return FunctionName(name, _unique(attrs))


def _shape(message: Message) -> tuple[int | None, ...] | None:
    axes: list[int | None] = []
    unknown = False
    for number, _, value, at in message.fields():
        if number == 2:
            axes.append(_axis(message.child(value, at)))
        elif number == 3:
            unknown = bool(message.number(value, at))
    return None if unknown else tuple(axes)


def _axis(message: Message) -> int | None:
    size = 0
    for number, _, value, at in message.fields():
        if number == 1:
            size = message.integer(value, at)
    return None if size < 0 else size


def _tensor(message: Message) -> TensorValue:
    dtype = ""
    shape: tuple[int, ...] = ()
    strings: list[bytes] = []
    content, field = b"", 0
    chunks: list[bytes] = []
    for number, _, value, at in message.fields():
        if number == 1:
            dtype = dtype_name(message.number(value, at))
        elif number == 2:
            shape = _full_shape(message.child(value, at))
        elif number == 4:
            content = bytes(message.view(value, at))
        elif number == 8:
            strings.append(bytes(message.view(value, at)))
        elif number in VALUE_FIELDS:
            field = number
            chunks.append(_elements(message, number, value, at))
    values = narrow_content(dtype, field, b"".join(chunks))
    return TensorValue(dtype, shape, content or values, tuple(strings))


def _full_shape(message: Message) -> tuple[int, ...]:
    shape = _shape(message)
    if shape is None or None in shape:
        raise DumpError(message.path, message.offset, "a tensor of unknown shape",
                        "every axis length")
    return tuple(axis for axis in shape if axis is not None)


def _elements(message: Message, number: int, value: int | memoryview,
              at: int) -> bytes:
    """Return the elements of a *_val field as little-endian bytes of their dtype."""
    wire_width, element_width = VALUE_FIELDS[number]
    if number == 18:
        return bytes(message.view(value, at))
    if wire_width:
        return message.fixed(value, at, wire_width)
    mask = (1 << (8 * element_width)) - 1
    return b"".join((raw & mask).to_bytes(element_width, "little")
                    for raw in message.varints(value, at))


def _function(message: Message) -> FunctionDef:
    signature = _Signature()
    nodes: list[NodeDef] = []
    maps: dict[int, list[tuple[str, Any]]] = {4: [], 5: [], 6: []}
    extra = b""
    for number, wire_type, value, at in message.fields():
        if number == 1:
            signature.read(message.child(value, at))
        elif number == 3:
            nodes.append(_node(message.child(value, at)))
        elif number == 5:
            maps[5].append(map_entry(message.child(value, at), _attr))
        elif number in maps:
            maps[number].append(_text_entry(message.child(value, at)))
        else:
            extra += raw_field(number, wire_type, value)
    return FunctionDef(
        signature.name, tuple(signature.inputs), tuple(signature.outputs), tuple(nodes),
        _unique(maps[4]), _unique(maps[6]), _unique(maps[5]), extra, signature.extra)


class _Signature:
    """The OpDef of a library function while it is being read."""

    def __init__(self) -> None:
        self.name = ""
        self.inputs: list[ArgDef] = []
        self.outputs: list[ArgDef] = []
        self.extra = b""

    def read(self, message: Message) -> None:
        for number, wire_type, value, at in message.fields():
            if number == 1:
                self.name = message.text(value, at)
            elif number in (2, 3):
                side = self.inputs if number == 2 else self.outputs
                side.append(_arg(message.child(value, at)))
            else:
                self.extra += raw_field(number, wire_type, value)


def _arg(message: Message) -> ArgDef:
    texts = {1: "", 4: "", 5: "", 6: ""}
    dtype, extra = "", b""
    for number, wire_type, value, at in message.fields():
        if number in texts:
            texts[number] = message.text(value, at)
        elif number == 3:
            dtype = dtype_name(message.number(value, at))
        else:
            extra += raw_field(number, wire_type, value)
    return ArgDef(texts[1], dtype, texts[4], texts[5], texts[6], extra)


def _text_entry(message: Message) -> tuple[str, str]:
    texts = {1: "", 2: ""}
    for number, _, value, at in message.fields():
        if number in texts:
            texts[number] = message.text(value, at)
    return texts[1], texts[2]


def _float(message: Message, value: int | memoryview, at: int) -> float:
    raw = message.number(value, at) & 0xFFFFFFFF
    return float(struct.unpack("<f", raw.to_bytes(4, "little"))[0])


_Decode = Callable[[Message, Any, int], Any]
_SINGLE: dict[int, tuple[str, _Decode]] = {
    2: ("s", lambda m, value, at: bytes(m.view(value, at))),
    3: ("i", lambda m, value, at: signed(m.number(value, at))),
    4: ("f", _float),
    5: ("b", lambda m, value, at: bool(m.number(value, at))),
    6: ("type", lambda m, value, at: dtype_name(m.number(value, at))),
    7: ("shape", lambda m, value, at: _shape(m.child(value, at))),
    8: ("tensor", lambda m, value, at: _tensor(m.child(value, at))),
}
