"""What a compilation of the emulator shows: active passes, switches, notes.

Every sentence says that it is emulated: nothing here was measured.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Callable, Iterable

from ge_harness.backends.emulator.ir import Graph
from ge_harness.backends.emulator.options import CompileOptions, is_on
from ge_harness.backends.emulator.pipeline import Compilation, Ran
from ge_harness.catalogue import passes
from ge_harness.records.switch import (
    ActivePass,
    Switch,
    SwitchEffect,
    SwitchSetting,
    SwitchValue,
)
from ge_harness.switches.autofuse_keys import (
    BLACKLIST,
    DFX_FLAGS,
    DISABLE_PASS,
    ENABLE_PASS,
    FLAGS,
    GATE,
    LIFTING,
    SKIP_FILE,
)

EMULATED = "EMULATED: "
_MOST_LISTED = 12
_OTHERS_ON_CASTS = ("TransOpWithoutReshapeFusionPass", "TransOpSymmetryEliminationPass")
_HONORED = frozenset((
    GATE, ENABLE_PASS, DISABLE_PASS, BLACKLIST, SKIP_FILE, LIFTING,
    "--recomputation_threshold", "--max_fusion_size"))
Recompile = Callable[[SwitchSetting], Compilation]


def active_passes(folder: Path | None, compilation: Compilation
                  ) -> tuple[ActivePass, ...]:
    """Return the passes that acted: as inspection reads the dumps, or by the log.

    A pass whose work is gone again (AutoFuse turned every kernel back) changed no
    number and is left out, although its stages show it.

    Args:
        folder: of the dumps that were written, None where there are none.
        compilation: what was compiled.
    """
    if folder is None:
        return tuple(_from_log(compilation))
    from ge_harness.inspection.for_run import active_passes as inspect

    return tuple(dataclasses.replace(each, evidence=EMULATED + each.evidence)
                 for each in inspect(folder)
                 if compilation.effects(each.family, each.name))


def _from_log(compilation: Compilation) -> Iterable[ActivePass]:
    seen = set()
    for each in compilation.ran:
        key = (each.family, each.name)
        if not each.effects or key in seen:
            continue
        seen.add(key)
        info = passes.lookup(*key)
        yield ActivePass(
            each.family, each.name, each.stage,
            info.precision_class if info else "unknown",
            info.certainty if info else "unknown",
            f"{EMULATED}log of the model: {compilation.effects(*key)} changes",
            info.switch_off if info else "", level=info.level if info else "",
            effect_times=compilation.effects(*key))


def effects(setting: SwitchSetting, compilation: Compilation, recompile: Recompile
            ) -> tuple[SwitchEffect, ...]:
    """Return what became of every switch, each by compiling once more without it.

    Args:
        setting: the switches asked for.
        compilation: with all of them.
        recompile: compiles the same graph under another setting.
    """
    found: list[SwitchEffect] = []
    for switch in setting.off:
        found.append(_pass(switch, "off", compilation, recompile(
            dataclasses.replace(setting, off=_without(setting.off, switch)))))
    for switch in setting.on:
        found.append(_pass(switch, "on", compilation, recompile(
            dataclasses.replace(setting, on=_without(setting.on, switch)))))
    for value in setting.values:
        found.append(_value(value, compilation, recompile(dataclasses.replace(
            setting, values=tuple(v for v in setting.values if v != value)))))
    return tuple(found)


def _without(switches: tuple[Switch, ...], gone: Switch) -> tuple[Switch, ...]:
    return tuple(each for each in switches if each != gone)


def _pass(switch: Switch, asked: str, compilation: Compilation,
          other: Compilation) -> SwitchEffect:
    name = switch.name
    if switch.family == "node":
        return _changed(switch, asked, compilation, other)
    mine = _runs(switch, compilation)
    if not mine and not _runs(switch, other):
        return SwitchEffect(switch, asked, "unproved", f"{EMULATED}the model does not "
                            f"have {name}; on a device it may act")
    before = sum(each.effects for each in _runs(switch, other))
    after = sum(each.effects for each in mine)
    if _shape(compilation) != _shape(other):
        return SwitchEffect(
            switch, asked, "proved", f"{EMULATED}{name} changes the graph {after} "
            f"times, and {before} times without the switch")
    if before != after:
        return SwitchEffect(
            switch, asked, "no_target", f"{EMULATED}{name} changes the graph {after} "
            f"times, and {before} times without the switch, but the kernels are the "
            "same: another pass does its work")
    return SwitchEffect(switch, asked, "no_target",
                        f"{EMULATED}{name} finds nothing to change in this graph")


def _runs(switch: Switch, compilation: Compilation) -> list[Ran]:
    return [each for each in compilation.ran if each.name == switch.name
            and switch.family in ("", each.family)]


def _value(value: SwitchValue, compilation: Compilation,
           other: Compilation) -> SwitchEffect:
    found = _changed(value.switch, value.value, compilation, other)
    lacking = _not_modeled(value)
    if not lacking:
        return found
    text = f"{found.evidence}; not modeled, on a device it may act: {lacking}"
    status = "unproved" if found.status == "no_target" else found.status
    return dataclasses.replace(found, status=status, evidence=text)


def _not_modeled(value: SwitchValue) -> str:
    """Return the keys of AutoFuse's variables that the model does not follow."""
    if value.switch.name not in (FLAGS, DFX_FLAGS):
        return ""
    keys = [entry.partition("=")[0] for entry in value.value.split(";")]
    return ", ".join(key for key in dict.fromkeys(keys) if key and key not in _HONORED)


def _changed(switch: Switch, asked: str, compilation: Compilation,
             other: Compilation) -> SwitchEffect:
    if _shape(compilation) == _shape(other):
        return SwitchEffect(switch, asked, "no_target",
                            f"{EMULATED}the same kernels with and without it")
    return SwitchEffect(
        switch, asked, "proved", f"{EMULATED}{len(compilation.plan.regions)} fused "
        f"kernels of {len(compilation.plan.kernels)}, and "
        f"{len(other.plan.regions)} of {len(other.plan.kernels)} without it")


def _shape(compilation: Compilation) -> object:
    """Return what two compilations of one graph are compared by."""
    return compilation.plan.kernels, compilation.plan.outputs


def notes(compilation: Compilation, options: CompileOptions) -> tuple[str, ...]:
    """Return what a reader must know of the kernels."""
    plan = compilation.plan
    found = [f"{EMULATED}modeled on {plan.chip}, not observed: "
             f"{len(plan.regions)} fused kernels among {len(plan.kernels)}"]
    for region in plan.regions[:_MOST_LISTED]:
        kinds = ", ".join(region.fuse_types)
        low = ", in low precision" if all(
            graph.low_precision for graph in region.graphs) else ""
        found.append(f"{region.type} {region.name} ({kinds}{low})")
    refused = sorted(set(compilation.rejections))
    found += [f"{each.code}: {each.first} and {each.second} stay apart"
              for each in refused[:_MOST_LISTED]]
    if compilation.lifted:
        found.append("turned back into operators: "
                     + ", ".join(compilation.lifted[:_MOST_LISTED]))
    found += _fallbacks(compilation)
    return (*found, *_casts(compilation, options), *options.warnings)


def _casts(compilation: Compilation, options: CompileOptions) -> list[str]:
    """Return who removed casts, what brings them back, and who else would.

    Order on a device at level O3: TransOpWithoutReshapeFusionPass, AutoFuse's
    CastRemovePass (gate open, AutoFusePass on), GE's CastRemovePass and
    TransOpSymmetryEliminationPass.
    """
    found = []
    inner = compilation.effects("autofuse", "CastRemovePass")
    own = compilation.effects("ge", "CastRemovePass")
    if inner:
        found.append(
            f"AutoFuse's own CastRemovePass took {inner} casts before GE's could: "
            "ge:CastRemovePass:off does not bring them back; AutoFusePass:off does, "
            "with ge:CastRemovePass:off beside it, since GE's own pass acts then")
    if own:
        found.append(f"GE's CastRemovePass took {own} casts: ge:CastRemovePass:off "
                     "brings them back")
    others = [name for name in _OTHERS_ON_CASTS if is_on(options, "ge", name)]
    if others and (inner or own or _has_round_trip(compilation.stages[0][1])):
        found.append(
            f"{' and '.join(others)}, which the model lacks, may drop the same casts "
            "on a device: off with ge.optimizationSwitch="
            + ";".join(f"{name}:off" for name in others))
    return found


def _has_round_trip(graph: Graph) -> bool:
    """Say whether a cast returns to the dtype from which another cast came."""
    for node in graph:
        before = graph.nodes[node.inputs[0].node] if node.type == "Cast" else node
        if before is not node and before.type == "Cast" and (
                graph.desc(before.inputs[0]).dtype == node.outputs[0].dtype):
            return True
    return False


def _fallbacks(compilation: Compilation) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for name, why in compilation.fallbacks:
        reasons.setdefault(why, []).append(name)
    return [f"not lowered ({why}): {', '.join(names[:_MOST_LISTED])}"
            for why, names in sorted(reasons.items())]
