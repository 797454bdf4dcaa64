"""What an earlier, interrupted run of the same folder finished already."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

from ge_harness.errors import HarnessError, UsageError
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import ASKED_FILE, RunFolder, read_document
from ge_harness.records import serialize
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import RunFailure, RunRequest, RunSuccess
from ge_harness.worker.job_folder import JobFolder, Outcome

# What a resumed run may ask differently: it is judged again, or runs again by its key.
_FREE = ("baselines", "repeat", "threads", "timeout_s", "standard", "asked", "diagnose",
         "explain")
_MODELS = ("saved_model.pb", "saved_model.pbtxt")


def claim(folder: RunFolder, options: RunOptions) -> None:
    """Say in a run's folder what it is of, or check that it is of the same.

    Without that, resuming with another subgraph or seed would give what is there the
    wrong name.

    Raises:
        UsageError: the folder is of another run.
        NoRoomError: the disk is full.
    """
    asked = {name: value for name, value in serialize.to_plain(options).items()
             if name not in _FREE}
    asked["source"] = Path(options.source).name
    asked["source_md5"] = _digest(Path(options.source))
    asked["inputs_md5"] = _digest(Path(options.inputs_path))
    file = folder.path / ASKED_FILE
    if not file.exists():
        if built(folder.jobs_dir) is not None:
            raise UsageError(f"{folder.path}: found no {ASKED_FILE} beside what is "
                             "finished, so nobody can say what it is of; begin another "
                             "run with --out")
        folder.write(ASKED_FILE, serialize.dumps("asked", asked))
        return
    before = read_document("asked", file)
    for name, value in asked.items():
        if before.get(name) != value:
            raise UsageError(
                f"{folder.path}: a run with {name} {_said(before.get(name))} cannot be "
                f"resumed with {name} {_said(value)}; give --resume the options it was "
                "begun with, or begin another run with --out")


def _digest(path: Path) -> str:
    """Return the MD5 of a file, or of the model in a folder, "" where there is none."""
    found = next((path / name for name in _MODELS if (path / name).is_file()), path)
    try:
        return hashlib.md5(found.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return ""


def _said(value: Any) -> str:
    text = str(value)
    return repr(value) if len(text) <= 80 else f"{text[:80]}..."


def built(jobs_dir: Path) -> BuiltCase | None:
    """Return the graph that was built there, None where there is none."""
    for outcome in _outcomes(jobs_dir):
        if isinstance(outcome, BuiltCase) and Path(outcome.graph_path).is_file():
            return outcome
    return None


def runs(jobs_dir: Path, requests: Mapping[str, RunRequest], *,
         accept: Callable[[RunSuccess], bool] | None = None
         ) -> dict[str, RunSuccess | RunFailure]:
    """Return the outcomes of the requests that succeeded there.

    A failure is not kept: it may have been the interruption.

    Args:
        jobs_dir: folder of the jobs.
        requests: name -> what is wanted.
        accept: says of an outcome whose outputs are there whether it may be used.
    """
    wanted = {_key(request): name for name, request in requests.items()}
    found: dict[str, RunSuccess | RunFailure] = {}
    for outcome in _outcomes(jobs_dir):
        if not isinstance(outcome, RunSuccess):
            continue
        name = wanted.get(_key(outcome.request))
        if name is not None and all(
                Path(p).is_file() for p in outcome.output_paths) and (
                accept is None or accept(outcome)):
            found[name] = outcome
    return found


def _key(request: RunRequest) -> RunRequest:
    """Return the request without what may change between two calls."""
    case = dataclasses.replace(request.case, graph_path="", input_paths=())
    return dataclasses.replace(request, case=case, timeout_s=0.0)


def _outcomes(jobs_dir: Path) -> Iterator[Outcome]:
    if not jobs_dir.is_dir():
        return
    for path in sorted(jobs_dir.iterdir()):
        folder = JobFolder(path)
        if folder.outcome_path.is_file():
            with contextlib.suppress(HarnessError, OSError):
                yield folder.read_outcome()
