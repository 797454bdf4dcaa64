"""Backend emulator: compiles by GE's public rules, executes by its numerics in NumPy.

No TensorFlow is in its process, so TensorFlow's own graph optimizers cannot run before
it; asking for them is refused. Node by node means no pass and no fusion: every operator
with the eager kernel of the chip.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Mapping

import numpy as np

from dumps import graphdef
from dumps.errors import DumpError
from ge_harness.backends import ge_request
from ge_harness.backends.base import (
    Announcement,
    Backend,
    BackendFailure,
    Compiled,
    Evidence,
    Probe,
)
from ge_harness.backends.emulator import (
    artifact,
    band,
    data_dump,
    dump_files,
    evidence,
    front,
    pipeline,
)
from ge_harness.backends.emulator.autofuse.precision import BlacklistError
from ge_harness.backends.emulator.execute import execute_plan
from ge_harness.backends.emulator.ir import Graph
from ge_harness.backends.emulator.options import CompileOptions, from_plan
from ge_harness.backends.emulator.params import (
    EmulatorParams,
    as_lines,
    changed,
    forced,
    inert,
    parse,
)
from ge_harness.backends.emulator.switch_list import switches
from ge_harness.errors import SwitchError, UsageError
from ge_harness.interpreter.errors import EvaluationError, GraphRaisedError
from ge_harness.records.ge import GePlan
from ge_harness.records.run import FailureKind, Mode, RunRequest
from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.switches.autofuse_keys import DFX_FLAGS, FLAGS
from ge_harness.switches.ge_options import TF1

DEFAULT_CHIP = "910b"
LABEL = "emulation: a numerical model, not hardware"


class EmulatorBackend(Backend):
    """A model of GE and AutoFuse."""

    name = "emulator"
    label = LABEL
    emulated = True

    def probe(self) -> Probe:
        """Say that it is usable: it needs NumPy alone."""
        return Probe(True, f"NumPy {np.__version__}; a model, not hardware")

    def switches(self) -> tuple[Switch, ...]:
        """Return the passes of the model that a switch of GE reaches."""
        return switches()

    def announce(self, request: RunRequest) -> Announcement:
        """Return what would be sent to GE, and what must be said before a run.

        Raises:
            SwitchError: something asked for cannot be sent.
        """
        folder = Path("/job")
        plan = _plan(request, folder)
        return Announcement(
            ge_request.relative(plan.sent, ge_request.dumps_dir(folder)), plan.warnings)

    def environment(self, request: RunRequest, job_dir: Path) -> dict[str, str]:
        """Return AutoFuse's two variables as GE would get them.

        Raises:
            SwitchError: something asked for cannot be sent.
        """
        held = dict(_plan(request, job_dir).environment)
        return {name: held[name] for name in (FLAGS, DFX_FLAGS) if name in held}

    def compile(self, request: RunRequest, job_dir: Path) -> EmulatorGraph:
        """Compile the graph and write the dumps.

        Raises:
            BackendFailure: the graph or the switches cannot be taken.
        """
        return EmulatorGraph(request, Path(job_dir))


def chip_of(request: RunRequest) -> str:
    """Return the chip asked for, by option or as a parameter of the model.

    Raises:
        SwitchError: the two contradict each other.
    """
    option = dict(request.options).get("chip", "")
    parameter = params_of(request).chip.replace("auto", "")
    if option and parameter and option != parameter:
        raise SwitchError(f"--chip={option} and the emulator parameter chip="
                          f"{parameter} contradict each other")
    return option or parameter or DEFAULT_CHIP


def params_of(request: RunRequest) -> EmulatorParams:
    """Return the parameters asked for.

    Raises:
        SwitchError: a text, name or value that would not do what it says.
    """
    text = dict(request.options).get("emulator_param", "")
    return parse(part for part in text.split(";") if part)


def _plan(request: RunRequest, job_dir: Path) -> GePlan:
    chip = ("chip", chip_of(request))
    options = tuple(sorted({**dict(request.options), chip[0]: chip[1]}.items()))
    return ge_request.plan_of(dataclasses.replace(request, options=options), job_dir,
                              TF1)


class EmulatorGraph(Compiled):
    """A case compiled by the model."""

    def __init__(self, request: RunRequest, job_dir: Path) -> None:
        self._request = request
        self._job_dir = job_dir
        self._folder = ge_request.dumps_dir(job_dir)
        try:
            if dict(request.options).get("data_dump") == "stats":
                raise SwitchError("--data-dump=stats: the emulator dumps tensors only; "
                                  "use --data-dump=tensor")
            if dict(request.options).get("grappler") == "on":
                raise SwitchError("--grappler=on: the emulator has no TensorFlow in "
                                  "its process to rewrite the graph")
            self._params = params_of(request)
            self._plan = _plan(request, job_dir)
            self._options = self._compile_options(self._plan)
        except UsageError as error:
            raise BackendFailure(FailureKind.INVALID_SWITCH, str(error)) from error
        self._graph = self._build()
        self._compilation = self._compile()
        self._wrote = self._write()
        self._band: tuple[str, ...] = ()
        self._dump = self._data_dump()

    def _compile_options(self, plan: GePlan) -> CompileOptions:
        fusable = self._params.bf16_pointwise_fusable
        return dataclasses.replace(
            from_plan(plan, chip_of(self._request)),
            bf16_pointwise=None if fusable == "auto" else fusable == "true",
            drop_cast_pairs=self._params.drop_roundtrip_cast_pairs)

    def _build(self) -> Graph:
        case = self._request.case
        try:
            definition = graphdef.read(case.graph_path)
            return front.build(definition, case.inputs, case.outputs)
        except (DumpError, EvaluationError) as error:
            raise BackendFailure(FailureKind.BUILD, str(error)) from error

    def _compile(self) -> pipeline.Compilation:
        if self._request.mode is Mode.NODEWISE:
            return pipeline.compile_nodewise(self._graph, self._options.chip)
        try:
            return pipeline.compile_graph(self._graph, self._options)
        except BlacklistError as error:
            raise BackendFailure(FailureKind.COMPILE, str(error)) from error

    def _write(self) -> bool:
        if self._request.mode is Mode.NODEWISE or not self._request.want_dumps:
            return False
        options = {**dict(self._plan.ge_options), "ge_harness.label": LABEL}
        dump_files.write(self._compilation, self._folder, options)
        for path, text in self._plan.files:
            Path(path).write_text(text, encoding="utf-8")
        return True

    def _data_dump(self) -> data_dump.KernelDump | None:
        """Return what writes the tensors of every kernel, None where not asked for."""
        asked = dict(self._request.options).get("data_dump", "")
        if not asked or self._request.mode is Mode.NODEWISE:
            return None
        return data_dump.KernelDump(self._folder / "dump", self._graph.name, LABEL)

    def execute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the plan once.

        Raises:
            BackendFailure: an operator cannot be evaluated, or a check in the graph
                raised.
        """
        plan = self._compilation.plan
        try:
            found = execute_plan(plan, inputs, self._params, self._dump)
            self._dump = None  # the first step only, as asked of GE
            if not self._band and dict(self._request.options).get("ensemble") == "on":
                self._band = band.spread(plan, inputs, self._params, found)
            return found
        except GraphRaisedError as error:
            raise BackendFailure(FailureKind.RUN, str(error)) from error
        except EvaluationError as error:
            raise BackendFailure(FailureKind.BUILD, str(error)) from error

    def evidence(self) -> Evidence:
        """Return active passes, effects of switches, kernel hashes and notes."""
        whole = self._request.mode is Mode.WHOLE
        compilation = self._compilation
        found = evidence.active_passes(
            self._folder if self._wrote else None, compilation) if whole else ()
        effects = evidence.effects(
            self._request.setting, compilation, self._again) if whole else ()
        texts = evidence.notes(compilation, self._options) if whole else (
            f"{evidence.EMULATED}operator by operator, eager kernels of "
            f"{self._options.chip}; no pass, no fusion",)
        return Evidence(
            passes=found, effects=effects, sent=self._sent(),
            artifact_hashes=artifact.hashes(
                compilation.plan, "\n".join(as_lines(self._params))),
            route="emulated, NumPy" + ("" if whole else ", node by node"),
            notes=(*texts, *self._parameter_notes(), *self._band,
                   *((*self._plan.warnings, *self._plan.notes) if whole else ())))

    def _again(self, setting: SwitchSetting) -> pipeline.Compilation:
        request = dataclasses.replace(self._request, setting=setting)
        try:
            options = self._compile_options(_plan(request, self._job_dir))
        except SwitchError:
            return self._compilation
        return pipeline.compile_graph(self._graph, options)

    def _sent(self) -> tuple[tuple[str, str], ...]:
        sent = dict(ge_request.relative(self._plan.sent, self._folder))
        sent["chip"] = self._options.chip
        sent["emulator parameters"] = "; ".join(changed(self._params)) or "(defaults)"
        sent["grappler"] = "off"
        return tuple(sorted(sent.items()))

    def _parameter_notes(self) -> tuple[str, ...]:
        names = forced(self._params)
        chip = self._options.chip
        idle = inert(self._params, chip)
        said = (("forced, as no chip is known to do", names),
                (f"parameters without effect on {chip}", idle))
        return tuple(f"{evidence.EMULATED}{head}: {', '.join(each)}"
                     for head, each in said if each)
