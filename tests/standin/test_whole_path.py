"""The whole `ge` path against the stand-in adapter: every outcome, and every mutant.

Needs TensorFlow 1.15 or 2.6, the series that have an adapter. Nothing here is GE.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_harness.backends import tf_loader
from ge_harness.records.run import FailureKind, Mode, RunFailure, RunSuccess
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.switches.ge_plan import plan_ge
from ge_harness.worker import backend_lookup
from tests.standin import drive
from tests.standin.contract import faults

_VERSION = tf_loader.installed()
_SERIES = tuple(int(part) for part in _VERSION.split(".")[:2]) if _VERSION else ()
pytestmark = [
    pytest.mark.tf,
    pytest.mark.skipif(
        _SERIES not in drive.STACKS,
        reason=f"an adapter exists for TensorFlow 1.15 and 2.6; here is "
               f"{_VERSION or 'none'}")]
native = pytest.mark.skipif(
    _SERIES != (2, 6), reason="only npu_device has a native route")

O0, O1, O3 = (SwitchSetting(level) for level in ("O0", "O1", "O3"))
FLAGS = "--enable_autofuse=true"
FUSING = SwitchSetting("O3", values=(
    SwitchValue(Switch("autofuse", "AUTOFUSE_FLAGS"), FLAGS),))
DIVISION = str(drive.ROOT / "tests" / "data" / "standin" / "division_chain.py")
LITERAL = ("Abs", "Relu", "RealDiv", "Exp")


@pytest.fixture(scope="module")
def division(tmp_path_factory):
    """A chain with a division by 3, which TensorFlow's own rewriting would change."""
    return drive.make_case(DIVISION, tmp_path_factory.mktemp("division"))


@pytest.fixture
def job(monkeypatch, tmp_path):
    """Launch single jobs of the backend."""
    return drive.Driver(monkeypatch, tmp_path)


def _success(done):
    assert isinstance(done.result, RunSuccess), done.result.message
    return done.result


def _failure(done, kind):
    assert isinstance(done.result, RunFailure), done.result
    assert done.result.kind is kind, done.result.message
    return done.result.message


# --- the command line -----------------------------------------------------------------


@pytest.fixture(scope="module")
def level_zero(tmp_path_factory):
    """`run abs_relu_exp --backend=ge --opt-level=O0` and more, done once."""
    return drive.console(
        tmp_path_factory.mktemp("o0"), "normal", "abs_relu_exp", "--opt-level=O0",
        "--shape=x:4,6", "--collect", "--disable-pass=ge:CastRemovePass")


def test_level_o0_runs_and_ge_never_answers_e10001(level_zero):
    assert level_zero.status == 0, level_zero.out
    assert "E10001" not in level_zero.logs()
    assert {side["status"] for side in level_zero.document["sides"]} == {"ok"}
    levels = {event["options"]["ge.oo.level"] for event in level_zero.journal
              if event["event"] == "init"}
    assert levels == {"O1"}


def test_the_run_document_holds_what_was_asked_and_what_was_sent(level_zero):
    switches = level_zero.document["switches"]
    assert switches["asked"]["opt_level"] == "O0"
    assert switches["asked"]["disable_pass"] == ["ge:CastRemovePass"]
    sent = switches["sent"]
    config = next(event for event in level_zero.journal if event["event"] == "config"
                  and "fusion_switch_file" in event["entries"])
    seen = {key: value for key, (_, value) in config["entries"].items()}
    assert seen["oo_level"] == sent["oo_level"] == "O1"
    assert seen["oo_constant_folding"] is False
    assert sent["oo_constant_folding"] == "false"
    assert seen["optimization_switch"] == sent["optimization_switch"]
    assert "CastRemovePass:off" in sent["optimization_switch"]
    assert sent["AUTOFUSE_FLAGS"] == "(unset)"
    assert seen["topo_sorting_mode"] == 3
    assert set(seen) <= set(sent)


def test_the_options_sent_for_o0_are_proved_from_the_dump(level_zero):
    effects = {effect["switch"]["name"]: effect
               for effect in level_zero.side("candidate")["effects"]}
    for name in ("ge.oo.level", "ge.optimizationSwitch", "ge.oo.constantFolding",
                 "ge.fusionSwitchFile", "ge.deterministic", "CastRemovePass"):
        assert effects[name]["status"] == "proved", effects[name]


def test_every_job_of_ge_is_a_process_of_its_own(level_zero):
    pids = [event["pid"] for event in level_zero.journal
            if event["event"] == "snapshot"]
    assert len(pids) == len(set(pids)) == 3


def test_the_diagnostic_run_collects_and_its_numbers_are_compared_with_nothing(
        level_zero):
    collecting = [event["environment"] for event in level_zero.journal
                  if event["event"] == "snapshot"
                  and "NPU_COLLECT_PATH" in event["environment"]]
    assert len(collecting) == 1
    assert collecting[0]["NPU_COLLECT_PATH"].endswith("dumps/collect")
    assert level_zero.side("diagnostic")["status"] == "ok"
    assert "outputs_diagnostic" not in level_zero.document["artifacts"]
    for output in level_zero.document["outputs"]:
        assert set(output["vs_reference"]) == {"eager", "nodewise", "candidate"}


def test_a_stand_in_is_never_called_a_device(level_zero):
    backend = level_zero.document["backend"]
    assert backend["emulated"] is True
    assert "not GE, not a device" in backend["label"]


def test_no_process_but_those_of_ge_imports_the_adapter(level_zero):
    work = {event["environment"].get("ASCEND_WORK_PATH", "")
            for event in level_zero.journal if event["event"] == "snapshot"}
    assert all("-ge-" in path for path in work), work


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    """The plugin is missing: TensorFlow would run on the host and say nothing."""
    return drive.console(
        tmp_path_factory.mktemp("silent"), "plugin_missing", "abs_relu_exp",
        "--shape=x:4,6", "--baseline=eager", "--opt-level=O1",
        f"--autofuse-flags={FLAGS}")


def test_a_run_in_which_nothing_will_be_fused_says_so_before_anything_else(silent):
    assert silent.out.splitlines()[0].endswith(
        "AutoFusePass switches it on there (its preparation of the graph runs in any "
        "case)")
    assert "AutoFuse will fuse nothing in this run" in silent.out.splitlines()[0]


def test_a_silent_run_on_the_host_is_not_offloaded_with_status_3(silent):
    assert silent.status == 3, silent.out
    assert silent.side("candidate")["status"] == "not_offloaded"
    assert "not_offloaded" in silent.out


def test_a_silent_run_on_the_host_is_compared_with_nothing(silent):
    for output in silent.document["outputs"]:
        assert output["bit_equal"] is None
        assert output["ulp"] is None
        assert "candidate" not in output["vs_reference"]
        assert output["vs_baseline"] == {}
    jobs = sorted((silent.folder / "jobs").glob("*-ge-*"))
    assert len(jobs) == 1
    assert not [path for job in jobs for path in job.glob("outputs/*.npy")]


def test_the_other_sides_of_a_run_without_offload_are_kept(silent):
    for name in ("eager", "reference"):
        assert silent.side(name)["status"] == "ok"
        folder = silent.folder / silent.side(name)["folder"]
        assert np.load(str(folder / "outputs" / "y.npy")).shape == (4, 6)


# --- single jobs ----------------------------------------------------------------------


OF_THE_USER = ("AUTOFUSE_FLAGS", "AUTOFUSE_DFX_FLAGS", "NPU_COLLECT_PATH", "TF_CONFIG",
               "RANK_TABLE_FILE", "DEVICE_ID", "ASCEND_CACHE_PATH", "AOE_MODE",
               "CM_WORKER_SIZE", "PROFILING_OPTIONS", "DUMP_GE_GRAPH")


@pytest.fixture(scope="module")
def four(division, tmp_path_factory):
    """Three levels and the base line, in a shell whose variables change results."""
    with pytest.MonkeyPatch.context() as patch:
        for name in OF_THE_USER:
            patch.setenv(name, "/tmp/of-the-user")
        done = drive.Driver(patch, tmp_path_factory.mktemp("four")).all([
            (division, {"setting": O0}), (division, {"setting": O1}),
            (division, {"setting": O3}),
            (division, {"setting": FUSING, "mode": Mode.NODEWISE,
                        "want_dumps": False})])
    return dict(zip(("O0", "O1", "O3", "nodewise"), done))


@pytest.mark.parametrize("side", ["O0", "O1", "O3", "nodewise"])
def test_every_side_keeps_the_contract_and_computes(four, division, side):
    done = four[side]
    assert faults(done, literal=LITERAL) == []
    x = np.load(division.input_paths[0])
    np.testing.assert_allclose(
        np.load(_success(done).output_paths[0]), np.exp(np.abs(x) / 3), rtol=1e-6)
    assert any("offload proved" in note for note in done.result.notes)


def test_the_base_line_is_one_session_an_operator_at_o1(four):
    done = four["nodewise"]
    assert [build["ops"] for build in done.events("build")] == [
        ["Abs"], ["Relu"], ["RealDiv"], ["Exp"]]
    assert {config["entries"]["oo_level"][1] for config in done.events("config")} == {
        "O1"}
    assert len(done.events("session")) == 4
    assert dict(done.result.sent)["AUTOFUSE_FLAGS"] == "(unset)"
    assert any("one operator a session run" in note for note in done.result.notes)


def test_variables_of_the_user_that_change_results_stay_out_and_are_recorded(four):
    for done in four.values():
        snapshot = done.events("snapshot")[0]["environment"]
        assert "/tmp/of-the-user" not in snapshot.values()
        removed = dict(done.result.environment.removed)
        assert {removed[name] for name in OF_THE_USER} == {"/tmp/of-the-user"}


def test_two_configurations_share_no_process_no_folder_and_no_home_cache(four):
    events = [done.events("snapshot")[0] for done in four.values()]
    assert len({event["pid"] for event in events}) == 4
    assert len({event["environment"]["DUMP_GRAPH_PATH"] for event in events}) == 4
    for done, event in zip(four.values(), events):
        assert event["cwd"].startswith(str(done.folder))
        assert not done.events("home_cache")


def test_an_active_pass_of_the_statistics_is_named_with_its_switch(four):
    found = {each.name: each for each in _success(four["O3"]).passes}
    assert found["RealDiv2MulsFusionPass"].effect_times == 1


def test_a_pass_that_is_switched_off_is_proved_off_and_tensors_are_dumped_on_request(
        job, division):
    switch = Switch("graph_fusion", "RealDiv2MulsFusionPass")
    done = job(division, setting=SwitchSetting("O3", off=(switch,)),
               options=(("data_dump", "tensor"),))
    assert faults(done, literal=LITERAL) == []
    result = _success(done)
    assert "RealDiv2MulsFusionPass" not in {each.name for each in result.passes}
    effect = next(each for each in result.effects if each.switch == switch)
    assert effect.status == "proved"
    files = {path.name.split(".")[0]: path
             for path in (done.folder / "dumps" / "dump").rglob("*") if path.is_file()}
    assert sorted(files) == ["Abs", "Exp", "RealDiv", "Relu"]
    y = np.load(result.output_paths[0])
    assert files["Exp"].read_bytes().endswith(y.tobytes())


@pytest.fixture(scope="module")
def fused(division, tmp_path_factory):
    """AutoFuse on."""
    with pytest.MonkeyPatch.context() as patch:
        return drive.Driver(patch, tmp_path_factory.mktemp("fused"))(
            division, setting=FUSING)


def test_autofuse_keeps_the_contract_and_is_seen_to_fuse(fused):
    assert faults(fused, autofuse=FLAGS, literal=LITERAL) == []
    effect = next(one for one in _success(fused).effects
                  if one.switch.name == "AUTOFUSE_FLAGS")
    assert effect.status == "proved"
    assert "1 fused operators" in effect.evidence
    assert "AutoFusePass" in {one.name for one in fused.result.passes}


def test_kernels_repeat_over_cold_starts_and_a_device_that_does_not_is_told(
        job, division, fused):
    done = job(division, "nondeterministic", setting=FUSING)
    assert _success(done).artifact_hashes == fused.result.artifact_hashes
    assert fused.result.artifact_hashes
    assert fused.result.repeatable
    assert not done.result.repeatable


def test_kernels_that_differ_are_told_apart_under_one_name(job, division, fused):
    other = _success(job(division, "kernels_differ", setting=FUSING)).artifact_hashes
    assert other != fused.result.artifact_hashes
    assert [name for name, _ in other] == [
        name for name, _ in fused.result.artifact_hashes]


def test_an_op_that_stays_on_the_host_makes_the_run_not_offloaded(
        job, division, tmp_path, monkeypatch):
    folder = tmp_path / "opp" / "built-in" / "framework" / "tensorflow"
    folder.mkdir(parents=True)
    (folder / "npu_supported_ops.json").write_text(
        json.dumps({"Abs": {}, "Relu": {}, "RealDiv": {}}))
    monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path / "opp"))
    assert "(Exp)" in _failure(job(division), FailureKind.NOT_OFFLOADED)


# --- the native route: no backend takes it, its options are planned all the same ------

_NATIVE = """
import json, sys
import npu_device as npu
options = npu.global_options()
for name, value in json.loads(sys.argv[1]).items():
    setattr(options, name, value)
npu.open(0)
"""


def _native_switch(tmp_path, switch):
    """Open a native device with planned options; return GE's switch and warnings."""
    plan = plan_ge(SwitchSetting("O0"), "tf2_native", str(tmp_path))
    options = dict(plan.options)
    sent = dict(plan.sent)["optimization_switch"]
    options["optimization_switch"] = switch(str(options["optimization_switch"]))
    for text in plan.folders:
        Path(text).mkdir(parents=True, exist_ok=True)
    for text, content in plan.files:
        Path(text).write_text(content)
    (tmp_path / "journal").mkdir()
    variables = {**os.environ, **dict(plan.environment), "STANDIN_MODE": "normal",
                 "PYTHONPATH": str(drive.SITE),
                 "STANDIN_JOURNAL": str(tmp_path / "journal")}
    done = subprocess.run(
        [sys.executable, "-c", _NATIVE, json.dumps(options)], env=variables,
        cwd=str(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=120)
    assert done.returncode == 0, done.stdout
    events = drive.read_journal(tmp_path / "journal")
    init = next(event for event in events if event["event"] == "init")
    warnings = [event["text"] for event in events if event["event"] == "warning"]
    return sent, init["options"]["ge.optimizationSwitch"], warnings


@native
def test_the_switch_of_the_native_route_ends_with_a_semicolon_and_is_whole(tmp_path):
    sent, held, warnings = _native_switch(tmp_path, lambda text: text)
    assert sent.endswith(":off;")
    assert held == f"{sent}forbidden_close_pass:on"
    assert warnings == []


@native
def test_mutant_without_the_semicolon_loses_its_last_switch(tmp_path):
    _, held, warnings = _native_switch(tmp_path, lambda text: text.rstrip(";"))
    assert held.endswith(":offforbidden_close_pass:on")
    assert any("offforbidden_close_pass" in text for text in warnings)


# --- mutants of the backend -----------------------------------------------------------

# name: (mode of the stand-in, fields of the request, words of the fault that gives the
# mutant away).
MUTANTS = {
    "NoOffloadCheck": ("plugin_missing", {}, "came from the host"),
    "ImportFirst": ("normal", {}, "at import"),
    "TextForBytes": ("normal", {}, "TypeError"),
    "WrongArm": ("normal", {}, "GE holds ge.deterministic='0'"),
    "WrongKey": ("normal", {"setting": O1}, "GE holds ge.oo.level='O3'"),
    "NoReadBack": ("ignores_option", {}, "GE holds ge.oo.level='O1'"),
    "UnsentLevel": ("normal", {}, "E10001"),
    "MetaOptimizer": ("normal", {}, "GE was not given the RealDiv"),
    "SharedFolder": ("normal", {}, "is not a folder of the job"),
    "FlagsInBaseLine": ("normal", {"mode": Mode.NODEWISE}, "gate of AutoFuse was open"),
}


def _mutant(job, monkeypatch, name, case, mode, fields):
    full = f"tests.standin.mutants:{name}"
    monkeypatch.setenv(backend_lookup.TEST_VARIABLE, full)
    return job(case, mode, backend=full, **fields)


def test_the_unchanged_backend_has_no_fault_on_the_way_the_mutants_take(
        job, division, monkeypatch):
    done = _mutant(job, monkeypatch, "Unchanged", division, "normal", {})
    assert faults(done, literal=LITERAL) == []


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_mutant_is_noticed(job, division, monkeypatch, name):
    mode, fields, words = MUTANTS[name]
    done = _mutant(job, monkeypatch, name, division, mode, fields)
    found = faults(done, literal=LITERAL)
    assert any(words in fault for fault in found), found


@pytest.mark.skipif(_SERIES != (1, 15), reason="npu_init belongs to npu_bridge")
def test_mutant_that_imports_npu_init_is_noticed(job, division, monkeypatch):
    done = _mutant(job, monkeypatch, "NpuInit", division, "normal", {})
    assert any("npu_init" in fault for fault in faults(done))


def test_mutant_with_late_statistics_loses_the_active_passes(
        job, division, monkeypatch):
    done = _mutant(job, monkeypatch, "StatisticsAtTheEnd", division, "normal",
                   {"setting": O3})
    assert any("export_compile_stat is 1" in fault for fault in faults(done))
    assert "RealDiv2MulsFusionPass" not in {
        each.name for each in _success(done).passes}
