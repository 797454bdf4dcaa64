from __future__ import annotations

import json

import pytest

from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.records import serialize
from ge_harness.records.ge import GeRequest
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.switches.ge_options import ROUTES
from ge_harness.switches.ge_plan import plan_ge
from ge_harness.switches.skip_node_names import parse_skip

GATE = "--enable_autofuse=true"


def _setting(level="O3", off=(), on=(), flags="", dfx="", **options):
    values = [SwitchValue(Switch("ge_option", name), value)
              for name, value in options.items()]
    if flags:
        values.append(SwitchValue(Switch("autofuse", "AUTOFUSE_FLAGS"), flags))
    if dfx:
        values.append(SwitchValue(Switch("autofuse", "AUTOFUSE_DFX_FLAGS"), dfx))
    return SwitchSetting(level, tuple(map(_switch, off)), tuple(map(_switch, on)),
                         tuple(values))


def _switch(text):
    family, colon, name = text.partition(":")
    return Switch(family, name) if colon else Switch("", text)


def _plan(route="tf1", request=None, **setting):
    return plan_ge(_setting(**setting), route, "/job", request)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("level", ["", "O0", "O1", "O3"])
def test_only_o1_and_o3_are_ever_sent(route, level):
    plan = _plan(route, level=level)
    assert dict(plan.options)["oo_level"] in ("O1", "O3")
    assert dict(plan.ge_options)["ge.oo.level"] == plan.level
    assert dict(plan.asked)["opt-level"] == (level or "default")
    assert "E10001" not in "".join(plan.warnings)


@pytest.mark.parametrize("route", ROUTES)
def test_o0_sends_the_recipe(route):
    plan = _plan(route, level="O0")
    options = dict(plan.options)
    assert options["oo_constant_folding"] is False
    assert options["optimization_switch"].endswith(";") is (route == "tf2_native")
    assert options["optimization_switch"].startswith("SwitchDeadBranchElimination:off;")
    path, text = plan.files[0]
    assert options["fusion_switch_file"] == path
    switch = json.loads(text)["Switch"]
    assert switch["GraphFusion"]["ALL"] == switch["UBFusion"]["ALL"] == "off"
    assert switch["UBFusion"]["TbeMatmulFixPipeFusionPass"] == "off"
    assert "AUTOFUSE_FLAGS" in dict(plan.removed)
    assert dict(plan.sent)["AUTOFUSE_FLAGS"] == "(unset)"
    held = dict(plan.ge_options)["ge.optimizationSwitch"]
    assert held.endswith("UnusedArgsCleanPass:off;forbidden_close_pass:on")


def test_the_native_route_warns_of_its_switch_and_lacks_the_sorting_mode():
    plan = _plan("tf2_native", level="O0")
    assert "topo_sorting_mode" not in dict(plan.options)
    assert "not dependable" in "".join(plan.warnings)
    assert "topo_sorting_mode=3" in "".join(plan.notes)
    assert "use_off_line" not in dict(plan.options)


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("route", ["tf1", "tf2_session"])
def test_o1_gets_the_sorting_mode_that_the_adapter_hides(level, route):
    assert dict(_plan(route, level=level).options)["topo_sorting_mode"] == 3
    assert "topo_sorting_mode" not in dict(_plan(route, level="O3").options)


def test_every_run_is_pinned():
    options = dict(_plan().options)
    assert options["precision_mode_v2"] == "origin"
    assert options["deterministic"] == 1
    assert options["export_compile_stat"] == 2
    assert options["op_compiler_cache_dir"] == "/job/cache"
    assert options["use_off_line"] is True
    assert "precision_mode" not in options


def test_another_precision_is_sent_alone_and_warned_of():
    plan = _plan(precision_mode="allow_mix_precision")
    assert "precision_mode_v2" not in dict(plan.options)
    assert "lets GE change dtypes" in "".join(plan.warnings)
    assert _plan(precision_mode="must_keep_origin_dtype").warnings == ()
    with pytest.raises(SwitchError, match="E10056"):
        _plan(precision_mode="force_fp32", precision_mode_v2="origin")


@pytest.mark.parametrize(("level", "flags", "on", "words"), [
    ("O1", GATE, (), "belongs to level O3"),
    ("O0", GATE, (), "belongs to level O3"),
    ("O3", "--enable_autofuse=false;--autofuse_enable_pass=reduce", (),
     "gate is closed"),
    ("O3", GATE + ";--max_fusion_size=0", (), "max_fusion_size=0"),
    ("O3", GATE, (), ""),
    ("O1", GATE, ("AutoFusePass",), ""),
])
def test_a_run_in_which_nothing_will_be_fused_says_so_first(level, flags, on, words):
    plan = _plan(level=level, flags=flags, on=on)
    assert dict(plan.environment)["AUTOFUSE_FLAGS"] == flags
    if words:
        assert plan.warnings[0].startswith("AutoFuse will fuse nothing in this run")
        assert words in plan.warnings[0]
    else:
        assert plan.warnings == ()


def test_dfx_flags_alone_fuse_nothing():
    plan = _plan(dfx="--disable_lifting=true")
    assert "gate is closed" in plan.warnings[0]


def test_the_preset_closes_autofuse_by_name_and_that_is_said():
    plan = _plan(flags=GATE, request=GeRequest(preset="numeric-off"))
    assert "switched off by name" in plan.warnings[0]
    assert "AutoFusePass:off" in dict(plan.options)["optimization_switch"]
    assert dict(plan.asked)["preset"] == "numeric-off"
    assert _plan(preset="numeric-off").options == _plan(
        request=GeRequest(preset="numeric-off")).options


def test_flags_that_would_not_do_what_they_say_are_refused():
    with pytest.raises(SwitchError, match="autofuse_enable_pass"):
        _plan(flags="--enable_autofuse=true;--autofuse_enable_pas=concat")
    with pytest.raises(SwitchError):
        _plan(dfx="--disable_lifting=yes")
    with pytest.raises(SwitchError, match="conv"):
        _plan(flags=GATE + ";--autofuse_enable_pass=conv",
              request=GeRequest(chip="910b"))


@pytest.mark.parametrize(("name", "token"), [
    ("MatMulBiasAddFusionPass", "MatMulBiasAddFusionPass:off"),
    ("AABiasaddConvFusion", "AABiasaddConvFusion:off"),
    ("LayerNormV4FusionPass", "LayerNormV4FusionPass:off"),
    ("ge:CastRemovePass", "CastRemovePass:off"),
    ("optimization:AutoFusePass", "AutoFusePass:off"),
    ("HostcpuEngineUpdatePass", "HostShapeOptimizationPass:off"),
    ("SplitNOptimizer", "FusionVirtualOpSetSwitch:off"),
    ("InferShapePass", "InferShapePass:off"),
])
def test_a_pass_is_switched_off_by_the_mechanism_that_reaches_it(name, token):
    plan = _plan(off=(name,))
    assert dict(plan.options)["optimization_switch"] == token


def test_a_pass_that_must_stay_is_warned_of():
    assert "shapes and dtypes" in _plan(off=("InferShapePass",)).warnings[0]
    assert "pair" in "".join(_plan(off=("ReshapeRemovePass",)).warnings)


@pytest.mark.parametrize(("name", "words"), [
    ("CastRemovePass", "autofuse:CastRemovePass, ge:CastRemovePass"),
    ("MatmulTransdataFusionPass", "ub_fusion:MatmulTransdataFusionPass"),
    ("CanFuse", "AutoFusePass stops AutoFuse"),
    ("autofuse:CastRemovePass", "AutoFusePass stops AutoFuse"),
    ("FeOpDtypeJudge", "precision_mode_v2"),
    ("MemcpyAddrAsyncPass", "called without the filter"),
    ("SymbolicInfoPreProcessor", "leave that unset"),
    ("Lowering", "--max_fusion_size=0"),
    ("SuperKernelPass", "no switch reaches"),
])
def test_what_no_switch_reaches_is_refused_with_the_reason(name, words):
    with pytest.raises(SwitchError) as caught:
        _plan(off=(name,))
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["MatMulBiasAddFusionPas", "algsimp", "ge:CanFuse",
                                  "grappler:remapper", ""])
def test_a_name_ge_would_ignore_silently_is_refused(name):
    with pytest.raises(UnknownNameError):
        _plan(off=(name,))


def test_a_name_of_both_kinds_of_fusion_goes_to_its_own_group_of_the_file():
    plan = _plan(off=("ub_fusion:MatmulTransdataFusionPass",))
    assert "optimization_switch" not in dict(plan.options)
    assert json.loads(plan.files[0][1])["Switch"] == {
        "GraphFusion": {}, "UBFusion": {"MatmulTransdataFusionPass": "off"}}


def test_the_native_route_takes_the_switch_file_for_fusion_passes():
    plan = _plan("tf2_native", off=("MatMulBiasAddFusionPass",))
    assert json.loads(plan.files[0][1])["Switch"]["GraphFusion"] == {
        "MatMulBiasAddFusionPass": "off"}
    assert plan.warnings == ()
    plan = _plan("tf2_native", off=("PrunePass",))
    assert dict(plan.options)["optimization_switch"] == "PrunePass:off;"


def test_the_users_word_on_a_pass_beats_the_recipe():
    plan = _plan(level="O0", on=("SubexpressionMigrationPass", "CastlikeFusionPass"))
    tokens = dict(plan.options)["optimization_switch"].split(";")
    assert "SubexpressionMigrationPass:on" in tokens
    assert "SubexpressionMigrationPass:off" not in tokens
    assert "CastlikeFusionPass:on" in tokens


def test_one_pass_on_and_off_is_refused():
    with pytest.raises(SwitchError, match="both on and off"):
        _plan(off=("PrunePass",), on=("ge:PrunePass",))


def test_operators_and_lifting_go_to_the_autofuse_strings():
    plan = _plan(flags=GATE, off=("node:layer/add", "node:type:ReduceSum", "Lifting",
                                  "ImprovePrecisionToFp32"))
    environment = dict(plan.environment)
    assert environment["AUTOFUSE_DFX_FLAGS"] == (
        "--disable_lifting=true;--skip_node_names_cfg=/job/skip_node_names.cfg")
    assert environment["AUTOFUSE_FLAGS"] == (
        GATE + ";--autofuse_enhance_precision_blacklist=all")
    skip, warnings = parse_skip(dict(plan.files)["/job/skip_node_names.cfg"])
    assert (skip.types, skip.names, warnings) == (("ReduceSum",), ("layer/add",), ())
    with pytest.raises(SwitchError, match="which is off"):
        _plan(off=("node:layer/add",))
    with pytest.raises(SwitchError, match="give one of them"):
        _plan(flags=GATE + ";--autofuse_enhance_precision_blacklist=Add",
              off=("ImprovePrecisionToFp32",))


def test_a_relative_path_is_refused_since_the_worker_runs_elsewhere():
    with pytest.raises(SwitchError, match="absolute"):
        _plan(flags=GATE, dfx="--skip_node_names_cfg=./skip.ini")
    with pytest.raises(SwitchError, match="absolute"):
        _plan(op_precision_mode="op.ini")
    assert dict(_plan(op_precision_mode="/op.ini").options)["op_precision_mode"]


def test_what_only_both_variables_show_to_be_inert_is_warned_of():
    plan = _plan(flags=GATE, dfx="--autofuse_pgo_topn=3")
    assert "--autofuse_enable_pgo=true" in plan.warnings[0]
    plan = _plan(flags=GATE + ";--autofuse_enable_pgo=true",
                 dfx="--autofuse_pgo_topn=3")
    assert plan.warnings == ()


def test_configurations_never_share_a_switch_file():
    one = _plan(off=("ub_fusion:MatmulTransdataFusionPass",)).files[0][0]
    two = _plan(off=("graph_fusion:MatmulTransdataFusionPass",)).files[0][0]
    assert one != two


def test_the_nodewise_base_line_is_o1_without_autofuse_and_is_not_called_o0():
    plan = _plan(level="O0", flags=GATE, on=("AutoFusePass",),
                 request=GeRequest(nodewise=True))
    assert plan.level == "O1"
    assert "AUTOFUSE_FLAGS" not in dict(plan.environment)
    assert "optimization_switch" not in dict(plan.options)
    assert "not the level O0" in plan.notes[0]
    assert dict(plan.asked)["mode"] == "nodewise"


@pytest.mark.parametrize(("name", "value"), [
    ("oo_level", "O1"), ("optimization_switch", "A:off"), ("fusion_switch_file", "/x"),
    ("ge.optimizationSwitch", "A:off"), ("deterministic", "3"), ("use_off_line", "0"),
])
def test_options_that_the_harness_writes_or_ge_refuses_are_refused(name, value):
    with pytest.raises(SwitchError):
        _plan(**{name: value})


def test_a_data_dump_and_a_diagnostic_run_are_separate_requests():
    options = dict(_plan(request=GeRequest(data_dump="tensor")).options)
    assert options["enable_dump"] is True
    assert options["dump_path"] == "/job/dump"
    plan = _plan(request=GeRequest(collect=True))
    assert dict(plan.environment)["NPU_COLLECT_PATH"] == "/job/collect"
    assert "not compared" in "".join(plan.notes)


def test_a_plan_is_json_and_repeats_itself():
    first, second = (_plan(level="O0", flags=GATE) for _ in range(2))
    assert first == second
    text = serialize.dumps("ge_plan", first)
    assert serialize.loads("ge_plan", text, "x")["level"] == "O1"


def test_an_unknown_route_is_refused():
    with pytest.raises(UnknownNameError):
        _plan("tf3")
