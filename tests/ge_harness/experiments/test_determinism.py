"""A catches what does not repeat itself, through real workers and scripted answers."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ge_harness.experiments import determinism
from ge_harness.records.experiment import ExperimentVerdict
from ge_harness.records.run import Environment, RunRequest, RunSuccess
from ge_harness.worker import backend_lookup
from tests import fakes
from tests.ge_harness.experiments.benches import bench


@pytest.fixture
def judged(tmp_path, monkeypatch):
    monkeypatch.setenv(backend_lookup.TEST_VARIABLE, fakes.NAME)

    def judge(script):
        made = bench(tmp_path / "a", fakes.NAME, repeat=6, timeout_s=60.0)
        case = fakes.scripted_case(tmp_path / "case", 1, 3, "float32")
        (tmp_path / "case" / "graph.pb").write_bytes(b"")
        request = made.request(case, repeat=6, options=(
            ("script", json.dumps(script)),), want_dumps=False)
        sides = determinism._sides(made, request)[:2]
        outcomes = made.run({side.name: side.request for side in sides})
        return determinism.judge(made, sides, outcomes)

    return judge


def test_bits_that_change_from_run_to_run_refute_and_are_placed(judged):
    report = judged({"*": ["flip"]})
    assert report.verdict is ExperimentVerdict.REFUTED
    assert "run 1 differs first" in report.why
    assert "[0], the first of 3 of 3" in report.why
    row = report.table.rows[0]
    assert row[1:3] == (6, 6)
    assert row[3] > 0
    assert report.counterexamples[0].figures == {"first differing run": 1}


def test_sets_that_changed_places_are_other_bits(tmp_path):
    case = fakes.scripted_case(tmp_path / "case", 2)
    request = RunRequest(case, fakes.NAME, repeat=2)
    one, two = ("1",), ("2",)
    first = RunSuccess(request, (), (one, one, two, two), True, "", (), (), (), (),
                       0.0, Environment("3", "1"))
    fewer = dataclasses.replace(request, repeat=1)
    assert determinism._same(first, first)
    assert determinism._same(dataclasses.replace(
        first, request=fewer, output_hashes=(one, two)), first)
    assert not determinism._same(dataclasses.replace(
        first, output_hashes=(two, two, one, one)), first)


def test_steady_bits_without_dumps_are_no_evidence(judged):
    report = judged({})
    assert report.table.rows[0][1:4] == (6, 1, 0)
    assert report.verdict is not ExperimentVerdict.HOLDS


def test_a_failed_side_is_inconclusive(judged):
    report = judged({"*": ["raise", "run", "no"]})
    assert report.verdict is ExperimentVerdict.INCONCLUSIVE
    assert "no" in report.why


def test_artifacts_of_one_name_are_all_in_the_table():
    hashes = (("code.o", "a"), ("code.o", "b"), ("ir.ll", "c"), ("code.o", "d"))
    assert determinism._by_name(hashes) == {
        "code.o": "a", "code.o (2)": "b", "code.o (3)": "d", "ir.ll": "c"}
