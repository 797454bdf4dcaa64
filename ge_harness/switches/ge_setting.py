"""From the options of the command line to the setting of a run on GE.

The emulator takes the same options; nothing here depends on which of the two runs.
"""

from __future__ import annotations

from typing import Iterable, Mapping

from ge_harness.errors import SwitchError
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.switches.autofuse_flags import check_flags
from ge_harness.switches.autofuse_keys import DFX_FLAGS, FLAGS
from ge_harness.switches.ge_level import level_recipe
from ge_harness.switches.ge_options import TF1, canonical_name, parse_option
from ge_harness.switches.ge_plan import FAMILY_AUTOFUSE, FAMILY_OPTION, PRESET
from ge_harness.switches.pass_switch import choose, resolve_switch


def ge_setting(values: Mapping[str, str], disable: Iterable[str] = (),
               enable: Iterable[str] = (), route: str = TF1) -> SwitchSetting:
    """Return the setting that the options ask for, checked as far as it can be here.

    Args:
        values: option -> text: "opt_level", "preset", "autofuse_flags",
            "autofuse_dfx_flags", "chip", and any option of the TensorFlow adapter, e.g.
            "precision_mode_v2". Empty texts count as not given.
        disable: names to switch off, NAME or FAMILY:NAME.
        enable: names to switch on.
        route: one of `ge_options.ROUTES`; what is only known on the device is checked
            again by `plan_ge`.

    Raises:
        SwitchError: something that cannot be sent or would not do what it says.
        UnknownNameError: a level, preset, option or pass nobody knows.
    """
    given = {name: text for name, text in values.items() if text}
    chip = given.pop("chip", "")
    level = given.pop("opt_level", "")
    preset = given.pop("preset", "")
    recipe = level_recipe(level, preset, route)
    found = []
    for option, variable in (("autofuse_flags", FLAGS),
                             ("autofuse_dfx_flags", DFX_FLAGS)):
        text = given.pop(option, "")
        if text:
            check_flags(text, variable, chip)
            found.append(SwitchValue(Switch(FAMILY_AUTOFUSE, variable), text))
    if preset:
        found.append(SwitchValue(Switch(FAMILY_OPTION, PRESET), preset))
    for name, text in sorted(given.items()):
        parse_option(name, text, route)
        found.append(SwitchValue(
            Switch(FAMILY_OPTION, canonical_name(name, route)), text))
    return SwitchSetting(
        level, _switches(disable, False, recipe.level, route),
        _switches(enable, True, recipe.level, route), tuple(found))


def _switches(names: Iterable[str], on: bool, level: str, route: str
              ) -> tuple[Switch, ...]:
    switches = []
    for text in names:
        option = "--enable-pass" if on else "--disable-pass"
        try:
            switch = resolve_switch(text)
            choose(switch, on, level, route)
        except SwitchError as error:
            raise SwitchError(f"{option}={text}: {error}") from error
        switches.append(switch)
    return tuple(dict.fromkeys(switches))
