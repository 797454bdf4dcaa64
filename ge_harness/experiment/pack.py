"""One archive with everything of a run that is worth sending to somebody.

What tells most comes first: records and logs, then dumps, graphs, outputs and inputs,
until the limit is reached; what is left out is listed in the archive. Nothing outside
the folders is read, links included. Names of files are cleaned as their contents are.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from ge_harness.errors import UsageError
from ge_harness.experiment.redact import Redactor
from ge_harness.experiment.store import RUN_FILE
from ge_harness.records import serialize
from ge_harness.records.pack import LeftOut, PackedFile, PackReport
from ge_harness.version import VERSION

MANIFEST = "MANIFEST.json"
_LOG_BYTES = 2 << 20
_OVERHEAD_BYTES = 512
_RESERVED_BYTES = 64 << 10
_MOST_LISTED = 300
# Deflate never makes anything smaller than by this.
_MOST_DENSE = 1040
_LONGEST_NAME = 8000
_CLOSED = frozenset((".gz", ".zip", ".tgz", ".tar", ".xz", ".bz2", ".whl"))
_KERNELS = frozenset((".o", ".so", ".bin", ".a"))
_BINARY = frozenset((".npy", ".npz", ".pb"))
# The first pattern that a file's name within the run matches gives its turn.
_ORDER = tuple(re.compile(text) for text in (
    r"(.*/)?(run|request|outcome|experiments?(-[^/]+)?)\.json|(.*/)?report\.html|"
    r"(.*/)?cases/[^/]+\.py",
    r"(.*/)?(log|warm_worker)\.txt|(.*/)?\w*plog\w*.*|.*fusion_result.*\.json|"
    r".*check_result.*|.*/dumps/[^/]+\.(json|cfg)|.*kernel_cache/.*\.json",
    r".*(_Build|_PreRunBegin|[Aa]uto[Ff]use\w*)\.(txt|pbtxt)|.*\.(py|cfg)",
    r".*/dumps/(?!dump/).*", r".*\.pb", r".*outputs/.*", r"(.*/)?inputs/.*"))


class _File(NamedTuple):
    """A file to be packed: its place among the others, its name, where it is."""

    turn: int
    name: str
    path: Path
    size_bytes: int


class About(NamedTuple):
    """What must not be sent.

    Attributes:
        home: home folder of the user.
        users: names of the user's account.
        hosts: names of this machine.
        secrets: values of variables that hold secrets.
    """

    home: str = ""
    users: Sequence[str] = ()
    hosts: Sequence[str] = ()
    secrets: Sequence[str] = ()


def pack(run_dirs: Sequence[Path], target: Path, limit_bytes: int, *,
         about: About | None = None, extra: Sequence[tuple[str, str]] = ()
         ) -> PackReport:
    """Write an archive of the folders of one or several runs.

    Args:
        run_dirs: folders of runs, finished or not.
        target: the archive to write; it must not exist.
        limit_bytes: largest size of the archive, in bytes.
        about: what names the user and the machine, taken out of every file.
        extra: (name, text) of further files, packed first.

    Raises:
        UsageError: a folder is not that of a run, or the archive cannot be written.
    """
    roots = _roots(run_dirs)
    redactor = _redactor(roots, about or About())
    aside = target.with_name(f".{target.name}.part")
    if target.exists():
        raise UsageError(f"{target}: exists already; nothing is overwritten")
    try:
        with zipfile.ZipFile(str(aside), "w", zipfile.ZIP_DEFLATED) as archive:
            packer = _Packer(archive, redactor, limit_bytes)
            for name, text in extra:
                packer.add_text(name, text)
            for name, root in roots:
                packer.find(redactor.name(name), root, aside)
            packer.add_all()
            report = PackReport(
                target.name, 0, limit_bytes, tuple(packer.packed),
                _listed(packer.left_out), sum(one.removed for one in packer.packed),
                VERSION)
            packer.write(MANIFEST, redactor.text(
                serialize.dumps("pack", report).encode("utf-8"))[0])
        aside.replace(target)
        size_bytes = target.stat().st_size
    except OSError as error:
        raise UsageError(f"{target}: cannot write the archive: {error.strerror}; give "
                         "another file with --out=FILE") from error
    finally:
        if aside.is_file():
            aside.unlink()
    return PackReport(str(target), size_bytes, limit_bytes, report.files,
                      tuple(packer.left_out), report.removed, VERSION)


def _redactor(roots: Sequence[tuple[str, Path]], about: About) -> Redactor:
    paths = [(str(root.resolve()), name) for name, root in roots]
    return Redactor(
        [*paths, (about.home, "~"), (str(Path.cwd()), ".")],
        [(name, "[user]") for name in about.users]
        + [(name, "[host]") for name in about.hosts], about.secrets)


def _listed(left_out: Sequence[LeftOut]) -> tuple[LeftOut, ...]:
    """Return the list for the archive itself, which must keep to the limit too."""
    if len(left_out) <= _MOST_LISTED:
        return tuple(left_out)
    rest = left_out[_MOST_LISTED:]
    return (*left_out[:_MOST_LISTED], LeftOut(
        f"{len(rest)} more files", sum(one.size_bytes for one in rest),
        "left out like those above; not listed one by one"))


def _roots(run_dirs: Sequence[Path]) -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    for path in run_dirs:
        if not ((path / RUN_FILE).is_file() or (path / "jobs").is_dir()
                or any(path.glob(f"*/{RUN_FILE}"))):
            raise UsageError(f"{path}: not the folder of a run (it has neither "
                             f"{RUN_FILE} nor jobs)")
        name = path.resolve().name
        taken = {each for each, _ in found}
        number = 2
        while name in taken:
            name = f"{path.resolve().name}-{number}"
            number += 1
        found.append((name, path))
    return found


class _Packer:
    """An archive while it is filled."""

    def __init__(self, archive: zipfile.ZipFile, redactor: Redactor, limit_bytes: int
                 ) -> None:
        self._archive = archive
        self._redactor = redactor
        self._limit_bytes = max(0, limit_bytes - _RESERVED_BYTES)
        self._seen: dict[tuple[int, int], str] = {}
        self._names: set[str] = set()
        self._used_bytes = 0
        self._waiting: list[_File] = []
        self.packed: list[PackedFile] = []
        self.left_out: list[LeftOut] = []

    def find(self, name: str, root: Path, own: Path) -> None:
        """Look for files below a folder; `own` is the archive itself."""
        top = root.resolve()
        for path in _walk(top):
            if path == own.resolve():
                continue
            inner = self._inner(f"{name}/{path.relative_to(top).as_posix()}")
            try:
                real = path.resolve()
                status = real.stat()
            except (OSError, RuntimeError):
                self._leave(inner, 0, "a link that leads nowhere")
                continue
            size_bytes = status.st_size
            why = self._unfit(path, real, top, status)
            if not why and inner in self._names:
                why = "another file has this name once it names nobody"
            self._names.add(inner)
            key = (status.st_dev, status.st_ino)
            if not why and key in self._seen:
                why = f"the same file as {self._seen[key]}"
            if why:
                self._leave(inner, size_bytes, why)
                continue
            self._seen[key] = inner
            within = inner[len(name) + 1:]
            turn = next((number for number, pattern in enumerate(_ORDER)
                         if pattern.fullmatch(within)), len(_ORDER))
            self._waiting.append(_File(turn, inner, real, size_bytes))

    def _inner(self, name: str) -> str:
        return self._redactor.name(name)[-_LONGEST_NAME:]

    def add_all(self) -> None:
        """Pack what was found, in turn, as far as there is room."""
        for file in sorted(self._waiting):
            self._add(file)

    def add_text(self, name: str, text: str) -> None:
        """Pack a text."""
        data, removed = self._redactor.text(text.encode("utf-8"))
        self.packed.append(PackedFile(name, len(data), removed))
        self.write(name, data)

    def write(self, name: str, data: bytes) -> None:
        """Write a file whose bytes are the same at every time of day."""
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        self._archive.writestr(info, data)
        self._used_bytes += info.compress_size + _entry_bytes(name)

    def _unfit(self, path: Path, real: Path, top: Path, status: os.stat_result) -> str:
        if top not in real.parents:
            return "a link out of the folder"
        if stat.S_ISDIR(status.st_mode):
            return "a link to a folder"
        if not stat.S_ISREG(status.st_mode):
            return "not a plain file"
        if path.suffix in _CLOSED:
            return "an archive, which cannot be looked into for secrets"
        if path.suffix in _KERNELS:
            return "a binary; hashes of kernels are in outcome.json"
        return ""

    def _add(self, file: _File) -> None:
        if file.size_bytes > 20 * self._limit_bytes:
            self._leave(file.name, file.size_bytes, "larger than the limit")
            return
        if file.size_bytes > _MOST_DENSE * self._room(file.name):
            self._leave(file.name, file.size_bytes, "no room within the limit")
            return
        try:
            data, cut = _content(file)
        except OSError as error:
            self._leave(file.name, file.size_bytes, f"cannot be read: {error.strerror}")
            return
        is_binary = file.path.suffix in _BINARY or b"\0" in data[:8192]
        if file.path.suffix == ".npy":
            removed = 0
        elif is_binary:
            data, removed = self._redactor.binary(data)
        else:
            data, removed = self._redactor.text(data)
        if not self._fits(file.name, data):
            self._leave(file.name, file.size_bytes, "no room within the limit")
            return
        self.write(file.name, data)
        self.packed.append(PackedFile(file.name, len(data), removed, cut))

    def _room(self, name: str) -> int:
        """Return the bytes left for what is in a file of this name."""
        return max(0, self._limit_bytes - self._used_bytes - _entry_bytes(name))

    def _fits(self, name: str, data: bytes) -> bool:
        room = self._room(name)
        return len(data) <= room or len(zlib.compress(data)) <= room

    def _leave(self, name: str, size_bytes: int, why: str) -> None:
        self.left_out.append(LeftOut(name, size_bytes, why))


def _entry_bytes(name: str) -> int:
    """Return what an archive needs for a file beside its contents."""
    return len(name.encode("utf-8")) + _OVERHEAD_BYTES


def _content(file: _File) -> tuple[bytes, bool]:
    """Return a file's bytes; a long log's beginning and end only."""
    is_log = file.path.suffix in (".log", ".txt") and (
        "plog" in file.name or file.path.name in ("log.txt", "warm_worker.txt"))
    if not is_log or file.size_bytes <= _LOG_BYTES:
        return file.path.read_bytes(), False
    half = _LOG_BYTES // 2
    with file.path.open("rb") as log:
        first = log.read(half)
        log.seek(-half, os.SEEK_END)
        last = log.read()
    words = f"\n[... {file.size_bytes - 2 * half} bytes left out ...]\n"
    return first + words.encode("ascii") + last, True


def _walk(top: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(str(top), followlinks=False):
        folders.sort()
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in sorted(files + links):
            yield Path(folder) / name
