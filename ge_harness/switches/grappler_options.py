"""TensorFlow's graph optimizers as switches.

Source: tensorflow/core/protobuf/rewriter_config.proto and the options that
`tf.config.optimizer.set_experimental_options` reads, in tensorflow/python/eager/context
of TensorFlow 1.15, 2.6 and 2.21. Options it does not read are ignored silently, so a
name that a stack lacks is refused here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ge_harness.errors import SwitchError, nearest_name
from ge_harness.records.switch import Switch, SwitchSetting

FAMILY = "grappler"


class Optimizer(NamedTuple):
    """One optimizer.

    Attributes:
        name: as ge_harness and the catalogue call it.
        default_on: it runs unless it is switched off.
        first: first TensorFlow (major, minor) that has a switch for it.
        last: last TensorFlow that has one, None for the newest.
        option: the option's own name where it differs.
        inverted: the option switches the optimizer off.
    """

    name: str
    default_on: bool = True
    first: tuple[int, int] = (1, 15)
    last: tuple[int, int] | None = None
    option: str = ""
    inverted: bool = False


OPTIMIZERS = (
    Optimizer("model_pruning", option="disable_model_pruning", inverted=True),
    Optimizer("implementation_selector"),
    Optimizer("function_optimization"),
    Optimizer("debug_stripper", default_on=False),
    Optimizer("constant_folding"),
    Optimizer("shape_optimization"),
    Optimizer("auto_mixed_precision", default_on=False),
    Optimizer("auto_mixed_precision_onednn_bfloat16", default_on=False, first=(2, 12)),
    Optimizer("pin_to_host_optimization", default_on=False),
    Optimizer("arithmetic_optimization"),
    Optimizer("layout_optimizer"),
    Optimizer("remapping"),
    Optimizer("loop_optimization"),
    Optimizer("dependency_optimization"),
    Optimizer("memory_optimization", last=(1, 15)),
    Optimizer("scoped_allocator_optimization", default_on=False),
    Optimizer("use_plugin_optimizers", first=(2, 5)),
)
# Optimizers of the catalogue that no public option reaches, and what does.
_UNREACHABLE = {
    "common_subgraph_elimination": "it is part of arithmetic_optimization",
    "tfg_optimizer": "TensorFlow 2 reads no option for it",
    "auto_mixed_precision_cpu": "TensorFlow 2 reads no option for it",
    "auto_parallel": "it is off, and needs replicas",
}


def available(version: str) -> tuple[Optimizer, ...]:
    """Return the optimizers that a TensorFlow has a switch for, in their order.

    Args:
        version: "2.21.0"; "" or without numbers gives those of every version.
    """
    numbers = _numbers(version)
    if not numbers:
        return OPTIMIZERS
    return tuple(each for each in OPTIMIZERS if each.first <= numbers
                 and (each.last is None or numbers <= each.last))


def switches(version: str = "") -> tuple[Switch, ...]:
    """Return a switch for each optimizer of a TensorFlow."""
    return tuple(Switch(FAMILY, each.name) for each in available(version))


def check(setting: SwitchSetting, version: str) -> None:
    """Refuse what would not do what it says.

    Raises:
        SwitchError: a level, a value, a switch of another compiler, an unknown name, or
            one that is switched on and off.
    """
    if setting.level:
        raise SwitchError(f"Grappler has no level {setting.level!r}")
    for item in setting.values:
        raise SwitchError(
            f"Grappler takes no value for {item.switch.family} {item.switch.name!r}; "
            "its optimizers are switched on and off")
    for switch in setting.off + setting.on:
        _check_one(switch, version)
    both = sorted({each.name for each in setting.off} & {
        each.name for each in setting.on})
    if both:
        raise SwitchError(f"Grappler: {both[0]!r} is switched off and on")


def _check_one(switch: Switch, version: str) -> None:
    if switch.family != FAMILY:
        raise SwitchError(
            f"Grappler has no switch of the family {switch.family!r} ({switch.name!r})")
    known = [each.name for each in available(version)]
    if switch.name in known:
        return
    stack = f"TensorFlow {version}" if version else "this TensorFlow"
    if switch.name in _UNREACHABLE:
        raise SwitchError(f"Grappler: {switch.name!r} cannot be switched on {stack}: "
                          f"{_UNREACHABLE[switch.name]}")
    if switch.name in {each.name for each in OPTIMIZERS}:
        raise SwitchError(f"Grappler: {stack} has no switch for {switch.name!r} and "
                          "would silently ignore it")
    near = nearest_name(switch.name, known)
    hint = f" Did you mean {near!r}?" if near else ""
    raise SwitchError(f"unknown Grappler optimizer {switch.name!r}; known on {stack}: "
                      f"{', '.join(sorted(known))}.{hint}")


def options(setting: SwitchSetting, version: str,
            also_off: str = "", also_on: str = "") -> dict[str, bool | None]:
    """Return what `set_experimental_options` is given.

    Every option is named, None for TensorFlow's default, so that one call replaces the
    one before.

    Args:
        setting: checked with `check`.
        version: version of TensorFlow.
        also_off: one more optimizer to switch off, "" for none.
        also_on: one that stays on although the setting switches it off.
    """
    off = ({each.name for each in setting.off} | {also_off}) - {also_on}
    on = {each.name for each in setting.on} - {also_off}
    found: dict[str, bool | None] = {}
    for each in available(version):
        wanted = False if each.name in off else True if each.name in on else None
        if wanted is not None and each.inverted:
            wanted = not wanted
        if wanted is None and each.inverted:
            wanted = False
        found[each.option or each.name] = wanted
    return found


def active(setting: SwitchSetting, version: str) -> tuple[str, ...]:
    """Return the optimizers that run under a setting, in their order."""
    off = {each.name for each in setting.off}
    on = {each.name for each in setting.on}
    return tuple(each.name for each in available(version)
                 if (each.default_on or each.name in on) and each.name not in off)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
