"""Trials on a backend: a setting in, whether its run reaches the goal out.

Graph, inputs, base line and reference are made once; each trial is a run of the
candidate alone, in a process and job folder of its own. What fails in it (a crash, a
time limit, switches that do not go together) is an answer too: undecided, with its
message.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Mapping

import numpy as np

from dumps import graphdef, read
from dumps.errors import DumpError
from dumps.sides import originals
from ge_harness.backends.base import Backend
from ge_harness.backends.table import BACKENDS
from ge_harness.bisect.goal import Goal, Result, reached
from ge_harness.bisect.knobs import Knob, Pool, apply, pool
from ge_harness.bisect.trials import Answer
from ge_harness.errors import (
    SwitchError,
    UnavailableError,
    UnknownNameError,
    UsageError,
)
from ge_harness.experiment import execute, finished
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.records.run import FailureKind, RunFailure, RunRequest, RunSuccess
from ge_harness.records.switch import ActivePass, Switch
from ge_harness.records.tensor import Case
from ge_harness.worker import launch

# A first run that fails in one of these ways says that nothing can be searched here.
_NOT_HERE = (FailureKind.UNAVAILABLE, FailureKind.NOT_OFFLOADED)
_BAD_SWITCH = (FailureKind.INVALID_SWITCH, FailureKind.UNKNOWN_SWITCH)
_OF_TYPE = "type:"
_NO_COMPUTATION = frozenset((
    "Const", "Placeholder", "PlaceholderWithDefault", "NoOp", "Identity", "IdentityN"))
Outcomes = Mapping[str, Result]


class BackendOracle:
    """Runs trials of one subgraph on one backend.

    Attributes:
        backend: the backend.
        case: the graph and its inputs.
        warnings: what the backend says of the setting before a run.
        sides: base line(s) and, where the goal needs it, the reference.
    """

    def __init__(self, options: RunOptions, goal: Goal, folder: RunFolder) -> None:
        self._options = options
        self._goal = goal
        self._folder = folder
        self.backend: Backend = BACKENDS.load(options.backend)()
        if not self.backend.switches():
            raise UsageError(f"backend {options.backend!r} has no switches to search")
        probe = self.backend.probe()
        if not probe.usable:
            raise UnavailableError(
                f"backend {options.backend!r} is not usable here: {probe.reason}")
        self.found = probe.reason
        self.case: Case = execute.make_case(options, folder)
        self._requests = execute.requests_of(options, self.case)
        announced = self.backend.announce(self.request(()))
        self.warnings: tuple[str, ...] = announced.warnings
        self.sides = self._run_sides()

    @property
    def baseline(self) -> str:
        """Name of the base line of the goal."""
        return self._options.baselines[0]

    def _run_sides(self) -> dict[str, Result]:
        """Run base lines and reference, or take those that are finished."""
        names = [*self._options.baselines]
        names += ["reference"] if self._goal.needs_reference else []
        wanted = {name: self._requests[name] for name in names}
        done: dict[str, Result] = dict(finished.runs(self._folder.jobs_dir, wanted))
        left = [name for name in names if name not in done]
        done.update(zip(left, launch.launch(
            [wanted[name] for name in left], self._folder.jobs_dir)))
        return done

    def unusable(self) -> str:
        """Return why the base line decides nothing, "" where it does."""
        base = self.sides[self.baseline]
        if isinstance(base, RunFailure):
            raised = base.kind in (FailureKind.RUN, FailureKind.BUILD,
                                   FailureKind.COMPILE)
            return "" if raised and not self._goal.needs_reference else (
                f"the base line {self.baseline} gave no outputs: {base.message}")
        if not base.repeatable:
            return (f"the base line {self.baseline} gave different bytes in two "
                    "executions of the same inputs")
        return ""

    def run(self, number: int, off: tuple[Switch, ...]) -> Answer:
        """Run one trial.

        Raises:
            UnavailableError: the first trial finds that nothing runs here.
            SwitchError: the setting itself is refused, or the compiler has no switch
                of such a name.
        """
        outcome = launch.launch([self.request(off)], self._folder.jobs_dir)[0]
        if isinstance(outcome, RunFailure):
            if not off or outcome.kind is FailureKind.UNKNOWN_SWITCH:
                _refuse(outcome)
            agrees, why = reached(self._goal, {**self.sides, "candidate": outcome},
                                  self.baseline, load)
            where = str(Path(outcome.log_path).parent) if outcome.log_path else ""
            return Answer(agrees, why, where)
        agrees, why = reached(self._goal, {**self.sides, "candidate": outcome},
                              self.baseline, load)
        unproved = [each.switch.name for each in outcome.effects
                    if each.status == "unknown"]
        if unproved:
            why += f"; without effect: {', '.join(unproved)}"
        where = str(Path(outcome.output_paths[0]).parent.parent) if (
            outcome.output_paths) else ""
        label, emulated = self.backend.describe(outcome.environment)
        return Answer(agrees, why, where, outcome.passes,
                      agrees is False and self._is_nodewise(outcome), label, emulated)

    def _is_nodewise(self, outcome: RunSuccess) -> bool:
        """Say whether a trial has the bits of a nodewise base line beside the first."""
        if "nodewise" not in self.sides or self.baseline == "nodewise":
            return False
        agrees, _ = reached(Goal("bits", "bits"), {
            **self.sides, "candidate": outcome}, "nodewise", load)
        return agrees is True

    def request(self, off: tuple[Switch, ...]) -> RunRequest:
        """Return the request of a trial."""
        candidate = self._requests["candidate"]
        return dataclasses.replace(
            candidate, setting=apply(candidate.setting, off))

    def refused(self, switch: Switch) -> str:
        """Return why a switch cannot be sent, "" where it can."""
        try:
            request = self.request((switch,))
            self.backend.announce(request)
            self.backend.environment(request, Path("/job"))
        except (SwitchError, UsageError) as error:
            return str(error)
        return ""

    def check_operators(self, named: Pool, folder: Path) -> None:
        """Refuse an operator that the graph does not have.

        Args:
            named: switches that a user named.
            folder: job folder of the run with nothing switched off.

        Raises:
            UnknownNameError: neither the graph nor a fused kernel has it.
        """
        known = {node.name for node in graphdef.read(self.case.graph_path).nodes}
        known.update(_fused(folder / "dumps"))
        for knob in named.knobs:
            name = knob.switch.name
            if knob.switch.family == "node" and name not in known and (
                    not name.startswith(_OF_TYPE)):
                raise UnknownNameError("operator of this graph", name, known)

    def passes(self, active: tuple[ActivePass, ...]) -> Pool:
        """Return the passes and flags to search."""
        return pool(self._options.backend, self.backend.switches(), active,
                    self._options.setting, self.refused)

    def nodes(self, folder: Path) -> Pool:
        """Return the operators to search: first those that a kernel fused.

        Args:
            folder: job folder of the run with nothing switched off.

        Raises:
            SwitchError: operators cannot be left out under this setting.
        """
        fused = _fused(folder / "dumps")
        graph = graphdef.read(self.case.graph_path)
        others = [node.name for node in graph.nodes if node.op not in _NO_COMPUTATION]
        knobs = [Knob(Switch("node", name), "mixed", 0 if name in fused else 1)
                 for name in dict.fromkeys((*fused, *others))]
        why = self.refused(knobs[0].switch) if knobs else ""
        if why:
            raise SwitchError(f"--granularity=op: {why}")
        return Pool(tuple(knobs))


def load(path: str) -> np.ndarray:
    """Return a stored array, mapped."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _refuse(outcome: RunFailure) -> None:
    if outcome.kind in _NOT_HERE:
        raise UnavailableError(outcome.message)
    if outcome.kind in _BAD_SWITCH:
        raise SwitchError(outcome.message)


def _fused(folder: Path) -> list[str]:
    """Return the original operators of fused kernels, as the last dump has them."""
    paths = sorted(folder.rglob("ge_proto_*_Build.txt"))
    if not paths:
        return []
    try:
        graph = read(paths[-1])
    except DumpError:
        return []
    return [name for inner in graph.graphs for node in inner.nodes
            if "AscBackend" in node.type
            for name in originals(node)]
