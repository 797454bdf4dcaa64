"""Writes data-dump files: for the emulator, and for what tests readers.

Source: reference: tensor_dumps.md sections 3, 4 and 9.
"""

from __future__ import annotations

from typing import Sequence, Tuple

from dumps import dtypes
from dumps.data_dump_items import FORMATS, DataItem, OriginalOp
from dumps.data_names import escape
from dumps.wire import bytes_field, integer_field, packed_field

Part = Tuple[DataItem, bytes]
VERSION = "2.0"
_NAMES = {word: name for name in reversed(dtypes.IR_NAMES)
          for word in (dtypes.from_name(name),)}
_INTERNAL = {dtypes.from_internal(number): number for number in range(43)}


def raw_dtype(dtype: str) -> str:
    """Return the compiler's spelling of NumPy's word, "UNDEFINED" where it has none."""
    return _NAMES.get(dtype, "UNDEFINED")


def file_name(op_type: str, op_name: str, numbers: Sequence[int]) -> str:
    """Return the name of a dump file.

    Args:
        op_type: type of the operator.
        op_name: its name.
        numbers: task, stream, time in microseconds, and four more of cut tasks.
    """
    return ".".join((escape(op_type), escape(op_name), *map(str, numbers)))


def pack(parts: Sequence[Part], op_name: str = "", time_us: int = 0,
         attributes: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return a data-dump file.

    Args:
        parts: every item with its bytes; b"" leaves the bytes out and keeps the size.
        op_name: the operator's name, not escaped.
        time_us: microseconds since the epoch.
        attributes: (name, value) of the operator.
    """
    by_kind = {kind: [part for part in parts if part[0].kind == kind]
               for kind in ("input", "output", "buffer", "space")}
    message = b"".join((
        bytes_field(1, VERSION), integer_field(2, time_us) if time_us else b"",
        *(bytes_field(3, _output(item)) for item, _ in by_kind["output"]),
        *(bytes_field(4, _input(item)) for item, _ in by_kind["input"]),
        *(bytes_field(5, integer_field(3, item.size)) for item, _ in by_kind["buffer"]),
        bytes_field(6, op_name) if op_name else b"",
        *(bytes_field(7, bytes_field(1, name) + bytes_field(2, value))
          for name, value in attributes),
        *(bytes_field(8, integer_field(3, item.size)) for item, _ in by_kind["space"])))
    body = b"".join(data for kind in by_kind for _, data in by_kind[kind])
    return len(message).to_bytes(8, "little") + message + body


def _input(item: DataItem) -> bytes:
    return b"".join((*_head(item), _number(5, item.size), _origin(6, item),
                     _number(7, item.sub_format), _number(8, item.address)))


def _output(item: DataItem) -> bytes:
    original = b"" if item.original is None else bytes_field(
        4, _original(item.original))
    return b"".join((*_head(item), original, _number(6, item.size), _origin(7, item),
                     _number(8, item.sub_format), _number(9, item.address)))


def _head(item: DataItem) -> tuple[bytes, ...]:
    return (_number(1, dtypes.IR_NAMES.index(item.raw_dtype)),
            _number(2, FORMATS.index(item.format)),
            bytes_field(3, packed_field(1, list(item.shape)) if item.shape else b""))


def _origin(number: int, item: DataItem) -> bytes:
    if not item.has_origin_shape:
        return b""
    dims = list(item.origin_shape)
    return bytes_field(number, packed_field(1, dims) if dims else b"")


def _original(original: OriginalOp) -> bytes:
    return b"".join((
        bytes_field(1, original.name) if original.name else b"",
        _number(2, original.index), _number(3, _INTERNAL.get(original.dtype, 28)),
        _number(4, FORMATS.index(original.format or "ND"))))


def _number(number: int, value: int) -> bytes:
    """Encode a varint field; proto3 leaves zeros out."""
    return integer_field(number, value) if value else b""
