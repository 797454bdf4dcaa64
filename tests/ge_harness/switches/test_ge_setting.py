from __future__ import annotations

import pytest

from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.switches.ge_plan import plan_ge
from ge_harness.switches.ge_setting import ge_setting

GATE = "--enable_autofuse=true"


def test_options_become_a_setting_that_a_plan_takes():
    setting = ge_setting(
        {"opt_level": "O3", "autofuse_flags": GATE, "autofuse_dfx_flags": "",
         "preset": "", "chip": "910b", "precision_mode_v2": "mixed_float16"},
        ["CommonSubexpressionEliminationPass", "ge:CastRemovePass",
         "ge:CastRemovePass"], ["optimization:AutoFusePass"])
    assert setting.level == "O3"
    assert setting.off == (Switch("ge", "CommonSubexpressionEliminationPass"),
                           Switch("ge", "CastRemovePass"))
    assert setting.on == (Switch("ge", "AutoFusePass"),)
    options = dict(plan_ge(setting, "tf1", "/j").options)
    assert options["precision_mode_v2"] == "mixed_float16"
    assert options["optimization_switch"] == (
        "AutoFusePass:on;CastRemovePass:off;CommonSubexpressionEliminationPass:off")


def test_nothing_asked_is_the_empty_setting():
    assert ge_setting({}) == SwitchSetting()


@pytest.mark.parametrize(("values", "disable", "words"), [
    ({"opt_level": "O2"}, (), "E10001"),
    ({"opt_level": "O1", "preset": "numeric-off"}, (), "numeric-off"),
    ({"autofuse_flags": "--enable_autofuse=True"}, (), "probably meant"),
    ({"chip": "910b", "autofuse_flags": GATE + ";--autofuse_enable_pass=conv"}, (),
     "no effect"),
    ({"deterministic": "2"}, (), "takes one of"),
    ({}, ("CastRemovePass",), "--disable-pass=CastRemovePass"),
    ({}, ("CanFuse",), "no switch reaches"),
])
def test_what_cannot_be_sent_is_refused_before_anything_runs(values, disable, words):
    with pytest.raises(SwitchError) as caught:
        ge_setting(values, disable)
    assert words in str(caught.value)


@pytest.mark.parametrize(("values", "disable", "near"), [
    ({"presicion_mode_v2": "fp16"}, (), "precision_mode_v2"),
    ({"preset": "numericoff"}, (), "numeric-off"),
    ({}, ("MatMulBiasAddFusionPas",), "MatMulBiasAddFusionPass"),
    ({}, ("gee:PrunePass",), "ge"),
])
def test_a_misspelt_name_gets_the_nearest(values, disable, near):
    with pytest.raises(UnknownNameError) as caught:
        ge_setting(values, disable)
    assert caught.value.nearest == near
