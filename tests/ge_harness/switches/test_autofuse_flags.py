from __future__ import annotations

import re

import pytest

from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.switches import autofuse_readers as readers
from ge_harness.switches.autofuse_config import (
    AutofuseConfig,
    read_config,
    why_nothing_fuses,
)
from ge_harness.switches.autofuse_flags import MAX_BYTES, check_flags, parse_flags
from ge_harness.switches.autofuse_keys import DFX_FLAGS, FLAGS, KEYS, PASSES, keys_of
from tests.shared import SHARED, needs_shared

GATE = "--enable_autofuse=true"

# (key, value as written, what acts, does the string do what it says)
VALUES = [
    ("--enable_autofuse", "true", "true", True),
    ("--enable_autofuse", "false", "false", True),
    ("--enable_autofuse", "True", "false", False),
    ("--enable_autofuse", "1", "false", False),
    ("--enable_autofuse", " true", "false", False),
    ("--autofuse_enable_pass", "reduce", "reduce", True),
    ("--autofuse_enable_pass", "concat,reduce", "reduce,concat", True),
    ("--autofuse_enable_pass", ",".join(PASSES), ",".join(PASSES), True),
    ("--autofuse_enable_pass", "reduce, concat", "reduce", False),
    ("--autofuse_enable_pass", "Reduce", "", False),
    ("--autofuse_enable_pass", "pointwise", "", False),
    ("--autofuse_enable_pass", "reduce,", "reduce", True),
    ("--autofuse_enable_pass", "reduce,,concat", "reduce,concat", True),
    ("--autofuse_enable_pass", '"reduce"', "", False),
    ("--autofuse_disable_pass", "reduce", "reduce", False),
    ("--recomputation_threshold", "0", "0", True),
    ("--recomputation_threshold", "255", "255", True),
    ("--recomputation_threshold", "+7", "7", True),
    ("--recomputation_threshold", "256", "1", False),
    ("--recomputation_threshold", "-1", "1", False),
    ("--recomputation_threshold", "3x", "1", False),
    ("--recomputation_threshold", "0x10", "1", False),
    ("--recomputation_threshold", "3 ", "1", False),
    ("--recomputation_threshold", "9" * 5000, "1", False),
    ("--max_fusion_size", "0", "0", True),
    ("--max_fusion_size", "128", "128", True),
    ("--max_fusion_size", "123,", "123", True),
    ("--max_fusion_size", "1,000", "1", False),
    ("--max_fusion_size", "-5", "64", False),
    ("--max_fusion_size", "12a", "64", False),
    ("--max_fusion_size", str(2 ** 64 - 1), str(2 ** 64 - 1), True),
    ("--max_fusion_size", str(2 ** 64), "64", False),
    ("--autofuse_enhance_precision_blacklist", "all", "all", True),
    ("--autofuse_enhance_precision_blacklist", "Add,Mul", "Add,Mul", True),
    ("--autofuse_enhance_precision_blacklist", "Add,Mul;", "Add,Mul", True),
    ("--autofuse_enhance_precision_blacklist", "Add,Mul.", "Add,Mul", True),
    ("--autofuse_enhance_precision_blacklist", "RealDiv", "RealDiv", False),
    ("--autofuse_enhance_precision_blacklist", "Add, Mul", "Add", False),
    ("--autofuse_enhance_precision_blacklist", "Mean", "Mean", False),
    ("--experimental_enable_jit_executor_v2", "true", "true", True),
    ("--experimental_enable_jit_executor_v2", "yes", "false", False),
    ("--autofuse_enable_pgo", "true", "true", True),
    ("--autofuse_enable_pgo", "TRUE", "false", False),
    ("--disable_lifting", "true", "true", True),
    ("--disable_lifting", "TRUE", "false", False),
    ("--skip_node_names_cfg", "./skip.ini", "./skip.ini", True),
    ("--skip_node_names_cfg", " skip.ini", " skip.ini", False),
    ("--subgraph_recover", "true", "true", True),
    ("--subgraph_recover", "on", "false", False),
    ("--autofuse_att_algorithm", "HighPerf", "HighPerf", True),
    ("--autofuse_att_algorithm", "highperf", "AxesReorder", False),
    ("--att_accuracy_level", "0", "0", True),
    ("--att_accuracy_level", "2", "1", False),
    ("--att_accuracy_level", "low", "1", False),
    ("--att_enable_multicore_ub_tradeoff", "true", "true", True),
    ("--att_enable_multicore_ub_tradeoff", "1", "false", False),
    ("--att_ub_threshold", "30", "30", False),
    ("--att_corenum_threshold", "70", "70", False),
    ("--att_enable_small_shape_strategy", "true", "true", True),
    ("--att_profiling", "true", "true", True),
    ("--autofuse_enable_tiling_cache", "false", "false", True),
    ("--autofuse_enable_tiling_cache", "off", "true", False),
    ("--force_schedule_result", "3", "3", True),
    ("--force_schedule_result", "101", "-1", False),
    ("--force_tiling_case", "12", "12", True),
    ("--force_tiling_case", "12_R", "12_R", True),
    ("--force_tiling_case", "g0_1_R,g1_2", "g0_1_R,g1_2", True),
    ("--force_tiling_case", "12_Q", "12_Q", False),
    ("--force_template_op_name", "autofuse_pointwise_0_Abs", "autofuse_pointwise_0_Abs",
     False),
    ("--autofuse_pgo_algo", "pruning", "pruning", True),
    ("--autofuse_pgo_algo", "prune", "core_select", False),
    ("--autofuse_pgo_step_max", "17", "17", False),
    ("--autofuse_pgo_topn", "0", "0", True),
    ("--autofuse_pgo_topn", "-1", "5", False),
    ("--autofuse_pgo_topn", "many", "5", False),
    ("--codegen_compile_debug", "true", "true", True),
    ("--codegen_compile_debug", "True", "true", False),
    ("--codegen_compile_debug", "false", "false", True),
    ("--debug_dir", "/tmp/x", "/tmp/x", False),
    ("replace_kernel", "/tmp/kernels", "/tmp/kernels", True),
]


def _text(key: str, value: str) -> tuple[str, str]:
    variable = KEYS[key].variable
    text = f"{key}={value}"
    if variable == FLAGS and key != "--enable_autofuse":
        text = f"{GATE};{text}"
    return variable, text


@pytest.mark.parametrize(("key", "value", "acts", "works"), VALUES,
                         ids=[f"{row[0]}={row[1][:20]}" for row in VALUES])
def test_a_value_acts_as_the_readers_take_it(key, value, acts, works):
    variable, text = _text(key, value)
    report = parse_flags(text, variable)
    item = next(item for item in report.items if item.key == key)
    assert item.effective == acts
    assert report.works is works


def test_every_key_stands_in_the_table_above():
    assert {row[0] for row in VALUES} == set(KEYS)


@needs_shared
def test_the_keys_are_those_of_the_reference():
    text = (SHARED / "reference" / "autofuse_flags.md").read_text(encoding="utf-8")
    part = text[text.index("## 4. Key reference"):text.index("## 6. Pass names")]
    named = set(re.findall(r"^\| `([a-z_-]+[a-z0-9_]*)` \|", part, re.MULTILINE))
    assert named == set(KEYS)
    for key in KEYS.values():
        line = [row for row in part.splitlines() if row.startswith(f"| `{key.name}` |")]
        owners = set(re.findall(r"P[1-7]", line[0].split("|")[-2]))
        assert owners == set(key.readers)


# (key, spelling of the entry, {reader: outcome}); values are right throughout.
SPELLINGS = [
    ("--enable_autofuse", "--enable_autofuse=true", {"P1": "reads"}),
    ("--enable_autofuse", "enable_autofuse=true", {"P1": "loses"}),
    ("--enable_autofuse", " --enable_autofuse=true", {"P1": "loses"}),
    ("--enable_autofuse", "--enable_autofuse =true", {"P1": "loses"}),
    ("--enable_autofuse", "--enable_autofuse=true=", {"P1": "loses"}),
    ("--enable_autofuse", "--enable_autofuse", {"P1": "loses"}),
    ("--enable_autofuse", "--enable_autofuse=", {"P1": "loses"}),
    ("--autofuse_enable_pass", "--autofuse_enable_pass=reduce", {"P2": "reads"}),
    ("--autofuse_enable_pass", "autofuse_enable_pass=reduce", {"P2": "loses"}),
    ("--autofuse_enable_pass", "-autofuse_enable_pass=reduce", {"P2": "loses"}),
    ("--autofuse_enable_pass", "--autofuse_enable_pass=reduce=", {"P2": "reads"}),
    ("--autofuse_enable_pass", "--autofuse_enable_pass==reduce", {"P2": "loses"}),
    ("--autofuse_enable_pass", "--autofuse_enable_pass=", {"P2": "loses"}),
    ("--autofuse_enhance_precision_blacklist",
     "--autofuse_enhance_precision_blacklist=all", {"P2": "reads", "P4": "reads"}),
    ("--autofuse_enable_pgo", "--autofuse_enable_pgo=true",
     {"P3": "reads", "P5": "reads"}),
    ("--autofuse_enable_pgo", "autofuse_enable_pgo=true",
     {"P3": "reads", "P5": "reads"}),
    ("--autofuse_enable_pgo", "---autofuse_enable_pgo=true",
     {"P3": "loses", "P5": "reads"}),
    ("--autofuse_enable_pgo", "--autofuse_enable_pgo=true=",
     {"P3": "reads", "P5": "reads"}),
    ("--att_profiling", "--att_profiling=true", {"P3": "reads"}),
    ("--att_profiling", "att_profiling=true", {"P3": "reads"}),
    ("--att_profiling", "-att_profiling=true", {"P3": "loses"}),
    ("--att_profiling", "--att_profiling =true", {"P3": "loses"}),
    ("--autofuse_pgo_topn", "autofuse_pgo_topn=3", {"P5": "reads"}),
    ("--autofuse_pgo_topn", "-autofuse_pgo_topn=3", {"P5": "reads"}),
    ("--autofuse_pgo_topn", " --autofuse_pgo_topn=3", {"P5": "loses"}),
    ("--codegen_compile_debug", "--codegen_compile_debug=true",
     {"P5": "reads", "P6": "reads"}),
    ("--codegen_compile_debug", " codegen_compile_debug = true",
     {"P5": "loses", "P6": "reads"}),
    ("--codegen_compile_debug", "--codegen_compile_debug=true",
     {"P5": "reads", "P6": "reads"}),
    ("--debug_dir", " debug_dir = /x ", {"P6": "reads"}),
    ("--debug_dir", "--debug_dir='/x'", {"P6": "reads"}),
    ("--debug_dir", "--debug_dir=", {"P6": "loses"}),
    ("replace_kernel", "replace_kernel=/x", {"P7": "reads"}),
    ("replace_kernel", "--replace_kernel=/x", {"P7": "reads"}),
    ("--autofuse_pgo_algo", "--autofuse_pgo_algo=pruning",
     {"P3": "reads", "P7": "reads"}),
    ("--autofuse_pgo_algo", "--autofuse_pgo_algo=core_select",
     {"P3": "reads", "P7": "loses"}),
]


@pytest.mark.parametrize(("key", "entry", "outcomes"), SPELLINGS,
                         ids=[row[1] for row in SPELLINGS])
def test_each_reader_has_its_own_opinion_of_a_spelling(key, entry, outcomes):
    variable = KEYS[key].variable
    for reader, outcome in outcomes.items():
        got = readers.read(reader, variable, entry)
        assert ("reads" if key in got else "loses") == outcome, reader
    report = parse_flags(entry, variable)
    views = {view.reader: view.outcome for view in report.items[0].readers}
    assert views == outcomes


def test_every_reader_is_tried_by_a_spelling():
    assert {name for row in SPELLINGS for name in row[2]} == {
        "P1", "P2", "P3", "P4", "P5", "P6", "P7"}


@pytest.mark.parametrize(("reader", "variable", "text", "key", "taken"), [
    ("P1", FLAGS, "--enable_autofuse=true;--enable_autofuse=false",
     "--enable_autofuse", "true"),
    ("P2", FLAGS, "--max_fusion_size=1;--max_fusion_size=2", "--max_fusion_size", "2"),
    ("P3", DFX_FLAGS, "--att_profiling=true;att_profiling=false", "--att_profiling",
     "false"),
    ("P4", FLAGS, "--autofuse_enhance_precision_blacklist=Add;"
     "--autofuse_enhance_precision_blacklist=all",
     "--autofuse_enhance_precision_blacklist", "Add"),
    ("P5", DFX_FLAGS, "--autofuse_pgo_topn=1;--autofuse_pgo_topn=2",
     "--autofuse_pgo_topn", "2"),
    ("P6", DFX_FLAGS, "--debug_dir=/a;--debug_dir=/b", "--debug_dir", "/a"),
    ("P7", DFX_FLAGS, "replace_kernel=/a;replace_kernel=/b", "replace_kernel", "/a"),
])
def test_of_two_entries_each_reader_takes_its_own(reader, variable, text, key, taken):
    assert readers.read(reader, variable, text)[key][1] == taken
    report = parse_flags(text, variable)
    codes = {issue.code for item in report.items for issue in item.issues}
    assert "duplicate_key" in codes


def test_a_malformed_gate_hides_a_good_one_behind_it():
    assert readers.read("P1", FLAGS, "--enable_autofuse;--enable_autofuse=true") == {}
    report = parse_flags("--enable_autofuse;--enable_autofuse=true")
    assert not report.gate_open
    assert not report.works


def test_a_malformed_entry_of_another_key_leaves_the_gate_open():
    assert parse_flags("--max_fusion_size;--enable_autofuse=true").gate_open


def test_a_misspelt_key_names_the_right_one():
    report = parse_flags("--enable_autofuse=true;--autofuse_enable_pas=concat")
    assert not report.works
    issue = report.items[1].issues[0]
    assert (issue.code, issue.nearest) == ("unknown_key", "--autofuse_enable_pass")
    assert report.suggestion == "--enable_autofuse=true;--autofuse_enable_pass=concat"
    assert report.canonical == "--enable_autofuse=true"


def test_a_blank_in_a_list_loses_the_name_behind_it():
    report = parse_flags("--enable_autofuse=true;--autofuse_enable_pass=reduce, concat")
    assert not report.works
    assert "' concat'" in report.items[1].issues[0].message
    assert report.canonical == "--enable_autofuse=true;--autofuse_enable_pass=reduce"
    assert report.suggestion.endswith("=reduce,concat")


@pytest.mark.parametrize(("text", "code"), [
    ("--enable_autofuse=true --autofuse_enable_pass=reduce", "blank_separated"),
    ("--enable_autofuse=true,--autofuse_enable_pass=reduce", "comma_separated"),
    ("--enable_autofuse=true\uff1b--autofuse_enable_pass=reduce", "full_width"),
    ("AUTOFUSE_FLAGS=--enable_autofuse=true", "assignment"),
    ("--enable_autofuse=true;--disable_lifting=true", "wrong_variable"),
    ("--enable_autofuse=true;--autofuse_enable_pass=reduce\x07", "control_character"),
    ("--enable_autofuse=true;--max_fusion_size", "no_value"),
    ("--enable_autofuse=true;--max_fusion_size=", "empty_value"),
    ("--enable_autofuse=true;--max_fusion_size=1=2", "second_equals"),
    ("--enable_autofuse=true;--autofuse_enable_pass==", "empty_value"),
    ("--enable_autofuse=true;--autofuse_enable_pass=,", "names_nothing"),
    ("--enable_autofuse=true;--autofuse_enhance_precision_blacklist=,",
     "names_nothing"),
    ("--enable_autofuse='true'", "quotes"),
    ("--enable_autofuse=true;--autofuse_enable_pass=reduce;"
     "--autofuse_disable_pass=reduce", "enabled_and_disabled"),
    ("--enable_autofuse=true;--autofuse_disable_pass=concat", "disables_nothing"),
    ("--autofuse_enable_pass=reduce", "gate_closed"),
    ("--enable_autofuse=true\0", "nul"),
])
def test_what_would_be_lost_silently_is_an_error(text, code):
    report = parse_flags(text)
    errors = {issue.code for item in report.items for issue in item.issues
              if issue.severity == "error"}
    errors |= {issue.code for issue in report.issues if issue.severity == "error"}
    assert code in errors
    assert not report.works
    with pytest.raises(SwitchError):
        check_flags(text)


def test_an_empty_value_is_not_called_quoted():
    for variable, text in ((FLAGS, f"{GATE};--autofuse_enable_pass=="),
                           (DFX_FLAGS, "--skip_node_names_cfg==")):
        item = parse_flags(text, variable).items[-1]
        assert "quotes" not in {issue.code for issue in item.issues}


def test_an_open_gate_comes_with_what_can_still_close_it():
    codes = {issue.code for issue in parse_flags(GATE, chip="910b").issues}
    assert codes == {"latched", "level", "bfloat16"}


def test_a_gate_closed_on_purpose_makes_the_rest_inert_but_is_no_error():
    report = parse_flags("--enable_autofuse=false;--autofuse_enable_pass=reduce")
    assert report.works
    assert report.items[1].status == "inert"
    assert report.inert == ("--autofuse_enable_pass: inert, the gate is closed",)


@pytest.mark.parametrize(("text", "works"), [
    ("--att_ub_threshold=30", False),
    ("--att_ub_threshold=30;--att_enable_multicore_ub_tradeoff=true", True),
    ("--debug_dir=/x", False),
    ("--debug_dir=/x;--codegen_compile_debug=true", True),
    ("--autofuse_pgo_step_max=17", False),
    ("--autofuse_pgo_step_max=17;--autofuse_pgo_algo=pruning", True),
    ("--force_template_op_name=k", False),
    ("--force_template_op_name=k;--force_tiling_case=3", True),
    ("--force_template_op_name=k;--force_schedule_result=3", True),
])
def test_a_key_without_the_key_it_needs_is_inert(text, works):
    report = parse_flags(text, DFX_FLAGS)
    assert report.works is works
    assert (report.items[0].status == "acts") is works


@pytest.mark.parametrize(("chip", "names", "works"), [
    ("910b", "conv", False), ("950", "conv", True), ("", "conv", True),
    ("910b", "split", False), ("910b", "slice,split", True), ("950", "split", True),
    ("910b", "matmul", True), ("910B", "reduce", True),
])
def test_a_name_without_effect_on_the_chip_is_an_error(chip, names, works):
    text = f"{GATE};--autofuse_enable_pass={names}"
    assert parse_flags(text, chip=chip).works is works


@pytest.mark.parametrize(("chip", "name", "works"), [
    ("910b", "Sum", False), ("950", "Sum", True), ("", "Sum", True),
    ("950", "Mean", False), ("910b", "Prod", False), ("910b", "all", True),
])
def test_what_is_always_upcast_must_not_be_listed(chip, name, works):
    text = f"{GATE};--autofuse_enhance_precision_blacklist={name}"
    assert parse_flags(text, chip=chip).works is works


def test_bfloat16_on_910b_is_said():
    notes = {issue.code for issue in parse_flags(GATE, chip="910b").issues}
    assert "bfloat16" in notes
    assert "latched" in notes


def test_unknown_chip_and_variable_are_refused():
    with pytest.raises(UnknownNameError):
        parse_flags("", chip="310p")
    with pytest.raises(UnknownNameError):
        parse_flags("", "AUTOFUSE_FLAG")


@pytest.mark.parametrize("text", [
    "", ";", ";;;;", "=", "===", "--", "-", "\x00", "\x1b[2J", "\u202e--enable",
    "\ud800", "\U0001f600=\U0001f600", "a" * 100000, ";" * 100000, "=" * 100000,
    "--enable_autofuse=true;" * 4000, "--autofuse_enable_pass=" + "x," * 50000,
    "--max_fusion_size=" + "9" * 100000, "--recomputation_threshold=" + "0" * 90000,
    "--force_tiling_case=" + "g0_1," * 20000,
], ids=lambda text: repr(text[:24]) + str(len(text)))
@pytest.mark.parametrize("variable", [FLAGS, DFX_FLAGS])
def test_hostile_strings_are_answered(text, variable):
    report = parse_flags(text, variable)
    assert parse_flags(report.canonical, variable).canonical == report.canonical
    read_config(text, text)


def test_a_string_that_no_environment_holds_is_an_error():
    text = "--enable_autofuse=true" + ";" * MAX_BYTES
    assert not parse_flags(text).works


def test_an_empty_string_works_and_sets_nothing():
    report = parse_flags(";;")
    assert report.works
    assert report.items == ()
    assert report.canonical == ""
    assert len(report.defaults) == len(keys_of(FLAGS))


def test_settings_become_strings_and_back():
    config = AutofuseConfig(
        enabled=True, passes=("reduce", "concat"), recomputation_threshold=3,
        max_fusion_size=128, precision_blacklist=("Add", "Mul"), disable_lifting=True,
        skip_file="/tmp/skip.ini", extra=(("--att_profiling", "true"),))
    flags, dfx = config.strings()
    assert flags == ("--enable_autofuse=true;--autofuse_enable_pass=reduce,concat;"
                     "--recomputation_threshold=3;--max_fusion_size=128;"
                     "--autofuse_enhance_precision_blacklist=Add,Mul")
    assert dfx == ("--disable_lifting=true;--skip_node_names_cfg=/tmp/skip.ini;"
                   "--att_profiling=true")
    assert read_config(flags, dfx) == config


@pytest.mark.parametrize("config", [
    AutofuseConfig(enabled=True, passes=("reduc",)),
    AutofuseConfig(passes=("reduce",)),
    AutofuseConfig(enabled=True, recomputation_threshold=256),
    AutofuseConfig(enabled=True, max_fusion_size=-1),
    AutofuseConfig(enabled=True, extra=(("--no_such_key", "1"),)),
    AutofuseConfig(enabled=True, skip_file="a;b"),
], ids=["pass", "gate", "range", "negative", "key", "separator"])
def test_settings_that_would_be_lost_are_refused(config):
    with pytest.raises(SwitchError):
        config.strings()


def test_a_name_enabled_and_disabled_stays_off():
    config = read_config("--enable_autofuse=true;--autofuse_enable_pass=reduce,concat;"
                         "--autofuse_disable_pass=reduce")
    assert config.passes == ("concat",)


@pytest.mark.parametrize(("flags", "level", "pass_on", "single", "words"), [
    ("", "O3", None, False, "gate is closed"),
    ("--enable_autofuse=True", "O3", None, False, "gate is closed"),
    (GATE, "O1", None, False, "level O3"),
    (GATE, "O3", False, False, "switched off by name"),
    (GATE, "O3", None, True, "single-operator"),
    (GATE + ";--max_fusion_size=0", "O3", None, False, "max_fusion_size=0"),
    (GATE, "O3", None, False, ""),
    (GATE, "O1", True, False, ""),
    (GATE, "", None, False, ""),
])
def test_why_nothing_fuses(flags, level, pass_on, single, words):
    reasons = why_nothing_fuses(read_config(flags), level, pass_on, single)
    assert (words in "; ".join(reasons)) if words else reasons == ()
