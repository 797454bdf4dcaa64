from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ge_harness.backends import ge, ge_request, ge_route
from ge_harness.backends.base import BackendFailure
from ge_harness.errors import SwitchError
from ge_harness.records.run import Mode, RunRequest
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.records.tensor import Case, Port, TensorSpec

ROOT = Path(__file__).resolve().parents[3]
CASE = Case("s", "", 0, "", (), (), ())
FLAGS = SwitchValue(Switch("autofuse", "AUTOFUSE_FLAGS"), "--enable_autofuse=true")


def _request(level="O3", mode=Mode.WHOLE, values=(FLAGS,), **fields):
    return RunRequest(CASE, "ge", mode, SwitchSetting(level, values=values), **fields)


def _environment(request, folder):
    return dict(ge_request.plan_of(request, folder, "tf1").environment)


@pytest.mark.parametrize(("version", "route"), [
    ("1.15.5", "tf1"), ("2.6.5", "tf2_session"), ("", "tf1")])
def test_each_tensorflow_has_its_route(version, route):
    assert ge_route.route_of(version) == route


def test_everything_ge_writes_lies_below_the_dumps_of_the_job(tmp_path):
    variables = _environment(_request(), tmp_path)
    for name in ("DUMP_GRAPH_PATH", "ASCEND_WORK_PATH", "ASCEND_PROCESS_LOG_PATH"):
        assert variables[name].startswith(f"{tmp_path}/dumps/"), name
    plan = ge_request.plan_of(_request("O0"), tmp_path, "tf1")
    options = dict(plan.options)
    assert str(options["op_compiler_cache_dir"]).startswith(f"{tmp_path}/dumps/")
    assert str(options["fusion_switch_file"]).startswith(f"{tmp_path}/dumps/")


@pytest.mark.parametrize(("dtype", "chip", "said"), [
    ("bfloat16", "910b", True), ("bfloat16", "950", False), ("float16", "910b", False)])
def test_bfloat16_on_910b_is_said_before_the_run(tmp_path, dtype, chip, said):
    ports = (Port(TensorSpec("x", (2,), dtype), "x:0"),
             Port(TensorSpec("i", (2,), "int32"), "i:0"))
    case = Case("s", "", 0, "", ports, (), ())
    request = RunRequest(case, "ge", Mode.WHOLE, SwitchSetting("O3", values=(FLAGS,)),
                         options=(("chip", chip),))
    warnings = ge_request.plan_of(request, tmp_path, "tf1").warnings
    assert any("bfloat16" in text for text in warnings) is said


@pytest.mark.parametrize("name", ["new\nline", "bad\udcff", "bell\x07"])
def test_a_folder_that_no_option_can_carry_is_refused_with_the_way_out(tmp_path, name):
    with pytest.raises(SwitchError, match="--out=DIR"):
        ge_request.plan_of(_request(), tmp_path / name, "tf1")


@pytest.mark.parametrize("name", ["a;b", "a=b"])
def test_a_folder_that_autofuse_cannot_read_is_refused_only_where_it_has_to(
        tmp_path, name):
    assert ge_request.plan_of(_request("O0"), tmp_path / name, "tf1").files
    skip = SwitchSetting("O3", off=(Switch("node", "abs"),), values=(FLAGS,))
    with pytest.raises(SwitchError, match="--out=DIR"):
        ge_request.plan_of(RunRequest(CASE, "ge", Mode.WHOLE, skip), tmp_path / name,
                           "tf1")


def test_a_folder_with_blanks_quotes_and_letters_of_the_world_is_fine(tmp_path):
    folder = tmp_path / "a b'c\"d \u00e9\u3000\u6f22"
    assert dict(ge_request.plan_of(_request("O0"), folder, "tf1").options)


def test_without_dumps_the_last_stage_is_still_written_to_prove_the_options(tmp_path):
    variables = _environment(_request(want_dumps=False), tmp_path)
    assert (variables["DUMP_GE_GRAPH"], variables["DUMP_GRAPH_LEVEL"]) == ("2", "3")
    assert "AutoFuser" in _environment(_request(), tmp_path)["DUMP_GRAPH_LEVEL"]


def test_the_nodewise_base_line_is_o1_and_leaves_autofuse_out(tmp_path):
    request = _request(mode=Mode.NODEWISE, options=(
        ("collect", "on"), ("data_dump", "tensor"), ("grappler", "on")))
    plan = ge_request.plan_of(request, tmp_path, "tf1")
    variables = dict(plan.environment)
    assert plan.level == "O1"
    assert plan.literal_graph
    assert "AUTOFUSE_FLAGS" not in variables
    assert "NPU_COLLECT_PATH" not in variables
    assert "enable_dump" not in dict(plan.options)
    assert dict(plan.sent)["AUTOFUSE_FLAGS"] == "(unset)"


def test_a_data_dump_is_made_where_it_is_asked_for(tmp_path):
    plan = ge_request.plan_of(_request(options=(("data_dump", "stats"),)), tmp_path,
                              "tf1")
    options = dict(plan.options)
    assert options["enable_dump"] is True
    assert options["dump_data"] == "stats"
    assert options["dump_path"] in plan.folders


@pytest.mark.parametrize("options", [
    (("device", "first"),), (("device", "-1"),), (("data_dump", "all"),)])
def test_a_wish_that_cannot_be_sent_is_refused(tmp_path, options):
    with pytest.raises(SwitchError):
        ge_request.plan_of(_request(options=options), tmp_path, "tf1")


def test_what_would_fuse_nothing_is_announced_before_the_run():
    backend = ge.GeBackend()
    first = backend.announce(_request("O1")).warnings[0]
    assert "will fuse nothing in this run: AutoFusePass belongs to level O3" in first
    closed = SwitchValue(FLAGS.switch, "--enable_autofuse=false")
    assert "the gate is closed" in backend.announce(
        _request(values=(closed,))).warnings[0]
    good = backend.announce(_request())
    assert good.warnings == ()
    assert dict(good.sent)["op_compiler_cache_dir"] == "dumps/cache"


def test_a_process_of_another_environment_is_refused(tmp_path, monkeypatch):
    plan = ge_request.plan_of(_request(), tmp_path, "tf1")
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    for name, value in plan.environment:
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DUMP_GRAPH_PATH", "/elsewhere")
    with pytest.raises(BackendFailure, match="wrong or missing: DUMP_GRAPH_PATH"):
        ge.prepare_process(plan, tmp_path)


def test_a_process_that_has_tensorflow_already_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", object())
    plan = ge_request.plan_of(_request(), tmp_path, "tf1")
    with pytest.raises(BackendFailure, match="imported already"):
        ge.prepare_process(plan, tmp_path)


def test_a_process_is_made_ready_with_folders_files_and_without_variables(
        tmp_path, monkeypatch):
    plan = ge_request.plan_of(_request("O0", values=()), tmp_path, "tf1")
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.chdir(tmp_path)
    for name, value in plan.environment:
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DEVICE_ID", "5")
    ge.prepare_process(plan, ge_request.dumps_dir(tmp_path))
    assert "DEVICE_ID" not in os.environ
    assert all(Path(folder).is_dir() for folder in plan.folders)
    path, text = plan.files[0]
    assert Path(path).read_text(encoding="utf-8") == text
    assert Path.cwd() == tmp_path / "dumps" / "work"


_CONFIG = """
import dataclasses, json, sys
from pathlib import Path
from ge_harness.backends import ge_config, ge_request, tf_loader
from ge_harness.records.run import RunRequest
from ge_harness.records.switch import SwitchSetting
from ge_harness.records.tensor import Case, Port, TensorSpec
tf = tf_loader.load()
request = RunRequest(Case("s", "", 0, "", (), (), ()), "ge",
                     setting=SwitchSetting("O0"))
plan = ge_request.plan_of(request, Path("/job"), "tf1")
config = ge_config.session_config(tf, plan, 2)
user = ge_config.session_config(tf, dataclasses.replace(plan, literal_graph=False), 2)
wrong = config.__class__.FromString(config.SerializeToString())
optimizer = wrong.graph_options.rewrite_options.custom_optimizers[0]
optimizer.parameter_map["oo_level"].i = 1
def told(config):
    rewrite = config.graph_options.rewrite_options
    return {"meta": rewrite.disable_meta_optimizer, "remapping": rewrite.remapping,
            "memory": rewrite.memory_optimization,
            "soft": config.allow_soft_placement,
            "level": config.graph_options.optimizer_options.opt_level}
print(json.dumps({"same": ge_config.read_back(tf, config) == dict(plan.options),
                  "wrong": ge_config.read_back(tf, wrong)["oo_level"],
                  "literal": told(config), "user": told(user)}))
"""


@pytest.mark.tf
def test_a_session_config_holds_each_option_in_the_arm_the_adapter_reads(stack):
    done = subprocess.run(
        [sys.executable, "-c", _CONFIG], cwd=str(ROOT), timeout=120, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True)
    found = json.loads(done.stdout.decode("utf-8").splitlines()[-1])
    assert found["same"]
    assert found["wrong"] == 1
    assert found["literal"] == {"meta": True, "remapping": 2, "memory": 1,
                                "soft": True, "level": -1}
    assert found["user"] == {"meta": False, "remapping": 2, "memory": 1,
                             "soft": True, "level": 0}
