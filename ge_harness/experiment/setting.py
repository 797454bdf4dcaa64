"""From names on the command line to the switches of one backend.

Each compiler has switches of its own; asking one for another's is refused here, so that
no option is a silent no-op.
"""

from __future__ import annotations

import dataclasses
from typing import Iterable

from ge_harness.backends import ge_route, tf_loader
from ge_harness.backends.emulator import params
from ge_harness.errors import SwitchError
from ge_harness.records.switch import FAMILIES, Switch, SwitchSetting
from ge_harness.switches import xla_flags
from ge_harness.switches.ge_setting import ge_setting

_OWN_FAMILY = {"xla": "hlo_pass", "grappler": "grappler"}
GE_OPTION = "ge_option"
_EMULATOR_ONLY = ("ensemble", "emulator_param")
_MODELED_OPTIONS = ("oo_constant_folding",)


@dataclasses.dataclass(frozen=True)
class Asked:
    """The switches as the user wrote them.

    Attributes:
        disable: names to switch off, "family:name" or "name".
        enable: names to switch on.
        xla_flags: string of XLA flags.
        grappler: "on", "off" or "" for the default.
        ge: (option, text) pairs that only GE and its emulator take; `GE_OPTION` holds
            NAME=VALUE of an option of the adapter.
    """

    disable: tuple[str, ...] = ()
    enable: tuple[str, ...] = ()
    xla_flags: str = ""
    grappler: str = ""
    ge: tuple[tuple[str, str], ...] = ()


def build(backend: str, asked: Asked) -> SwitchSetting:
    """Return the setting of a backend.

    Raises:
        SwitchError: a switch that this backend does not have.
    """
    if backend == "ge":
        return _ge(asked)
    if backend == "emulator":
        return _emulator(asked)
    for option, value in asked.ge:
        owners = "emulator has" if option in _EMULATOR_ONLY else "ge and emulator have"
        raise SwitchError(f"--{option.replace('_', '-')}={value}: only {owners} it, "
                          f"{backend} does not{_instead(backend, option)}")
    if asked.xla_flags and backend != "xla":
        raise SwitchError(f"--xla-flags goes with --backend=xla, not {backend}")
    if asked.grappler and backend not in ("xla", "ge", "emulator"):
        raise SwitchError(f"--grappler={asked.grappler}: {backend} has no graph "
                          "optimizers before it that could be switched")
    setting = SwitchSetting(off=_switches(backend, asked.disable, "--disable-pass"),
                            on=_switches(backend, asked.enable, "--enable-pass"))
    if asked.xla_flags:
        setting = xla_flags.extend(setting, asked.xla_flags)
    if backend == "xla":
        xla_flags.check(setting)
    return setting


def _ge(asked: Asked) -> SwitchSetting:
    if asked.xla_flags:
        raise SwitchError("--xla-flags goes with --backend=xla, not ge")
    values: dict[str, str] = {}
    for option, text in asked.ge:
        if option in _EMULATOR_ONLY:
            raise SwitchError(f"--{option.replace('_', '-')}={text}: only the emulator "
                              "has it; on a device there is nothing to model")
        name, separator, value = text.partition("=")
        if option != GE_OPTION:
            name, value = option, text
        elif not separator or not name or not value:
            raise SwitchError(f"--ge-option={text}: expected NAME=VALUE")
        if values.setdefault(name, value) != value:
            raise SwitchError(f"{name} is given twice")
    return ge_setting(values, asked.disable, asked.enable,
                      ge_route.route_of(tf_loader.installed()))


def _emulator(asked: Asked) -> SwitchSetting:
    """The emulator takes what GE takes, and parameters of its own."""
    if asked.xla_flags:
        raise SwitchError("--xla-flags goes with --backend=xla, not emulator")
    if asked.grappler == "on":
        raise SwitchError("--grappler=on: the emulator has no TensorFlow in its "
                          "process to rewrite the graph; --backend=grappler shows "
                          "what it does")
    values: dict[str, str] = {}
    parameters: list[str] = []
    for option, text in asked.ge:
        if option == GE_OPTION:
            name, _, value = text.partition("=")
            if name not in _MODELED_OPTIONS:
                raise SwitchError(f"--ge-option={text}: the emulator models "
                                  f"{', '.join(_MODELED_OPTIONS)} only")
            values[name] = value
        elif option == "emulator_param":
            parameters.append(text)
        elif option not in _EMULATOR_ONLY:
            values[option] = text
    _once(parameters)
    params.parse(parameters)
    return ge_setting(values, asked.disable, asked.enable)


def _once(parameters: Iterable[str]) -> None:
    """Refuse two values for one parameter: one of them would do nothing."""
    held: dict[str, str] = {}
    for text in parameters:
        name, _, value = text.partition("=")
        if held.setdefault(name.strip(), value.strip()) != value.strip():
            raise SwitchError(f"--emulator-param={name.strip()} is given twice, as "
                              f"{held[name.strip()]!r} and {value.strip()!r}")


def _switches(backend: str, names: Iterable[str], option: str) -> tuple[Switch, ...]:
    found = []
    for text in names:
        if backend not in _OWN_FAMILY:
            raise SwitchError(f"{option}={text}: {backend} has no passes to switch; it "
                              "is a base line")
        family, separator, name = text.partition(":")
        if not separator or family not in FAMILIES:
            family, name = _OWN_FAMILY[backend], text
        if family != _OWN_FAMILY[backend]:
            raise SwitchError(f"{option}={text}: {backend} has passes of the family "
                              f"{_OWN_FAMILY[backend]}, not {family}")
        found.append(Switch(family, name))
    return tuple(dict.fromkeys(found))


def _instead(backend: str, option: str) -> str:
    if backend == "xla" and option == "opt_level":
        return "; XLA's is --xla-flags=--xla_backend_optimization_level=N"
    return ""
