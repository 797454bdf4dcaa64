"""Reads .npy data without trusting it: nothing is unpickled, nothing is guessed.

The header is parsed here and not by NumPy, so that every fault names the file, what was
found and what was expected, and so that a member of a .npz can be mapped in place.
Source: NumPy enhancement proposal 1, "A Simple File Format for NumPy Arrays".
"""

from __future__ import annotations

import ast
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ge_harness.errors import UsageError

MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 1 << 16
_MOST_AXES = 32
_KEYS = {"descr", "fortran_order", "shape"}


@dataclass(frozen=True)
class Header:
    """What the head of a .npy says.

    Attributes:
        dtype: as NumPy builds it; bfloat16 appears as two raw bytes ("V2").
        fortran_order: first axis fastest.
        shape: axis lengths.
        size: bytes of the head, i.e. where the data begin.
    """

    dtype: np.dtype[Any]
    fortran_order: bool
    shape: tuple[int, ...]
    size: int

    @property
    def count(self) -> int:
        """Number of elements, exact for any claim."""
        total = 1
        for length in self.shape:
            total *= length
        return total

    @property
    def data_bytes(self) -> int:
        """Bytes of the data."""
        return self.count * int(self.dtype.itemsize)


def read_header(stream: IO[bytes], source: str, available: int) -> Header:
    """Read the head of a .npy.

    Args:
        stream: at the first byte of the .npy.
        source: what messages call it.
        available: bytes of the .npy, head included.

    Raises:
        UsageError: no .npy, damaged, truncated, or of a dtype that is not numeric.
    """
    start = stream.read(8)
    if not start:
        raise UsageError(f"{source}: the file is empty, expected a .npy")
    if start[:6] != MAGIC:
        raise UsageError(
            f"{source}: found {start[:6]!r} at its start, expected a .npy "
            f"({MAGIC!r})")
    if len(start) < 8 or start[6] not in (1, 2, 3):
        raise UsageError(f"{source}: found .npy version {start[6:]!r}, expected 1 to 3")
    width, code = (2, "<H") if start[6] == 1 else (4, "<I")
    raw_length = stream.read(width)
    if len(raw_length) < width:
        raise UsageError(f"{source}: truncated inside the head of the .npy")
    length = int(struct.unpack(code, raw_length)[0])
    if length > _LONGEST_HEADER:
        raise UsageError(f"{source}: found a .npy head of {length} bytes, expected at "
                         f"most {_LONGEST_HEADER}")
    text = stream.read(length)
    if len(text) < length:
        raise UsageError(f"{source}: truncated inside the head of the .npy: found "
                         f"{len(text)} of {length} bytes")
    header = _parse(text, source, 8 + width + length)
    if header.size + header.data_bytes > available:
        raise UsageError(
            f"{source}: truncated: the head says {list(header.shape)} of "
            f"{header.dtype} = {header.data_bytes} bytes, found "
            f"{available - header.size}")
    return header


def map_array(path: Path, header: Header, offset: int) -> np.ndarray:
    """Map the data of a .npy read-only.

    Args:
        path: the file.
        header: its head.
        offset: byte at which the .npy begins in the file.

    Returns:
        [*header.shape] mapped, or an empty array.
    """
    order: Any = "F" if header.fortran_order else "C"
    if header.count == 0:
        return np.zeros(header.shape, header.dtype).copy(order)
    return np.asarray(np.memmap(
        path, header.dtype, "r", offset + header.size, header.shape, order))


def array_from(data: bytes, header: Header) -> np.ndarray:
    """Return the array of a .npy held in memory."""
    flat = np.frombuffer(data, header.dtype, header.count, header.size)
    return flat.reshape(header.shape, order="F" if header.fortran_order else "C")


def _parse(text: bytes, source: str, size: int) -> Header:
    try:
        # Python 2 wrote whole numbers as 3L.
        found = ast.literal_eval(re.sub(r"(\d)L\b", r"\1", text.decode("utf-8")))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise UsageError(f"{source}: the head of the .npy is damaged: "
                         f"{type(error).__name__}") from error
    if not isinstance(found, dict) or set(found) != _KEYS:
        raise UsageError(f"{source}: the head of the .npy is damaged: expected the "
                         f"keys {', '.join(sorted(_KEYS))}")
    shape = found["shape"]
    if not isinstance(shape, tuple) or len(shape) > _MOST_AXES or any(
            type(length) is not int or length < 0 for length in shape):
        raise UsageError(f"{source}: the head of the .npy is damaged: found shape "
                         f"{str(shape)[:60]}")
    return Header(_dtype(found["descr"], source), found["fortran_order"] is True,
                  shape, size)


def _dtype(descr: object, source: str) -> np.dtype[Any]:
    if not isinstance(descr, str):
        raise UsageError(f"{source}: holds records with fields, expected one number an "
                         "element")
    if "O" in descr:
        raise UsageError(
            f"{source}: holds Python objects, which are never unpickled; save it again "
            "with a numeric dtype")
    try:
        dtype = np.dtype(descr)
    except (TypeError, ValueError, SyntaxError) as error:
        raise UsageError(f"{source}: found dtype {descr[:40]!r} in the head of the "
                         ".npy, which NumPy does not know") from error
    if dtype.kind not in "fiubV" or dtype.names is not None or not dtype.itemsize:
        raise UsageError(
            f"{source}: holds {dtype}, expected float, integer or bool")
    return dtype
