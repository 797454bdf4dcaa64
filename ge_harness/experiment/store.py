"""The folder of a run: its names, and nothing in it is ever overwritten."""

from __future__ import annotations

import errno
import re
import time
from pathlib import Path
from typing import Any

from ge_harness.errors import HarnessError, NoRoomError, UsageError
from ge_harness.records import serialize

RUN_FILE = "run.json"
ASKED_FILE = "asked.json"
REPORT_FILE = "report.html"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class RunFolder:
    """One run on disk.

    Attributes:
        path: the folder.
        inputs_dir: inputs as .npy.
        jobs_dir: one folder a worker job, with outputs, dumps and log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inputs_dir = path / "inputs"
        self.jobs_dir = path / "jobs"

    @classmethod
    def create(cls, wanted: str, command: str, subject: str) -> RunFolder:
        """Make a new folder; an existing one gets a number added, never overwritten.

        Args:
            wanted: folder the user asked for, "" for runs/<date>-<command>-<subject>.
            command: the command's name.
            subject: the subgraph's name or file.

        Raises:
            UsageError: the folder cannot be made or written.
            NoRoomError: the disk is full.
        """
        base = Path(wanted) if wanted else _default(command, subject)
        for number in range(1, 10000):
            path = base if number == 1 else base.with_name(f"{base.name}-{number}")
            try:
                path.mkdir(parents=True)
                folder = cls(path.resolve())
                folder.inputs_dir.mkdir()
                folder.jobs_dir.mkdir()
                return folder
            except FileExistsError as error:
                if not path.is_dir():
                    raise _refused(path, error) from error
            except OSError as error:
                raise _refused(path, error) from error
        raise UsageError(f"--out={base}: ten thousand folders of that name exist")

    @classmethod
    def resume(cls, wanted: str) -> RunFolder:
        """Open the folder of an earlier run.

        Raises:
            UsageError: there is none.
        """
        path = Path(wanted)
        if not (path / "jobs").is_dir():
            raise UsageError(f"--resume={wanted}: no run in that folder (it has no "
                             "folder jobs)")
        folder = cls(path.resolve())
        folder.inputs_dir.mkdir(exist_ok=True)
        return folder

    def drop_if_empty(self) -> None:
        """Remove the folder where nothing was done in it, as after a refused call."""
        asked = self.path / ASKED_FILE
        inside = sorted(self.path.rglob("*"), reverse=True)
        if any(not path.is_dir() or path.is_symlink() for path in inside
               if path != asked):
            return
        for path in inside:
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
        self.path.rmdir()

    def relative(self, path: str) -> str:
        """Return `path` relative to the folder where it lies inside it."""
        try:
            return str(Path(path).resolve().relative_to(self.path))
        except ValueError:
            return path

    def write(self, name: str, text: str) -> Path:
        """Write a file aside and rename it into place.

        Raises:
            UsageError: the folder cannot be written.
            NoRoomError: the disk is full.
        """
        target = self.path / name
        aside = self.path / f".{name}.part"
        try:
            aside.write_text(text, encoding="utf-8")
            aside.replace(target)
        except OSError as error:
            raise _refused(target, error) from error
        return target


def read_run(path: Path) -> dict[str, Any]:
    """Read the run.json of a folder.

    Raises:
        UsageError: there is none, or it is not one of ours.
    """
    return read_document("run", path / RUN_FILE if path.is_dir() else path, "run")


def read_document(kind: str, file: Path, word: str = "document") -> dict[str, Any]:
    """Read a kept document of a kind.

    Raises:
        UsageError: it cannot be read, or is not one of ours.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot read a {word}: {error}") from error
    return serialize.loads(kind, text, file)


def _default(command: str, subject: str) -> Path:
    stem = _UNSAFE.sub("_", Path(subject).name)[:60].strip("._") or "graph"
    return Path("runs") / f"{time.strftime('%Y%m%d')}-{command}-{stem}"


def _refused(path: Path, error: OSError) -> HarnessError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NoRoomError(f"{path}: no room left on the disk; free some or choose "
                           "another folder with --out")
    return UsageError(f"{path}: cannot write there: {error.strerror}; choose another "
                      "folder with --out")
