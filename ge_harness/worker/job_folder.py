"""The folder of one job: every file name in it, and reading and writing them whole.

* request.json: what is asked, written by the parent
* inputs/: one .npy an input (links to the case's files where possible)
* log.txt: everything the worker and its compiler printed
* dumps/: what the compiler dumped
* outputs/: one .npy an output, and differing/ where repeats differ
* graph.pb: the graph that a "build" job made
* outcome.json: what came of it, written last, aside, and renamed into place
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from ge_harness.errors import UsageError
from ge_harness.records import serialize
from ge_harness.records.job import BuiltCase, JobFailure
from ge_harness.records.run import Environment, RunFailure, RunRequest, RunSuccess

RUN, BUILD, PROBE, TRAIN = "run", "build", "probe", "train"
_SAFE = re.compile(r"[\w][\w.\-]{0,150}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.\-]+")
_OUTCOMES: dict[str, type] = {
    "success": RunSuccess, "failure": RunFailure, "built": BuiltCase,
    "job_failure": JobFailure, "environment": Environment,
}

Outcome = Union[RunSuccess, RunFailure, BuiltCase, JobFailure, Environment]


@dataclass(frozen=True)
class Job:
    """What a worker is asked to do.

    Attributes:
        kind: `RUN`, `BUILD`, `PROBE` or `TRAIN`.
        removed: variables taken out of the worker's environment, sorted (name, value).
        request: the run, for `RUN`; one without a graph for `TRAIN`.
        source: the subgraph asked for, for `BUILD`.
        options: how to build it, plain JSON data by name, for `BUILD`; what to train,
            for `TRAIN`.
        threads: size of every pool, for the kinds that have no request.
    """

    kind: str
    removed: tuple[tuple[str, str], ...] = ()
    request: RunRequest | None = None
    source: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    threads: int = 2


@dataclass(frozen=True)
class JobFolder:
    """One job's folder.

    Attributes:
        path: absolute.
    """

    path: Path

    @property
    def request_path(self) -> Path:
        """What is asked."""
        return self.path / "request.json"

    @property
    def log_path(self) -> Path:
        """Everything the worker printed."""
        return self.path / "log.txt"

    @property
    def outcome_path(self) -> Path:
        """What came of it."""
        return self.path / "outcome.json"

    @property
    def graph_path(self) -> Path:
        """The graph that a "build" job made."""
        return self.path / "graph.pb"

    @property
    def inputs_dir(self) -> Path:
        """One .npy an input."""
        return self.path / "inputs"

    @property
    def outputs_dir(self) -> Path:
        """One .npy an output."""
        return self.path / "outputs"

    @property
    def differing_dir(self) -> Path:
        """The first outputs that differ from those of an earlier repeat."""
        return self.outputs_dir / "differing"

    @property
    def dumps_dir(self) -> Path:
        """What the compiler dumped."""
        return self.path / "dumps"

    def array_path(self, folder: Path, name: str, index: int) -> Path:
        """Return where an array goes; a port name unfit for a file gives its index."""
        fit = _SAFE.fullmatch(name) is not None
        return folder / f"{name if fit else f'port_{index}'}.npy"

    def output_paths(self, request: RunRequest) -> list[Path]:
        """Return one path an output port, in order."""
        return [self.array_path(self.outputs_dir, port.spec.name, index)
                for index, port in enumerate(request.case.outputs)]

    def input_paths(self, request: RunRequest) -> list[Path]:
        """Return one path an input port, in order."""
        return [self.array_path(self.inputs_dir, port.spec.name, index)
                for index, port in enumerate(request.case.inputs)]

    def write_job(self, job: Job) -> None:
        """Write what is asked and bring the inputs of a run.

        Raises:
            OSError: the folder cannot be written, or an input cannot be read.
        """
        for folder in (self.inputs_dir, self.outputs_dir, self.dumps_dir):
            folder.mkdir(exist_ok=True)
        self.log_path.touch()
        if job.request is not None:
            for given, path in zip(job.request.case.input_paths,
                                   self.input_paths(job.request)):
                _link(Path(given), path)
        write_aside(self.request_path, serialize.dumps("job", job))

    def read_job(self) -> Job:
        """Read what is asked.

        Raises:
            UsageError: the file is not a job of this version.
            OSError: it cannot be read.
        """
        text = self.request_path.read_text(encoding="utf-8")
        data = serialize.loads("job", text, self.request_path)
        request = data.get("request")
        return Job(
            kind=str(data["kind"]),
            removed=tuple((str(n), str(v)) for n, v in data["removed"]),
            request=serialize.build(RunRequest, request) if request else None,
            source=str(data["source"]), threads=int(data["threads"]),
            options=tuple((str(n), v) for n, v in data["options"]))

    def write_outcome(self, outcome: Outcome) -> None:
        """Write what came of it, aside, and rename it into place.

        Paths inside the folder are written relative to it, so the folder may be moved.

        Raises:
            OSError: it cannot be written.
        """
        kind = next(name for name, record in _OUTCOMES.items()
                    if isinstance(outcome, record))
        plain = serialize.to_plain(outcome)
        body = {"kind": kind, "record": _moved(plain, self._relative)}
        write_aside(self.outcome_path, serialize.dumps("outcome", body))

    def read_outcome(self) -> Outcome:
        """Read what came of it, with absolute paths.

        Raises:
            UsageError: the file is not an outcome of this version.
            OSError: it cannot be read.
        """
        text = self.outcome_path.read_text(encoding="utf-8")
        data = serialize.loads("outcome", text, self.outcome_path)
        record = _OUTCOMES.get(str(data.get("kind")))
        if record is None:
            raise UsageError(f"{self.outcome_path}: found kind {data.get('kind')!r}, "
                             f"expected one of {', '.join(sorted(_OUTCOMES))}")
        outcome: Outcome = serialize.build(
            record, _moved(data.get("record"), self._absolute))
        return outcome

    def _relative(self, text: str) -> str:
        start = f"{self.path}{os.sep}"
        return text[len(start):] if text.startswith(start) else text

    def _absolute(self, text: str) -> str:
        return str(self.path / text) if text else text


def _moved(plain: Any, change: Any) -> Any:
    """Return an outcome's data with the paths inside the job folder changed."""
    if not isinstance(plain, dict):
        return plain
    done = dict(plain)
    for name in ("dump_dir", "log_path", "graph_path"):
        if isinstance(done.get(name), str):
            done[name] = change(done[name])
    if isinstance(done.get("output_paths"), list):
        done["output_paths"] = [change(str(path)) for path in done["output_paths"]]
    return done


def create(root: Path, stem: str) -> JobFolder:
    """Make a new folder under `root`; an existing one is never used again.

    Raises:
        OSError: it cannot be made.
    """
    name = _UNSAFE.sub("-", stem)[:80] or "job"
    number = 0
    while True:
        path = Path(os.path.abspath(root)) / (f"{name}-{number}" if number else name)  # noqa: PTH100 - resolve() would follow links
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
            continue
        return JobFolder(path)


def writable(root: Path) -> None:
    """Make `root` and prove that files can be written in it.

    Raises:
        UsageError: they cannot; the text says why.
    """
    trial = root / f".ge_harness-{os.getpid()}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        trial.write_bytes(b"")
        trial.unlink()
    except OSError as error:
        raise UsageError(f"cannot write in {str(root)!r}: {error.strerror}; give "
                         "another folder with --out=DIR") from error


def write_aside(path: Path, text: str) -> None:
    """Write a file under another name and rename it, so nobody reads half of it.

    Raises:
        OSError: it cannot be written; nothing is left behind under `path`.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        aside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise


def _link(given: Path, path: Path) -> None:
    """Bring an input into the folder without copying it where the disk allows."""
    source = Path(os.path.realpath(given))
    if not source.is_file():
        raise FileNotFoundError(2, "no such input", str(given))
    try:
        os.link(str(source), str(path))
    except OSError:
        try:
            path.symlink_to(source)
        except OSError:
            shutil.copyfile(str(source), str(path))
