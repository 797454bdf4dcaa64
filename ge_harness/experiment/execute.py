"""Runs one subgraph on one backend: build, base lines, candidate, reference, judge."""

from __future__ import annotations

import dataclasses
import platform
from pathlib import Path
from typing import Callable, Mapping

import numpy as np
from absl import logging

from ge_harness.backends.base import Announcement, Backend
from ge_harness.backends.table import BACKENDS
from ge_harness.compare.standards import parse_standard
from ge_harness.errors import HarnessError, UnavailableError, UsageError
from ge_harness.experiment import finished, judge
from ge_harness.experiment import inputs as case_inputs
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.explain.for_run import explain_run
from ge_harness.records.job import BuiltCase, JobFailure
from ge_harness.records.report import BackendLine, RunReport, Side
from ge_harness.records.run import (
    Environment,
    FailureKind,
    Mode,
    RunFailure,
    RunRequest,
    RunSuccess,
)
from ge_harness.records.switch import SwitchSetting
from ge_harness.records.tensor import Case
from ge_harness.version import VERSION
from ge_harness.worker import launch
from graphs.built import BuildOptions

Progress = Callable[[str], None]
Say = Callable[[str], None]
DIAGNOSTIC = "diagnostic"
_MOST_THREADS = 1024
Outcomes = Mapping[str, "RunSuccess | RunFailure"]
_NO_CASE = Case("", "", 0, "", (), (), ())
_BUILD_STATUS: dict[FailureKind, type[HarnessError]] = {
    FailureKind.UNAVAILABLE: UnavailableError, FailureKind.BUILD: UsageError,
    FailureKind.INVALID_SWITCH: UsageError,
}


class BuildStoppedError(HarnessError):
    """A graph that could not be built for a reason that says nothing of the user."""

    exit_code = 4


def run(options: RunOptions, folder: RunFolder, progress: Progress, *,
        reason: str = "", command: str = "", say: Say = logging.warning) -> RunReport:
    """Run one subgraph on one backend and judge it.

    Args:
        options: what to run.
        folder: where everything goes; finished jobs found there are not run again.
        progress: called with one line for each finished part.
        reason: why this backend.
        command: the command that repeats the run.
        say: called with each sentence that must be said before the run.

    Raises:
        UsageError: the subgraph, its inputs or an option cannot be used.
        UnavailableError: the backend, or TensorFlow, is not usable here.
    """
    backend = BACKENDS.load(options.backend)()
    planned, found = _ready(backend, options, say)
    case = make_case(options, folder)
    progress(f"{options.source}: built")
    # Some of it shows only once the graph is there.
    for warning in _announce(backend, options, case).warnings:
        if warning not in planned.warnings:
            say(warning)
    requests = requests_of(options, case)
    outcomes = _outcomes(requests, folder, progress)
    compared = {name: outcome for name, outcome in outcomes.items()
                if name != DIAGNOSTIC}
    ruling = judge.judge(compared, options.baselines[0], options.standard, _load)
    explained = None
    if options.explain:
        explained = explain_run(compared, folder.jobs_dir / "kernels")
        progress(f"{options.source}: bits {explained.status}")
    label, emulated = backend.describe(_environment(outcomes["candidate"]))
    line = BackendLine(options.backend, label,
                       f"{reason}; {found}" if reason else found, emulated)
    return RunReport(
        subgraph=options.source, variant=case.variant, backend=line,
        switches={"asked": dict(options.asked),
                  "sent": _sent(outcomes["candidate"]) or dict(planned.sent)},
        passes=_passes(outcomes["candidate"]), outputs=ruling.outputs,
        suspects=ruling.suspects, explanation=ruling.explanation,
        verdict=ruling.verdict, why=ruling.why, standard=options.standard,
        baseline=options.baselines[0], sides=_sides(outcomes, folder),
        seed=options.seed, set_count=options.sets, command=command,
        versions={"ge_harness": VERSION, "python": platform.python_version(),
                  "numpy": np.__version__},
        artifacts=_artifacts(case, outcomes, folder), explained=explained)


def _ready(backend: Backend, options: RunOptions, say: Say
           ) -> tuple[Announcement, str]:
    """Say what must be said before a run; return what will be sent and what was found.

    Raises:
        UsageError: an option cannot be used.
        UnavailableError: the backend is not usable here.
    """
    parse_standard(options.standard)
    if options.threads > _MOST_THREADS:
        raise UsageError(f"--threads={options.threads}: expected at most "
                         f"{_MOST_THREADS}")
    planned = _announce(backend, options, _NO_CASE)
    for warning in planned.warnings:
        say(warning)
    probe = backend.probe()
    if not probe.usable:
        raise UnavailableError(f"backend {options.backend!r} is not usable here: "
                               f"{probe.reason}; 'doctor --backend={options.backend}' "
                               "says more")
    return planned, probe.reason


def make_case(options: RunOptions, folder: RunFolder) -> Case:
    """Build the graph and draw its inputs, or take those that are in the folder.

    Raises:
        UsageError: the subgraph or its inputs cannot be used, or the folder is of
            another run.
        UnavailableError: TensorFlow, which builds it, is not usable here.
    """
    finished.claim(folder, options)
    return case_inputs.make_case(_build(options, folder), options, folder.inputs_dir)


def _build(options: RunOptions, folder: RunFolder) -> BuiltCase:
    before = finished.built(folder.jobs_dir)
    if before is not None:
        return before
    built = launch.build(
        options.source, BuildOptions(
            dtype=options.dtype, size=options.size, shapes=options.shapes,
            variants=options.variants, fetch=options.fetch, feed=options.feed,
            signature=options.signature),
        folder.jobs_dir, timeout_s=options.timeout_s)
    if isinstance(built, JobFailure):
        raise build_error(options.source, built)
    return built


def build_error(source: str, failure: JobFailure) -> HarnessError:
    """Return what to raise for a graph that was not built."""
    return _BUILD_STATUS.get(failure.kind, BuildStoppedError)(
        f"{source}: cannot build the graph: {failure.message}{_log(failure)}")


def _log(failure: JobFailure) -> str:
    """Return where the log is, for a failure whose message is not all that is known."""
    known = failure.kind in _BUILD_STATUS or not failure.log_path
    return "" if known else f"; log: {failure.log_path}"


def _outcomes(requests: Mapping[str, RunRequest], folder: RunFolder,
              progress: Progress) -> dict[str, RunSuccess | RunFailure]:
    """Run what is not finished yet and return the outcome of every side."""
    found = finished.runs(folder.jobs_dir, requests)
    left = {name: request for name, request in requests.items() if name not in found}
    for outcome in found.values():
        progress(f"{_said(outcome)} before")
    done = launch.launch(
        list(left.values()), folder.jobs_dir,
        on_progress=lambda number, total, outcome: progress(_said(outcome)))
    found.update(zip(left, done))
    return {name: found[name] for name in requests}


def _announce(backend: Backend, options: RunOptions, case: Case) -> Announcement:
    return backend.announce(RunRequest(
        case, options.backend, setting=options.setting,
        options=options.backend_options))


def requests_of(options: RunOptions, case: Case) -> dict[str, RunRequest]:
    """Return the request of every side, the candidate first."""
    def request(backend: str, mode: Mode, setting: SwitchSetting) -> RunRequest:
        return RunRequest(
            case=case, backend=backend, mode=mode, setting=setting,
            timeout_s=options.timeout_s, repeat=options.repeat,
            threads=options.threads, want_dumps=mode is Mode.WHOLE,
            options=options.backend_options if backend == options.backend else ())

    requests = {"candidate": request(options.backend, Mode.WHOLE, options.setting)}
    for name in options.baselines:
        if name == "eager":
            requests[name] = request("eager", Mode.WHOLE, SwitchSetting())
        else:
            requests[name] = request(options.backend, Mode.NODEWISE, options.setting)
    requests["reference"] = request("reference", Mode.WHOLE, SwitchSetting())
    if options.diagnose:
        candidate = requests["candidate"]
        requests[DIAGNOSTIC] = dataclasses.replace(candidate, options=tuple(sorted(
            (*candidate.options, ("collect", "on")))))
    return requests


def _load(path: str) -> np.ndarray:
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _said(outcome: RunSuccess | RunFailure) -> str:
    request = outcome.request
    state = "done" if isinstance(outcome, RunSuccess) else outcome.kind.value
    mode = "" if request.mode is Mode.WHOLE else " nodewise"
    return f"{request.case.subgraph} on {request.backend}{mode}: {state}"


def _sent(outcome: RunSuccess | RunFailure) -> dict[str, str]:
    return dict(outcome.sent) if isinstance(outcome, RunSuccess) else {}


def _environment(outcome: RunSuccess | RunFailure) -> Environment | None:
    return outcome.environment if isinstance(outcome, RunSuccess) else None


def _passes(outcome: RunSuccess | RunFailure) -> tuple:  # type: ignore[type-arg]
    return outcome.passes if isinstance(outcome, RunSuccess) else ()


def _sides(outcomes: Outcomes, folder: RunFolder) -> tuple[Side, ...]:
    return tuple(_side(name, outcome, folder) for name, outcome in outcomes.items())


def _side(name: str, outcome: RunSuccess | RunFailure, folder: RunFolder) -> Side:
    request = outcome.request
    if isinstance(outcome, RunFailure):
        return Side(name, request.backend, request.mode.value, outcome.kind.value,
                    outcome.message, duration_s=round(outcome.duration_s, 3),
                    folder=folder.relative(str(Path(outcome.log_path).parent)))
    job = Path(outcome.output_paths[0]).parent.parent if outcome.output_paths else (
        folder.jobs_dir)
    return Side(
        name, request.backend, request.mode.value, "ok",
        repeatable=outcome.repeatable, executions=request.repeat,
        duration_s=round(outcome.duration_s, 3), effects=outcome.effects,
        artifact_hashes=outcome.artifact_hashes, environment=outcome.environment,
        notes=outcome.notes, folder=folder.relative(str(job)))


def _artifacts(case: Case, outcomes: Outcomes, folder: RunFolder
               ) -> dict[str, object]:
    found: dict[str, object] = {
        "folder": str(folder.path), "graph": folder.relative(case.graph_path),
        "inputs": [folder.relative(path) for path in case.input_paths],
    }
    for name, outcome in outcomes.items():
        if isinstance(outcome, RunSuccess):
            if name != DIAGNOSTIC:
                found[f"outputs_{name}"] = [
                    folder.relative(path) for path in outcome.output_paths]
            if outcome.dump_dir:
                found[f"dumps_{name}"] = folder.relative(outcome.dump_dir)
    return found
