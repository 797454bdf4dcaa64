"""What GE's own output says of a run: passes, options in effect, kernels.

Nothing here may lose a result: what cannot be read becomes a note.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, Iterable, Mapping

import dumps
from dumps import names
from dumps.errors import DumpError
from ge_harness.backends import ge_kernels
from ge_harness.backends.base import BackendFailure
from ge_harness.records.ge import GePlan
from ge_harness.records.inspection import PassFinding, PassReport
from ge_harness.records.run import FailureKind
from ge_harness.records.switch import ActivePass, Switch, SwitchEffect, SwitchSetting
from ge_harness.report.plain import printable
from ge_harness.switches import ge_readback, pass_switch
from ge_harness.switches.autofuse_config import read_config
from ge_harness.switches.autofuse_keys import FLAGS

_SWITCH = "ge.optimizationSwitch"
_FILE = "ge.fusionSwitchFile"
_FUSED = re.compile(r"(Fused)?Asc(Graph|Backend\w*)")
_MOST_NOTES = 10
# Options whose value decides what is compiled and how it rounds.
_DECISIVE = ("ge.oo.level", "ge.oo.constantFolding", _SWITCH, _FILE,
             "ge.exec.precision_mode", "ge.deterministic")
# Stages that are written only while the gate of AutoFuse is open.
_AUTOFUSE_STAGES = ("autofuseoptimize_", "autofuser_")
NOTHING: tuple[str, ...] = ()


class GeDumps:
    """The graph dumps of one run, options read out of them.

    Attributes:
        folder: where GE wrote.
        protos: ge_proto files in order, those of the last stage first.
        blocks: name of the attribute -> options, of the first file that has any.
        source: that file's name, "" where none has.
        operators: names of the operators in the dumps of the last stage.
        notes: what could not be read.
    """

    def __init__(self, folder: Path, plan: GePlan) -> None:
        self.folder = folder
        self.stages: list[str] = []
        self.protos = self._find()
        self.blocks: dict[str, dict[str, str]] = {}
        self.source = ""
        self.notes: list[str] = []
        self.fused_count = 0
        self.operators: set[str] = set()
        self._refused: tuple[str, ...] = ()
        self._read(plan)

    def _find(self) -> list[Path]:
        found = []
        for path in sorted(self.folder.rglob("ge_*")):
            parsed = names.parse(path)
            if parsed is None or not path.is_file():
                continue
            self.stages.append(parsed.suffix)
            if parsed.format == "ge_proto":
                found.append((parsed.suffix != "Build", parsed.order, path))
        return [path for _, _, path in sorted(found)]

    def _read(self, plan: GePlan) -> None:
        differing: dict[str, None] = {}
        decisive: dict[str, None] = {}
        for path in self.protos:
            is_last = path.stem.endswith("_Build")
            if self.source and not is_last:
                break
            try:
                graph = dumps.read(path)
                blocks = option_blocks(graph.attributes)
                if is_last:
                    self._count(graph)
            except DumpError as error:
                self.notes.append(f"a dump cannot be read: {printable(str(error))}")
                continue
            if not blocks:
                continue
            if not self.source:
                self.blocks, self.source = blocks, path.name
            texts = ge_readback.mismatches(plan, blocks, path.name)
            differing.update(dict.fromkeys(texts))
            # What a damaged file says may be half of what GE holds.
            if not graph.warnings:
                decisive.update((text, None) for text in texts
                                if any(name in text for name in _DECISIVE))
        self.notes += [f"NOT AS SENT: {text}" for text in differing]
        self._refused = tuple(decisive)

    def _count(self, graph: dumps.DumpGraph) -> None:
        for _, node in graph.walk():
            self.fused_count += _FUSED.fullmatch(node.type) is not None
            self.operators.add(node.name)

    def refuse_other_options(self) -> None:
        """Refuse a run that was not what was asked for.

        Raises:
            BackendFailure: GE held another value of an option that decides what is
                compiled. Outputs and dumps stay in the job's folder.
        """
        if self._refused:
            raise BackendFailure(FailureKind.INVALID_SWITCH, (
                "the run was not the one asked for, so nothing is compared: "
                f"{'; '.join(self._refused[:3])}"))

    @property
    def gate_was_open(self) -> bool:
        """Whether a stage of AutoFuse was dumped."""
        return any(stage.lower().startswith(_AUTOFUSE_STAGES) for stage in self.stages)


def option_blocks(attributes: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the options that a graph's attributes hold, by attribute.

    Args:
        attributes: of a graph, as `dumps.read` gives them.
    """
    found = {}
    for block in ge_readback.BLOCKS:
        value = attributes.get(block)
        inner = value.get("attr") if isinstance(value, Mapping) else None
        if isinstance(inner, Mapping):
            found[block] = {str(name): str(inner[name]) for name in inner
                            if isinstance(inner[name], str)}
    return found


def inspect(folder: Path) -> tuple[PassReport, tuple[str, ...]]:
    """Return what all dumps say of passes, and what could not be read; never raises."""
    from ge_harness.inspection.gather import gather

    try:
        found = gather(folder)
    except DumpError as error:
        return PassReport(), (f"no dump can be read: {printable(str(error), 300)}",)
    notes = [printable(str(warning).replace(f"{folder}/", ""), 300)
             for warning in found.warnings]
    if len(notes) > _MOST_NOTES:
        notes[_MOST_NOTES:] = [f"{len(notes) - _MOST_NOTES} more warnings of dumps; "
                               "'inspect' on the folder shows them"]
    return found.passes, tuple(notes)


def active_passes(report: PassReport) -> tuple[ActivePass, ...]:
    """Return the passes an inspection found active, as a run records them."""
    return tuple(_active(finding) for finding in report.active)


def _active(finding: PassFinding) -> ActivePass:
    first = finding.evidence[0] if finding.evidence else None
    evidence = "" if first is None else (
        f"{first.strength}: {first.text} ({Path(first.path).name}"
        f"{f':{first.line}' if first.line else ''})")
    return ActivePass(
        finding.family, finding.name, finding.stage, finding.precision_class,
        finding.certainty, evidence, finding.switch_off, finding.dtypes, finding.ops,
        finding.match_times, finding.effect_times, finding.level)


def effects(plan: GePlan, setting: SwitchSetting, found: GeDumps, report: PassReport
            ) -> tuple[SwitchEffect, ...]:
    """Return what became of every switch and option of a run.

    Args:
        plan: what was sent.
        setting: the switches as asked.
        found: the dumps, with the options that GE holds.
        report: what the dumps say of passes.
    """
    options = ge_readback.option_effects(plan, found.blocks, found.source)
    if not found.source:
        none = "no graph dump was written" if not found.stages else (
            "no graph dump names the options of GE")
        options = tuple(dataclasses.replace(effect, evidence=none)
                        for effect in options)
    held = {effect.switch.name: effect for effect in options}
    active = {(one.family, one.name): one for one in report.active}
    passes = [_told_to_autofuse(switch, found) if _is_told(switch)
              else _pass_effect(switch, on, held, active, report)
              for switches, on in ((setting.off, False), (setting.on, True))
              for switch in switches]
    return (*passes, *_autofuse_effect(plan, found), *options)


def _is_told(switch: Switch) -> bool:
    """Say whether a switch goes to AutoFuse through a variable, not to GE."""
    return switch.family == "node" or (
        switch.family == "autofuse" and switch.name in pass_switch.FLAG_PASSES)


def _told_to_autofuse(switch: Switch, found: GeDumps) -> SwitchEffect:
    """Return what the dumps show of it; no dump names what AutoFuse was told."""
    if switch.family == "node" and switch.name in found.operators:
        return SwitchEffect(switch, "off", "proved", "the Build dump holds it as an "
                            "operator of its own")
    return SwitchEffect(switch, "off", "unproved", "it went to AutoFuse in a variable "
                        "of the environment, which no dump names")


def _pass_effect(switch: Switch, on: bool, held: Mapping[str, SwitchEffect],
                 active: Mapping[tuple[str, str], PassFinding], report: PassReport
                 ) -> SwitchEffect:
    asked = "on" if on else "off"
    seen = active.get((switch.family, switch.name))
    if not on and seen is not None:
        said = seen.evidence[0].text if seen.evidence else "named by the dumps"
        return SwitchEffect(switch, asked, "unproved",
                            f"it was active all the same: {printable(said, 200)}")
    if (switch.family, switch.name) in report.disabled:
        return SwitchEffect(switch, asked, "unproved" if on else "proved",
                            "GE's log says it is switched off")
    carrier = _carrier(switch, held)
    if carrier is None or carrier.status != "proved":
        why = carrier.evidence if carrier else "no dump names what carries it"
        return SwitchEffect(switch, asked, "unproved", why)
    if on:
        status = "proved" if seen is not None else "no_target"
        words = "it was active" if seen is not None else "it changed nothing"
        return SwitchEffect(switch, asked, status, f"{carrier.evidence}; {words}")
    return SwitchEffect(switch, asked, "proved",
                        f"{carrier.evidence}; not among the active passes")


def _carrier(switch: Switch, held: Mapping[str, SwitchEffect]) -> SwitchEffect | None:
    """Return the option that carries a switch to GE."""
    text = held.get(_SWITCH)
    tokens = text.asked.split(";") if text is not None else []
    if any(token.partition(":")[0] == switch.name for token in tokens):
        return text
    return held.get(_FILE) or text


def _autofuse_effect(plan: GePlan, found: GeDumps) -> Iterable[SwitchEffect]:
    flags = dict(plan.environment).get(FLAGS, "")
    if not flags:
        return ()
    switch = Switch("autofuse", FLAGS)
    enabled = read_config(flags).enabled
    if not enabled:
        status, why = "no_target", "the string leaves the gate closed"
        if found.gate_was_open:
            status, why = "unproved", "stages of AutoFuse were dumped all the same"
    elif not found.stages:
        status, why = "unproved", "no graph dump was written, which would show it"
    elif not found.gate_was_open:
        status, why = "unproved", "no stage of AutoFuse was dumped: its gate was closed"
    elif found.fused_count:
        status = "proved"
        why = f"AutoFuse ran; {found.fused_count} fused operators in the Build dump"
    else:
        status = "no_target"
        why = "AutoFuse ran and fused nothing that is left in the Build dump"
    return (SwitchEffect(switch, flags, status, why),)


def machine_notes(found: GeDumps, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence on chip, driver and device, as far as something says it."""
    held = ge_readback.held_options(found.blocks)
    chip = held.get("ge.socVersion", "") or ge_kernels.chip_of(found.folder)
    parts = [f"chip {printable(chip, 60)}" if chip else "chip unknown",
             f"device {environ.get('ASCEND_DEVICE_ID', '0')}"]
    driver = driver_version(Path("/usr/local/Ascend/driver/version.info"))
    parts.append(f"driver {driver}" if driver else "driver version unknown")
    return ("ran on " + ", ".join(parts),)


def driver_version(path: Path) -> str:
    """Return the version in a driver's version.info, "" where there is none."""
    try:
        text = path.read_bytes()[:65536].decode("utf-8", "replace")
    except OSError:
        return ""
    match = re.search(r"(?m)^\s*[Vv]ersion\s*=\s*\[?([\w.\-]+)", text)
    return match[1][:60] if match else ""
