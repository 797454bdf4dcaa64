"""Tensors of operators on disk: GE's data dumps, and .npy named after operators.

A folder of dumps is walked whole: folders of times, devices, models and steps may
lie in between. What cannot be read stays in the list, so that it is not forgotten.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Iterator, Tuple, Union

from dumps import DumpError, data_dump, data_names
from dumps.data_dump import DataDump, DataItem, Loaded
from dumps.data_names import DataName, escape
from dumps.sides import STAMP
from ge_harness.compare.dtypes import Storage
from ge_harness.compare.files import (
    TensorFile,
    check_place,
    is_plain_file,
    member_names,
)
from ge_harness.compare.npy import MAGIC
from ge_harness.errors import UsageError

TIME_FOLDER = re.compile(r"\d{14}")
Context = Tuple[str, ...]
LABEL = "ge_harness.label"
"""Attribute of dumps that no device wrote."""


@dataclass(frozen=True)
class DumpTensor:
    """One input or output in a data-dump file.

    Attributes:
        name: what it is called among the tensors of its place.
        dump: the file.
        item: which of its items.
        origin_format: original layout as a graph says, "" where none was given.
        origin_shape: shape in it, None likewise.
    """

    name: str
    dump: DataDump
    item: DataItem
    origin_format: str = ""
    origin_shape: tuple[int, ...] | None = None

    @property
    def source(self) -> str:
        """What messages call it."""
        return f"{self.dump.path}:{self.item.kind}.{self.item.index}"

    def loaded(self) -> Loaded:
        """Map its bytes.

        Raises:
            UsageError: they cannot be read.
        """
        try:
            return data_dump.load(self.dump, self.item)
        except DumpError as error:
            raise UsageError(str(error)) from error

    def load(self, dtype: str | None = None) -> tuple[Storage, tuple[str, ...]]:
        """Map the tensor as it lies in the file; its dtype is never in doubt."""
        del dtype
        found = self.loaded()
        return (found.array, found.dtype), found.notes


@dataclass(frozen=True)
class BrokenDump:
    """A file that is named like a dump and cannot be read.

    Attributes:
        name: what it is called among the tensors of its place.
        path: the file.
        problem: why, in one line.
    """

    name: str
    path: Path
    problem: str

    @property
    def source(self) -> str:
        """What messages call it."""
        return str(self.path)

    def load(self, dtype: str | None = None) -> tuple[Storage, tuple[str, ...]]:
        """Raise what was wrong.

        Raises:
            UsageError: always.
        """
        raise UsageError(self.problem)


Tensor = Union[TensorFile, DumpTensor, BrokenDump]


@dataclass(frozen=True)
class Entry:
    """One tensor and whose it is.

    Attributes:
        tensor: where its values are.
        op_name: the operator's name as file names spell it.
        exact_name: the operator's own name, "" where only the escaped one is known.
        op_type: its type as file names spell it, "" where it is not known.
        io: "input" or "output".
        index: number among them.
        context: device, model and step: the folders it lies in, without times.
        order: sorts dumps of one operator: thread (-1 of a whole one), time, context.
        folder: the folder it lies in.
    """

    tensor: Tensor
    op_name: str
    exact_name: str
    op_type: str
    io: str
    index: int
    context: Context = ()
    order: tuple[int, int, int] = (-1, 0, -1)
    folder: str = ""

    @property
    def thread(self) -> int:
        """Which thread of a task that was cut; -1 of a whole one."""
        return self.order[0]

    @property
    def time_us(self) -> int:
        """Microseconds since the epoch, 0 where the name has none."""
        return self.order[1]

    @property
    def name(self) -> str:
        """The tensor's name: operator, "input" or "output", number."""
        return f"{self.exact_name or self.op_name}.{self.io}.{self.index}"


@dataclass(frozen=True)
class Scan:
    """The tensors of operators of one place.

    Attributes:
        place: file or folder.
        entries: every tensor, in the order of paths.
        skipped: files that hold no tensor of an operator.
    """

    place: Path
    entries: tuple[Entry, ...]
    skipped: tuple[str, ...] = ()


@dataclass
class _Walk:
    """What a walk has found so far."""

    root: Path
    only: Path | None = None
    entries: list[Entry] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    mappings: dict[Path, dict[str, str]] = field(default_factory=dict)
    contexts: dict[Path, Context] = field(default_factory=dict)


def label_of(tensors: Iterable[Tensor]) -> str:
    """Return what the first dump with a label says of its origin, "" where none."""
    for tensor in tensors:
        if isinstance(tensor, DumpTensor):
            held = dict(tensor.dump.attributes).get(LABEL, "")
            if held:
                return held
    return ""


def holds_dumps(place: Path) -> bool:
    """Say whether a place holds a dump of an operator, as far as names and a look tell.

    A .npy that the vendor's converter named counts: its name holds times and task
    numbers, by which nothing could be matched.
    """
    if not place.is_dir():
        return is_dump_file(place)
    return any(_is_operator_name(path) for path in _files(place, []))


def is_dump_file(path: Path) -> bool:
    """Say whether one file is a data dump by its name or by how it is built."""
    if path.suffix in (".npy", ".npz"):
        return False
    return data_names.parse(path.name) is not None or data_dump.looks_like(path)


def scan(place: Path) -> Scan:
    """Find the tensors of operators at or below a place.

    Raises:
        UsageError: there is no such place, or it holds none.
    """
    check_place(place)
    found = _Walk(place) if place.is_dir() else _Walk(place.parent, place)
    for path in _files(place, found.skipped) if place.is_dir() else [place]:
        _add(found, path)
    if not found.entries:
        like = f", such as {found.skipped[0]}" if found.skipped else ""
        raise UsageError(f"{place}: found no data dump, .npy or .npz in it, "
                         f"{len(found.skipped)} other files{like}")
    return Scan(place, tuple(_without_copies(found)), tuple(found.skipped))


def _files(place: Path, unread: list[str]) -> Iterator[Path]:
    """Yield the files below a folder; folders that are not entered are named."""
    def failed(error: OSError) -> None:
        unread.append(f"{error.filename}: {error.strerror}")

    for folder, inner, names in os.walk(str(place), onerror=failed):
        inner.sort()
        unread += [f"{path}: a link to a folder, not followed"
                   for path in (Path(folder) / name for name in inner)
                   if path.is_symlink()]
        yield from (Path(folder) / name for name in sorted(names))


def _without_copies(found: _Walk) -> Iterator[Entry]:
    """Leave out what the vendor's converter made of a dump that lies beside it."""
    dumped = {_whose(entry) for entry in found.entries
              if isinstance(entry.tensor, DumpTensor)}
    for entry in found.entries:
        if isinstance(entry.tensor, TensorFile) and _whose(entry) in dumped:
            found.skipped.append(f"{entry.tensor.source}: made of a dump beside it")
        else:
            yield entry


def _whose(entry: Entry) -> tuple[object, ...]:
    return (entry.folder, entry.op_type, entry.op_name, entry.io, entry.index,
            entry.order)


def _is_operator_name(path: Path) -> bool:
    if path.suffix == ".npy":
        found = data_names.parse_converted(path.stem)
        return found is not None and found.time_us > 0
    if path.suffix == ".npz":
        return False
    if data_names.is_hashed(path.name):
        return is_plain_file(path.parent / data_names.MAPPING) or (
            data_dump.looks_like(path))
    return data_names.parse(path.name) is not None


def _add(found: _Walk, path: Path) -> None:
    """Add the tensors of one file, or note that it holds none."""
    name = _original_name(found, path)
    if path.name == data_names.MAPPING:
        return
    parsed = data_names.parse(name)
    kind = _array_kind(name, path) if path == found.only else path.suffix
    if kind == ".npy" or name.endswith(".npy"):
        stem = name[:-4] if name.endswith(".npy") else name
        _add_array(found, path, TensorFile(stem, path), stem)
    elif kind == ".npz" or name.endswith(".npz"):
        for member in member_names(path):
            _add_array(found, path, TensorFile(member, path, member), member)
    elif parsed is not None and parsed.op_type != data_names.OVERFLOW_TYPE:
        _add_dump(found, path, parsed)
    elif parsed is None and (path == found.only or not path.suffix) and (
            data_dump.looks_like(path)):
        _add_dump(found, path, DataName("", ""))
    else:
        found.skipped.append(str(path))


def _array_kind(name: str, path: Path) -> str:
    """Return what a file that was given by hand is, by its first bytes."""
    if not is_plain_file(path):
        return Path(name).suffix
    try:
        with path.open("rb") as stream:
            start = stream.read(6)
    except OSError:
        return Path(name).suffix
    return {MAGIC: ".npy", b"PK\x03\x04": ".npz"}.get(
        start if start == MAGIC else start[:4], "")


def _original_name(found: _Walk, path: Path) -> str:
    """Return a file's name as it was before it was found too long."""
    folder = path.parent
    if folder not in found.mappings:
        try:
            found.mappings[folder] = data_names.read_mapping(folder)
        except DumpError as error:
            found.mappings[folder] = {}
            found.skipped.append(str(error))
    original = found.mappings[folder].get(path.name, path.name)
    return re.split(r"[/\\]", original)[-1] or path.name


def _add_array(found: _Walk, path: Path, tensor: TensorFile, stem: str) -> None:
    parsed = data_names.parse_converted(stem)
    if parsed is None:
        parsed = DataName("", escape(stem), io="output")
    found.entries.append(Entry(
        tensor, parsed.op_name, "", parsed.op_type, parsed.io, parsed.index,
        _context(found, path), parsed.order, str(path.parent)))


def _add_dump(found: _Walk, path: Path, parsed: DataName) -> None:
    context, folder = _context(found, path), str(path.parent)
    try:
        dump = data_dump.read(path)
    except DumpError as error:
        name = parsed.op_name or escape(path.name)
        found.entries.append(Entry(
            BrokenDump(name, path, str(error)), name, "", parsed.op_type, "output", 0,
            context, parsed.order, folder))
        return
    name = parsed.op_name or escape(dump.op_name or path.name)
    exact = dump.op_name if escape(dump.op_name) == name else ""
    for item in dump.items:
        if item.kind not in data_names.IO_WORDS or not (item.size or item.shape):
            continue
        tensor = DumpTensor(f"{exact or name}.{item.kind}.{item.index}", dump, item)
        found.entries.append(Entry(
            tensor, name, exact, parsed.op_type, item.kind, item.index, context,
            parsed.order, folder))


def _context(found: _Walk, path: Path) -> Context:
    """Return the folders a file lies in, without times."""
    folder = path.parent
    if folder not in found.contexts:
        found.contexts[folder] = tuple(
            STAMP.sub("ge_default", part) for part in folder.relative_to(
                found.root).parts if not TIME_FOLDER.fullmatch(part))
    return found.contexts[folder]
