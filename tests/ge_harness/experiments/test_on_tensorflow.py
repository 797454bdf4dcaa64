"""Experiments on real compilers: evidence, stored numbers, counter-examples."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ge_harness.backends import tf_loader
from ge_harness.errors import UsageError
from ge_harness.experiments import (
    accumulation,
    chains,
    determinism,
    instruction,
    iteration,
    movement,
)
from ge_harness.records.experiment import ExperimentVerdict
from tests.ge_harness.experiments.benches import bench

pytestmark = pytest.mark.tf
PROMOTING = Path(__file__).with_name("promoting.py")
DRAWING = Path(__file__).with_name("drawing.py")
HOLDS, REFUTED = ExperimentVerdict.HOLDS, ExperimentVerdict.REFUTED
OPEN = ExperimentVerdict.INCONCLUSIVE


def _remove_dumps(path):
    gone = list(path.glob("jobs/*/dumps"))
    assert gone
    for folder in gone:
        shutil.rmtree(str(folder))


@pytest.mark.parametrize("backend", ["xla", "emulator"])
def test_without_dumps_the_same_run_is_inconclusive(tmp_path, backend):
    options = {"repeat": 6}
    before = determinism.run(bench(tmp_path, backend, **options))
    assert before.verdict is HOLDS
    assert before.table.rows[0][1:4] == (6, 1, 0)
    _remove_dumps(tmp_path)
    after = determinism.run(bench(tmp_path, backend, **options))
    assert after.verdict is OPEN
    assert "no dumps" in after.why
    assert after.table.rows[0][1:4] == (6, 1, 0)


@pytest.mark.parametrize("backend", ["xla", "grappler"])
def test_a_graph_that_draws_random_numbers_is_caught(tmp_path, backend):
    report = determinism.run(bench(tmp_path, backend, repeat=5,
                                   subgraphs=(str(DRAWING),)))
    assert report.verdict is REFUTED
    assert "run 1 differs first, at y[0, 0], the first of 35 of 35" in report.why
    assert "draw random numbers: RandomUniform" in report.why
    assert report.table.rows[0][2] == 5


def test_one_instruction_on_both_paths_is_inconclusive_and_says_so(tmp_path):
    report = instruction.run(bench(tmp_path))
    assert report.verdict is OPEN
    assert "the same instruction" in report.why
    assert not all(each.ok for each in report.evidence)


def test_shares_of_c1_are_those_of_the_stored_outputs(tmp_path):
    report = instruction.run(bench(tmp_path))
    columns = report.table.columns
    for row in report.table.rows:
        a, b = (np.load(str(tmp_path / report.artifacts[f"{path} {row[0]} candidate"][0]
                            )).view(np.int16).astype(np.int64) for path in "AB")
        # On the ordered line of fp16: a negative pattern is minus its magnitude.
        a, b = (np.where(side < 0, -(side & 0x7FFF), side) for side in (a, b))
        distance = np.abs(a - b)
        named = dict(zip(columns, row))
        assert named["elements"] == distance.size
        assert named["share ULP 0"] == (distance == 0).mean()
        assert named["share ULP 1"] == (distance == 1).mean()
        assert named["max ULP"] == distance.max()


def test_numbers_of_b_are_those_of_the_stored_outputs(tmp_path):
    report = chains.run(bench(tmp_path, sets=6, budget=1, subgraphs=("softmax",),
                              dtype="float16"))
    truth = np.load(str(tmp_path / report.artifacts["softmax reference"][0]))
    rows = {row[1]: dict(zip(report.more_tables[0].columns, row))
            for row in report.more_tables[0].rows}
    assert set(rows) == {"candidate", "eager", "nodewise"}
    p99 = {}
    for side, row in rows.items():
        found = np.load(str(tmp_path / report.artifacts[f"softmax {side}"][0]))
        assert found.shape == truth.shape == (6, 37, 250)
        gap = np.abs(found.astype(np.float64) - truth)
        exponent = np.maximum(np.floor(np.log2(truth)), -14)
        ulp = np.sort((gap / 2.0 ** (exponent - 10)).ravel())
        p99[side] = ulp[int(np.ceil(0.99 * ulp.size)) - 1]
        assert row["max abs"] == gap.max()
        assert row["max ULP"] == pytest.approx(ulp[-1], rel=1e-12)
        assert row["P99 ULP"] == pytest.approx(p99[side], rel=1e-12)
        assert row["max rel"] == pytest.approx((gap / truth).max(), rel=1e-12)
    for row in report.table.rows:
        assert row[3] == pytest.approx(p99["candidate"] / p99[row[1]], rel=1e-12)
        assert row[4][0] <= row[3] * 1.0101
        assert row[4][1] >= row[3] / 1.0101


def test_the_search_finds_that_bf16_softmax_is_worse_under_xla(tmp_path):
    tensorflow = pytest.importorskip("tensorflow")
    if not tensorflow.__version__.startswith("2.21"):
        pytest.skip("found on TensorFlow 2.21; other versions round elsewhere")
    report = chains.run(bench(tmp_path, sets=4, subgraphs=("softmax",),
                              dtype="bfloat16"))
    assert report.verdict is REFUTED
    example = report.counterexamples[0]
    assert "Sum" in example.op
    assert "float-normalization-bf16 off" in example.reason
    assert "no rounding from Exp to Sum" in example.reason
    words = example.figures["on 200 sets against eager"]
    low, high = map(float, words.split("[")[1].split("]")[0].split(", "))
    assert 1.0101 < low <= float(words.split()[2]) <= high
    fused = example.figures["smallest case, P99 ULP fused"]
    assert fused > example.figures["smallest case, P99 ULP eager"]
    case = bench(tmp_path / "again", sets=1)
    from ge_harness.experiments.bench import CaseSpec

    built = case.case(CaseSpec(str(tmp_path / example.path)))
    outcomes = case.run(case.sides(built, "candidate", "eager", "reference"))
    sides = {name: np.load(outcome.output_paths[0])
             for name, outcome in outcomes.items()}
    truth = sides["reference"]
    p99 = {}
    for name in ("candidate", "eager"):
        wide = (sides[name].astype(np.uint32) << 16).view(np.float32)
        ulp = np.sort((np.abs(wide - truth)
                       / 2.0 ** (np.floor(np.log2(truth)) - 7)).ravel())
        p99[name] = ulp[int(np.ceil(0.99 * ulp.size)) - 1]
    assert p99["candidate"] == pytest.approx(fused, rel=1e-9)
    assert p99["candidate"] > p99["eager"]


def test_a_broadcast_that_promotes_is_a_counterexample_with_its_reason(
        tmp_path, monkeypatch):
    monkeypatch.setattr(movement, "COMBINED", ())
    monkeypatch.setattr(movement, "SINGLE", ("reshape",))
    report = movement.run(bench(tmp_path, subgraphs=(str(PROMOTING),)))
    exact = [row[4] for row in report.table.rows if row[6]]
    assert exact == ["yes"] * 15 + ["NO"]
    assert report.verdict is REFUTED
    assert "Cast" in report.counterexamples[0].op
    assert "promotion" in report.counterexamples[0].reason


def test_lost_nan_payloads_are_shown_and_do_not_decide(tmp_path, monkeypatch):
    tensorflow = pytest.importorskip("tensorflow")
    if not tensorflow.__version__.startswith("2.21"):
        pytest.skip("TensorFlow 2.21's XLA converts bfloat16 where it moves it")
    monkeypatch.setattr(movement, "COMBINED", ())
    monkeypatch.setattr(movement, "SINGLE", ("concat",))
    report = movement.run(bench(tmp_path, dtype="bfloat16"))
    shown = [row for row in report.table.rows if not row[6]]
    assert {row[2] for row in shown} == {"NaN payloads"}
    lost = [row for row in shown if row[4] == "NO"]
    assert len(report.counterexamples) == len(lost)
    assert f"{len(lost)} of {len(shown)} cells with NaN payloads lose" in report.why
    assert all("payload changed" in each.reason for each in report.counterexamples)
    special = [row for row in report.table.rows if row[2] == "special values"]
    assert special
    assert {row[4] for row in special} == {"yes"}
    assert report.verdict is HOLDS


def test_movement_without_dumps_is_inconclusive(tmp_path, monkeypatch):
    monkeypatch.setattr(movement, "COMBINED", ())
    monkeypatch.setattr(movement, "SINGLE", ("reshape",))
    assert movement.run(bench(tmp_path)).verdict is HOLDS
    _remove_dumps(tmp_path)
    assert movement.run(bench(tmp_path)).verdict is OPEN


def test_the_shape_in_place_of_the_tile_is_disclosed(tmp_path):
    if tf_loader.installed().startswith("1."):
        pytest.skip("the XLA of TensorFlow 1 takes minutes to compile [16, 1024] sums")
    report = accumulation.run(bench(tmp_path, sets=8, repeat=4))
    assert report.verdict is OPEN
    assert "no control of its tiling" in report.why
    assert "fallback" in report.limits[0]


def test_forced_newton_steps_of_the_model_are_told_apart(tmp_path):
    report = iteration.run(bench(tmp_path, "emulator"))
    assert report.verdict is HOLDS
    means = {(row[0], row[1]): row[5] for row in report.table.rows}
    assert means["rsqrt", "NumPy Newton 0"] > means["rsqrt", "NumPy Newton 1"] > (
        means["rsqrt", "forced Newton 2"])
    assert report.backend.emulated


def test_a_chain_that_cannot_be_built_here_is_named_and_left_out(tmp_path):
    lacking = tmp_path / "lacking.py"
    lacking.write_text(
        '"""A node that no TensorFlow has."""\n'
        "from graphs.subgraph import Input\n\n"
        'INPUTS = (Input("x", (2, 3), "float16"),)\n\n\n'
        "def build(tf, x):\n    raise ValueError('no kernel here')\n", encoding="utf-8")
    report = chains.run(bench(tmp_path, sets=2, budget=1, dtype="float16",
                              subgraphs=("softmax", str(lacking))))
    assert [row[0] for row in report.table.rows] == ["softmax", "softmax"]
    assert f"not run: {lacking}" in report.why
    assert any("no kernel here" in each for each in report.limits)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_b_takes_no_output_that_float64_is_no_truth_for(tmp_path, dtype):
    own = tmp_path / "own.py"
    own.write_text(
        '"""Own graph."""\nfrom graphs.subgraph import Input\n\n'
        f'INPUTS = (Input("x", (2, 3), "{dtype}"),)\n\n\n'
        'def build(tf, x):\n    return {"y": x * x + x}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=f"'y' is {dtype}"):
        chains.run(bench(tmp_path, sets=2, budget=1, subgraphs=(str(own),)))
