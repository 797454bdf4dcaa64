"""The stand-in's reading of a session config, row by row; needs no TensorFlow."""

from __future__ import annotations

import sys

import pytest

from tests.standin import drive

if str(drive.SITE) not in sys.path:
    sys.path.append(str(drive.SITE))
from standin_adapter import config, dumps, engine, keys, prototext, state


class Attr:
    """An AttrValue: one arm is set, every other reads as its type's zero."""

    def __init__(self, arm=None, value=None):
        self._arm = arm
        for name, zero in (("s", b""), ("i", 0), ("b", False)):
            setattr(self, name, value if name == arm else zero)

    def WhichOneof(self, name):  # noqa: N802 - protobuf's name
        assert name == "value"
        return self._arm


class AbortedError(Exception):
    """Stands for the end of the process."""


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Have LOG(FATAL) raise, and the environment be that of the test."""
    def fatal(text):
        raise AbortedError(text)

    monkeypatch.setattr(state, "fatal", fatal)
    monkeypatch.setattr(state, "_TAKEN", [state.Snapshot({"ASCEND_DEVICE_ID": "0",
                                                          "JOB_ID": "job"})])


@pytest.fixture
def given(monkeypatch):
    """Set variables as they are at import."""
    def set_all(**variables):
        monkeypatch.setattr(state, "_TAKEN", [state.Snapshot(
            {"ASCEND_DEVICE_ID": "0", "JOB_ID": "job", **variables})])

    return set_all


def read(**options):
    return config.read({
        key: value if isinstance(value, Attr) else Attr(
            "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "s",
            value.encode() if isinstance(value, str) else value)
        for key, value in options.items()})


def test_an_unknown_key_is_ignored_without_a_word():
    assert read(opt_level="O1", oo_level="O3") == {"oo_level": "O3"}


def test_the_wrong_arm_reads_as_zero():
    assert read(deterministic=Attr("b", True)) == {"deterministic": 0}
    assert read(use_off_line=Attr("i", 1)) == {"use_off_line": False}
    assert read(oo_level=Attr()) == {"oo_level": ""}


@pytest.mark.parametrize("key", ["export_compile_stat", "oo_constant_folding"])
def test_the_wrong_arm_is_as_if_absent_where_the_adapter_looks(key):
    assert read(**{key: Attr("s", b"2")}) == {}


RAISED = [
    ({"precision_mode": "origin"}, "option precision_mode value 'origin' is invalid"),
    ({"precision_mode_v2": "must_keep_origin_dtype"}, "precision_mode_v2"),
    ({"precision_mode": "force_fp16", "precision_mode_v2": "fp16"},
     "can not be assigned at the same time"),
    ({"modify_mixlist": "a.json", "precision_mode_v2": "origin"}, "modify_mixlist"),
    ({"jit_compile": "yes"}, "jit_compile"),
    ({"jit_compile": True}, "Expected string type"),
    ({"shape_generalization_mode": 1}, "Expected string type"),
    ({"export_compile_stat": 3}, "export_compile_stat"),
    ({"aoe_mode": "3"}, "aoe_mode"),
    ({"enable_dump": True}, "dump_path must be set"),
    ({"enable_dump": True, "dump_path": "/nowhere"}, "is not directory"),
    ({"enable_dump": True, "dump_path": "/", "dump_step": "5-2"}, "dump_step string"),
    ({"enable_dump": True, "dump_path": "/",
      "dump_step": "|".join(map(str, range(101)))}, "dump_step string"),
    ({"dump_data": "all"}, "dump_data should be"),
    ({"enable_exception_dump": 3}, "enable_exception_dump"),
    ({"variable_use_1g_huge_page": 3}, "huge_page"),
    ({"graph_max_parallel_model_num": 0}, "graph_max_parallel"),
]


@pytest.mark.parametrize(("options", "words"), RAISED)
def test_what_the_adapter_refuses_raises(options, words):
    with pytest.raises(config.RaisedError, match=words):
        read(**options)


ABORTED = [
    ({"graph_run_mode": 2}, "graph_run_mode value must be 0 or 1"),
    ({"iterations_per_loop": 0}, "must >= 1"),
    ({"session_device_id": -1}, "session_device_id"),
    ({"variable_placement": "Host2"}, "variable_placement"),
    ({"buffer_optimize": "on"}, "buffer_optimize"),
    ({"op_select_implmode": "fast"}, "op_select_implmode"),
    ({"optypelist_for_implmode": "Add"}, "optypelist_for_implmode"),
    ({"dump_debug_mode": "none"}, "dump debug mode"),
    ({"enable_dump": True, "dump_path": "/", "dump_mode": "both"}, "dump mode should"),
    ({"input_shape": "x:1"}, "should use together"),
    ({"input_shape": "x:1", "dynamic_dims": "1", "dynamic_node_type": 0,
      "mix_compile_mode": True}, "can not use with mix compile"),
]


@pytest.mark.parametrize(("options", "words"), ABORTED)
def test_what_the_adapter_dies_of_aborts(options, words):
    with pytest.raises(AbortedError, match=words):
        read(**options)


@pytest.mark.parametrize("options", [
    {"dump_mode": "both"}, {"dump_step": "5-2"}, {"graph_run_mode": -1},
    {"oo_level": "O0"}, {"deterministic": 7}, {"optimization_switch": "A:off;nonsense"},
    {"fusion_switch_file": "/nowhere"}, {"memory_optimization_policy": "any"},
], ids=lambda options: next(iter(options)))
def test_what_the_adapter_does_not_check_passes_it(options):
    assert read(**options) == options


def test_a_size_out_of_range_is_clamped():
    assert read(input_fusion_size=1 << 30) == {"input_fusion_size": 33554432}


def start(**options):
    started = engine.Engine()
    started.start(read(**options))
    return started


REFUSED = [
    ({"oo_level": "O0"}, "E10001"), ({"oo_level": "O2"}, "E10001"),
    ({"oo_level": Attr("b", True)}, "E10001"), ({"deterministic": 2}, "E40022"),
    ({"graph_run_mode": -1}, "E40022"), ({"op_debug_level": 5}, "E40022"),
    ({"op_compiler_cache_mode": "on"}, "E40022"),
    ({"op_compiler_cache_dir": "/nowhere"}, "E40023"), ({"aicore_num": "x"}, "E20103"),
    ({"fusion_switch_file": "/nowhere"}, "E21001"),
    ({"auto_tune_mode": "RL,GA"}, "E10001"),
]


@pytest.mark.parametrize(("options", "code"), REFUSED)
def test_what_ge_refuses_has_its_code(options, code):
    with pytest.raises(engine.GeError, match=code):
        start(**options)


def test_a_switch_file_that_is_no_json_is_e21002(tmp_path):
    path = tmp_path / "switch.cfg"
    path.write_text("AutoFusePass:off")
    with pytest.raises(engine.GeError, match="E21002"):
        start(fusion_switch_file=str(path))


def test_both_dump_switches_of_one_session_are_e10001():
    started = start()
    with pytest.raises(engine.GeError, match="E10001"):
        started.session(engine.session_options(
            {"enable_dump": True, "enable_dump_debug": True}))


def test_a_bad_topology_mode_is_refused_with_the_session():
    with pytest.raises(engine.GeError, match="E10001"):
        start().session(engine.session_options({"topo_sorting_mode": 4}))


def test_a_second_start_with_other_options_keeps_the_first():
    started = start(oo_level="O1", deterministic=1)
    started.start(read(oo_level="O3", deterministic=0))
    assert started.options["ge.oo.level"] == "O1"
    assert started.options["ge.deterministic"] == "1"


def test_precision_modes_of_two_sessions_leak_into_one_another():
    started = start(precision_mode_v2="origin")
    with pytest.raises(engine.GeError, match="E10056"):
        started.start(read(precision_mode="force_fp16"))


def test_what_is_sent_when_a_key_is_absent_is_the_adapters_default():
    both = {**engine.global_options({}), **engine.session_options({})}
    assert both["ge.oo.level"] == "O3"
    assert both["ge.graphRunMode"] == "1"
    assert both["ge.topoSortingMode"] == ""
    assert both["ge.optimizationSwitch"] == "forbidden_close_pass:on"
    assert both["ge.jit_compile"] == "2"
    assert both["ge.exportCompileStat"] == "1"
    assert "ge.exec.precision_mode_v2" not in both


def test_the_session_route_adds_its_token_at_both_levels():
    found = {"optimization_switch": "A:off", "graph_run_mode": 0}
    for options in (engine.global_options(found), engine.session_options(found)):
        assert options["ge.optimizationSwitch"] == "A:off;forbidden_close_pass:on"
    assert engine.session_options(found)["ge.enableSmallChannel"] == "1"


@pytest.mark.parametrize(("level", "shown"), [
    ("1", {"PreRunBegin", "AutoFuser_AfterLowering", "Build"}),
    ("2", {"PreRunBegin", "Build"}), ("3", {"Build"}), ("4", {"PreRunBegin"}),
    ("7", set()), ("", set()),
    ("AutoFuser|Build", {"AutoFuser_AfterLowering", "Build"}),
    ("1|2", set()),
])
def test_the_dump_level_chooses_stages_as_documented(given, level, shown):
    given(DUMP_GRAPH_LEVEL=level)
    stages = ("PreRunBegin", "AutoFuser_AfterLowering", "Build")
    assert {stage for stage in stages if dumps.wanted(stage)} == shown


@pytest.mark.parametrize(("flags", "options", "answer"), [
    ("", {}, (False, False)),
    ("--enable_autofuse=true", {}, (True, True)),
    ("--enable_autofuse=true", {"ge.oo.level": "O1"}, (True, False)),
    ("--enable_autofuse=true", {"ge.optimizationSwitch": "AutoFusePass:off"},
     (True, False)),
    ("--enable_autofuse=true", {"ge.oo.level": "O1",
                                "ge.optimizationSwitch": "AutoFusePass:on"},
     (True, True)),
])
def test_the_frame_of_autofuse_runs_with_the_flag_even_where_its_pass_is_off(
        given, flags, options, answer):
    given(AUTOFUSE_FLAGS=flags)
    assert dumps.autofuse(options) == answer


def test_every_documented_level_of_a_key_is_one_the_engine_knows():
    assert {row.level for row in keys.KEYS.values()} == {
        "init", "both", "session", "pass", "graph"}
    assert set(keys.LEAKING) <= set(keys.KEYS)


def test_text_is_escaped_as_protobuf_does():
    assert prototext.escaped(b"a\"b\\\n\x01\xff'") == "a\\\"b\\\\\\n\\001\\377\\'"


def test_an_unknown_mode_of_the_stand_in_is_refused():
    with pytest.raises(ValueError, match="STANDIN_MODE='nonsense'"):
        state.Snapshot({"STANDIN_MODE": "nonsense"})
