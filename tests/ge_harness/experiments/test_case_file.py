"""A counter-example on disk is a graph file with the very bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ge_harness.compare.dtypes import round_to
from ge_harness.errors import UsageError
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import case_file
from ge_harness.experiments.bench import CaseSpec
from graphs.inputs import draw
from graphs.source import load_subgraph, resolve

DOC = "Counter-example of experiment B on xla: softmax, steep.\n\nWorse."
PROMOTING = Path(__file__).with_name("promoting.py")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("source", ["softmax", str(PROMOTING)], ids=["shipped", "own"])
def test_the_file_builds_the_subgraph_on_the_same_bits(tmp_path, source, dtype):
    array = round_to(np.random.RandomState(0).randn(1, 3, 7) * 1e-3, dtype)
    path = case_file.write(RunFolder(tmp_path), CaseSpec(source, dtype), {"x": array},
                           {"x": dtype}, DOC)
    again = case_file.write(RunFolder(tmp_path), CaseSpec(source, dtype), {"x": array},
                            {"x": dtype}, DOC)
    assert path == again
    subgraph = load_subgraph(resolve(str(path)))
    port = subgraph.inputs[0]
    assert (port.desk, port.choices) == ((3, 7), (dtype,))
    stored = round_to(draw(port, port.desk, 5), dtype)
    assert stored.tobytes() == array[0].tobytes()


def test_another_case_of_the_same_name_gets_a_number(tmp_path):
    paths = {case_file.write(RunFolder(tmp_path), CaseSpec("softmax", "float32"), {
        "x": np.full((1, 2, 2), value, np.float32)}, {"x": "float32"}, DOC)
        for value in (1, 2)}
    assert len(paths) == 2


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "cases").touch()
    with pytest.raises(UsageError, match="cases: cannot write there"):
        case_file.write(RunFolder(tmp_path), CaseSpec("softmax", "float32"), {
            "x": np.ones((1, 2, 2), np.float32)}, {"x": "float32"}, DOC)
