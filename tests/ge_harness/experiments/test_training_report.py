"""The verdict of E from curves on disk; no TensorFlow."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import (
    training,
    training_evidence,
    training_plan,
    training_report,
)
from ge_harness.experiments.bench import Bench
from ge_harness.experiments.training_report import Finished
from ge_harness.records.experiment import ExperimentVerdict
from ge_harness.records.job import JobFailure
from ge_harness.records.run import FailureKind
from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.records.training import TrainingConfig, TrainingResult
from ge_harness.worker.training_state import Curves, TrainingFolder

STEPS = 8
CONFIG = TrainingConfig(steps=STEPS, sample_every=4)
TEXT = training_plan.Corpus("c.npy", "ab" * 32, 5000, "a text")


class Scene:
    """Finished runs on disk, judged as if they had been trained."""

    def __init__(self, folder):
        self.folder = RunFolder.create(str(folder / "run"), "experiment", "E")
        self.bench = Bench(RunOptions("E", "grappler"), self.folder, lambda text: None)
        self.sides = {}

    def add(self, name, loss, *, after=None):
        """Keep a run whose curves all are `loss`, and perhaps a record of graphs."""
        path = self.folder.path / "training" / name.replace(" ", "-")
        path.mkdir(parents=True)
        loss = [np.float32(value) for value in loss]
        graphs = ""
        if after is not None:
            (path / "graphs.json").write_text(json.dumps(
                {"before": {"Mul": 4}, "after": {"Mul": after}}))
            graphs = str(path / "graphs.json")
        kept = TrainingFolder(path)
        kept.finish(TrainingResult(
            len(loss), 1, 1.0, 0.5, 1 << 20, 7, "a route", graph_path=graphs),
            Curves(loss, loss, [4, 8][:len(loss) // 4], loss[3::4]))
        self.sides[name] = Finished(name, kept, kept.result(), None)

    def whole(self, compiled, seeds=3, after=3, again=None):
        """Add every run of a call; seed s has the losses s, s, ..."""
        self.add("eager seed 0 again", [0] * 4)
        self.add("grappler seed 0 again", compiled[:4] if again is None else again)
        self.add("grappler seed 0", compiled, after=after)
        for seed in range(seeds):
            self.add(f"eager seed {seed}", [2 * seed] * STEPS)
        return self.judge(seeds)

    def judge(self, seeds=3):
        return training_report.judge(self.bench, CONFIG, TEXT, self.sides, seeds)


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def test_curves_within_the_spread_of_three_seeds_hold(scene):
    report = scene.whole([0.5] * STEPS)
    assert report.verdict is ExperimentVerdict.HOLDS
    assert "step 1" in report.why


def test_equal_bits_hold_and_say_so(scene):
    report = scene.whole([0] * STEPS)
    assert report.verdict is ExperimentVerdict.HOLDS
    assert "equal in every bit" in report.why


def test_a_curve_outside_the_spread_is_a_counterexample(scene):
    report = scene.whole([5] * STEPS)
    assert report.verdict is ExperimentVerdict.REFUTED
    assert report.counterexamples[0].figures["loss rms"] == 5
    assert report.counterexamples[0].figures["loss rms of the closest seeds"] == 2


def test_compiled_training_that_reaches_nan_is_a_counterexample(scene):
    report = scene.whole([0.5] * 4 + [np.nan] * 4)
    assert report.verdict is ExperimentVerdict.REFUTED


def test_two_seeds_are_no_spread(scene):
    report = scene.whole([0.5] * STEPS, seeds=2)
    assert report.verdict is ExperimentVerdict.INCONCLUSIVE
    assert "2 eager seeds" in report.why


def test_one_seed_gives_curves_and_no_verdict(scene):
    report = scene.whole([0.5] * STEPS, seeds=1)
    assert report.verdict is ExperimentVerdict.INCONCLUSIVE
    assert len(report.table.rows) == 2


def test_a_graph_that_was_not_rewritten_is_no_evidence(scene):
    report = scene.whole([0.5] * STEPS, after=4)
    assert report.verdict is ExperimentVerdict.INCONCLUSIVE
    assert "the graph it left is the graph it got" in report.why


def test_without_the_record_of_the_graphs_there_is_no_verdict(scene):
    scene.whole([0.5] * STEPS)
    (scene.folder.path / "training" / "grappler-seed-0" / "graphs.json").unlink()
    report = scene.judge()
    assert report.verdict is ExperimentVerdict.INCONCLUSIVE
    assert "cannot be read" in report.why


def test_a_side_that_does_not_repeat_itself_gives_no_verdict(scene):
    report = scene.whole([0.5] * STEPS, again=[0.5, 0.5, 0.5, 0.25])
    assert report.verdict is ExperimentVerdict.INCONCLUSIVE
    assert "NOT equal" in report.why


def test_eager_training_that_fails_by_itself_gives_no_verdict(scene):
    scene.add("eager seed 0 again", [np.inf] * 4)
    scene.add("grappler seed 0 again", [0] * 4)
    scene.add("grappler seed 0", [0] * STEPS, after=3)
    for seed in range(3):
        scene.add(f"eager seed {seed}", [np.inf] * STEPS)
    report = scene.judge()
    assert report.verdict is ExperimentVerdict.INCONCLUSIVE
    assert "eager training itself" in report.why


def test_a_run_that_failed_is_named(scene):
    scene.add("eager seed 0 again", [0] * 4)
    failure = JobFailure(FailureKind.COMPILE, "no kernel", 0, "")
    scene.sides["grappler seed 0 again"] = Finished(
        "grappler seed 0 again", TrainingFolder(scene.folder.path / "none"), None,
        failure)
    report = scene.judge()
    assert report.verdict is ExperimentVerdict.INCONCLUSIVE
    assert "grappler seed 0 again gave no curve: compile: no kernel" in report.why


@pytest.mark.parametrize(("name", "ok"), [("algsimp", True), ("algsimpp", False)])
def test_a_pass_that_nobody_knows_is_no_silent_switch(name, ok):
    setting = SwitchSetting(off=(Switch("hlo_pass", name),))
    found, = training_evidence.switches("xla", setting)
    assert found.ok is ok
    assert ("'algsimp'" in found.found) is not ok


@pytest.mark.parametrize("backend", ["emulator", "eager"])
def test_a_backend_that_does_not_train_is_not_applicable(tmp_path, backend):
    folder = RunFolder.create(str(tmp_path / "run"), "experiment", "E")
    report = training.run(Bench(RunOptions("E", backend), folder, lambda text: None))
    assert report.verdict is ExperimentVerdict.NOT_APPLICABLE
    assert report.backend.name == backend
