"""TensorFlow's graph optimizers, which also rewrite a graph before GE sees it.

TensorFlow 2 runs a `tf.function`, as users do; 1.15 a v1 Session. The optimizers are
given graphs of every size (min_graph_nodes=-1), and outputs are fetched through an
Identity, since Grappler leaves fetched nodes alone.

Source: reference/xla_cpu.md section 6; cases/README.md.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Mapping

import numpy as np

from ge_harness.backends import (
    eager,
    grappler_passes,
    grappler_program,
    tf_loader,
)
from ge_harness.backends.base import Backend, Compiled, Evidence, Probe
from ge_harness.records.run import Mode, RunRequest
from ge_harness.records.switch import Switch
from ge_harness.switches import grappler_options

# Beyond this, finding the passes by running again takes too long.
_LONGEST_RERUN_S = 2.0


class GrapplerBackend(Backend):
    """Graph mode; its nodewise base line is eager execution."""

    name = "grappler"
    label = "TensorFlow's graph optimizers on this CPU: real compiler, not Ascend"

    def probe(self) -> Probe:
        """Say whether TensorFlow is here."""
        return tf_loader.probe()

    def switches(self) -> tuple[Switch, ...]:
        """Return a switch for each optimizer of the TensorFlow here."""
        return grappler_options.switches(tf_loader.installed())

    def environment(self, request: RunRequest, job_dir: Path) -> dict[str, str]:
        """Check the switches; Grappler takes them from the session, not from here.

        Raises:
            SwitchError: an optimizer this TensorFlow has no switch for.
        """
        grappler_options.check(request.setting, tf_loader.installed())
        return {}

    def compile(self, request: RunRequest, job_dir: Path) -> Compiled:
        """Trace the graph; node by node there is nothing to optimize.

        Raises:
            BackendFailure: the graph cannot be built.
        """
        if request.mode is Mode.NODEWISE:
            return NodewiseGraph(eager.EagerBackend().compile(request, job_dir))
        return GrapplerGraph(tf_loader.load(), request)


class NodewiseGraph(Compiled):
    """Eager execution under the name of the base line it serves as."""

    def __init__(self, inner: Compiled) -> None:
        self._inner = inner

    def execute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run every node once."""
        return self._inner.execute(inputs)

    def evidence(self) -> Evidence:
        """Return eager's evidence, said to be the nodewise base line."""
        found = self._inner.evidence()
        return Evidence(
            passes=found.passes, effects=found.effects, sent=found.sent,
            artifact_hashes=found.artifact_hashes, route=found.route,
            notes=(*found.notes, "the nodewise base line of Grappler is eager "
                   "execution: it rewrites graphs, and a node alone is none"))


class GrapplerGraph(Compiled):
    """A case in graph mode."""

    def __init__(self, tf: Any, request: RunRequest) -> None:
        self._tf = tf
        self._request = request
        self._version = str(tf.__version__)
        self._program = grappler_program.build(tf, request)
        self._options = grappler_options.options(request.setting, self._version)
        self._inputs: Mapping[str, np.ndarray] = {}
        self._duration_s = 0.0
        self._ran: grappler_program.Ran | None = None

    def execute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run once; the first time keeps the graph that really ran.

        Raises:
            BackendFailure: an op raised.
        """
        started = time.monotonic()
        if self._ran is None:
            self._ran = self._program.run(inputs, self._options, watch=True)
            outputs = self._ran.outputs
        else:
            outputs = self._program.run(inputs, self._options, watch=False).outputs
        self._inputs = inputs
        self._duration_s = time.monotonic() - started
        return outputs

    def evidence(self) -> Evidence:
        """Return active optimizers and effects of switches, found by running again."""
        sent = {"min_graph_nodes": "-1", "grappler": "on"}
        sent.update((name, "ON" if value else "OFF")
                    for name, value in self._options.items() if value is not None)
        notes = ("fetched through an Identity",)
        if self._ran is None or not self._request.want_dumps:
            return Evidence(
                effects=grappler_passes.unproved(
                    self._request.setting, "no dumps were asked for"),
                route=self._program.route, notes=notes,
                sent=tuple(sorted(sent.items())))
        found = grappler_passes.find(
            self._request.setting, self._version, self._ran, self._again
            if self._duration_s <= _LONGEST_RERUN_S else None)
        return Evidence(
            passes=found.passes, effects=found.effects, route=self._program.route,
            sent=tuple(sorted(sent.items())), notes=notes + found.notes,
            artifact_hashes=grappler_passes.hashes(self._ran))

    def _again(self, also_off: str = "", also_on: str = "") -> grappler_program.Ran:
        options = grappler_options.options(
            self._request.setting, self._version, also_off, also_on)
        return self._program.run(self._inputs, options, watch=True)
