from __future__ import annotations

import pytest

from ge_harness.errors import SwitchError
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.switches import xla_flags, xla_pass_names

FAST = SwitchValue(Switch("xla_flag", "xla_cpu_enable_fast_math"), "false")


def _off(*names):
    return SwitchSetting(off=tuple(Switch("hlo_pass", name) for name in names))


def test_flags_come_apart_with_and_without_values_and_quotes():
    text = ' --xla_a=1  --xla_b --xla_c="two words" --xla_d='
    assert xla_flags.parse(text) == (
        ("xla_a", "1"), ("xla_b", "true"), ("xla_c", "two words"), ("xla_d", ""))


@pytest.mark.parametrize(("text", "expected"), [
    ("xla_a=1", "expected --xla_name=value"),
    ("-xla_a=1", "expected --xla_name=value"),
    ("--help", "not a flag of XLA"),
    ("--tf_xla_auto_jit=2", "not a flag of XLA"),
    ("--xla_dump_to=/elsewhere", "sent by the harness"),
    ("--xla_a=1 --xla_a=2", "given twice"),
])
def test_flags_that_would_not_do_what_they_say_are_refused(text, expected):
    with pytest.raises(SwitchError, match=expected):
        xla_flags.parse(text)


def test_disabled_passes_in_the_flags_become_switches_that_are_proved():
    setting = xla_flags.extend(
        _off("fusion"), "--xla_disable_hlo_passes=algsimp,fusion --xla_x=1 "
        "--xla_disable_hlo_passes=cse")
    assert [switch.name for switch in setting.off] == ["fusion", "algsimp", "cse"]
    assert setting.values == (SwitchValue(Switch("xla_flag", "xla_x"), "1"),)


@pytest.mark.parametrize("name", [" fusion", "fusion ", "", " ", "fusion,algsimp",
                                  "fus\nion", "--fusion"])
def test_names_that_xla_ignores_silently_are_refused(name):
    with pytest.raises(SwitchError, match=r"silently ignore|empty name"):
        xla_flags.check(_off(name))


@pytest.mark.parametrize(("setting", "expected"), [
    (SwitchSetting(level="O1"), "no level"),
    (SwitchSetting(on=(Switch("hlo_pass", "fusion"),)), "cannot switch"),
    (SwitchSetting(off=(Switch("graph_fusion", "A"),)), "no switch of the family"),
    (SwitchSetting(values=(SwitchValue(Switch("hlo_pass", "fusion"), "1"),)),
     "takes no value"),
    (SwitchSetting(values=(FAST, SwitchValue(FAST.switch, "true"))), "two values"),
])
def test_what_xla_cannot_be_told_is_refused(setting, expected):
    with pytest.raises(SwitchError, match=expected):
        xla_flags.check(setting)


def test_composed_flags_name_every_pass_once_and_fit_the_version():
    setting = SwitchSetting(
        off=(Switch("hlo_pass", "fusion"), Switch("hlo_pass", "cse"),
             Switch("hlo_pass", "fusion")), values=(FAST,))
    new = xla_flags.compose(setting, "/job/dumps", "2.21.0")
    assert new == (
        "--xla_dump_to=/job/dumps --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=.* "
        "--xla_dump_disable_metadata=true --xla_disable_hlo_passes=fusion,cse "
        "--xla_cpu_enable_fast_math=false")
    old = xla_flags.compose(setting, "/job/dumps", "2.6.5")
    assert "disable_metadata" not in old
    assert "disable_metadata" not in (
        xla_flags.compose(setting, "/job/dumps", "1.15.5"))
    assert xla_flags.compose(setting, "", "2.21.0") == (
        "--xla_disable_hlo_passes=fusion,cse --xla_cpu_enable_fast_math=false")


def test_a_dump_folder_with_blanks_is_quoted_and_one_with_both_quotes_refused():
    assert '--xla_dump_to="/a b/dumps"' in xla_flags.dump_flags("/a b/dumps", "2.6.5")
    with pytest.raises(SwitchError, match="both kinds"):
        xla_flags.dump_flags("/a'b\"", "2.6.5")


@pytest.mark.parametrize(("log", "expected"), [
    ("F0000 parse_flags_from_env.cc:234] Unknown flags in XLA_FLAGS: --xla_no=1 "
     "--xla_nor=2\n", (("xla_no", "XLA does not know this flag"),
                       ("xla_nor", "XLA does not know this flag"))),
    ("F tf] Unknown flag in XLA_FLAGS: --xla_no_such_flag=1\n",
     (("xla_no_such_flag", "XLA does not know this flag"),)),
    ("E command_line_flags.cc:102] Couldn't interpret value =1 for flag xla_b.\n",
     (("xla_b", "XLA does not take the value '1'"),)),
    ("E debug_options_flags.cc:143] Illegal value for --xla_g '7'\n",
     (("xla_g", "XLA does not take the value '7'"),)),
    ("all is well", ()),
])
def test_complaints_of_every_version_are_read(log, expected):
    assert xla_flags.complaints(log) == expected


def test_the_nearest_pass_is_one_that_exists():
    seen = ("fusion", "algsimp", "tree_reduction_rewriter", "dot-library-rewriter")
    assert xla_flags.nearest_pass("cpu-instruction-fusion", seen) == "fusion"
    assert xla_flags.nearest_pass("tree-reduction-rewriter", seen) == (
        "tree_reduction_rewriter")
    assert xla_flags.nearest_pass("alg_simp", seen) == "algsimp"
    assert xla_flags.nearest_pass("zzzzzz", seen) == ""


def test_pass_lists_tell_the_stacks_apart():
    new, old = (xla_pass_names.of_version(v) for v in ("2.21.0", "1.15.5"))
    assert "call-inliner" in new
    assert "CallInliner" not in new
    assert "CallInliner" in old
    assert "dot-library-rewriter" not in old
    for names in (new, old, xla_pass_names.of_version("2.6.5")):
        assert {"fusion", "algsimp", "cse", "dce"} <= names
        assert "cpu-instruction-fusion" not in names
    assert xla_pass_names.of_version("2.17.0") is None
    assert xla_pass_names.of_version("") is None
