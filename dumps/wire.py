"""Protobuf's wire format, read and written without protobuf.

Holds the field scanner and the encoders that `graphdef` and other readers of binary
dumps build on; knows no message type. The scanner trusts nothing: a length past the
end, an endless varint, a group or a field number of 0 is a `DumpError` with its byte
offset.

Source: Protocol Buffers documentation, "Encoding".
"""

from __future__ import annotations

import struct
from typing import Callable, Iterator, Tuple, Union

from dumps.errors import DumpError

VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5
DEEPEST = 64
"""Deepest nesting of messages that readers follow."""

Field = Tuple[int, int, Union[int, memoryview], int]
_WANTED = {VARINT: "a varint", FIXED64: "8 bytes", BYTES: "a length-delimited field",
           FIXED32: "4 bytes"}
_U64 = (1 << 64) - 1


class Message:
    """A view of one encoded message, with its place in the file for error messages.

    Attributes:
        data: [n] the encoded bytes.
        path: the file, for messages.
        offset: offset of `data` in the file, in bytes.
        depth: how many messages enclose this one.
    """

    __slots__ = ("data", "depth", "offset", "path")

    def __init__(self, data: bytes | memoryview, path: object = "<bytes>",
                 offset: int = 0, depth: int = 0) -> None:
        self.data = memoryview(data)
        self.path = path
        self.offset = offset
        self.depth = depth

    def fields(self) -> Iterator[Field]:
        """Yield (field number, wire type, value, offset of the field in the file).

        The value is an int for varints (unsigned) and fixed fields (raw bits), a
        memoryview for length-delimited fields.

        Raises:
            DumpError: the bytes are no well-formed message.
        """
        position, end = 0, len(self.data)
        while position < end:
            start = position
            key, position = self._varint(position)
            number, wire_type = key >> 3, key & 7
            if number == 0 or number >= 1 << 29:
                raise self.error(start, f"field number {number}", "1 to 536870911")
            value: int | memoryview
            if wire_type == VARINT:
                value, position = self._varint(position)
            elif wire_type == BYTES:
                size, position = self._varint(position)
                value, position = self._take(position, size), position + size
            elif wire_type in (FIXED32, FIXED64):
                size = 4 if wire_type == FIXED32 else 8
                value = int.from_bytes(self._take(position, size), "little")
                position += size
            else:
                raise self.error(start, f"wire type {wire_type}", "0, 1, 2 or 5")
            yield number, wire_type, value, self.offset + start
        if position > end:
            raise self.error(end, "the end of the data", "the rest of a field")

    def child(self, value: int | memoryview, at: int) -> Message:
        """Return the message that a length-delimited field holds.

        Args:
            value: the field's value as `fields` gave it.
            at: the field's offset as `fields` gave it.

        Raises:
            DumpError: the field is not length-delimited, or nesting is too deep.
        """
        view = self.view(value, at)
        if self.depth + 1 > DEEPEST:
            raise DumpError(self.path, at, f"messages nested {DEEPEST} deep",
                            f"at most {DEEPEST - 1} levels")
        return Message(view, self.path, at, self.depth + 1)

    def view(self, value: int | memoryview, at: int) -> memoryview:
        """Return the bytes of a length-delimited field.

        Raises:
            DumpError: the field has another wire type.
        """
        if isinstance(value, int):
            raise DumpError(self.path, at, f"the number {value}", _WANTED[BYTES])
        return value

    def text(self, value: int | memoryview, at: int) -> str:
        """Return a string field; bytes that are not UTF-8 are kept as escapes.

        Raises:
            DumpError: the field has another wire type.
        """
        return bytes(self.view(value, at)).decode("utf-8", "surrogateescape")

    def number(self, value: int | memoryview, at: int) -> int:
        """Return the raw number of a varint or fixed field.

        Raises:
            DumpError: the field is length-delimited.
        """
        if isinstance(value, int):
            return value
        raise DumpError(self.path, at, f"{len(value)} bytes", "a number")

    def integer(self, value: int | memoryview, at: int) -> int:
        """Return a varint field as a signed 64-bit integer."""
        return signed(self.number(value, at))

    def varints(self, value: int | memoryview, at: int) -> list[int]:
        """Return a repeated varint field, packed or not, as raw numbers."""
        if isinstance(value, int):
            return [value]
        packed, numbers, position = Message(value, self.path, at), [], 0
        while position < len(value):
            number, position = packed._varint(position)
            numbers.append(number)
        return numbers

    def fixed(self, value: int | memoryview, at: int, width: int) -> bytes:
        """Return a repeated fixed field, packed or not, as little-endian bytes.

        Args:
            value: the field's value as `fields` gave it.
            at: the field's offset.
            width: 4 or 8, in bytes.

        Raises:
            DumpError: packed bytes that are no whole number of elements.
        """
        if isinstance(value, int):
            return value.to_bytes(8, "little")[:width]
        if len(value) % width:
            raise DumpError(self.path, at, f"{len(value)} packed bytes",
                            f"a multiple of {width}")
        return bytes(value)

    def error(self, position: int, found: str, expected: str) -> DumpError:
        """Return the error of something found at `position` of this message."""
        return DumpError(self.path, self.offset + position, found, expected)

    def _varint(self, position: int) -> tuple[int, int]:
        data, result, shift, start = self.data, 0, 0, position
        while True:
            if position >= len(data):
                raise self.error(start, "the end of the data", "the rest of a varint")
            byte = data[position]
            position += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result & _U64, position
            shift += 7
            if shift >= 70:
                raise self.error(start, "a varint over 10 bytes", "at most 10 bytes")

    def _take(self, position: int, size: int) -> memoryview:
        if size > len(self.data) - position:
            raise self.error(position, f"{len(self.data) - position} bytes left",
                             f"{size} bytes")
        return self.data[position:position + size]


def signed(value: int) -> int:
    """Return a raw 64-bit varint as a signed integer."""
    return value - (1 << 64) if value >= 1 << 63 else value


def varint(value: int) -> bytes:
    """Encode an integer; a negative one as 64-bit two's complement, 10 bytes."""
    value &= _U64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number: int, wire_type: int) -> bytes:
    """Encode the key in front of a field."""
    return varint(number << 3 | wire_type)


def integer_field(number: int, value: int) -> bytes:
    """Encode a varint field."""
    return tag(number, VARINT) + varint(value)


def bytes_field(number: int, value: bytes | str) -> bytes:
    """Encode a string, bytes or message field."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    return tag(number, BYTES) + varint(len(value)) + value


def float_field(number: int, value: float) -> bytes:
    """Encode a float field (4 bytes); a value beyond float becomes infinity."""
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return tag(number, FIXED32) + packed


def raw_field(number: int, wire_type: int, value: int | memoryview) -> bytes:
    """Encode a field again as `Message.fields` gave it."""
    if not isinstance(value, int):
        return bytes_field(number, bytes(value))
    if wire_type == VARINT:
        return integer_field(number, value)
    width = 4 if wire_type == FIXED32 else 8
    return tag(number, wire_type) + value.to_bytes(width, "little")


def packed_field(number: int, values: list[int]) -> bytes:
    """Encode a repeated varint field, packed."""
    return bytes_field(number, b"".join(varint(value) for value in values))


def map_field(number: int, key: str, value: bytes) -> bytes:
    """Encode one entry of a map from string to message."""
    return bytes_field(number, bytes_field(1, key) + bytes_field(2, value))


def map_entry(entry: Message, read: Callable[[Message], object]) -> tuple[str, object]:
    """Read one entry of a map from string to message.

    Raises:
        DumpError: the entry is malformed.
    """
    key, value = "", read(Message(b"", entry.path, entry.offset, entry.depth))
    for number, _, raw, at in entry.fields():
        if number == 1:
            key = entry.text(raw, at)
        elif number == 2:
            value = read(entry.child(raw, at))
    return key, value
