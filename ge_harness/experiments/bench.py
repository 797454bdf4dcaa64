"""Where an experiment runs its cases: built, fed, executed once, found again later."""

from __future__ import annotations

import dataclasses
import platform
import time
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Sequence, Union

import numpy as np

from ge_harness.errors import UnavailableError
from ge_harness.experiment import execute, finished
from ge_harness.experiment import inputs as case_inputs
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import intact, store
from ge_harness.records.experiment import ExperimentReport
from ge_harness.records.job import BuiltCase, JobFailure
from ge_harness.records.report import BackendLine
from ge_harness.records.run import (
    Mode,
    RunFailure,
    RunRequest,
    RunSuccess,
)
from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.records.tensor import Case
from ge_harness.version import VERSION
from ge_harness.worker import backend_lookup, launch
from graphs.built import BuildOptions

Progress = Callable[[str], None]
Outcome = Union[RunSuccess, RunFailure]
Outcomes = Dict[str, Outcome]
COMPILERS = ("xla", "grappler", "emulator", "ge")


@dataclasses.dataclass(frozen=True)
class CaseSpec:
    """A case as an experiment wants it.

    Attributes:
        source: subgraph or file.
        dtype: "" for its first.
        variants: (name, value) pairs.
        shapes: (input, shape) pairs.
        fetch: tensors to fetch instead of the outputs.
        sets: number of input sets.
        size: "" for the size asked for.
        allow_random: let operators through that draw random numbers.
    """

    source: str
    dtype: str = ""
    variants: tuple[tuple[str, str], ...] = ()
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    fetch: tuple[str, ...] = ()
    sets: int = 1
    size: str = ""
    allow_random: bool = False


class Bench:
    """Runs the cases of one experiment on one backend.

    Builds, inputs and base lines are shared by the backends of one folder, and what is
    finished there is not run again.

    Attributes:
        options: of the call; `sets` and `repeat` are 0 where not asked for.
        folder: of the experiment.
        subgraphs: what to run instead of the experiment's own subgraphs, () for those.
        budget: most trials of a search, 0 for its default.
    """

    def __init__(self, options: RunOptions, folder: RunFolder, progress: Progress,
                 *, subgraphs: Sequence[str] = (), budget: int = 0) -> None:
        self.options = options
        self.folder = folder
        self.subgraphs = tuple(subgraphs)
        self.budget = budget
        self._progress = progress
        self._started = time.monotonic()
        self._backend = backend_lookup.load(options.backend)
        self._stack: dict[str, str] = {}
        self._environment: Any = None

    def say(self, text: str) -> None:
        """Report progress."""
        self._progress(text)

    def probe(self) -> None:
        """Check that the backend is usable.

        Raises:
            UnavailableError: it is not.
        """
        probe = self._backend.probe()
        if not probe.usable:
            raise UnavailableError(
                f"backend {self.options.backend!r} is not usable here: {probe.reason}")

    def named(self) -> str:
        """Return the backend's name, with the mark of a model."""
        _, emulated = self._backend.describe(self._environment)
        return self.options.backend + (" (EMULATED)" if emulated else "")

    def switches(self) -> frozenset[Switch]:
        """Return what the candidate's compiler can switch off."""
        return frozenset(self._backend.switches())

    def built(self, spec: CaseSpec) -> BuiltCase | JobFailure:
        """Build a subgraph, once for all backends."""
        parts = [store.source_key(spec.source), spec.dtype,
                 spec.size or self.options.size,
                 *(f"{name}={value}" for name, value in spec.variants),
                 *(f"{name}=" + "x".join(map(str, shape))
                   for name, shape in spec.shapes), *spec.fetch,
                 *(("random",) if spec.allow_random else ())]
        root = self.folder.path / "builds" / store.safe("-".join(parts))
        before = finished.built(root)
        if before is not None:
            return before
        return launch.build(spec.source, BuildOptions(
            dtype=spec.dtype, size=spec.size or self.options.size, shapes=spec.shapes,
            variants=spec.variants, fetch=spec.fetch,
            allow_random=spec.allow_random), root,
            timeout_s=self.options.timeout_s)

    def case(self, spec: CaseSpec, tag: str = "",
             arrays: Mapping[str, np.ndarray] | None = None) -> Case:
        """Build a case and store its inputs.

        Args:
            spec: what to build.
            tag: tells cases of one graph with other inputs apart.
            arrays: input -> storage [sets, ...] ([...] for one set); drawn where None.

        Raises:
            UsageError: it cannot be built.
            UnavailableError: TensorFlow, which builds it, is not here.
            BuildStoppedError: the build hung, crashed, or ran out of room.
        """
        built = self.built(spec)
        if isinstance(built, JobFailure):
            raise execute.build_error(spec.source, built)
        if arrays is not None:
            tag = f"{tag}-{store.digest_of(arrays)}"
        key = store.source_key(spec.source)
        shape = "-".join("x".join(map(str, port.spec.shape)) for port in built.inputs)
        name = "-".join((key, built.variant, shape, f"{spec.sets}sets",
                         f"seed{self.options.seed}", *spec.fetch, tag))
        where = self.folder.inputs_dir / store.safe(name)
        where.mkdir(parents=True, exist_ok=True)
        for port in built.inputs:
            path = where / f"{port.spec.name}.npy"
            if arrays is not None and not path.exists():
                case_inputs.store_array(path, arrays[port.spec.name])
        drawn = dataclasses.replace(
            self.options, source=spec.source, sets=spec.sets, inputs_path="")
        case = case_inputs.make_case(built, drawn, where)
        # Finished runs are found by these words: they say what went in, not only which
        # file and which part of the experiment it was.
        parts = (case.variant, key if Path(spec.source).is_file() else "", tag)
        return dataclasses.replace(case, variant="/".join(filter(None, parts)))

    def request(self, case: Case, **changes: Any) -> RunRequest:
        """Return a request of the candidate; `backend` and the rest can be changed."""
        options = self.options
        backend = changes.get("backend", options.backend)
        own = backend == options.backend
        defaults: dict[str, Any] = {
            "mode": Mode.WHOLE, "repeat": 2, "threads": options.threads,
            "timeout_s": options.timeout_s, "want_dumps": own,
            "setting": options.setting if own else SwitchSetting(),
            "options": options.backend_options if own else ()}
        if changes.get("mode") is Mode.NODEWISE:
            defaults["want_dumps"] = False
        return RunRequest(**{**defaults, "case": case, "backend": backend, **changes})

    def sides(self, case: Case, *names: str, **changes: Any) -> dict[str, RunRequest]:
        """Return requests of sides by name: candidate, eager, nodewise, reference."""
        made: dict[str, dict[str, Any]] = {
            "candidate": {}, "eager": {"backend": "eager"},
            "nodewise": {"mode": Mode.NODEWISE}, "reference": {"backend": "reference"}}
        return {name: self.request(case, **{**made[name], **changes}) for name in names}

    def run(self, requests: Mapping[str, RunRequest]) -> Outcomes:
        """Run what is not finished yet and return every outcome by name."""
        found: Outcomes = dict(finished.runs(
            self.folder.jobs_dir, requests, accept=intact.usable))
        left = {name: each for name, each in requests.items() if name not in found}
        done = launch.launch(
            list(left.values()), self.folder.jobs_dir,
            on_progress=lambda number, total, outcome: self.say(
                f"{outcome.request.case.subgraph} on {outcome.request.backend}"))
        found.update(zip(left, done))
        for name, outcome in found.items():
            if isinstance(outcome, RunSuccess):
                self._note(name, outcome)
        return {name: found[name] for name in requests}

    def _note(self, name: str, outcome: RunSuccess) -> None:
        environment = outcome.environment
        for key in ("tensorflow", "npu_bridge", "cann", "cpu_model"):
            value = getattr(environment, key)
            if value:
                self._stack[key] = value
        if outcome.request.backend == self.options.backend:
            self._environment = environment

    def report(self, report: ExperimentReport) -> ExperimentReport:
        """Fill in what every report says of its backend and call."""
        label, emulated = self._backend.describe(self._environment)
        line = BackendLine(self.options.backend, label, self._backend.probe().reason,
                           emulated)
        return dataclasses.replace(
            report, backend=line, size=self.options.size, seed=self.options.seed,
            switches=dict(self.options.asked),
            versions={"ge_harness": VERSION, "python": platform.python_version(),
                      "numpy": np.__version__, **self._stack},
            duration_s=round(time.monotonic() - self._started, 2))


NO_BACKEND = BackendLine("", "", "")


def failures(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """Return side -> why it gave no outputs."""
    return {name: f"{outcome.kind.value}: {outcome.message}"
            for name, outcome in outcomes.items() if isinstance(outcome, RunFailure)}


def paths_of(folder: RunFolder, outcomes: Mapping[str, Outcome]) -> dict[str, object]:
    """Return name -> the stored outputs of every side, relative to the folder."""
    return {name: store.relative(folder, outcome.output_paths)
            for name, outcome in outcomes.items() if isinstance(outcome, RunSuccess)}
