"""Writer of binary GraphDef files.

Same records, same bytes: maps are written in the order the records hold them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable

from dumps.graphdef_records import (
    ArgDef,
    AttrValue,
    FunctionDef,
    FunctionName,
    GraphDef,
    NodeDef,
    TensorValue,
    dtype_number,
)
from dumps.graphdef_tensor import FIELD_OF, VALUE_FIELDS, stored_dtype
from dumps.wire import (
    bytes_field,
    float_field,
    integer_field,
    map_field,
    packed_field,
)

_FIELDS = {"s": 2, "i": 3, "f": 4, "b": 5, "type": 6, "shape": 7, "tensor": 8}


def write(graph: GraphDef, path: str | Path) -> None:
    """Write a graph as a binary GraphDef, aside first and renamed into place.

    Raises:
        OSError: the file cannot be written.
    """
    path = Path(path)
    aside = path.with_name(path.name + ".part")
    aside.write_bytes(encode(graph))
    aside.replace(path)


def encode(graph: GraphDef) -> bytes:
    """Return a graph as an encoded GraphDef."""
    out = [bytes_field(1, _node(node)) for node in graph.nodes]
    if graph.functions or graph.library_extra:
        library = b"".join(bytes_field(1, _function(f)) for f in graph.functions)
        out.append(bytes_field(2, library + graph.library_extra))
    return b"".join(out) + graph.extra


def _node(node: NodeDef) -> bytes:
    out = bytes_field(1, node.name) + bytes_field(2, node.op)
    out += b"".join(bytes_field(3, name) for name in node.inputs)
    if node.device:
        out += bytes_field(4, node.device)
    return out + _attrs(5, node.attrs) + node.extra


def _attrs(field: int, attrs: Iterable[tuple[str, AttrValue]]) -> bytes:
    return b"".join(map_field(field, name, _attr(value)) for name, value in attrs)


def _attr(attr: AttrValue) -> bytes:
    if attr.kind == "none":
        return b""
    if attr.kind == "list":
        return bytes_field(1, _attr_list(attr.value))
    if attr.kind == "placeholder":
        return bytes_field(9, attr.value)
    if attr.kind == "func":
        return bytes_field(10, _function_name(attr.value))
    return _single(attr)


def _single(attr: AttrValue) -> bytes:
    kind, value = attr.kind, attr.value
    field = _FIELDS[kind]
    if kind in ("i", "b"):
        return integer_field(field, int(value))
    if kind == "f":
        return float_field(field, value)
    if kind == "type":
        return integer_field(field, dtype_number(value))
    if kind == "shape":
        return bytes_field(field, _shape(value))
    if kind == "tensor":
        return bytes_field(field, _tensor(value))
    return bytes_field(field, value)


def _attr_list(items: tuple[AttrValue, ...]) -> bytes:
    if not items:
        return b""
    if items[0].kind in ("i", "b", "type"):
        kind = items[0].kind
        numbers = [dtype_number(item.value) if kind == "type" else int(item.value)
                   for item in items]
        return packed_field(_FIELDS[kind], numbers)
    if items[0].kind == "func":
        return b"".join(bytes_field(9, _function_name(i.value)) for i in items)
    return b"".join(_single(item) for item in items)


def _function_name(function: FunctionName) -> bytes:
    return bytes_field(1, function.name) + _attrs(2, function.attrs)


def _shape(shape: tuple[int | None, ...] | None) -> bytes:
    if shape is None:
        return integer_field(3, 1)
    return b"".join(
        bytes_field(2, integer_field(1, -1 if axis is None else axis))
        for axis in shape)


def _tensor(tensor: TensorValue) -> bytes:
    out = integer_field(1, dtype_number(tensor.dtype))
    out += bytes_field(2, _shape(tensor.shape))
    out += b"".join(bytes_field(8, item) for item in tensor.strings)
    if not tensor.content:
        return out
    stored = stored_dtype(tensor.dtype)
    count = 1
    for axis in tensor.shape:
        count *= axis
    if stored is None or len(tensor.content) == count * stored.itemsize:
        return out + bytes_field(4, tensor.content)
    return out + _elements(tensor, stored.itemsize)


def _elements(tensor: TensorValue, width: int) -> bytes:
    """Encode elements that are fewer than the shape holds, as a typed field."""
    field = FIELD_OF[tensor.dtype]
    if VALUE_FIELDS[field][0]:
        return bytes_field(field, tensor.content)
    signed = tensor.dtype.startswith(("int", "qint"))
    numbers = [int.from_bytes(tensor.content[i:i + width], "little", signed=signed)
               for i in range(0, len(tensor.content), width)]
    return packed_field(field, numbers)


def _function(function: FunctionDef) -> bytes:
    signature = bytes_field(1, function.name)
    signature += b"".join(bytes_field(2, _arg(arg)) for arg in function.inputs)
    signature += b"".join(bytes_field(3, _arg(arg)) for arg in function.outputs)
    out = bytes_field(1, signature + function.signature_extra)
    out += b"".join(bytes_field(3, _node(node)) for node in function.nodes)
    out += _texts(4, function.returns) + _attrs(5, function.attrs)
    return out + _texts(6, function.control_returns) + function.extra


def _texts(field: int, pairs: Any) -> bytes:
    return b"".join(bytes_field(field, bytes_field(1, key) + bytes_field(2, value))
                    for key, value in pairs)


def _arg(arg: ArgDef) -> bytes:
    out = bytes_field(1, arg.name)
    if arg.dtype:
        out += integer_field(3, dtype_number(arg.dtype))
    for field, text in ((4, arg.type_attr), (5, arg.number_attr),
                        (6, arg.type_list_attr)):
        if text:
            out += bytes_field(field, text)
    return out + arg.extra
