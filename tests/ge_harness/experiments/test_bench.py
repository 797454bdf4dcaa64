"""What is found again in an experiment's folder is what this call would have run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ge_harness.errors import HarnessError
from ge_harness.experiments.bench import CaseSpec
from ge_harness.records.job import JobFailure
from ge_harness.records.run import FailureKind
from tests.ge_harness.experiments.benches import bench

pytestmark = pytest.mark.tf
GRAPH = '''"""Own graph."""
from __future__ import annotations

from graphs.subgraph import Input

INPUTS = (Input("x", (2, 3), "float16"),)


def build(tf, x):
    return {{"y": x * {}}}
'''


def _outputs(path, spec, **arrays):
    place = bench(path, "emulator")
    case = place.case(spec, "tag", arrays or None)
    outcome = place.run(place.sides(case, "candidate", repeat=2))["candidate"]
    return outcome, np.load(outcome.output_paths[0])


def _own(path, factor):
    path.write_text(GRAPH.format(factor), encoding="utf-8")
    return CaseSpec(str(path), "float16")


def test_other_inputs_under_the_same_tag_are_run_and_not_taken_for_the_first(tmp_path):
    spec = _own(tmp_path / "own.py", 2.0)
    ones, twos = (np.full((2, 3), value, np.float16) for value in (1, 2))
    _, first = _outputs(tmp_path / "out", spec, x=ones)
    _, second = _outputs(tmp_path / "out", spec, x=twos)
    assert first.tolist() == (ones + ones).tolist()
    assert second.tolist() == (twos + twos).tolist()


def test_a_graph_file_that_changed_is_run_again(tmp_path):
    ones = np.ones((2, 3), np.float16)
    _, first = _outputs(tmp_path / "out", _own(tmp_path / "own.py", 2.0), x=ones)
    _, second = _outputs(tmp_path / "out", _own(tmp_path / "own.py", 3.0), x=ones)
    assert first.tolist() == (ones + ones).tolist()
    assert second.tolist() == (ones * 3).tolist()


@pytest.mark.parametrize("damage", ["cut", "exchanged", "text"])
def test_an_output_that_is_not_the_one_written_is_computed_again(tmp_path, damage):
    spec = _own(tmp_path / "own.py", 2.0)
    ones = np.ones((2, 3), np.float16)
    outcome, before = _outputs(tmp_path / "out", spec, x=ones)
    path = outcome.output_paths[0]
    data = Path(path).read_bytes()
    other = {"cut": data[:-4], "exchanged": data[:-4] + b"abcd", "text": b"no array"}
    Path(path).write_bytes(other[damage])
    again, after = _outputs(tmp_path / "out", spec, x=ones)
    assert again.output_paths != outcome.output_paths
    assert after.tobytes() == before.tobytes()
    third, _ = _outputs(tmp_path / "out", spec, x=ones)
    assert third.output_paths == again.output_paths


def test_a_record_that_contradicts_its_own_hashes_is_not_taken_over(tmp_path):
    spec = _own(tmp_path / "own.py", 2.0)
    ones = np.ones((2, 3), np.float16)
    outcome, _ = _outputs(tmp_path / "out", spec, x=ones)
    file = next((tmp_path / "out" / "jobs").glob("*/outcome.json"))
    document = json.loads(file.read_text(encoding="utf-8"))
    document["record"]["repeatable"] = False
    file.write_text(json.dumps(document), encoding="utf-8")
    again, _ = _outputs(tmp_path / "out", spec, x=ones)
    assert again.repeatable
    assert again.output_paths != outcome.output_paths


def test_a_build_that_hangs_is_undecided_and_no_fault_of_the_request(
        tmp_path, monkeypatch):
    place = bench(tmp_path, "emulator")
    monkeypatch.setattr(place, "built", lambda spec: JobFailure(
        FailureKind.TIMEOUT, "not done after 5 s", None, "log.txt"))
    with pytest.raises(HarnessError, match=r"not done after 5 s.*log\.txt") as caught:
        place.case(CaseSpec("softmax"))
    assert caught.value.exit_code == 4


def test_a_run_of_another_numpy_is_not_taken_over(tmp_path):
    spec = _own(tmp_path / "own.py", 2.0)
    ones = np.ones((2, 3), np.float16)
    outcome, _ = _outputs(tmp_path / "out", spec, x=ones)
    file = next((tmp_path / "out" / "jobs").glob("*/outcome.json"))
    document = json.loads(file.read_text(encoding="utf-8"))
    document["record"]["environment"]["numpy"] = "0.1"
    file.write_text(json.dumps(document), encoding="utf-8")
    again, _ = _outputs(tmp_path / "out", spec, x=ones)
    assert again.output_paths != outcome.output_paths


def test_the_model_is_marked_wherever_its_name_is_written(tmp_path):
    assert bench(tmp_path / "a", "emulator").named() == "emulator (EMULATED)"
    assert bench(tmp_path / "b", "xla").named() == "xla"
