"""Which switches a bisection turns, in which order, and what turning one means.

Order is what the search lives on: passes that were active and can change numbers come
first, then flags and other active passes, then the rest. A pass that changed nothing
in the run is not tried where there are many (XLA, GE): switching it off can change
nothing either, until others are off.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Callable, Iterable, Sequence

from ge_harness import catalogue
from ge_harness.errors import UnknownNameError
from ge_harness.experiment.judge import can_change_numbers
from ge_harness.records.switch import (
    ActivePass,
    Switch,
    SwitchSetting,
    SwitchValue,
)
from ge_harness.switches import xla_flags
from ge_harness.switches.autofuse_config import AutofuseConfig, read_config
from ge_harness.switches.autofuse_keys import DFX_FLAGS, ENABLE_PASS, FLAGS, PASSES
from ge_harness.switches.ge_level import MUST_STAY

AUTOFUSE = "autofuse"
FUSION_SIZE = "--max_fusion_size"
_AUTOFUSE_PASS = Switch("ge", "AutoFusePass")
# Flag -> (value that switches its effect off, class of that effect).
# Source: reference/xla_cpu.md sections 2 and 4.
XLA_OFF = {
    "xla_cpu_enable_fast_math": ("false", "mixed"),
    "xla_allow_excess_precision": ("false", "upcast"),
    "xla_backend_optimization_level": ("0", "instruction"),
}
_LATE_FLAGS = ("xla_backend_optimization_level",)
_KIND_CLASS = {"reduce": "accumulation"}
_MANY = ("xla", "ge")
_AUTOFUSED = {("ge", "AutoFusePass")}


@dataclass(frozen=True)
class Knob:
    """One switch of the search.

    Attributes:
        switch: what is turned off.
        precision_class: class of what it takes away.
        group: 0 for suspects, 1 for what else is likely, 2 for the rest.
    """

    switch: Switch
    precision_class: str
    group: int = 0

    @property
    def key(self) -> str:
        """Its name in the search."""
        return key(self.switch)


@dataclass(frozen=True)
class Pool:
    """The switches of a search in order.

    Attributes:
        knobs: the most likely first.
        left_out: (key, why) pairs of what is not tried.
    """

    knobs: tuple[Knob, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def rungs(self) -> tuple[int, ...]:
        """Lengths up to which each group reaches."""
        groups = [knob.group for knob in self.knobs]
        return tuple(sum(group <= last for group in groups) for last in (0, 1))


def key(switch: Switch) -> str:
    """Return the name of a switch in the search."""
    return f"{switch.family}:{switch.name}"


def apply(setting: SwitchSetting, off: Iterable[Switch]) -> SwitchSetting:
    """Return a setting with more switches off; what was on by name is off then."""
    off = tuple(off)
    flags = [each for each in off if each.family == xla_flags.FLAG]
    entries = [each.name for each in off if _is_entry(each)]
    plain = [each for each in off if each not in flags and not _is_entry(each)]
    values = [value for value in setting.values if value.switch not in flags]
    values += [SwitchValue(each, XLA_OFF[each.name][0]) for each in flags]
    if entries:
        values = [dataclasses.replace(value, value=without(value.value, entries))
                  if value.switch == Switch(AUTOFUSE, FLAGS) else value
                  for value in values]
    return dataclasses.replace(
        setting, off=tuple(dict.fromkeys((*setting.off, *plain))), values=tuple(values),
        on=tuple(each for each in setting.on if each not in plain))


def without(text: str, entries: Iterable[str]) -> str:
    """Return AUTOFUSE_FLAGS with kinds of fusion taken out, or fusion of size 0.

    Args:
        text: AUTOFUSE_FLAGS.
        entries: "--max_fusion_size" or "--autofuse_enable_pass=KIND".
    """
    entries = set(entries)
    parts = []
    for part in (part for part in text.split(";") if part):
        name, _, value = part.partition("=")
        if name == ENABLE_PASS:
            kinds = [kind for kind in value.split(",")
                     if f"{ENABLE_PASS}={kind.strip()}" not in entries]
            part = f"{ENABLE_PASS}={','.join(kinds)}" if kinds else ""
        elif name == FUSION_SIZE and FUSION_SIZE in entries:
            part = ""
        parts += [part] if part else []
    if FUSION_SIZE in entries:
        parts.append(f"{FUSION_SIZE}=0")
    return ";".join(parts)


def pool(backend: str, available: Sequence[Switch], active: Sequence[ActivePass],
         setting: SwitchSetting, refused: Callable[[Switch], str], *,
         everything: bool = False) -> Pool:
    """Return the switches to search.

    Args:
        backend: name of the backend.
        available: what it can switch.
        active: the active passes of the runs so far.
        setting: of the run with nothing more switched off.
        refused: why a switch cannot be sent under this setting, "" where it can.
        everything: also take passes that were not active, whatever the backend.
    """
    numbers = {(each.family, each.name) for each in active if can_change_numbers(each)}
    acting = {(each.family, each.name) for each in active}
    found: list[Knob] = []
    left: list[tuple[str, str]] = []
    for switch in dict.fromkeys((*_unlisted(backend, active), *available)):
        pair = (switch.family, switch.name)
        if switch.family == xla_flags.FLAG:
            continue
        inactive = pair not in acting and switch != _AUTOFUSE_PASS
        if backend in _MANY and inactive and not everything:
            continue
        group = 0 if pair in numbers else 1 if pair in acting else 2
        found.append(Knob(switch, precision_class(switch), group))
    found = _with_autofuse(found, setting, bool(numbers & _AUTOFUSED) or any(
        family == AUTOFUSE for family, _ in numbers))
    if backend == "xla":
        found += _flag_knobs()
    kept = []
    for knob in sorted(found, key=lambda each: each.group):
        why = idle(knob.switch, setting) or refused(knob.switch)
        if why:
            left.append((knob.key, why))
        else:
            kept.append(knob)
    return Pool(tuple(kept), tuple(left))


def _unlisted(backend: str, active: Sequence[ActivePass]) -> list[Switch]:
    """Return active passes of XLA that the catalogue lacks: any name can be off."""
    if backend != "xla":
        return []
    return [Switch(each.family, each.name) for each in active
            if each.precision_class == "unknown"
            and "--xla_disable_hlo_passes" in each.switch_off]


def _flag_knobs() -> list[Knob]:
    return [Knob(Switch(xla_flags.FLAG, name), kind, 2 if name in _LATE_FLAGS else 1)
            for name, (_, kind) in XLA_OFF.items()]


def _with_autofuse(found: list[Knob], setting: SwitchSetting, suspect: bool
                   ) -> list[Knob]:
    """Put AutoFuse's finer switches before the one that stops all of it."""
    config = _autofuse(setting)
    if not config.enabled:
        return found
    group = 0 if suspect else 1
    mine = [Knob(Switch(AUTOFUSE, f"{ENABLE_PASS}={kind}"),
                 _KIND_CLASS.get(kind, "none"), group) for kind in config.passes]
    if config.max_fusion_size:
        mine.append(Knob(Switch(AUTOFUSE, FUSION_SIZE), "mixed", group))
    own = [knob for knob in found if knob.switch == _AUTOFUSE_PASS]
    mine += [dataclasses.replace(knob, group=group) for knob in own]
    return [*(knob for knob in found if knob not in own), *mine]


def _autofuse(setting: SwitchSetting) -> AutofuseConfig:
    text = {value.switch.name: value.value for value in setting.values
            if value.switch.family == AUTOFUSE}
    return read_config(text.get(FLAGS, ""), text.get(DFX_FLAGS, ""))


def idle(switch: Switch, setting: SwitchSetting) -> str:
    """Return why a switch cannot be turned off, or would do nothing, "" if neither."""
    if switch in setting.off:
        return "off already"
    if switch.family in ("ge", "graph_fusion", "ub_fusion") and (
            switch.name in MUST_STAY):
        return f"a compile needs it: {MUST_STAY[switch.name]}"
    if switch.family == xla_flags.FLAG and any(
            value.switch == switch for value in setting.values):
        return "given a value already"
    return _idle_entry(switch.name, setting) if _is_entry(switch) else ""


def _idle_entry(name: str, setting: SwitchSetting) -> str:
    config = _autofuse(setting)
    kind = name.partition("=")[2]
    if not config.enabled:
        return ("it acts on AutoFuse, which is off; open it with "
                "--autofuse-flags='--enable_autofuse=true'")
    if kind and kind not in config.passes:
        return f"AUTOFUSE_FLAGS does not switch {kind} on: nothing to take out"
    return "" if kind or config.max_fusion_size else "it is 0 already"


def entry(name: str) -> Switch:
    """Return the entry of AUTOFUSE_FLAGS that a name means.

    Raises:
        UnknownNameError: it is none that can be searched.
    """
    known = (FUSION_SIZE, *(f"{ENABLE_PASS}={kind}" for kind in PASSES))
    if name not in known:
        raise UnknownNameError("entry of AUTOFUSE_FLAGS to search", name, known)
    return Switch(AUTOFUSE, name)


def precision_class(switch: Switch) -> str:
    """Return the class of what a switch takes away."""
    if switch.family == xla_flags.FLAG:
        return XLA_OFF[switch.name][1] if switch.name in XLA_OFF else "unknown"
    if _is_entry(switch):
        return _KIND_CLASS.get(switch.name.partition("=")[2], "mixed")
    if switch.family == "node":
        return "mixed"
    info = catalogue.lookup(switch.family, switch.name)
    return info.precision_class if info else "unknown"


def _is_entry(switch: Switch) -> bool:
    return switch.family == AUTOFUSE and switch.name.startswith("--")


def write(switch: Switch, level: str = "") -> str:
    """Return how a switch is switched off by hand, in words of the compiler."""
    if switch.family == xla_flags.FLAG:
        return f"XLA_FLAGS=--{switch.name}={XLA_OFF[switch.name][0]}"
    if switch.name == FUSION_SIZE:
        return f"AUTOFUSE_FLAGS with {FUSION_SIZE}=0"
    if _is_entry(switch):
        return f"AUTOFUSE_FLAGS without {switch.name}"
    if switch.family == "node":
        return ("skip_node_names_cfg (AUTOFUSE_DFX_FLAGS), or the scope "
                "disable_autofuse around the operator")
    info = catalogue.lookup(switch.family, switch.name)
    if info is not None and info.switch_off:
        return info.switch_off
    return f"XLA_FLAGS=--xla_disable_hlo_passes={switch.name}"
