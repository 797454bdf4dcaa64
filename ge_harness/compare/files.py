"""Tensors in files and folders, and which of one side belongs to which of the other."""

from __future__ import annotations

import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dumps import data_names
from ge_harness.compare.dtypes import Storage, as_storage
from ge_harness.compare.npy import MAGIC, array_from, map_array, read_header
from ge_harness.errors import UsageError

_LOCAL_HEADER = 30
_LARGEST_PACKED = 1 << 31
_RAW = np.dtype("V2")


@dataclass(frozen=True)
class TensorFile:
    """One tensor on disk: a .npy, or a member of a .npz.

    Attributes:
        name: what it is matched by.
        path: the file.
        member: name inside the .npz, "" for a .npy.
    """

    name: str
    path: Path
    member: str = ""

    @property
    def source(self) -> str:
        """What messages call it."""
        return f"{self.path}:{self.member}" if self.member else str(self.path)

    def load(self, dtype: str | None = None) -> tuple[Storage, tuple[str, ...]]:
        """Map the tensor.

        Args:
            dtype: what raw bits (unsigned integers or void of that width) stand for,
                None where the user did not say.

        Returns:
            The storage with its dtype name, and notes.

        Raises:
            UsageError: the file cannot be read as a tensor.
        """
        array = _load_member(self) if self.member else _load_npy(self.path)
        notes: tuple[str, ...] = ()
        if array.dtype == _RAW and dtype is None:
            dtype = "bfloat16"
            notes = (f"{self.path.name}: two raw bytes an element taken as bfloat16, "
                     "as NumPy saves it; --dtype says otherwise",)
        elif dtype is not None and not may_hold(array.dtype, dtype):
            notes = (f"{self.path.name}: holds {array.dtype.name}, --dtype={dtype} is "
                     "for raw bits and has no effect on it",)
            dtype = None
        try:
            return as_storage(array, dtype), notes
        except ValueError as error:
            raise UsageError(f"{self.source}: {error}") from error


def may_hold(held: np.dtype[Any], dtype: str) -> bool:
    """Tell whether an array of dtype `held` can be told to be `dtype`."""
    wanted = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    raw = held.kind in "uV" and held.itemsize == wanted.itemsize
    return raw or held.name == dtype


@dataclass(frozen=True)
class Matched:
    """Tensors of two places, paired by name.

    Attributes:
        pairs: (name, side a, side b), sorted by name.
        only_a: names that side b lacks.
        only_b: names that side a lacks.
        skipped: files that hold no tensor, as text.
        single: both places are one tensor each.
    """

    pairs: tuple[tuple[str, TensorFile, TensorFile], ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    skipped: tuple[str, ...]
    single: bool


def check_place(place: Path) -> None:
    """Refuse a place that cannot be looked at.

    Raises:
        UsageError: there is none, or the system does not let us.
    """
    try:
        place.stat()
    except FileNotFoundError as error:
        raise UsageError(f"{place}: no such file or folder") from error
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}") from error


def is_plain_file(path: Path) -> bool:
    """Say whether a path can be opened at once; a pipe would wait for a writer."""
    try:
        return path.is_file()
    except OSError:
        return False


def match(a: Path, b: Path) -> Matched:
    """Pair the tensors of two files or folders.

    Single tensors belong together whatever they are called; otherwise names decide: the
    path inside the folder without .npy, or the name inside the .npz.

    Raises:
        UsageError: a place cannot be read, or nothing belongs together.
    """
    for place in (a, b):
        check_place(place)
    if a.is_dir() != b.is_dir():
        raise UsageError(f"cannot compare a folder with a file: {a} and {b}")
    left, skipped_a = tensors_in(a)
    right, skipped_b = tensors_in(b)
    skipped = (*skipped_a, *skipped_b)
    if len(left) == len(right) == 1 and not a.is_dir():
        one, other = next(iter(left.values())), next(iter(right.values()))
        return Matched(((one.name, one, other),), (), (), skipped, single=True)
    names = [name for name in sorted(left) if name in right]
    if not names:
        raise UsageError(
            f"no tensor of {a} has the name of one in {b}: found "
            f"{_some(left)} against {_some(right)}")
    return Matched(
        tuple((name, left[name], right[name]) for name in names),
        tuple(sorted(set(left) - set(right))), tuple(sorted(set(right) - set(left))),
        skipped, single=False)


def tensors_in(place: Path) -> tuple[dict[str, TensorFile], tuple[str, ...]]:
    """Return the tensors of a file or folder by name, and what was left out.

    Raises:
        UsageError: there is none, or the place cannot be read.
    """
    check_place(place)
    if not place.is_dir():
        return _tensors_of_file(place, place.stem), ()
    found: dict[str, TensorFile] = {}
    skipped = []
    for path in sorted(place.rglob("*")):
        if path.is_dir():
            continue
        name = path.relative_to(place).as_posix()
        if path.suffix == ".npy":
            found[name[:-4]] = TensorFile(name[:-4], path)
        elif path.suffix == ".npz":
            found.update((f"{name}:{key}", TensorFile(f"{name}:{key}", path, key))
                         for key in member_names(path))
        else:
            skipped.append(str(path))
    if not found:
        if any(data_names.parse(Path(path).name) for path in skipped):
            raise UsageError(f"{place}: holds GE data-dump files; expected .npy or "
                             ".npz (`compare` reads such files)")
        raise UsageError(f"{place}: found no .npy or .npz in it, "
                         f"{len(skipped)} other files")
    return found, tuple(skipped)


def _tensors_of_file(path: Path, name: str) -> dict[str, TensorFile]:
    with _open(path) as stream:
        start = stream.read(8)
    if start[:6] == MAGIC:
        return {name: TensorFile(name, path)}
    if start[:2] == b"PK":
        return {key: TensorFile(key, path, key) for key in member_names(path)}
    if data_names.parse(path.name):
        raise UsageError(f"{path}: is named like a GE data dump; expected a .npy or "
                         ".npz (`compare` reads such files)")
    if not start:
        raise UsageError(f"{path}: the file is empty, expected a .npy, .npz or data "
                         "dump")
    raise UsageError(
        f"{path}: found {start[:6]!r} at its start, expected a .npy, .npz or data dump")


def _load_npy(path: Path) -> np.ndarray:
    with _open(path) as stream:
        header = read_header(stream, str(path), path.stat().st_size)
    return map_array(path, header, 0)


def member_names(path: Path) -> tuple[str, ...]:
    """Return the names of the arrays in a .npz.

    Raises:
        UsageError: it cannot be read, or holds none.
    """
    if not is_plain_file(path):
        raise UsageError(f"{path}: is not a plain file")
    try:
        with zipfile.ZipFile(path) as archive:
            names = [info.filename for info in archive.infolist()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UsageError(f"{path}: cannot be read as .npz: {error}") from error
    found = tuple(dict.fromkeys(name[:-4] for name in names if name.endswith(".npy")))
    if not found:
        raise UsageError(f"{path}: found {len(names)} files in the archive, none of "
                         "them a .npy")
    return found


def _load_member(tensor: TensorFile) -> np.ndarray:
    """Map a member that is stored plainly; unpack one that is compressed."""
    source = tensor.source
    try:
        with zipfile.ZipFile(tensor.path) as archive:
            info = archive.getinfo(tensor.member + ".npy")
            if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
                return _map_stored(tensor, info)
            if info.file_size > _LARGEST_PACKED:
                raise UsageError(f"{source}: {info.file_size} bytes compressed; unpack "
                                 "it to .npy, which can be mapped")
            with archive.open(info) as stream:
                header = read_header(stream, source, info.file_size)
            return array_from(archive.read(info), header)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError,
            ValueError, KeyError, NotImplementedError) as error:
        raise UsageError(f"{source}: cannot be unpacked: {error}") from error


def _map_stored(tensor: TensorFile, info: zipfile.ZipInfo) -> np.ndarray:
    with _open(tensor.path) as stream:
        stream.seek(info.header_offset)
        local = stream.read(_LOCAL_HEADER)
        if len(local) < _LOCAL_HEADER or local[:4] != b"PK\x03\x04":
            raise UsageError(f"{tensor.source}: the archive is damaged")
        name_bytes, extra_bytes = struct.unpack("<HH", local[26:30])
        offset = info.header_offset + _LOCAL_HEADER + name_bytes + extra_bytes
        stream.seek(offset)
        left = tensor.path.stat().st_size - offset
        header = read_header(stream, tensor.source, min(left, info.file_size))
    return map_array(tensor.path, header, offset)


def _open(path: Path) -> BinaryIO:
    if not is_plain_file(path):
        raise UsageError(f"{path}: is not a plain file")
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened: {error.strerror}") from error


def _some(names: dict[str, TensorFile]) -> str:
    shown = ", ".join(sorted(names)[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
