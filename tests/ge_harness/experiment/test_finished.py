"""What a resumed run takes over, and what it refuses to take for its own."""

from __future__ import annotations

import dataclasses

import pytest

from ge_harness.errors import NoRoomError, UsageError
from ge_harness.experiment import finished, inputs
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from graphs.built import Feed
from graphs.distribution import Normal


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(str(tmp_path / "run"), "run", "softmax")


@pytest.mark.parametrize("change", [
    {"source": "layernorm"}, {"seed": 5}, {"dtype": "bfloat16"}, {"sets": 3},
    {"shapes": (("x", (3, 4)),)}, {"backend": "grappler"}, {"size": "paper"},
    {"variants": (("form", "op"),)}, {"fetch": ("y",)}, {"inputs_path": "a.npz"},
])
def test_a_run_is_not_resumed_as_another_one(folder, change):
    options = RunOptions("softmax", "xla", shapes=(("x", (2, 4)),))
    finished.claim(folder, options)
    with pytest.raises(UsageError, match=f"{next(iter(change))} .*resumed"):
        finished.claim(folder, dataclasses.replace(options, **change))


def test_a_run_is_resumed_with_more_time_and_another_standard(folder):
    options = RunOptions("softmax", "xla", shapes=(("x", (2, 4)),))
    finished.claim(folder, options)
    finished.claim(folder, dataclasses.replace(
        options, timeout_s=9.0, standard="ulp:2", repeat=5))
    with pytest.raises(UsageError, match="seed"):
        finished.claim(folder, dataclasses.replace(options, timeout_s=9.0, seed=7))


def test_a_graph_file_that_was_edited_is_another_run(folder, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("one")
    options = RunOptions(str(file), "xla")
    finished.claim(folder, options)
    file.write_text("two")
    with pytest.raises(UsageError, match="source_md5"):
        finished.claim(folder, options)


def test_inputs_larger_than_memory_are_refused_by_name():
    feed = Feed("x", "x:0", (1 << 20, 1 << 20), "float16", Normal())
    with pytest.raises(NoRoomError, match=r"'x'.*--shape=x"):
        inputs._drawn(feed, RunOptions("softmax", "xla"))


def test_an_input_that_was_cut_off_is_not_there(tmp_path):
    import numpy as np

    path = tmp_path / "x.npy"
    inputs.store_array(path, np.arange(4.0))
    assert np.load(str(path)).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.npy"]
