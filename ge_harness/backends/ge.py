"""Huawei GE with AutoFuse, on an Ascend device, through the adapter of TensorFlow.

Both routes are sessions of TensorFlow's v1 interface: npu_bridge under TensorFlow 1.15,
npu_device with its v1 compatibility under 2.6. One process a configuration, since GE
takes its options once; the environment stands before anything is imported.

Nothing of this has run on hardware yet: it is built on the public source of the adapter
and of GE.

Source: reference: tf_adapter.md, all of it; ge_optimization.md section 8.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from ge_harness import catalogue
from ge_harness.backends import (
    ge_config,
    ge_evidence,
    ge_kernels,
    ge_request,
    ge_route,
    ge_session,
    tf_loader,
)
from ge_harness.backends.base import (
    Announcement,
    Backend,
    BackendFailure,
    Compiled,
    Evidence,
    Probe,
)
from ge_harness.backends.ge_machine import Machine
from ge_harness.backends.ge_offload import OffloadProof
from ge_harness.backends.ge_probe import quick_probe
from ge_harness.records.ge import GePlan
from ge_harness.records.inspection import PassReport
from ge_harness.records.run import Environment, FailureKind, Mode, RunRequest
from ge_harness.records.switch import Switch, SwitchSetting

_FAMILIES = ("ge", "graph_fusion", "ub_fusion")


class GeBackend(Backend):
    """The real thing."""

    name = "ge"
    label = "Huawei GE on an Ascend device: measured on device"
    warm = False

    def probe(self) -> Probe:
        """Say whether a run is worth trying; a run proves the rest, offload first."""
        return quick_probe(Machine({}))

    def switches(self) -> tuple[Switch, ...]:
        """Return the passes of the catalogue that a switch of GE reaches."""
        return tuple(Switch(family, info.name) for family in _FAMILIES
                     for info in catalogue.by_family(family)
                     if info.switch_off and not info.switch_off.startswith(
                         ("no switch", "not established")))

    def describe(self, environment: Environment | None) -> tuple[str, bool]:
        """Return the label; an adapter that says it is a stand-in is no device."""
        if environment is not None and "standin" in environment.npu_bridge:
            return (f"a stand-in for the adapter ({environment.npu_bridge}) on this "
                    "CPU: not GE, not a device"), True
        return self.label, self.emulated

    def announce(self, request: RunRequest) -> Announcement:
        """Return what would be sent, and what must be said before a run.

        Raises:
            SwitchError: something asked for cannot be sent.
        """
        folder = Path("/job")
        plan = ge_request.plan_of(request, folder, _route())
        return Announcement(
            ge_request.relative(plan.sent, ge_request.dumps_dir(folder)), plan.warnings)

    def environment(self, request: RunRequest, job_dir: Path) -> dict[str, str]:
        """Return every variable that the adapter, GE and AutoFuse read.

        Raises:
            SwitchError: something asked for cannot be sent.
        """
        return dict(ge_request.plan_of(request, job_dir, _route()).environment)

    def compile(self, request: RunRequest, job_dir: Path) -> GeGraph:
        """Bring up the adapter and build the graph; GE compiles at the first run.

        Raises:
            BackendFailure: the adapter is not active, or the graph cannot be built.
        """
        job_dir = Path(job_dir)
        plan = ge_request.plan_of(request, job_dir, _route())
        prepare_process(plan, ge_request.dumps_dir(job_dir))
        tf = tf_loader.load()
        ge_route.start_adapter(tf, plan.route, job_dir / "log.txt")
        return GeGraph(tf, request, plan, ge_request.dumps_dir(job_dir))


class GeGraph(Compiled):
    """A case under GE."""

    def __init__(self, tf: Any, request: RunRequest, plan: GePlan, folder: Path
                 ) -> None:
        self._request = request
        self._plan = plan
        self._folder = folder
        self._proof = OffloadProof(folder)
        config = ge_config.session_config(tf, plan, request.threads)
        self._program: ge_session.Nodewise | ge_session.WholeGraph
        if request.mode is Mode.NODEWISE:
            self._program = ge_session.Nodewise(
                tf, request.case, config, self._proof, request.threads)
        else:
            self._program = ge_session.WholeGraph(
                tf, request.case, config, self._proof)

    def execute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run once; the first time compiles and proves that GE does the work.

        Raises:
            BackendFailure: GE failed, or nothing proves that it ran.
        """
        return self._program.run(inputs)

    def evidence(self) -> Evidence:
        """Return active passes, options in effect, kernels and what was sent.

        Raises:
            BackendFailure: GE held other options than were sent.
        """
        # Before anything is closed: GE deletes its kernel_meta then.
        kernels = ge_kernels.kernel_hashes(self._folder)
        whole = self._request.mode is Mode.WHOLE
        report, unread = PassReport(), ge_evidence.NOTHING
        if whole and self._request.want_dumps:
            report, unread = ge_evidence.inspect(self._folder)
        found = ge_evidence.GeDumps(self._folder, self._plan)
        found.refuse_other_options()
        # The base line leaves the switches out, see its plan.
        setting = self._request.setting if whole else SwitchSetting()
        effects = ge_evidence.effects(self._plan, setting, found, report)
        machine = ge_evidence.machine_notes(found, os.environ)
        return Evidence(
            passes=ge_evidence.active_passes(report), effects=effects,
            artifact_hashes=kernels, route=f"{ge_route.SPOKEN[self._plan.route]}, "
            f"{self._program.mode}",
            sent=ge_request.relative(self._plan.sent, self._folder),
            notes=(*machine, *self._proof.notes(), *self._program.notes,
                   *self._plan.warnings, *self._plan.notes, *found.notes,
                   *self._no_dumps(found), *unread))

    def _no_dumps(self, found: ge_evidence.GeDumps) -> tuple[str, ...]:
        if found.source:
            return ()
        what = "no dump that names options" if found.stages else "no graph dump"
        return (f"GE wrote {what}: which options and passes were in effect is not "
                "proved",)


def prepare_process(plan: GePlan, folder: Path) -> None:
    """Make this process ready for its first import of TensorFlow and the adapter.

    Takes variables out, makes folders, writes the switch files and goes into the
    working folder, where several files of GE land.

    Raises:
        BackendFailure: it is too late, or the environment is not the plan's.
    """
    if "tensorflow" in sys.modules:
        raise BackendFailure(
            FailureKind.UNAVAILABLE, "TensorFlow is imported already in this process; "
            "GE and its adapter read their environment at import, so a run needs a "
            "fresh one")
    wrong = [name for name, value in plan.environment if os.environ.get(name) != value]
    if wrong:
        raise BackendFailure(
            FailureKind.UNAVAILABLE, "the worker was not started with the environment "
            f"of this run; wrong or missing: {', '.join(wrong)}")
    for name, _ in plan.removed:
        os.environ.pop(name, None)
    for text in plan.folders:
        Path(text).mkdir(parents=True, exist_ok=True)
    for text, content in plan.files:
        Path(text).write_text(content, encoding="utf-8")
    os.chdir(str(folder / "work"))


def _route() -> str:
    return ge_route.route_of(tf_loader.installed())
