"""Which switches are searched, in which order, and what turning one off means."""

from __future__ import annotations

import pytest

from ge_harness.backends.emulator.backend import EmulatorBackend
from ge_harness.backends.xla import XlaBackend
from ge_harness.bisect import choices, knobs
from ge_harness.bisect.reproduce import run_command
from ge_harness.errors import SwitchError, UnavailableError, UnknownNameError
from ge_harness.experiment import setting
from ge_harness.records.switch import ActivePass, Switch, SwitchSetting, SwitchValue
from ge_harness.switches.autofuse_flags import check_flags

FLAGS = Switch("autofuse", "AUTOFUSE_FLAGS")
GATE = "--enable_autofuse=true"


def active(family, name, kind, dtypes=("float16",)):
    return ActivePass(family, name, "", kind, "certain", "seen", "flag", dtypes)


def ge_setting(flags, **more):
    return SwitchSetting(values=(SwitchValue(FLAGS, flags),), **more)


def never(switch):
    return ""


@pytest.mark.parametrize(("entry", "text", "expected"), [
    ("--max_fusion_size", GATE, GATE + ";--max_fusion_size=0"),
    ("--max_fusion_size", GATE + ";--max_fusion_size=8", GATE + ";--max_fusion_size=0"),
    ("--autofuse_enable_pass=reduce", GATE + ";--autofuse_enable_pass=reduce,concat",
     GATE + ";--autofuse_enable_pass=concat"),
    ("--autofuse_enable_pass=reduce", GATE + ";--autofuse_enable_pass=reduce", GATE),
    ("--autofuse_enable_pass=slice", GATE + ";--autofuse_enable_pass=reduce",
     GATE + ";--autofuse_enable_pass=reduce"),
])
def test_an_entry_of_the_flags_is_rewritten_and_the_rest_stays(entry, text, expected):
    off = knobs.apply(ge_setting(text), [Switch("autofuse", entry)])
    assert off.values == (SwitchValue(FLAGS, expected),)
    check_flags(expected, "AUTOFUSE_FLAGS", "910b")


def test_a_pass_is_switched_off_once_and_no_longer_on():
    switch = Switch("grappler", "remapping")
    before = SwitchSetting(on=(switch, Switch("grappler", "debug_stripper")))
    after = knobs.apply(before, [switch, switch])
    assert after.off == (switch,)
    assert after.on == (Switch("grappler", "debug_stripper"),)
    assert knobs.apply(before, []) == before


def test_a_flag_of_xla_gets_the_value_that_takes_its_effect_away():
    switch = Switch("xla_flag", "xla_cpu_enable_fast_math")
    after = knobs.apply(SwitchSetting(), [switch, Switch("hlo_pass", "fusion")])
    assert after.values == (SwitchValue(switch, "false"),)
    assert after.off == (Switch("hlo_pass", "fusion"),)


def test_suspects_come_first_then_flags_and_other_active_passes_of_xla():
    pool = knobs.pool("xla", XlaBackend().switches(), (
        active("hlo_pass", "dce", "none"), active("hlo_pass", "fusion", "mixed"),
        active("hlo_pass", "algsimp", "algorithm", ("int32",)),
        ActivePass("hlo_pass", "brand-new", "", "unknown", "unknown", "seen",
                   "XLA_FLAGS=--xla_disable_hlo_passes=brand-new")),
        SwitchSetting(), never)
    names = [knob.switch.name for knob in pool.knobs]
    assert set(names[:pool.rungs[0]]) == {"fusion", "brand-new"}
    assert set(names[pool.rungs[0]:pool.rungs[1]]) == {
        "dce", "algsimp", "xla_cpu_enable_fast_math", "xla_allow_excess_precision"}
    assert names[pool.rungs[1]:] == ["xla_backend_optimization_level"]


def test_the_finer_switches_of_autofuse_come_before_the_one_that_stops_it():
    pool = knobs.pool("emulator", EmulatorBackend().switches(), (
        active("ge", "AutoFusePass", "mixed"),),
        ge_setting(GATE + ";--autofuse_enable_pass=reduce"), never)
    names = [knob.key for knob in pool.knobs[:pool.rungs[0]]]
    assert names == ["autofuse:--autofuse_enable_pass=reduce",
                     "autofuse:--max_fusion_size", "ge:AutoFusePass"]
    assert len(pool.knobs) > 20
    closed = knobs.pool("emulator", EmulatorBackend().switches(), (), SwitchSetting(),
                        never)
    assert not [knob for knob in closed.knobs if "--" in knob.key]


def test_what_must_stay_or_cannot_be_sent_is_left_out_with_its_reason():
    infer = Switch("ge", "InferShapePass")
    pool = knobs.pool("ge", (infer, Switch("ge", "CastRemovePass"),
                             Switch("ge", "ConstantFoldingPass")), (
        active("ge", "InferShapePass", "mixed"),
        active("ge", "CastRemovePass", "upcast"),
        active("ge", "ConstantFoldingPass", "algorithm")),
        SwitchSetting(off=(Switch("ge", "ConstantFoldingPass"),)),
        lambda switch: "no" if switch.name == "CastRemovePass" else "")
    assert not pool.knobs
    reasons = dict(pool.left_out)
    assert "a compile needs it" in reasons["ge:InferShapePass"]
    assert reasons["ge:CastRemovePass"] == "no"
    assert reasons["ge:ConstantFoldingPass"] == "off already"


def test_names_of_a_user_are_taken_in_their_order_and_checked():
    pool = choices.named("xla", ("xla_flag:xla_cpu_enable_fast_math", "algsimp",
                                 "algsimp"), never)
    assert [knob.key for knob in pool.knobs] == [
        "xla_flag:xla_cpu_enable_fast_math", "hlo_pass:algsimp"]
    ge = choices.named("ge", ("AutoFusePass", "node:Add_1",
                              "autofuse:--max_fusion_size"), never)
    assert [knob.key for knob in ge.knobs] == [
        "ge:AutoFusePass", "node:Add_1", "autofuse:--max_fusion_size"]
    with pytest.raises(UnknownNameError, match="AutoFusePass"):
        choices.named("ge", ("AutoFusPass",), never)
    with pytest.raises(SwitchError, match="flags to search"):
        choices.named("xla", ("xla_flag:xla_nosuch",), never)
    with pytest.raises(SwitchError, match="--pass=algsimp: because"):
        choices.named("xla", ("algsimp",), lambda switch: "because")


@pytest.mark.parametrize("backend", ["ge", "emulator", "xla", "grappler"])
def test_the_catalogue_offers_switches_that_can_all_be_sent(backend):
    given = ge_setting(GATE) if backend in ("ge", "emulator") else SwitchSetting()
    pool = choices.of_catalogue(backend, given, lambda switch: choices.refused(
        backend, given, switch, "910b"))
    assert len(pool.knobs) >= 5
    assert len({knob.key for knob in pool.knobs}) == len(pool.knobs)
    assert 0 < pool.rungs[0] <= len(pool.knobs)
    for knob in pool.knobs:
        assert choices.refused(backend, given, knob.switch, "910b") == ""


@pytest.mark.parametrize("backend", ["xla", "grappler"])
def test_operators_cannot_be_switched_where_the_compiler_has_no_such_switch(backend):
    with pytest.raises(UnavailableError, match="no switch for single operators"):
        choices.check_granularity("op", backend)
    choices.check_granularity("pass", backend)
    choices.check_granularity("op", "emulator")


def test_the_command_of_a_flip_asks_for_the_same_setting():
    text = "--xla_cpu_enable_fast_math=true --xla_disable_hlo_passes=cse"
    given = setting.build("xla", setting.Asked(disable=("dce",), xla_flags=text))
    off = [Switch("hlo_pass", "fusion"), Switch("xla_flag",
                                                "xla_allow_excess_precision")]
    command = run_command(("run", "g", "--disable-pass=dce", f"--xla-flags={text}"),
                          given, off)
    assert command == (
        "run g --disable-pass=dce '--xla-flags=--xla_cpu_enable_fast_math=true "
        "--xla_allow_excess_precision=false --xla_disable_hlo_passes=dce,cse' "
        "--disable-pass=fusion")
    assert run_command(("run", "g g"), given, ()) == "run 'g g'"


def test_the_command_of_a_flip_rewrites_the_flags_of_autofuse():
    given = ge_setting(GATE, on=(Switch("ge", "CastRemovePass"),))
    words = ("run", "g", "--enable-pass=ge:CastRemovePass", f"--autofuse-flags={GATE}")
    command = run_command(words, given, (
        Switch("ge", "CastRemovePass"), Switch("autofuse", "--max_fusion_size"),
        Switch("node", "a b")))
    assert command == (
        f"run g '--autofuse-flags={GATE};--max_fusion_size=0' "
        "--disable-pass=ge:CastRemovePass '--disable-pass=node:a b'")
