"""GE's data-dump files: the tensors that one operator read and wrote on the device.

A file is a length, a protobuf message of that length that describes every item, and the
items' bytes one after another. The message is read here by its wire format, in bounds;
the bytes are mapped, never copied.

Source: reference: tensor_dumps.md sections 4 and 5, read from writers and readers of
the vendor; no real file was ever found in public.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Sequence

import numpy as np

from dumps import dtypes
from dumps.data_dump_items import DataItem, OriginalOp, count, read_item
from dumps.errors import DumpError
from dumps.source import shown
from dumps.wire import Message

__all__ = ["DataDump", "DataItem", "Loaded", "OriginalOp", "load", "looks_like", "read"]

LARGEST_HEADER = 4 << 20
"""Bytes; real ones take a few hundred an item."""

MOST_ITEMS = 20000
_LENGTH = 8
_NANO = b"\x5a\x5a\x5a\x5a"
# Order of the items in the body: inputs, outputs, buffers, spaces. The message itself
# has other numbers for them.
_KINDS = {4: "input", 3: "output", 5: "buffer", 8: "space"}
_ORDER = ("input", "output", "buffer", "space")
_STORAGE = {"bfloat16": "<u2", "bool": "?", "dual_sub_int8": "i1",
            "dual_sub_uint8": "u1", "qint8": "i1", "qint16": "<i2", "qint32": "<i4",
            "quint8": "u1", "quint16": "<u2"}
_WHOLE_BYTES = ("hifloat8", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu")
# Complex numbers are two real ones beside each other.
_COMPLEX = {"complex32": ("<f2", "float16"), "complex64": ("<f4", "float32"),
            "complex128": ("<f8", "float64")}
_MEANS = {"dual_sub_int8": "int8", "dual_sub_uint8": "uint8", "qint8": "int8",
          "qint16": "int16", "qint32": "int32", "quint8": "uint8", "quint16": "uint16"}


@dataclass(frozen=True)
class DataDump:
    """One data-dump file.

    Attributes:
        path: the file.
        version: "2.0" in all known files.
        time_us: microseconds since the epoch, 0 where it is not given.
        op_name: the operator's name, not escaped; "" where the writer left it out.
        items: what it holds, in the order of the bytes.
        attributes: (name, value) of the operator, as the writer chose.
        message: what the runtime had to say, often "".
        notes: what a reader must know of the file as a whole.
    """

    path: str
    version: str = ""
    time_us: int = 0
    op_name: str = ""
    items: tuple[DataItem, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    message: str = ""
    notes: tuple[str, ...] = ()

    def of(self, kind: str) -> tuple[DataItem, ...]:
        """Return the items of a kind: "input", "output", "buffer" or "space"."""
        return tuple(item for item in self.items if item.kind == kind)


@dataclass(frozen=True)
class Loaded:
    """The bytes of an item as an array.

    Attributes:
        array: [...] mapped read-only; bfloat16 as uint16, dtypes NumPy lacks as uint8.
        dtype: what the array holds: NumPy's name, "bfloat16", or the compiler's own
            ("float8_e5m2") where the array holds its bits only.
        is_raw: the array holds bits that stand for no number here.
        notes: what became of the shape.
    """

    array: np.ndarray
    dtype: str
    is_raw: bool = False
    notes: tuple[str, ...] = ()


def read(path: str | Path) -> DataDump:
    """Read what a data-dump file holds; the tensors themselves stay on disk.

    Raises:
        DumpError: the file cannot be read or is no data dump.
    """
    path = Path(path)
    try:
        if not path.is_file():
            raise DumpError(path, 0, "no regular file", "a data dump")
        with path.open("rb") as stream:
            size = path.stat().st_size
            header = _header(stream, path, size)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DumpError(path, 0, shown(reason), "a readable file") from error
    return _parse(header, path, size)


def looks_like(path: str | Path) -> bool:
    """Say whether a file can be read as a data dump that holds something."""
    try:
        found = read(path)
    except DumpError:
        return False
    return bool(found.items) and (bool(found.version) or bool(found.op_name))


def load(dump: DataDump, item: DataItem) -> Loaded:
    """Map the bytes of an item.

    Raises:
        DumpError: they are not all there, or stand for nothing that can be compared.
    """
    if item.problem:
        raise DumpError(dump.path, max(item.offset, 0), item.problem,
                        f"the {item.size} bytes of {item.kind} {item.index}")
    if item.dtype in _COMPLEX:
        storage, dtype = _COMPLEX[item.dtype]
        array, notes = _mapped(dump, item, np.dtype(storage), (2,))
        return Loaded(array, dtype, notes=(*notes, f"{item.dtype} taken as pairs of "
                                           f"{dtype} along a last axis"))
    if item.dtype in _WHOLE_BYTES:
        array, notes = _mapped(dump, item, np.dtype("u1"), ())
        return Loaded(array, item.dtype, True, notes)
    try:
        held: np.dtype[Any] = np.dtype(_STORAGE.get(item.dtype, item.dtype))
    except TypeError:
        held = np.dtype("V1")
    if held.kind not in "fiub" or not dtypes.is_known(item.raw_dtype):
        raise DumpError(dump.path, item.offset, f"dtype {item.raw_dtype} in "
                        f"{item.kind} {item.index}",
                        "a dtype of whole bytes that stands for numbers")
    array, notes = _mapped(dump, item, held.newbyteorder("<"), ())
    return Loaded(array, _MEANS.get(item.dtype, item.dtype), notes=notes)


def _mapped(dump: DataDump, item: DataItem, dtype: np.dtype[Any], last: tuple[int, ...]
            ) -> tuple[np.ndarray, tuple[str, ...]]:
    """Map an item in its shape; flat where it has more bytes than the shape takes.

    Fewer are part of a tensor: two such parts that are equal prove nothing.
    """
    shape = (*item.shape, *last)
    width = dtype.itemsize
    notes: tuple[str, ...] = ()
    if count(shape) * width != item.size or len(shape) > 32:
        unit = width * count(last)
        if item.size % unit or item.size < count(shape) * width:
            raise DumpError(
                dump.path, item.offset, f"{item.size} bytes of {item.raw_dtype} "
                f"{list(item.shape)} in {item.kind} {item.index}",
                f"{count(shape) * width} bytes, or more in multiples of {unit}")
        notes = (f"{item.kind} {item.index}: {item.size} bytes do not fit shape "
                 f"{list(item.shape)} of {item.raw_dtype}, taken flat",)
        shape = (item.size // unit, *last)
    try:
        if not count(shape):
            return np.zeros(shape, dtype), notes
        found = np.memmap(dump.path, dtype, "r", item.offset, shape)
    except (OSError, ValueError, OverflowError, MemoryError) as error:
        raise DumpError(dump.path, item.offset, shown(str(error)),
                        f"{item.size} bytes that can be mapped") from error
    return np.asarray(found), notes


def _header(stream: BinaryIO, path: Path, size: int) -> bytes:
    """Read the message after checking its length."""
    start = stream.read(_LENGTH + 4)
    if len(start) < _LENGTH:
        raise DumpError(path, 0, f"{len(start)} bytes" if start else "an empty file",
                        "a data dump: 8 bytes of length, then a message")
    length = int(struct.unpack("<Q", start[:_LENGTH])[0])
    if start[_LENGTH:] == _NANO:
        raise DumpError(path, _LENGTH, "a dump of a nano device (0x5a5a5a5a)",
                        "the message of a data dump")
    if length > size - _LENGTH:
        raise DumpError(path, 0, f"a message of {length} bytes", "a data dump: at most "
                        f"the {size - _LENGTH} bytes of the file behind its length")
    if length > LARGEST_HEADER:
        raise DumpError(path, 0, f"a message of {length} bytes",
                        f"at most {LARGEST_HEADER}")
    stream.seek(_LENGTH)
    header = stream.read(length)
    if len(header) < length:
        raise DumpError(path, _LENGTH, f"{len(header)} bytes", f"{length} bytes")
    return header


def _parse(header: bytes, path: Path, size: int) -> DataDump:
    """Read the message DumpData of a file of `size` bytes."""
    message = Message(header, path, _LENGTH)
    texts = {1: "", 6: "", 9: ""}
    items: dict[str, list[DataItem]] = {kind: [] for kind in _ORDER}
    attributes: list[tuple[str, str]] = []
    total = time_us = 0
    for number, _, value, at in message.fields():
        if number in texts:
            texts[number] = message.text(value, at)
        elif number == 2:
            time_us = message.number(value, at)
        elif number in _KINDS or number == 7:
            total += 1
            if total > MOST_ITEMS:
                raise DumpError(path, at, f"more than {MOST_ITEMS} items",
                                "the inputs and outputs of one operator")
            child = message.child(value, at)
            if number == 7:
                attributes.append(_attribute(child))
            else:
                kind = _KINDS[number]
                items[kind].append(read_item(child, kind, len(items[kind])))
    placed, notes = _place(tuple(item for kind in _ORDER for item in items[kind]),
                           _LENGTH + len(header), size)
    return DataDump(str(path), texts[1], time_us, texts[6], placed, tuple(attributes),
                    texts[9], notes)


def _attribute(message: Message) -> tuple[str, str]:
    name = value = ""
    for number, _, raw, at in message.fields():
        if number == 1:
            name = message.text(raw, at)
        elif number == 2:
            value = message.text(raw, at)
    return name, value


def _place(items: tuple[DataItem, ...], start: int, size: int
           ) -> tuple[tuple[DataItem, ...], tuple[str, ...]]:
    """Say where the bytes of each item begin.

    An item with a size and no address has no bytes: the writer skips it and keeps its
    size. That is only believed where the sizes add up to more than the file and the
    items that have an address fill it exactly.
    """
    rest = size - start
    total = sum(item.size for item in items)
    if total <= rest:
        left = rest - total
        notes = (f"{left} bytes follow the last item",) if left else ()
        return _in_order(items, start, size), notes
    absent = [place for place, item in enumerate(items)
              if item.size and not item.address]
    held = total - sum(items[place].size for place in absent)
    if absent and held == rest:
        kept = list(items)
        for place in absent:
            kept[place] = replace(items[place],
                                  problem="no bytes (the item has no address)")
        return _in_order(kept, start, size), (
            f"{len(absent)} items have no address and no bytes",)
    notes = (f"cut short: the items take {total} bytes, {rest} are there",)
    if absent and len(absent) < len(items):
        placed = _in_order(items[:absent[0]], start, size)
        unsure = [replace(item, problem="an uncertain place (the file is cut short and "
                          "items before it may have no bytes)")
                  for item in items[absent[0]:]]
        return (*placed, *unsure), notes
    return _in_order(items, start, size), notes


def _in_order(items: Sequence[DataItem], start: int, size: int
              ) -> tuple[DataItem, ...]:
    """Put items one after another; those with a problem take no place."""
    found = []
    for item in items:
        problem = item.problem
        if not problem and start + item.size > size:
            problem = f"{max(0, size - start)} bytes before the end of the file"
        found.append(replace(item, offset=start, problem=problem))
        start += 0 if item.problem else item.size
    return tuple(found)
