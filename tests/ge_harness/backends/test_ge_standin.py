"""The whole path of backend `ge`, on both routes, against the stand-in adapter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_harness.backends.base import Probe
from ge_harness.backends.ge_machine import Machine
from ge_harness.backends.ge_probe import probe_active
from ge_harness.experiment import doctor
from ge_harness.records.run import FailureKind, Mode, RunFailure, RunRequest, RunSuccess
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.records.tensor import Case
from ge_harness.worker import launch
from graphs.built import BuildOptions

pytestmark = pytest.mark.tf

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "tests" / "standin" / "site"
OPEN_GATE = "--enable_autofuse=true"
AUTOFUSE = SwitchSetting("O3", values=(SwitchValue(
    Switch("autofuse", "AUTOFUSE_FLAGS"), OPEN_GATE),))


@pytest.fixture(scope="module")
def case(stack, tmp_path_factory):
    """Return y = exp(relu(abs(x))) in float16, built once."""
    if stack not in ((1, 15), (2, 6)):
        pytest.skip(f"no adapter for TensorFlow {stack}")
    if not SITE.is_dir():
        pytest.skip("no stand-in adapter in tests/standin")
    folder = tmp_path_factory.mktemp("case")
    built = launch.build("abs_relu_exp", BuildOptions(dtype="float16"), folder)
    port = built.inputs[0]
    x = np.random.RandomState(1).uniform(-2, 2, port.spec.shape).astype(np.float16)
    np.save(str(folder / "x.npy"), x)
    return Case("abs_relu_exp", built.variant, 0, built.graph_path, built.inputs,
                built.outputs, (str(folder / "x.npy"),))


class Stack:
    """Runs requests on the stand-in and keeps its journal."""

    def __init__(self, case, folder, monkeypatch):
        self.case = case
        self.folder = folder
        self._patch = monkeypatch
        path = os.pathsep.join((str(SITE), os.environ.get("PYTHONPATH", "")))
        monkeypatch.setenv("PYTHONPATH", path.rstrip(os.pathsep))
        monkeypatch.syspath_prepend(str(SITE))

    def run(self, setting=None, standin_mode="normal", **fields):
        """Run one request; return its outcome and what the stand-in saw."""
        self._patch.setenv("STANDIN_MODE", standin_mode)
        journal = self.folder / f"journal-{len(list(self.folder.iterdir()))}"
        journal.mkdir()
        self._patch.setenv("STANDIN_JOURNAL", str(journal))
        fields.setdefault("timeout_s", 120.0)
        request = RunRequest(self.case, "ge", setting=setting or SwitchSetting("O3"),
                             **fields)
        outcome = launch.launch([request], self.folder / "jobs")[0]
        return outcome, [json.loads(line) for path in sorted(journal.glob("*.jsonl"))
                         for line in path.read_text().splitlines()]

    def expected(self):
        with np.errstate(all="ignore"):
            return np.exp(np.maximum(np.abs(np.load(self.case.input_paths[0])), 0))


@pytest.fixture
def standin(case, tmp_path, monkeypatch):
    return Stack(case, tmp_path, monkeypatch)


def _events(journal, kind):
    return [one for one in journal if one["event"] == kind]


def test_level_o0_is_sent_as_o1_with_its_recipe_and_held_by_ge(standin):
    setting = SwitchSetting("O0", off=(Switch("ge", "CastRemovePass"),))
    outcome, journal = standin.run(setting)
    assert isinstance(outcome, RunSuccess), outcome.message
    np.testing.assert_allclose(
        np.load(outcome.output_paths[0]).astype(np.float64),
        standin.expected().astype(np.float64), rtol=2e-3)
    sent = dict(outcome.sent)
    assert sent["oo_level"] == "O1"
    assert sent["oo_constant_folding"] == "false"
    assert "CastRemovePass:off" in sent["optimization_switch"]
    assert sent["AUTOFUSE_FLAGS"] == "(unset)"
    status = {effect.switch.name: effect.status for effect in outcome.effects}
    assert status["ge.oo.level"] == status["ge.oo.constantFolding"] == "proved"
    assert status["ge.optimizationSwitch"] == "proved"
    assert status["CastRemovePass"] == "proved"
    assert any("offload proved for 1 graph" in note for note in outcome.notes)
    _assert_config(journal)
    _assert_environment(journal, outcome)


def _assert_config(journal):
    config = _events(journal, "config")[0]
    entries = config["entries"]
    assert entries["oo_level"] == ["s", "O1"]
    assert entries["oo_constant_folding"] == ["b", False]
    assert entries["precision_mode_v2"] == ["s", "origin"]
    assert entries["deterministic"] == ["i", 1]
    assert config["optimizers"] == ["NpuOptimizer"]
    assert config["disable_meta_optimizer"] is True
    assert config["remapping"] == 2
    assert config["memory_optimization"] == 1


def _assert_environment(journal, outcome):
    kinds = [one["event"] for one in journal]
    assert kinds.index("snapshot") < kinds.index("import") < kinds.index("config")
    seen = _events(journal, "snapshot")[0]
    names = seen["environment"]
    job = str(Path(outcome.output_paths[0]).parents[1])
    for name in ("DUMP_GRAPH_PATH", "ASCEND_WORK_PATH", "ASCEND_PROCESS_LOG_PATH"):
        assert names[name].startswith(job), name
    assert seen["cwd"].startswith(job)
    assert names["DUMP_GE_GRAPH"] == "2"
    assert "AutofuseOptimize" in names["DUMP_GRAPH_LEVEL"]
    assert names["ENABLE_HF32_EXECUTION"] == "0"
    assert names["TF_CPP_MIN_LOG_LEVEL"] == "0"
    assert "AUTOFUSE_FLAGS" not in names
    assert not _events(journal, "home_cache")


def test_autofuse_is_seen_to_fuse_and_its_pass_is_named(standin):
    outcome, journal = standin.run(AUTOFUSE)
    assert isinstance(outcome, RunSuccess), outcome.message
    names = _events(journal, "snapshot")[0]["environment"]
    assert names["AUTOFUSE_FLAGS"] == OPEN_GATE
    effect = next(one for one in outcome.effects
                  if one.switch.name == "AUTOFUSE_FLAGS")
    assert effect.status == "proved"
    assert "1 fused operators" in effect.evidence
    assert "AutoFusePass" in {one.name for one in outcome.passes}
    assert outcome.artifact_hashes
    assert Path(outcome.dump_dir).is_dir()


def test_the_nodewise_base_line_runs_each_operator_alone_at_o1_without_autofuse(
        standin):
    outcome, journal = standin.run(AUTOFUSE, mode=Mode.NODEWISE, want_dumps=False)
    assert isinstance(outcome, RunSuccess), outcome.message
    assert "AUTOFUSE_FLAGS" not in _events(journal, "snapshot")[0]["environment"]
    builds = [one["ops"] for one in _events(journal, "build")]
    assert builds == [["Abs"], ["Relu"], ["Exp"]]
    assert {one["entries"]["oo_level"][1]
            for one in _events(journal, "config")} == {"O1"}
    assert dict(outcome.sent)["AUTOFUSE_FLAGS"] == "(unset)"
    assert any("one operator a session run" in note for note in outcome.notes)
    assert any("offload proved for 3 graphs" in note for note in outcome.notes)
    status = {effect.switch.name: effect.status for effect in outcome.effects}
    assert status["ge.oo.level"] == "proved"


@pytest.mark.parametrize(("standin_mode", "kind", "words"), [
    ("import_fails", FailureKind.UNAVAILABLE, "cannot open shared object file"),
    ("plugin_missing", FailureKind.NOT_OFFLOADED, "did not register GeOp"),
    ("unsupported", FailureKind.NOT_OFFLOADED, "ran on the host CPU"),
    ("e10001", FailureKind.INVALID_SWITCH, "E10001"),
    ("no_device", FailureKind.UNAVAILABLE, "ASCEND_DEVICE_ID"),
    ("abort", FailureKind.UNAVAILABLE, "the adapter aborted the process"),
    ("graph_fails", FailureKind.COMPILE, "GE cannot compile"),
    ("run_fails", FailureKind.RUN, "GE failed while running"),
    ("ignores_option", FailureKind.INVALID_SWITCH, "GE holds ge.oo.level='O1'"),
])
def test_each_way_to_fail_has_its_name(standin, standin_mode, kind, words):
    outcome, _ = standin.run(standin_mode=standin_mode)
    assert isinstance(outcome, RunFailure)
    assert outcome.kind is kind, outcome.message
    assert words in outcome.message


def test_a_hang_ends_at_the_limit(standin):
    outcome, journal = standin.run(standin_mode="hang", timeout_s=20.0)
    assert isinstance(outcome, RunFailure)
    assert outcome.kind is FailureKind.TIMEOUT
    assert _events(journal, "hang")


@pytest.mark.parametrize(("standin_mode", "note"), [
    ("half_dumps", "not closed"), ("no_dumps", "GE wrote no graph dump")])
def test_bad_dumps_cost_evidence_and_never_the_result(standin, standin_mode, note):
    outcome, _ = standin.run(AUTOFUSE, standin_mode=standin_mode)
    assert isinstance(outcome, RunSuccess), outcome.message
    assert any(note in one for one in outcome.notes), outcome.notes
    assert any(one.status == "unproved" for one in outcome.effects)


def test_kernels_repeat_over_cold_starts_and_are_told_apart_where_not(standin):
    hashes = [standin.run(AUTOFUSE, standin_mode=mode)[0].artifact_hashes
              for mode in ("normal", "normal", "kernels_differ")]
    assert hashes[0] == hashes[1] != hashes[2]
    assert [name for name, _ in hashes[0]] == [name for name, _ in hashes[2]]


def test_a_device_that_does_not_repeat_itself_is_not_repeatable(standin):
    outcome, _ = standin.run(standin_mode="nondeterministic")
    assert isinstance(outcome, RunSuccess)
    assert not outcome.repeatable


def test_a_diagnostic_run_has_the_collecting_variable_and_the_others_never(standin):
    outcome, journal = standin.run(options=(("collect", "on"), ("device", "3"),
                                            ("grappler", "on")))
    assert isinstance(outcome, RunSuccess), outcome.message
    names = _events(journal, "snapshot")[0]["environment"]
    assert names["NPU_COLLECT_PATH"].endswith("dumps/collect")
    assert names["ASCEND_DEVICE_ID"] == "3"
    assert _events(journal, "config")[0]["disable_meta_optimizer"] is False
    assert any("its numbers are not compared" in note for note in outcome.notes)


def test_variables_of_the_user_that_change_results_stay_out(standin, monkeypatch):
    for name in ("AUTOFUSE_FLAGS", "NPU_COLLECT_PATH", "RANK_TABLE_FILE", "DEVICE_ID",
                 "ASCEND_CACHE_PATH", "TF_CONFIG", "AOE_MODE"):
        monkeypatch.setenv(name, "/tmp/of-the-user")
    outcome, journal = standin.run()
    assert isinstance(outcome, RunSuccess), outcome.message
    names = _events(journal, "snapshot")[0]["environment"]
    assert "/tmp/of-the-user" not in names.values()
    assert ("AUTOFUSE_FLAGS", "/tmp/of-the-user") in outcome.environment.removed


def test_two_runs_share_no_process_and_no_folder(standin):
    request = RunRequest(standin.case, "ge", setting=SwitchSetting("O3"),
                         timeout_s=120.0)
    outcomes = launch.launch([request, request], standin.folder / "both")
    variables = [dict(one.environment.variables) for one in outcomes]
    assert len({one["DUMP_GRAPH_PATH"] for one in variables}) == 2
    for one, values in zip(outcomes, variables):
        folder = Path(values["DUMP_GRAPH_PATH"])
        assert len(list(folder.iterdir())) == 1
        assert str(folder).startswith(one.dump_dir)


def test_a_stand_in_is_never_called_a_device(standin):
    from ge_harness.backends.ge import GeBackend

    outcome, _ = standin.run()
    label, emulated = GeBackend().describe(outcome.environment)
    assert emulated
    assert "not GE, not a device" in label


def _cli(standin, monkeypatch, *words):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT), str(SITE))))
    done = subprocess.run(
        [sys.executable, "-m", "ge_harness", "run", "abs_relu_exp", "--backend=ge",
         "--baseline=eager", f"--out={standin.folder / 'run'}", *words],
        cwd=str(standin.folder), timeout=300, capture_output=True, check=False)
    folder = standin.folder / "run"
    assert (folder / "run.json").is_file(), done.stderr.decode("utf-8")
    return done, json.loads((folder / "run.json").read_text(encoding="utf-8"))


def test_the_silent_cpu_case_ends_with_3_and_compares_nothing(standin, monkeypatch):
    monkeypatch.setenv("STANDIN_MODE", "unsupported")
    done, run = _cli(standin, monkeypatch, "--opt-level=O1",
                     f"--autofuse-flags={OPEN_GATE}")
    assert done.returncode == 3
    candidate = next(one for one in run["sides"] if one["name"] == "candidate")
    assert candidate["status"] == "not_offloaded"
    assert all(not one["vs_baseline"] and one["bit_equal"] is None
               for one in run["outputs"])
    first = done.stderr.decode("utf-8").splitlines()[0]
    assert "AutoFuse will fuse nothing in this run: AutoFusePass belongs to level O3" \
        in first
    assert run["switches"]["asked"]["opt_level"] == "O1"
    assert run["switches"]["sent"]["oo_level"] == "O1"


def test_a_run_by_command_holds_asked_and_sent(standin, monkeypatch):
    done, run = _cli(standin, monkeypatch, "--opt-level=O0", "--collect",
                     "--disable-pass=ge:CastRemovePass")
    assert done.returncode == 0, done.stderr
    assert run["verdict"] == "agrees"
    assert run["backend"]["emulated"] is True
    assert run["switches"]["asked"]["opt_level"] == "O0"
    assert run["switches"]["sent"]["oo_level"] == "O1"
    assert "diagnostic" in {one["name"] for one in run["sides"]}
    assert "outputs_diagnostic" not in run["artifacts"]
    assert all(set(one["vs_reference"]) == {"eager", "candidate"}
               for one in run["outputs"])


@pytest.mark.parametrize(("standin_mode", "usable"), [
    ("normal", True), ("plugin_missing", False), ("import_fails", False)])
def test_auto_takes_ge_only_where_its_adapter_is_active(standin, standin_mode, usable):
    environ = {**os.environ, "STANDIN_MODE": standin_mode}
    probe = probe_active(Machine(environ))
    assert probe.usable is usable, probe.reason


@pytest.mark.parametrize(("standin_mode", "usable", "words"), [
    ("normal", True, "ran in"), ("unsupported", False, "not_offloaded"),
    ("no_dumps", True, "not proved")])
def test_doctor_runs_a_small_graph_once_everything_else_is_there(
        standin, monkeypatch, standin_mode, usable, words):
    monkeypatch.setenv("STANDIN_MODE", standin_mode)
    monkeypatch.setattr(doctor, "probe_ge", lambda machine: Probe(True, "all there"))
    report = doctor.examine("ge", dict(os.environ), standin.folder / "doctor",
                            lambda text: None)
    assert report.works is usable
    check = report.backends[0].checks[-1]
    assert check.what == "small run"
    assert words in check.found
