"""What an earlier, interrupted run of the same folder finished already."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Iterator, Mapping

from ge_harness.errors import HarnessError
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import RunFailure, RunRequest, RunSuccess
from ge_harness.worker.job_folder import JobFolder, Outcome


def built(jobs_dir: Path) -> BuiltCase | None:
    """Return the graph that was built there, None where there is none."""
    for outcome in _outcomes(jobs_dir):
        if isinstance(outcome, BuiltCase) and Path(outcome.graph_path).is_file():
            return outcome
    return None


def runs(jobs_dir: Path, requests: Mapping[str, RunRequest]
         ) -> dict[str, RunSuccess | RunFailure]:
    """Return the outcomes of the requests that succeeded there.

    A failure is not kept: it may have been the interruption.
    """
    wanted = {_key(request): name for name, request in requests.items()}
    found: dict[str, RunSuccess | RunFailure] = {}
    for outcome in _outcomes(jobs_dir):
        if not isinstance(outcome, RunSuccess):
            continue
        name = wanted.get(_key(outcome.request))
        if name is not None and all(Path(p).is_file() for p in outcome.output_paths):
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
