"""Switches that a user names, or that the catalogue offers where nothing was run."""

from __future__ import annotations

from typing import Callable, Iterable, Sequence

from ge_harness import catalogue
from ge_harness.backends.table import BACKENDS
from ge_harness.bisect import knobs
from ge_harness.bisect.knobs import Knob, Pool, apply
from ge_harness.errors import SwitchError, UnavailableError, UsageError
from ge_harness.records.ge import GeRequest
from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.switches import grappler_options, xla_flags
from ge_harness.switches.ge_level import level_recipe
from ge_harness.switches.ge_options import TF1
from ge_harness.switches.ge_plan import plan_ge
from ge_harness.switches.pass_switch import resolve_switch

GRANULARITIES = ("pass", "op")
_NO_NODES = {
    "xla": "XLA has no switch for single operators",
    "grappler": "Grappler has no switch for single operators",
}
_OF_GE = ("ge", "emulator")
_JOB = "/job"
_LEVELS = ("O0", "O1", "O2", "O3")
_SURE = {"certain": 0, "likely": 1, "guess": 2}
Refused = Callable[[Switch], str]


def check_granularity(granularity: str, backend: str) -> None:
    """Say in one line where operators cannot be searched.

    Raises:
        UnavailableError: the backend has no switch for single operators.
    """
    if granularity == "op" and backend in _NO_NODES:
        raise UnavailableError(f"--granularity=op: {_NO_NODES[backend]}; it is there "
                               "with ge and emulator")


def named(backend: str, names: Sequence[str], refused: Refused) -> Pool:
    """Return the switches that a user names, in that order.

    Raises:
        UnknownNameError: nobody knows the name.
        SwitchError: it cannot be sent, or would do nothing.
    """
    found = []
    for text in dict.fromkeys(names):
        switch = _named(backend, text)
        why = refused(switch)
        if why:
            raise SwitchError(f"--pass={text}: {why}")
        found.append(Knob(switch, knobs.precision_class(switch)))
    return Pool(tuple(dict.fromkeys(found)))


def _named(backend: str, text: str) -> Switch:
    family, colon, name = text.partition(":")
    if backend == "xla":
        if colon and family == xla_flags.FLAG:
            if name not in knobs.XLA_OFF:
                raise SwitchError(f"--pass={text}: flags to search are "
                                  f"{', '.join(sorted(knobs.XLA_OFF))}")
            return Switch(family, name)
        return Switch(xla_flags.PASS, xla_flags.check_pass_name(
            name if family == xla_flags.PASS else text))
    if backend == "grappler":
        return Switch(grappler_options.FAMILY,
                      name if family == grappler_options.FAMILY else text)
    if family == knobs.AUTOFUSE and name.startswith("--"):
        return knobs.entry(name)
    return resolve_switch(text)


def warnings(backend: str, setting: SwitchSetting, chip: str) -> tuple[str, ...]:
    """Return what must be said of a setting before GE gets it."""
    if backend not in _OF_GE:
        return ()
    return plan_ge(setting, TF1, _JOB, GeRequest(chip=chip)).warnings


def unlisted(pool: Iterable[Knob]) -> tuple[str, ...]:
    """Return a sentence for each HLO pass that may be misspelt."""
    known = xla_flags.known_passes()
    names = [knob.switch.name for knob in pool if knob.switch.family == xla_flags.PASS
             and knob.switch.name not in known]
    nearest = {name: xla_flags.nearest_pass(name, known) for name in names}
    return tuple(
        f"no HLO pass {name!r} is in the catalogue, and XLA ignores a name it does not "
        "know" + (f"; did you mean {near!r}?" if near else "")
        for name, near in nearest.items())


def of_catalogue(backend: str, setting: SwitchSetting, refused: Refused) -> Pool:
    """Return the switches of the catalogue that can change numbers under a setting.

    For a command nobody knows which passes are active: those of the level go first by
    how certain their class is.
    """
    switches = BACKENDS.load(backend)().switches()
    infos = [(switch, catalogue.lookup(switch.family, switch.name))
             for switch in switches]
    level = _level(backend, setting)
    wanted = [(switch, info) for switch, info in infos
              if info is not None and info.precision_class not in ("none", "")
              and not info.switch_off.startswith("off by default")
              and (info.level not in _LEVELS or info.level in level)]
    wanted.sort(key=lambda pair: _SURE.get(pair[1].certainty, 3))
    acting = [switch for switch, _ in wanted]
    whole = knobs.pool(backend, acting, (), setting, refused, everything=True)
    sure = {switch for switch, info in wanted if info.certainty == "certain"}
    ordered = sorted((Knob(knob.switch, knob.precision_class,
                           0 if knob.switch in sure or knob.group < 2 else 1)
                      for knob in whole.knobs), key=lambda knob: knob.group)
    return Pool(tuple(ordered), whole.left_out)


def _level(backend: str, setting: SwitchSetting) -> Sequence[str]:
    if backend not in _OF_GE:
        return _LEVELS
    sent = level_recipe(setting.level, "", TF1).level
    return _LEVELS[:_LEVELS.index(sent) + 1]


def refused(backend: str, setting: SwitchSetting, switch: Switch, chip: str) -> str:
    """Return why a switch cannot be sent, or does nothing, "" where it can act."""
    why = knobs.idle(switch, setting)
    if why:
        return why
    whole = apply(setting, (switch,))
    try:
        if backend == "xla":
            xla_flags.check(whole)
        elif backend == "grappler":
            grappler_options.check(whole, "")
        else:
            plan_ge(whole, TF1, _JOB, GeRequest(chip=chip))
    except UsageError as error:
        return str(error)
    return ""
