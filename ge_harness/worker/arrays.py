"""Outputs of a worker on disk: .npy files that are whole after every finished set."""

from __future__ import annotations

import errno
import hashlib
import struct
from pathlib import Path
from typing import BinaryIO, Mapping, Sequence

import numpy as np

from ge_harness.backends.base import BackendFailure
from ge_harness.compare.dtypes import FLOAT_FORMATS
from ge_harness.records.run import FailureKind
from ge_harness.records.tensor import Port

_MAGIC = b"\x93NUMPY\x01\x00"
_SHORTEST_HEADER = 256
DISK_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


class ArrayFile:
    """A .npy file that grows set by set.

    The header is written again after each set's bytes, so the file can be read at any
    time and holds every set that was finished, also after a crash.
    """

    def __init__(self, path: Path, stacked: bool) -> None:
        self._out: BinaryIO = path.open("w+b", buffering=0)
        self._stacked = stacked
        self._count = 0
        self._shape: tuple[int, ...] = ()
        self._dtype = np.dtype("uint8")
        self._length = 0

    def append(self, array: np.ndarray) -> None:
        """Write one set.

        Args:
            array: [...] of the same shape and dtype every time.

        Raises:
            OSError: no room.
            BackendFailure: shape or dtype changed from one set to the next.
        """
        if self._count == 0:
            self._shape, self._dtype = array.shape, array.dtype
            self._length = len(_header(array.shape + (2 ** 62,), array.dtype, 0))
        if (array.shape, array.dtype) != (self._shape, self._dtype):
            raise BackendFailure(
                FailureKind.GARBAGE,
                f"an output is {array.dtype}{list(array.shape)} in set {self._count}, "
                f"{self._dtype}{list(self._shape)} before")
        self._out.seek(self._length + self._count * array.nbytes)
        _write(self._out, np.ascontiguousarray(array).tobytes())
        self._count += 1
        shape = (self._count, *self._shape) if self._stacked else self._shape
        self._out.seek(0)
        _write(self._out, _header(shape, self._dtype, self._length))

    def close(self) -> None:
        """Close the file."""
        self._out.close()


def _write(out: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while len(view):
        view = view[out.write(view):]


def _header(shape: tuple[int, ...], dtype: np.dtype, length: int) -> bytes:
    """Return a version 1.0 header padded to `length`, or to the next multiple of 64.

    Source: NumPy, format specification of .npy (numpy.lib.format).
    """
    text = (f"{{'descr': {np.lib.format.dtype_to_descr(dtype)!r}, "
            f"'fortran_order': False, 'shape': {shape!r}, }}").encode("ascii")
    whole = length or max(_SHORTEST_HEADER, -(-(len(text) + 11) // 64) * 64)
    padded = text.ljust(whole - 11) + b"\n"
    return _MAGIC + struct.pack("<H", len(padded)) + padded


def checked(port: Port, array: np.ndarray, *, wide: bool = False) -> np.ndarray:
    """Return an output as an array of its port.

    Args:
        port: where it comes from.
        array: [...] as the backend gave it.
        wide: float outputs are float64, whatever the port's dtype.

    Raises:
        BackendFailure: dtype or shape is not what the graph says.
    """
    array = np.asarray(array)
    spec = port.spec
    stored = "uint16" if spec.dtype == "bfloat16" else spec.dtype
    if wide and spec.dtype in FLOAT_FORMATS:
        stored = "float64"
    fits = len(array.shape) == len(spec.shape) and all(
        want is None or want == got for want, got in zip(spec.shape, array.shape))
    if array.dtype.name != stored or not fits:
        raise BackendFailure(
            FailureKind.GARBAGE,
            f"output {spec.name!r} came as {array.dtype.name}{list(array.shape)}, "
            f"expected {stored}{list(spec.shape)}")
    return array


def digest(array: np.ndarray) -> str:
    """Return the MD5 of an array's bytes in C order."""
    return hashlib.md5(np.ascontiguousarray(array).tobytes()).hexdigest()


def load_set(paths: Sequence[Path], ports: Sequence[Port], set_count: int,
             index: int) -> dict[str, np.ndarray]:
    """Return set `index` as port name -> array, copied out of the mapped files.

    Raises:
        BackendFailure: a file is no .npy or not of its port's dtype and shape.
    """
    found = {}
    for path, port in zip(paths, ports):
        try:
            mapped = np.load(str(path), mmap_mode="r", allow_pickle=False)
            array = np.array(mapped[index] if set_count > 1 else mapped, order="C",
                             dtype=mapped.dtype.newbyteorder("="))
        except (ValueError, OSError, IndexError) as error:
            raise BackendFailure(
                FailureKind.BUILD, f"input {port.spec.name!r}: {path} holds no set "
                f"{index}: {error}") from error
        try:
            found[port.spec.name] = checked(port, array)
        except BackendFailure as failure:
            raise BackendFailure(FailureKind.BUILD, str(failure).replace(
                "output", "input", 1)) from failure
    return found


def finished_sets(paths: Sequence[Path]) -> int:
    """Return how many sets stacked outputs hold in full, 0 where there are none."""
    counts = []
    for path in paths:
        try:
            mapped = np.load(str(path), mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError):
            return 0
        counts.append(int(mapped.shape[0]) if mapped.ndim else 0)
    return min(counts, default=0)


def save_all(folder: Path, named: Mapping[str, np.ndarray]) -> None:
    """Write arrays aside for somebody to look at."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in named.items():
        file = ArrayFile(folder / name, stacked=False)
        file.append(array)
        file.close()
