"""GraphDef in protobuf's text format (.pbtxt) to the records of `graphdef_records`.

Unlike a reader of dumps this one tolerates no damage: a graph that is evaluated must be
whole, so the first warning of the text parser becomes a `DumpError` with its line.
Fields that carry no meaning for a graph (debug information, gradients of the library)
are dropped; `versions` is kept.

Source: TensorFlow, core/framework/{graph,node_def,attr_value,tensor,types,function,
op_def}.proto (v1.15 to v2.21).
"""

from __future__ import annotations

import struct
from typing import Callable

from dumps import textproto
from dumps.errors import DumpError
from dumps.graphdef_records import (
    DTYPE_NUMBERS,
    ArgDef,
    AttrValue,
    FunctionDef,
    FunctionName,
    GraphDef,
    NodeDef,
    TensorValue,
    dtype_name,
)
from dumps.graphdef_tensor import FIELD_OF, stored_dtype
from dumps.records import WarningLog
from dumps.textproto import Message
from dumps.wire import bytes_field, integer_field

_LABELS = {"DT_FLOAT": "float32", "DT_DOUBLE": "float64", "DT_HALF": "float16"}
_LABELS.update((f"DT_{name.upper()}", name) for name in DTYPE_NUMBERS)
_ENUM = {"s", "i", "f", "b", "type", "shape", "tensor", "func", "placeholder"}
_VALUES = {
    5: ("float_val", "<f"), 6: ("double_val", "<d"), 9: ("scomplex_val", "<f"),
    12: ("dcomplex_val", "<d"), 7: ("int_val", ""), 10: ("int64_val", ""),
    11: ("bool_val", "?"), 13: ("half_val", ""), 16: ("uint32_val", ""),
    17: ("uint64_val", ""),
}


def parse_text(data: bytes, path: object = "<text>") -> GraphDef:
    """Read a GraphDef in text format.

    Args:
        data: the text.
        path: where it came from, for messages.

    Raises:
        DumpError: the text is damaged, or is no GraphDef with at least one node.
    """
    log = WarningLog(path)
    message = textproto.parse(data, path, log)
    for warning in log.all():
        raise DumpError(path, warning.line, warning.message, "sound protobuf text")
    reader = _Reader(path)
    nodes = tuple(reader.node(node) for node in message.messages("node"))
    if not nodes:
        raise DumpError(path, 0, "no node", "a GraphDef with at least one node")
    library = message.message("library")
    functions = tuple(reader.function(function) for function in (
        library.messages("function") if library is not None else ()))
    return GraphDef(nodes, functions, _versions(message))


def _versions(message: Message) -> bytes:
    versions = message.message("versions")
    if versions is None:
        return b""
    out = b""
    for field, name in ((1, "producer"), (2, "min_consumer")):
        if versions.integer(name):
            out += integer_field(field, versions.integer(name))
    return bytes_field(4, out)


class _Reader:
    """Turns messages of one file into records.

    Attributes:
        path: the file, for messages.
    """

    def __init__(self, path: object) -> None:
        self.path = path

    def node(self, message: Message) -> NodeDef:
        name, op = message.text("name"), message.text("op")
        if not name or not op:
            raise DumpError(self.path, message.line, "a node without name or op",
                            "both")
        return NodeDef(name, op, tuple(message.texts("input")), message.text("device"),
                       self.attrs(message, "attr"))

    def attrs(self, message: Message, key: str) -> tuple[tuple[str, AttrValue], ...]:
        found = {}
        for entry in message.messages(key):
            value = entry.message("value")
            found[entry.text("key")] = (
                AttrValue("none") if value is None else self.attr(value))
        return tuple(sorted(found.items()))

    def attr(self, message: Message) -> AttrValue:
        for key in message.names():
            if key == "list":
                inside = message.message("list")
                return AttrValue("list", () if inside is None else self.items(inside))
            if key in _ENUM:
                return self.items(message)[-1]
        return AttrValue("none")

    def items(self, message: Message) -> tuple[AttrValue, ...]:
        """Return the values of a list, or the one value of an attribute."""
        found = []
        for key, value, line in message.items:
            if isinstance(value, Message):
                reader = self._nested().get(key)
                if reader is not None:
                    found.append(AttrValue(key, reader(value)))
            elif key in _ENUM:
                found.append(AttrValue(key, self.scalar(key, value, line)))
        return tuple(found)

    def _nested(self) -> dict[str, Callable[[Message], object]]:
        return {"shape": self.shape, "tensor": self.tensor, "func": self.function_name}

    def scalar(self, kind: str, token: bytes, line: int) -> object:
        """Return a scalar attribute, checked."""
        if kind == "s":
            return textproto.to_bytes(token)
        if kind == "placeholder":
            return textproto.to_text(token)
        if kind == "type":
            return self.dtype(token, line)
        convert: dict[str, Callable[[bytes], object]] = {
            "i": textproto.to_int, "f": textproto.to_float, "b": textproto.to_bool}
        value = convert[kind](token) if kind in convert else None
        if value is None:
            raise DumpError(self.path, line, repr(textproto.to_text(token)[:60]),
                            f"a value of kind {kind!r}")
        return value

    def dtype(self, token: bytes, line: int) -> str:
        text = textproto.to_text(token)
        number = textproto.to_int(token)
        if number is not None:
            return dtype_name(number)
        reference = text.endswith("_REF")
        name = _LABELS.get(text[:-4] if reference else text)
        if name is None:
            raise DumpError(self.path, line, repr(text[:60]), "a DT_ name")
        return f"ref_{name}" if reference else name

    def shape(self, message: Message) -> tuple[int | None, ...] | None:
        if message.boolean("unknown_rank"):
            return None
        sizes = [axis.integer("size") for axis in message.messages("dim")]
        return tuple(None if size < 0 else size for size in sizes)

    def function_name(self, message: Message) -> FunctionName:
        return FunctionName(message.text("name"), self.attrs(message, "attr"))

    def tensor(self, message: Message) -> TensorValue:
        token = message.scalar("dtype")
        dtype = self.dtype(token, message.line) if token is not None else ""
        inside = message.message("tensor_shape")
        shape = self.shape(inside) if inside is not None else ()
        if shape is None or None in shape:
            raise DumpError(self.path, message.line, "a tensor of unknown shape",
                            "every axis length")
        strings = tuple(textproto.to_bytes(t) for t in message.scalars("string_val"))
        content = message.data("tensor_content") or self._elements(message, dtype)
        return TensorValue(dtype, tuple(n for n in shape if n is not None), content,
                           strings)

    def _elements(self, message: Message, dtype: str) -> bytes:
        """Return the elements of a *_val field as little-endian bytes of `dtype`."""
        field, stored = FIELD_OF.get(dtype), stored_dtype(dtype)
        if field is None or stored is None:
            return b""
        key, layout = _VALUES[field]
        parts = []
        for token in message.scalars(key):
            if layout == "?":
                parts.append(bytes((bool(self.scalar("b", token, message.line)),)))
            elif layout:
                parts.append(self._float(token, layout, message.line))
            else:
                whole = self.scalar("i", token, message.line)
                mask = (1 << (8 * stored.itemsize)) - 1
                raw = int(str(whole)) & mask
                parts.append(raw.to_bytes(stored.itemsize, "little"))
        return b"".join(parts)

    def _float(self, token: bytes, layout: str, line: int) -> bytes:
        value = float(str(self.scalar("f", token, line)))
        try:
            return struct.pack(layout, value)
        except OverflowError:
            return struct.pack(layout, float("inf") if value > 0 else float("-inf"))

    def function(self, message: Message) -> FunctionDef:
        signature = message.message("signature") or Message(message.line)
        return FunctionDef(
            signature.text("name"),
            tuple(self.arg(arg) for arg in signature.messages("input_arg")),
            tuple(self.arg(arg) for arg in signature.messages("output_arg")),
            tuple(self.node(node) for node in message.messages("node_def")),
            _pairs(message, "ret"), _pairs(message, "control_ret"),
            self.attrs(message, "attr"))

    def arg(self, message: Message) -> ArgDef:
        token = message.scalar("type")
        return ArgDef(
            message.text("name"),
            self.dtype(token, message.line) if token is not None else "",
            message.text("type_attr"), message.text("number_attr"),
            message.text("type_list_attr"))


def _pairs(message: Message, key: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((entry.text("key"), entry.text("value"))
                        for entry in message.messages(key)))
