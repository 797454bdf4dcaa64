"""Examine the backends: what a run would need, and a small run where it can be."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Callable, Mapping

import numpy as np

from ge_harness.backends.base import Backend
from ge_harness.backends.ge_machine import Machine
from ge_harness.backends.ge_probe import probe_ge
from ge_harness.backends.table import BACKENDS
from ge_harness.errors import HarnessError
from ge_harness.records.doctor import BackendHealth, Check, DoctorReport
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import RunFailure, RunRequest
from ge_harness.records.tensor import Case
from ge_harness.report.plain import printable
from ge_harness.worker import launch
from graphs.built import BuildOptions

COMPILERS = ("ge", "emulator", "xla", "grappler")
_SMOKE = "abs_relu_exp"
_TRY = "small run"

OnProgress = Callable[[str], None]


def examine(asked: str, environ: Mapping[str, str], job_root: Path,
            progress: OnProgress) -> DoctorReport:
    """Examine one backend, or every one.

    Args:
        asked: a backend, "" for all.
        environ: the environment as the user has it.
        job_root: an empty folder for the jobs of the small runs.
        progress: called with one line for each finished part.

    Raises:
        UnknownNameError: no such backend.
    """
    names = (asked,) if asked else BACKENDS.names()
    for name in names:
        BACKENDS.entry(name)
    device = environ.get("ASCEND_DEVICE_ID", "")
    smoke = _Smoke(job_root, progress, device)
    healths = tuple(_examine(name, environ, smoke) for name in names)
    works = any(one.usable for one in healths if one.compiler or asked)
    return DoctorReport(works, asked, platform.python_version(),
                        f"{platform.system()} {platform.machine()}", healths)


def _examine(name: str, environ: Mapping[str, str], smoke: _Smoke) -> BackendHealth:
    entry = BACKENDS.entry(name)
    compiler = name in COMPILERS
    if name == "ge":
        probe = probe_ge(Machine(environ))
        checks = tuple(Check(*row) for row in probe.checks)
        if not probe.usable:
            return BackendHealth(name, entry.help, compiler, False, probe.reason,
                                 checks)
        tried = smoke.run(name)
        usable = tried.status != "fail"
        return BackendHealth(name, entry.help, compiler, usable, probe.reason
                             if usable else tried.found, (*checks, tried))
    if not entry.target:
        check = Check("backend", "not built yet in this version", "fail",
                      "take --backend=xla meanwhile")
        return BackendHealth(name, entry.help, compiler, False, check.found, (check,))
    try:
        backend: Backend = BACKENDS.load(name)()
        probe = backend.probe()
    except (HarnessError, ImportError) as error:
        check = Check("backend", printable(str(error), 300), "fail", "")
        return BackendHealth(name, entry.help, compiler, False, check.found, (check,))
    checks = tuple(Check(*row) for row in probe.checks)
    if not probe.usable:
        return BackendHealth(name, backend.label, compiler, False, probe.reason, checks)
    tried = smoke.run(name)
    usable = tried.status != "fail"
    return BackendHealth(name, backend.label, compiler, usable,
                         probe.reason if usable else tried.found, (*checks, tried))


class _Smoke:
    """A run of a few elements through the worker, the graph built once."""

    def __init__(self, job_root: Path, progress: OnProgress, device: str = ""
                 ) -> None:
        self._device = device
        self._root = job_root
        self._progress = progress
        self._case: Case | None = None
        self._why = ""

    def run(self, backend: str) -> Check:
        """Try the backend; never raises."""
        try:
            case = self._ready()
            if case is None:
                return Check(_TRY, self._why, "fail", _mend(self._why))
            request = RunRequest(case=case, backend=backend, timeout_s=180.0,
                                 want_dumps=False, options=(
                                     (("device", self._device),)
                                     if backend == "ge" and self._device else ()))
            outcome = launch.launch([request], self._root)[0]
        except HarnessError as error:
            return Check(_TRY, printable(str(error), 300), "fail")
        self._progress(f"{backend}: tried")
        if isinstance(outcome, RunFailure):
            return Check(_TRY, f"{outcome.kind.value}: "
                         f"{printable(outcome.message, 300)}", "fail",
                         f"'ge_harness run {_SMOKE} --backend={backend}' keeps the log")
        unproved = [f"{effect.switch.name}: {effect.evidence}"
                    for effect in outcome.effects if effect.status == "unproved"]
        if unproved:
            return Check(_TRY, f"ran; not proved: {printable(unproved[0], 300)}",
                         "warn", f"{len(unproved)} options were not seen in effect; "
                         f"'ge_harness run {_SMOKE} --backend={backend}' shows each")
        if not outcome.repeatable:
            return Check(_TRY, "ran, and does not repeat itself", "warn")
        return Check(_TRY, f"ran in {outcome.duration_s:.1f} s", "ok")

    def _ready(self) -> Case | None:
        if self._case is None and not self._why:
            built = launch.build(_SMOKE, BuildOptions(), self._root)
            if isinstance(built, BuiltCase):
                self._case = self._with_inputs(built)
            else:
                self._why = f"cannot build a graph: {printable(built.message, 300)}"
            self._progress("graph built")
        return self._case

    def _with_inputs(self, built: BuiltCase) -> Case:
        paths = []
        for port in built.inputs:
            shape = tuple(length or 1 for length in port.spec.shape)
            path = self._root / f"{port.spec.name}.npy"
            np.save(str(path), np.full(shape, 0.5, port.spec.dtype), allow_pickle=False)
            paths.append(str(path))
        return Case(built.source, built.variant, 0, built.graph_path, built.inputs,
                    built.outputs, tuple(paths))


def _mend(why: str) -> str:
    return "pin protobuf below 3.21" if "Descriptors cannot" in why else (
        "see the text; 'pip install ge-harness[tf]' installs TensorFlow")
