from __future__ import annotations

import pytest

from ge_harness import catalogue
from ge_harness.errors import SwitchError
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.switches import grappler_options


def _off(*names):
    return SwitchSetting(off=tuple(Switch("grappler", name) for name in names))


def test_each_stack_has_the_switches_its_options_have():
    names = {version: {each.name for each in grappler_options.available(version)}
             for version in ("1.15.5", "2.6.5", "2.21.0")}
    assert "memory_optimization" in names["1.15.5"]
    assert "memory_optimization" not in names["2.6.5"]
    assert "use_plugin_optimizers" not in names["1.15.5"]
    assert "auto_mixed_precision_onednn_bfloat16" in names["2.21.0"]
    assert "auto_mixed_precision_onednn_bfloat16" not in names["2.6.5"]
    assert names["2.6.5"] > {"constant_folding", "arithmetic_optimization", "remapping"}


def test_every_optimizer_is_in_the_catalogue():
    for each in grappler_options.OPTIMIZERS:
        assert catalogue.lookup("grappler", each.name) is not None, each.name


@pytest.mark.parametrize(("setting", "expected"), [
    (_off("remaping"), "Did you mean 'remapping'"),
    (_off("memory_optimization"), "silently ignore"),
    (_off("common_subgraph_elimination"), "part of arithmetic_optimization"),
    (SwitchSetting(off=(Switch("hlo_pass", "fusion"),)), "no switch of the family"),
    (SwitchSetting(level="O1"), "no level"),
    (SwitchSetting(values=(SwitchValue(Switch("grappler", "remapping"), "2"),)),
     "takes no value"),
    (SwitchSetting(off=(Switch("grappler", "remapping"),),
                   on=(Switch("grappler", "remapping"),)), "off and on"),
])
def test_what_grappler_would_ignore_is_refused(setting, expected):
    with pytest.raises(SwitchError, match=expected):
        grappler_options.check(setting, "2.21.0")


def test_options_name_every_optimizer_so_that_a_call_replaces_the_last():
    plain = grappler_options.options(SwitchSetting(), "2.21.0")
    assert {value for name, value in plain.items()
            if name != "disable_model_pruning"} == {None}
    changed = grappler_options.options(
        SwitchSetting(off=(Switch("grappler", "remapping"),
                           Switch("grappler", "model_pruning")),
                      on=(Switch("grappler", "debug_stripper"),)), "2.21.0")
    assert set(changed) == set(plain)
    assert changed["remapping"] is False
    assert changed["debug_stripper"] is True
    assert changed["disable_model_pruning"] is True


def test_one_more_is_switched_off_or_kept_on():
    setting = _off("remapping")
    off = grappler_options.options(setting, "2.6.5", also_off="constant_folding")
    assert off["remapping"] is False
    assert off["constant_folding"] is False
    assert grappler_options.options(
        setting, "2.6.5", also_on="remapping")["remapping"] is None


def test_active_optimizers_are_the_default_ones_and_those_switched_on():
    setting = SwitchSetting(off=(Switch("grappler", "remapping"),),
                            on=(Switch("grappler", "debug_stripper"),))
    active = grappler_options.active(setting, "1.15.5")
    assert "remapping" not in active
    assert "debug_stripper" in active
    assert "auto_mixed_precision" not in active
    assert "constant_folding" in active
