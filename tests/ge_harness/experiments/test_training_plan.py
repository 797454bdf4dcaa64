"""Corpus, model and schedule of E, checkpoints; no TensorFlow."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest

from ge_harness.backends import training_model
from ge_harness.errors import UnknownNameError, UsageError
from ge_harness.experiment.options import RunOptions
from ge_harness.experiments import training_plan
from ge_harness.records.training import TrainingConfig, TrainingResult
from ge_harness.worker.training_state import Curves, TrainingFolder


def options(size="desk", dtype="", **variants):
    return RunOptions("E", "xla", size=size, dtype=dtype, variants=tuple(
        (name, str(value)) for name, value in variants.items()))


def text(size):
    return training_plan.Corpus("c.npy", "00", size, "a text")


def test_the_default_corpus_is_bounded_and_its_digest_is_of_its_bytes(tmp_path):
    found = training_plan.corpus("", tmp_path)
    array = np.load(found.path)
    assert array.dtype == np.uint8
    assert 1 << 20 < array.size == found.size_bytes <= 2 << 20
    assert found.sha256 == hashlib.sha256(array.tobytes()).hexdigest()
    assert training_plan.corpus("", tmp_path) == found


def test_a_given_file_is_the_corpus(tmp_path):
    path = tmp_path / "text.bin"
    path.write_bytes(bytes(range(256)) * 10)
    found = training_plan.corpus(str(path), tmp_path)
    assert found.size_bytes == 2560
    assert found.words == "the file text.bin"
    assert np.load(found.path).tobytes() == path.read_bytes()


def test_a_missing_corpus_is_refused_by_its_name(tmp_path):
    with pytest.raises(UsageError, match=r"nothing\.txt"):
        training_plan.corpus(str(tmp_path / "nothing.txt"), tmp_path)


def test_a_corpus_that_is_too_short_is_refused():
    with pytest.raises(UsageError, match="1300 at least"):
        training_plan.config(options(), text(1200))


@pytest.mark.parametrize(("variants", "said"), [
    ({"heads": 3}, "heads"), ({"sequence": 0}, "above zero"),
    ({"layers": "two"}, "number"), ({"vocabulary": 100}, "256")])
def test_numbers_that_make_no_model_are_refused(variants, said):
    with pytest.raises(UsageError, match=said):
        training_plan.config(options(**variants), text(100000))


def test_a_setting_that_is_not_known_gets_the_nearest_name():
    with pytest.raises(UnknownNameError, match="layers"):
        training_plan.config(options(layer=2), text(100000))


def test_the_paper_size_is_gpt2_small():
    config = training_plan.config(options("paper"), text(100000))
    assert config.parameter_count == 124439808
    assert (config.layers, config.width, config.heads) == (12, 768, 12)
    assert "h (4 runs of 1000 steps" in training_plan.paper_estimate(
        options("paper"), 4)


def test_the_default_is_the_model_of_the_mission():
    config = training_plan.config(options(), text(100000))
    assert (config.layers, config.width, config.sequence, config.batch, config.steps,
            config.dtype) == (2, 128, 128, 4, 1000, "float32")


def test_in_all_experiments_there_are_200_steps_unless_asked_for():
    def steps(wanted, in_all, size="desk"):
        found = training_plan.asked(options(size), "", wanted, in_all=in_all)
        return dict(found.variants).get("steps")

    assert steps(0, True) == "200"
    assert steps(30, True) == "30"
    assert steps(0, False) is None
    assert steps(0, True, "paper") is None


@pytest.mark.parametrize("config", [
    TrainingConfig(), TrainingConfig(layers=3, width=64, heads=8, positions=256)])
def test_the_count_of_weights_is_that_of_the_shapes(config):
    assert config.parameter_count == sum(
        int(np.prod(shape)) for _, shape in training_model.shapes(config))


def test_weights_and_data_follow_from_the_seed():
    config = TrainingConfig(layers=1, width=16, heads=2, train_bytes=5000, steps=20)
    again = training_model.initial(config)
    other = training_model.initial(dataclasses.replace(config, seed=1))
    for a, b in zip(training_model.initial(config), again):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(again[0], other[0])
    places = training_model.positions(config)
    longer = training_model.positions(dataclasses.replace(config, stop=5))
    np.testing.assert_array_equal(places, longer)
    assert places.max() + config.sequence + 1 <= config.train_bytes


def test_an_evaluation_reads_the_part_nobody_trains_on():
    config = TrainingConfig(train_bytes=5000)
    places = training_model.eval_positions(config, 6000)
    assert places.min() >= 5000
    assert places.max() + config.sequence + 1 <= 6000


def test_the_learning_rate_warms_up_and_falls_to_a_tenth():
    config = TrainingConfig(steps=100, learning_rate=1.0)

    def plain(step):
        bias = np.sqrt(1 - 0.95 ** step) / (1 - 0.9 ** step)
        return float(training_model.rate(config, step)) / bias

    assert plain(1) == pytest.approx(1 / 5, rel=1e-5)
    assert plain(5) == pytest.approx(1, rel=1e-5)
    assert plain(100) == pytest.approx(0.1, rel=1e-5)


def curves():
    return Curves([np.float32(1.5)], [np.float32(2)], [1], [np.float32(1.25)], 1, 0.5)


def test_a_checkpoint_gives_back_what_was_saved(tmp_path):
    folder = TrainingFolder(tmp_path)
    state = [np.arange(3, dtype=np.float32), np.ones((2, 2), np.float32)]
    assert folder.load("a") is None
    folder.save("a", state, curves())
    found, again = folder.load("a")
    for a, b in zip(state, found):
        np.testing.assert_array_equal(a, b)
    assert again.loss == [np.float32(1.5)]
    assert (again.eval_steps, again.processes, again.train_s) == ([1], 2, 0.5)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    folder = TrainingFolder(tmp_path)
    folder.save("a", [np.zeros(2, np.float32)], curves())
    with pytest.raises(UsageError, match="another run"):
        folder.load("b")


@pytest.mark.parametrize("length", [0, 10, 200, -10])
def test_a_damaged_checkpoint_is_refused_and_says_the_way_out(tmp_path, length):
    folder = TrainingFolder(tmp_path)
    folder.save("a", [np.zeros(200, np.float32)], curves())
    whole = folder.checkpoint_path.read_bytes()
    folder.checkpoint_path.write_bytes(whole[:length])
    with pytest.raises(UsageError, match="delete it"):
        folder.load("a")


def test_a_checkpoint_that_was_being_written_harms_nobody(tmp_path):
    folder = TrainingFolder(tmp_path)
    folder.save("a", [np.zeros(2, np.float32)], curves())
    (tmp_path / ".checkpoint.1").write_bytes(b"half")
    assert folder.load("a") is not None


def test_a_pickle_in_a_checkpoint_is_never_read(tmp_path):
    folder = TrainingFolder(tmp_path)
    np.savez(str(folder.checkpoint_path), fingerprint=np.array([{}], dtype=object))
    with pytest.raises(UsageError, match="delete it"):
        folder.load("a")


def test_a_finished_run_gives_back_result_and_curves(tmp_path):
    folder = TrainingFolder(tmp_path)
    assert folder.result() is None
    result = TrainingResult(1, 1, 0.5, 0.1, 100, 7, "eager", sent=(("a", "b"),))
    folder.finish(result, curves())
    assert folder.result() == result
    np.testing.assert_array_equal(folder.curve("loss"), np.array([1.5], np.float32))
