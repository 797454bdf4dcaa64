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
def chain(tmp_path_factory):
    """Abs, Relu, Exp."""
    return drive.make_case(
        "abs_relu_exp", tmp_path_factory.mktemp("chain"), (("x", (4, 6)),))


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
    """`run abs_relu_exp --backend=ge --opt-level=O0`, done once."""
    return drive.console(tmp_path_factory.mktemp("o0"), "normal", "abs_relu_exp",
                         "--opt-level=O0", "--shape=x:4,6")


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
    sent = switches["sent"]
    config = next(event for event in level_zero.journal if event["event"] == "config"
                  and "fusion_switch_file" in event["entries"])
    seen = {key: value for key, (_, value) in config["entries"].items()}
    assert seen["oo_level"] == sent["oo_level"] == "O1"
    assert seen["oo_constant_folding"] is False
    assert sent["oo_constant_folding"] == "false"
    assert seen["optimization_switch"] == sent["optimization_switch"]
    assert seen["topo_sorting_mode"] == 3
    assert set(seen) <= set(sent)


def test_the_options_sent_for_o0_are_proved_from_the_dump(level_zero):
    effects = {effect["switch"]["name"]: effect
               for effect in level_zero.side("candidate")["effects"]}
    for name in ("ge.oo.level", "ge.optimizationSwitch", "ge.oo.constantFolding",
                 "ge.fusionSwitchFile", "ge.deterministic"):
        assert effects[name]["status"] == "proved", effects[name]


def test_every_job_of_ge_is_a_process_of_its_own(level_zero):
    pids = [event["pid"] for event in level_zero.journal
            if event["event"] == "snapshot"]
    assert len(pids) == len(set(pids)) == 2


def test_no_process_but_those_of_ge_imports_the_adapter(level_zero):
    work = {event["environment"].get("ASCEND_WORK_PATH", "")
            for event in level_zero.journal if event["event"] == "snapshot"}
    assert all("-ge-" in path for path in work), work


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    """The plugin is missing: TensorFlow would run on the host and say nothing."""
    return drive.console(tmp_path_factory.mktemp("silent"), "plugin_missing",
                         "abs_relu_exp", "--shape=x:4,6")


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
    assert len(jobs) == 2
    assert not [path for job in jobs for path in job.glob("outputs/*.npy")]


BROKEN = {
    "import_fails": (3, "unavailable", "does not import: ImportError"),
    "abort": (3, "unavailable", "Tdt host init failed"),
    "hang": (4, "timeout", "--timeout"),
}


@pytest.mark.parametrize("mode", sorted(BROKEN))
def test_a_broken_adapter_is_named_and_the_other_sides_are_kept(mode, tmp_path):
    status, kind, words = BROKEN[mode]
    done = drive.console(tmp_path, mode, "abs_relu_exp", "--shape=x:4,6",
                         "--baseline=eager", "--timeout=25")
    assert done.status == status, done.out
    side = done.side("candidate")
    assert side["status"] == kind, side
    assert words in side["message"]
    for name in ("eager", "reference"):
        assert done.side(name)["status"] == "ok"
        folder = done.folder / done.side(name)["folder"]
        assert np.load(str(folder / "outputs" / "y.npy")).shape == (4, 6)


@native
def test_a_failed_import_is_not_blamed_on_libraries_that_tensorflow_misses(job, chain):
    message = _failure(job(chain, "import_fails"), FailureKind.UNAVAILABLE)
    assert "libcud" not in message


def test_half_written_dumps_cost_the_proof_of_options_and_no_output(tmp_path):
    done = drive.console(tmp_path, "half_dumps", "abs_relu_exp", "--shape=x:4,6",
                         "--baseline=eager")
    assert done.status == 0, done.out
    side = done.side("candidate")
    assert side["status"] == "ok"
    assert any("not closed" in note for note in side["notes"]), side["notes"]
    assert "unproved" in {effect["status"] for effect in side["effects"]}
    assert done.document["outputs"][0]["bit_equal"] is True


# --- single jobs ----------------------------------------------------------------------


@pytest.mark.parametrize("setting", [O0, O1, O3], ids=lambda setting: setting.level)
def test_a_whole_graph_keeps_the_contract_at_every_level(job, division, setting):
    done = job(division, setting=setting)
    assert faults(done, literal=LITERAL) == []
    x = np.load(division.input_paths[0])
    np.testing.assert_allclose(
        np.load(_success(done).output_paths[0]), np.exp(np.abs(x) / 3), rtol=1e-6)


def test_the_base_line_keeps_the_contract_one_session_an_operator(job, chain):
    done = job(chain, mode=Mode.NODEWISE, setting=FUSING, want_dumps=False)
    assert faults(done, literal=("Abs", "Relu", "Exp")) == []
    assert [build["ops"] for build in done.events("build")] == [
        ["Abs"], ["Relu"], ["Exp"]]
    assert {config["entries"]["oo_level"][1] for config in done.events("config")} == {
        "O1"}
    assert len(done.events("session")) == 3


def test_autofuse_keeps_the_contract_with_its_variable_set(job, chain):
    done = job(chain, setting=FUSING)
    assert faults(done, autofuse=FLAGS, literal=("Abs", "Relu", "Exp")) == []


def test_an_active_pass_of_the_statistics_is_named_with_its_switch(job, division):
    found = {each.name: each for each in _success(job(division, setting=O3)).passes}
    assert found["RealDiv2MulsFusionPass"].effect_times == 1


def test_a_pass_that_is_switched_off_is_proved_off(job, division):
    switch = Switch("graph_fusion", "RealDiv2MulsFusionPass")
    result = _success(job(division, setting=SwitchSetting("O3", off=(switch,))))
    assert "RealDiv2MulsFusionPass" not in {each.name for each in result.passes}
    effect = next(each for each in result.effects if each.switch == switch)
    assert effect.status == "proved"


def test_tensors_dumped_on_request_are_those_of_the_run(job, chain):
    done = job(chain, options=(("data_dump", "tensor"),))
    assert faults(done, literal=("Abs", "Relu", "Exp")) == []
    files = {path.name.split(".")[0]: path
             for path in (done.folder / "dumps" / "dump").rglob("*") if path.is_file()}
    assert sorted(files) == ["Abs", "Exp", "Relu"]
    y = np.load(_success(done).output_paths[0])
    assert files["Exp"].read_bytes().endswith(y.tobytes())


def test_statistics_dumped_on_request_are_those_of_the_run(job, chain):
    done = job(chain, options=(("data_dump", "stats"),))
    y = np.load(_success(done).output_paths[0])
    path = next((done.folder / "dumps" / "dump").rglob("Exp.*.csv"))
    row = next(line for line in path.read_text().splitlines()
               if line.startswith("Output,0,"))
    assert row.split(",")[3:7] == ["DT_FLOAT16", "ND", "4x6", f"{float(y.max()):g}"]


def test_an_op_that_stays_on_the_host_makes_the_run_not_offloaded(
        job, chain, tmp_path, monkeypatch):
    folder = tmp_path / "opp" / "built-in" / "framework" / "tensorflow"
    folder.mkdir(parents=True)
    (folder / "npu_supported_ops.json").write_text(json.dumps({"Abs": {}, "Relu": {}}))
    monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path / "opp"))
    assert "(Exp)" in _failure(job(chain), FailureKind.NOT_OFFLOADED)


def test_two_configurations_never_share_a_process(job, chain):
    done = job.all([(chain, {"setting": O1}), (chain, {"setting": O3}),
                    (chain, {"setting": O1, "mode": Mode.NODEWISE})])
    assert [faults(each) for each in done] == [[], [], []]
    pids = [each.events("snapshot")[0]["pid"] for each in done]
    assert len(set(pids)) == 3


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
    "NoOptimizerEntry": ("normal", {}, "host CPU"),
    "ImportFirst": ("normal", {}, "at import"),
    "TextForBytes": ("normal", {}, "TypeError"),
    "WrongArm": ("normal", {}, "GE holds ge.deterministic='0'"),
    "WrongKey": ("normal", {"setting": O1}, "GE holds ge.oo.level='O3'"),
    "NoReadBack": ("ignores_option", {}, "GE holds ge.oo.level='O1'"),
    "BothPrecisionModes": ("normal", {}, "can not be assigned at the same time"),
    "UnsentLevel": ("normal", {}, "E10001"),
    "MetaOptimizer": ("normal", {}, "GE was not given the RealDiv"),
    "SharedFolder": ("normal", {}, "is not a folder of the job"),
    "FlagsInBaseLine": ("normal", {"mode": Mode.NODEWISE}, "gate of AutoFuse was open"),
    "ShortListDumps": ("normal", {}, "hides AutoFuser_AfterLowering"),
    "StatisticsAtTheEnd": ("normal", {"setting": O3}, "export_compile_stat is 1"),
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
    assert "RealDiv2MulsFusionPass" not in {
        each.name for each in _success(done).passes}
