from __future__ import annotations

import pytest

from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.switches.ge_plan import plan_ge
from ge_harness.switches.ge_readback import (
    held_options,
    mismatches,
    option_effects,
)


def _plan(route="tf1"):
    return plan_ge(SwitchSetting("O3", off=(Switch("ge", "PrunePass"),)), route, "/j")


def _blocks(plan, **changed):
    held = dict(plan.ge_options)
    held.update(changed)
    return {"GlobalOptions": held}


@pytest.mark.parametrize("route", ["tf1", "tf2_session", "tf2_native"])
def test_what_ge_holds_as_sent_is_proved(route):
    plan = _plan(route)
    effects = option_effects(plan, _blocks(plan), "dump.txt")
    assert {effect.status for effect in effects} == {"proved"}
    assert mismatches(plan, _blocks(plan), "dump.txt") == ()


def test_the_session_hides_the_global_value_as_a_whole():
    blocks = {"GlobalOptions": {"a": "1", "b": "2"}, "SessionOptions": {"a": "3"},
              "GraphOptions": {}, "Other": {"b": "9"}}
    assert held_options(blocks) == {"a": "3", "b": "2"}
    plan = _plan("tf2_native")
    blocks = _blocks(plan)
    blocks["SessionOptions"] = {"ge.optimizationSwitch": "forbidden_close_pass:on"}
    assert "does not hold PrunePass" in mismatches(plan, blocks, "dump.txt")[0]


def test_a_token_glued_to_the_adapters_own_is_found_lost():
    plan = _plan()
    blocks = _blocks(plan, **{
        "ge.optimizationSwitch": "PrunePass:offforbidden_close_pass:on"})
    found = mismatches(plan, blocks, "dump.txt")
    assert "lost: PrunePass:offforbidden_close_pass:on" in found[0]


def test_another_level_is_a_mismatch_and_a_missing_option_is_only_unproved():
    plan = _plan()
    blocks = _blocks(plan, **{"ge.oo.level": "O1"})
    del blocks["GlobalOptions"]["ge.deterministic"]
    assert [text for text in mismatches(plan, blocks, "d") if "sent was 'O3'" in text]
    statuses = {effect.switch.name: effect.status
                for effect in option_effects(plan, blocks, "d")}
    assert statuses["ge.deterministic"] == statuses["ge.oo.level"] == "unproved"
    assert not any("deterministic" in text for text in mismatches(plan, blocks, "d"))


def test_one_and_true_are_the_same_word():
    plan = plan_ge(SwitchSetting("O0"), "tf2_native", "/j")
    blocks = _blocks(plan, **{"ge.oo.constantFolding": "0"})
    assert mismatches(plan, blocks, "d") == ()
