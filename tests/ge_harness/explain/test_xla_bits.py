"""Explained bits on XLA, a real compiler: each case on the stack that shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ge_harness.backends import tf_loader
from ge_harness.experiment import execute
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.explain.explain import WANTED_SHARE, Sides, explain
from ge_harness.explain.for_run import explain_run
from ge_harness.records import serialize
from ge_harness.report.run_text import run_text

pytestmark = pytest.mark.tf

MUL_ADD = str(Path(__file__).resolve().parent / "cases" / "mul_add.py")
OLD, MIDDLE, NEW = (1, 15), (2, 6), (2, 21)


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a subgraph on XLA with --explain."""
    version = tf_loader.installed()
    if not version:
        pytest.skip("TensorFlow is not installed")
    here = tuple(int(part) for part in version.split(".")[:2])

    def one(source, dtype, *stacks, **fields):
        if here not in stacks:
            pytest.skip(f"shown on TensorFlow {stacks}, this is {here}")
        folder = RunFolder.create(str(tmp_path / "run"), "run", "explained")
        options = RunOptions(source=source, backend="xla", dtype=dtype, explain=True,
                             **fields)
        return execute.run(options, folder, lambda text: None)

    return one


def check(report, *kinds, baseline="eager", least=WANTED_SHARE):
    """Hold the share of differing elements and the kinds of hypotheses."""
    found = report.explained
    pair = found.vs_baseline[baseline]
    assert pair.differing > 0
    assert pair.share >= least, found
    assert {item.kind for item in found.hypotheses} == set(kinds), found.hypotheses
    text = run_text(serialize.to_plain(report))
    assert f"{pair.reproduced} of {pair.differing} differing elements" in text
    return found


@pytest.fixture
def needs_fma():
    with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123
        if " fma " not in file.read():
            pytest.skip("this processor has no fused multiply-add")


@pytest.mark.parametrize("baseline", ["eager", "nodewise"])
def test_float16_mul_add_keeps_its_product_unrounded(run, baseline):
    found = check(run(MUL_ADD, "float16", OLD), "unrounded edge", baseline=baseline)
    assert [(item.source, item.node) for item in found.hypotheses] == [("mul", "add")]
    assert "one kernel" in found.hypotheses[0].evidence


def test_float16_elementwise_chain_keeps_every_value_but_tanh_unrounded(run):
    found = check(run("elementwise_chain", "float16", OLD),
                  "unrounded edge", "distribution", "reassociation")
    edges = {item.source for item in found.hypotheses if item.kind == "unrounded edge"}
    assert {"mul", "add", "mul_5", "mul_6", "mul_4", "add_1"} <= edges
    assert "Tanh" not in edges
    assert found.outputs[0].share == 1


def test_float32_mul_add_is_contracted(run, needs_fma):
    report = run(MUL_ADD, "float32", OLD, MIDDLE, NEW)
    found = check(report, "contraction", least=1)
    assert [(item.source, item.node) for item in found.hypotheses] == [("mul", "add")]
    assert found.vs_baseline["nodewise"].share == 1


def test_bfloat16_layernorm_keeps_excess_precision_over_the_second_mean(run):
    found = check(run("layernorm", "bfloat16", NEW), "unrounded edge", "unrounded step",
                  baseline="nodewise")
    edge = next(item for item in found.hypotheses if item.kind == "unrounded edge")
    assert (edge.source, edge.node) == ("Square", "Mean_1")
    assert edge.evidence == "the optimized program keeps Square in float32"
    assert found.vs_baseline["eager"].share >= WANTED_SHARE


def test_float16_sum_has_a_float32_accumulator(run):
    report = run("reduce_sum", "float16", OLD, MIDDLE, NEW,
                 shapes=(("x", (400, 1000)),))
    found = check(report, "sum")
    assert found.hypotheses[0].value.startswith("float32, ")
    assert found.vs_baseline["nodewise"].differing == 0


def test_float16_rsqrt_has_two_roundings(run):
    found = check(run("rsqrt", "float16", MIDDLE, NEW), "algorithm", least=1)
    assert found.hypotheses[0].value == "1/sqrt with the root rounded"


def test_float16_rsqrt_of_the_old_stack_has_them_in_its_base_line(run):
    found = check(run("rsqrt", "float16", OLD), least=1)
    side = found.baselines["eager"]
    assert side.plain < side.reproduced == side.count
    assert [item.kind for item in side.hypotheses] == ["algorithm"]


def test_float32_chain_is_reproduced_with_the_compilers_own_tanh(run, needs_fma):
    found = check(run("elementwise_chain", "float32", NEW), "contraction", "kernel")
    assert found.kernel_runs > 0


def test_noise_planted_into_the_compilers_output_stays_unexplained(
        run, tmp_path, monkeypatch):
    sides = {}

    def keep(outcomes, job_root):
        sides.update(outcomes)
        return explain_run(outcomes, job_root)

    monkeypatch.setattr(execute, "explain_run", keep)
    run(MUL_ADD, "float32", OLD, MIDDLE, NEW)
    array = np.load(sides["candidate"].output_paths[0])
    bits = array.view(np.uint32).reshape(-1)
    state = np.random.RandomState(11)
    places = state.choice(bits.size, 3000, replace=False)
    bits[places] ^= state.randint(1, 4, 3000).astype(np.uint32)
    noisy = str(tmp_path / "noisy.npy")
    np.save(noisy, array)
    found = explain(Sides(
        sides["candidate"].request.case, (noisy,),
        {"nodewise": sides["nodewise"].output_paths}, tensorflow="2.21.0"))
    output = found.outputs[0]
    # Noise can undo a contraction by chance, in elements where that changed one bit.
    assert output.count - output.reproduced >= 2900
    assert {item.kind for item in found.hypotheses} <= {"contraction"}
