"""TensorFlow's XLA compiler on this CPU: whole graphs, and node by node.

Source: reference/xla_cpu.md.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from ge_harness import catalogue
from ge_harness.backends import (
    tf_loader,
    xla_dumps,
    xla_nodewise,
    xla_program,
    xla_proof,
)
from ge_harness.backends.base import Backend, Compiled, Evidence, Probe
from ge_harness.records.run import Mode, RunRequest
from ge_harness.records.switch import Switch
from ge_harness.records.tensor import Case
from ge_harness.switches import xla_flags

# Flags with a measured effect on results.
# Source: reference/xla_cpu.md section 2.
_FLAGS = (
    "xla_allow_excess_precision", "xla_backend_optimization_level",
    "xla_cpu_enable_fast_math", "xla_cpu_max_isa", "xla_cpu_multi_thread_eigen",
    "xla_cpu_prefer_vector_width", "xla_cpu_strict_dot_conv_math",
    "xla_cpu_use_fusion_emitters",
)


class XlaBackend(Backend):
    """A real fusing compiler with real dumps and switches, not Ascend's."""

    name = "xla"
    label = "TensorFlow's XLA on this CPU: real compiler, not Ascend"

    def probe(self) -> Probe:
        """Say whether TensorFlow is here; that XLA works shows in the first run."""
        return tf_loader.probe()

    def switches(self) -> tuple[Switch, ...]:
        """Return the HLO passes of the catalogue and flags with a measured effect."""
        passes = tuple(Switch(xla_flags.PASS, info.name)
                       for info in catalogue.by_family(xla_flags.PASS)
                       if "--xla_disable_hlo_passes" in info.switch_off)
        return passes + tuple(Switch(xla_flags.FLAG, name) for name in _FLAGS)

    def environment(self, request: RunRequest, job_dir: Path) -> dict[str, str]:
        """Return XLA_FLAGS: dumps, passes switched off, the user's flags.

        Raises:
            SwitchError: a switch that XLA would not obey.
        """
        xla_flags.check(request.setting)
        folder = str(Path(job_dir) / "dumps") if request.want_dumps else ""
        return {"XLA_FLAGS": xla_flags.compose(
            request.setting, folder, tf_loader.installed())}

    def compile(self, request: RunRequest, job_dir: Path) -> XlaGraph:
        """Check the switches in forks, then trace the graph.

        Raises:
            BackendFailure: a switch XLA does not know, or a graph it does not take.
        """
        job_dir = Path(job_dir)
        tf = tf_loader.load()
        flags = self.environment(request, job_dir)["XLA_FLAGS"]
        # XLA reads the variable at its first use, which is still to come.
        os.environ["XLA_FLAGS"] = flags
        xla_proof.check_start(tf, request.setting, job_dir)
        default = xla_proof.compile_default(
            request, str(tf.__version__), job_dir, lambda: _run_once(tf, request))
        xla_proof.refuse_unknown(tf, request.setting, default)
        return XlaGraph(tf, request, job_dir, default)


class XlaGraph(Compiled):
    """A case under XLA."""

    def __init__(self, tf: Any, request: RunRequest, job_dir: Path,
                 default: xla_proof.Default | None) -> None:
        self._request = request
        self._folder = job_dir / "dumps"
        self._default = default
        self._program = program(tf, request)
        self._executions = 0
        self._flags = os.environ["XLA_FLAGS"]

    def execute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run once; the first time compiles.

        Raises:
            BackendFailure: XLA cannot compile it, or it failed while running.
        """
        self._executions += 1
        return self._program.run(inputs)

    def evidence(self) -> Evidence:
        """Return active passes, effects of switches and artifact hashes."""
        dumps = xla_dumps.read(self._folder) if self._request.want_dumps else None
        grappler = dict(self._request.options).get("grappler", "off")
        passes = xla_dumps.active_passes(dumps) if dumps is not None else ()
        return Evidence(
            passes=passes,
            effects=xla_proof.effects(self._request.setting, self._default, dumps),
            artifact_hashes=xla_dumps.artifacts(self._folder) if dumps else (),
            sent=(("XLA_FLAGS", self._flags.replace(str(self._folder), "dumps")),
                  ("grappler", grappler)),
            route=self._program.route,
            notes=self._program.notes + self._notes(dumps))

    def _notes(self, dumps: xla_dumps.Dumps | None) -> tuple[str, ...]:
        notes = [f"{warning}" for module in (dumps.modules if dumps else ())
                 for warning in module.warnings][:10]
        if dumps is not None and dumps.problem and self._program.compilations:
            notes.append("XLA wrote no dumps, so nothing shows that it compiled: "
                         f"{dumps.problem}")
        else:
            notes.append(compilation_note(
                self._program, len(dumps.modules) if dumps else None,
                self._executions))
        return tuple(notes)


def compilation_note(program: xla_program.Program, modules: int | None,
                     executions: int) -> str:
    """Return how often XLA compiled, and whether that is once for each unit."""
    wanted = program.compilations
    traces = program.traces()
    counts = []
    if modules is not None:
        counts.append(f"{modules} modules dumped")
    if traces is not None:
        counts.append(f"{traces} functions traced")
    times = f"{executions} executions" if executions != 1 else "1 execution"
    found = {count for count in (modules, traces) if count is not None}
    if not found:
        return f"{wanted} compilations expected; without dumps nothing counts them"
    verdict = ("each compiled once" if found == {wanted}
               else "NOT once each, so the base line is not trusted")
    return f"{wanted} compilations expected, {', '.join(counts)} in {times}: {verdict}"


def program(tf: Any, request: RunRequest) -> xla_program.Program:
    """Trace the case as the request says.

    Raises:
        BackendFailure: the graph cannot be built.
    """
    options = dict(request.options)
    functions = tf_loader.major_minor(tf)[0] >= 2
    if functions:
        tf_loader.start(tf, request.threads)
    else:
        xla_program.pin_threads(tf, request.threads)
    if request.mode is Mode.NODEWISE:
        plan = xla_nodewise.plan(tf, request.case, request.threads)
        plant = options.get("plant", "")
        if functions:
            return xla_nodewise.NodewiseFunctions(tf, request.case, plan, plant)
        return xla_nodewise.NodewiseClusters(
            tf, request.case, plan, plant, request.threads)
    grappler = options.get("grappler") == "on"
    if grappler and functions:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
    if functions:
        return xla_program.WholeFunction(tf, request.case, grappler=grappler)
    return xla_program.WholeCluster(
        tf, request.case, grappler=grappler, threads=request.threads)


def _run_once(tf: Any, request: RunRequest) -> None:
    """Compile and execute on zeros, for the dumps only."""
    program(tf, request).run(zeros(request.case))


def zeros(case: Case) -> dict[str, np.ndarray]:
    """Return an input of zeros for each port (bfloat16 as bits)."""
    found = {}
    for port in case.inputs:
        dtype = "uint16" if port.spec.dtype == "bfloat16" else port.spec.dtype
        shape = tuple(length or 0 for length in port.spec.shape)
        found[port.spec.name] = np.zeros(shape, dtype)
    return found
