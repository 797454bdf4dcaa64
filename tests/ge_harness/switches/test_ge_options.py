from __future__ import annotations

import re

import pytest

from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.switches.ge_environment import (
    REMOVED,
    DumpPolicy,
    ge_environment,
)
from ge_harness.switches.ge_level import (
    EXCEPTIONAL,
    MUST_STAY,
    NUMERIC_OFF_NAMES,
    O0_OFF,
    level_recipe,
)
from ge_harness.switches.ge_options import (
    OPTIONS,
    ROUTES,
    as_ge_options,
    canonical_name,
    check_option,
    check_together,
    parse_option,
)
from tests.shared import SHARED, needs_shared


@pytest.mark.parametrize(("name", "text", "value"), [
    ("deterministic", "1", 1), ("jit_compile", "false", "false"),
    ("oo_constant_folding", "False", False), ("mix_compile_mode", "1", True),
    ("precision_mode_v2", "mixed_float16", "mixed_float16"),
    ("ge.deterministic", "0", 0), ("op_wait_timeout", "5", 5),
    ("dump_step", "0|5|10-20", "0|5|10-20"),
])
def test_text_becomes_the_type_the_adapter_wants(name, text, value):
    got = parse_option(name, text, "tf1")
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(("name", "text"), [
    ("deterministic", "2"), ("deterministic", "yes"), ("jit_compile", "True"),
    ("oo_level", "O0"), ("oo_level", "O2"), ("precision_mode_v2", "fp32"),
    ("dump_mode", "both"), ("oo_constant_folding", "off"), ("session_device_id", "-1"),
    ("iterations_per_loop", "0"), ("topo_sorting_mode", "4"), ("debug_dir", "a\nb"),
    ("ge.oo.deadCodeElimination", "false"), ("ge.disableOptimizations", "X"),
    ("dump_step", "x"), ("dump_step", "5-5"), ("dump_step", ""), ("dump_step", "1|"),
    ("dump_step", "|".join("1" * 101)), ("deterministic", "\u0661"),
    ("deterministic", "1 "), ("stream_sync_timeout", "1_0"), ("op_wait_timeout",
    "9" * 5000), ("debug_dir", "/a\udcff"), ("debug_dir", "/a\x7f"),
    ("aoe_mode", "1"), ("soc_config", "x"), ("auto_tune_mode", "RL"),
])
def test_what_the_adapter_would_ignore_misread_or_abort_on_is_refused(name, text):
    with pytest.raises(SwitchError):
        parse_option(name, text, "tf1")


def test_a_number_out_of_its_range_names_both_ends():
    with pytest.raises(SwitchError, match="0 to 33554432"):
        parse_option("input_fusion_size", "33554433", "tf1")


def test_a_misspelt_option_gets_the_nearest_name():
    with pytest.raises(UnknownNameError) as caught:
        parse_option("determinstic", "1", "tf1")
    assert caught.value.nearest == "deterministic"


@pytest.mark.parametrize(("name", "value"), [
    ("deterministic", True), ("oo_constant_folding", 1), ("jit_compile", b"true"),
    ("oo_level", None)])
def test_a_value_of_another_type_would_be_read_as_the_default(name, value):
    with pytest.raises(SwitchError, match="takes"):
        check_option(name, value, "tf1")


def test_the_native_route_has_fewer_options():
    with pytest.raises(SwitchError, match="tf2_native"):
        parse_option("use_off_line", "true", "tf2_native")
    with pytest.raises(SwitchError):
        parse_option("topo_sorting_mode", "3", "tf2_native")
    assert parse_option("topo_sorting_mode", "3", "tf2_session") == 3
    assert canonical_name("ge.oo.level", "tf2_native") == "oo_level"


@pytest.mark.parametrize("options", [
    {"precision_mode": "force_fp16", "precision_mode_v2": "fp16"},
    {"modify_mixlist": "/x.json"},
    {"modify_mixlist": "/x.json", "precision_mode_v2": "origin"},
    {"optypelist_for_implmode": "Exp"},
    {"enable_dump": True, "enable_dump_debug": True, "dump_path": "/x"},
    {"enable_dump": True},
    {"use_off_line": False},
], ids=lambda options: "+".join(options))
def test_combinations_that_cannot_run_are_refused(options):
    with pytest.raises(SwitchError):
        check_together(options, "tf1")


@pytest.mark.parametrize("route", ROUTES)
def test_ge_is_expected_to_hold_the_adapters_own_token_at_the_end(route):
    switch = "A:off;" if route == "tf2_native" else "A:off"
    held = as_ge_options({"optimization_switch": switch, "oo_level": "O1",
                          "jit_compile": "true", "oo_constant_folding": False,
                          "debug_dir": "/x"}, route)
    assert held == {
        "ge.optimizationSwitch": "A:off;forbidden_close_pass:on", "ge.oo.level": "O1",
        "ge.jit_compile": "1", "ge.oo.constantFolding": "false"}
    assert as_ge_options({}, route) == {
        "ge.optimizationSwitch": "forbidden_close_pass:on"}


@needs_shared
def test_allowed_values_are_those_of_the_reference():
    text = (SHARED / "reference" / "tf_adapter.md").read_text(encoding="utf-8")
    part = text[text.index("### 4.4 Key table"):text.index("### 4.5 Legacy keys")]
    rows = {cells[1]: cells for cells in (
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        for line in part.splitlines() if line.startswith("| ")) if len(cells) > 3}
    for name, option in OPTIONS.items():
        if name in rows and rows[name][2] in ("b", "i", "s"):
            assert rows[name][2] == option.arm, name
    for name in ("precision_mode", "precision_mode_v2", "jit_compile", "dump_mode"):
        shown = rows[name][4].split("(")[0]
        assert {word.strip() for word in shown.split(",")} == set(
            OPTIONS[name].allowed), name


@pytest.mark.parametrize("route", ROUTES)
def test_o0_is_never_sent_as_such(route):
    recipe = level_recipe("O0", "", route)
    assert recipe.level == "O1"
    assert recipe.options["oo_constant_folding"] is False
    assert recipe.options.get("topo_sorting_mode") == (
        None if route == "tf2_native" else 3)
    assert recipe.off == O0_OFF
    assert recipe.all_off
    assert not set(recipe.off) & set(MUST_STAY)
    assert any("E10001" in note for note in recipe.notes)
    assert any(all(name in note for name in EXCEPTIONAL) for note in recipe.notes)


def test_the_preset_is_o3_without_the_numeric_passes():
    recipe = level_recipe("O3", "numeric-off", "tf1")
    assert (recipe.level, recipe.off, recipe.all_off) == (
        "O3", NUMERIC_OFF_NAMES, True)
    with pytest.raises(SwitchError):
        level_recipe("O1", "numeric-off", "tf1")
    with pytest.raises(UnknownNameError) as caught:
        level_recipe("O3", "numeric-of", "tf1")
    assert caught.value.nearest == "numeric-off"


@pytest.mark.parametrize("level", ["O2", "o1", "3", "O4"])
def test_a_level_ge_has_not_is_refused(level):
    with pytest.raises((SwitchError, UnknownNameError)):
        level_recipe(level, "", "tf1")


@needs_shared
def test_the_recipes_are_those_of_the_reference():
    text = (SHARED / "reference" / "ge_optimization.md").read_text(encoding="utf-8")
    part = text[text.index("## 8. Recipe"):text.index("## 9. Stage names")]
    block = part[part.index("ge.optimizationSwitch"):part.index("AUTOFUSE_FLAGS")]
    assert re.findall(r"(\w+):off", block) == list(O0_OFF)
    preset = [line for line in part.splitlines() if line.startswith("`CastRemovePass")]
    assert re.findall(r"(\w+):off", preset[0]) == list(NUMERIC_OFF_NAMES)
    table = part[part.index("| pass | why keep |"):part.index("All O0-registered")]
    first = "\n".join(line.split("|")[1] for line in table.splitlines()[2:] if line)
    kept = set(re.findall(r"[A-Z]\w+", first))
    assert set(MUST_STAY) == kept


def test_the_environment_sets_dumps_of_the_autofuse_stages_and_removes_traps():
    environment = ge_environment("/j", device=3, flags="--enable_autofuse=true")
    assert environment.variables["ASCEND_DEVICE_ID"] == "3"
    assert environment.variables["AUTOFUSE_FLAGS"] == "--enable_autofuse=true"
    level = environment.variables["DUMP_GRAPH_LEVEL"].split("|")
    assert {"AutoFuser", "AutofuseOptimize", "Build"} <= set(level)
    assert environment.variables["DUMP_GE_GRAPH"] == "2"
    assert environment.variables["TF_CPP_MIN_LOG_LEVEL"] == "0"
    assert set(environment.removed) == set(REMOVED) - {"AUTOFUSE_FLAGS"}
    assert not set(environment.removed) & set(environment.variables)
    assert "/j/cache" in environment.folders


def test_the_base_environment_leaves_autofuse_unset():
    environment = ge_environment("/j")
    assert "AUTOFUSE_FLAGS" not in environment.variables
    assert {"AUTOFUSE_FLAGS", "AUTOFUSE_DFX_FLAGS"} <= set(environment.removed)
    with pytest.raises(SwitchError):
        ge_environment("/j", device=-1)


def test_collecting_is_a_mode_of_its_own():
    environment = ge_environment("/j", dump=DumpPolicy(graphs=False, collect=True))
    assert environment.variables["NPU_COLLECT_PATH"] == "/j/collect"
    assert "NPU_COLLECT_PATH" not in environment.removed
    assert "/j/collect" in environment.folders
    assert "DUMP_GE_GRAPH" in environment.removed
