"""From arrays on disk to an explanation, against candidates made by plain NumPy."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_harness.explain.arithmetic import fused_multiply_add
from ge_harness.explain.explain import explain
from ge_harness.explain.kernels import KernelLimitError
from ge_harness.records import serialize
from ge_harness.report.explain_text import explain_text
from tests.ge_harness.explain import made

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("sets", [1, 3])
def test_unrounded_edges_are_found_bit_for_bit(tmp_path, dtype, sets):
    found = explain(made.sides(tmp_path, dtype, sets))
    pair = found.vs_baseline["eager"]
    assert pair.differing > 1000 * sets
    assert pair.reproduced == pair.differing
    assert pair.share == 1
    assert {(item.kind, item.source, item.node) for item in found.hypotheses} == {
        ("unrounded edge", "p", "s"), ("unrounded edge", "s", "y")}
    assert found.outputs[0].share == 1
    assert found.outputs[0].first_unexplained is None
    assert found.status == "explained"


def test_a_contraction_is_found_in_float32(tmp_path):
    def candidate(feeds, dtype):
        return fused_multiply_add(feeds["x"], feeds["a"], feeds["b"]) * feeds["a"]

    found = explain(made.sides(tmp_path, "float32", candidate=candidate))
    assert [(item.kind, item.node, item.source) for item in found.hypotheses] == [
        ("contraction", "s", "p")]
    assert found.vs_baseline["eager"].share == 1


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("count", [40, 800])
def test_planted_noise_stays_unexplained(tmp_path, dtype, count):
    def same(feeds, dtype):
        from ge_harness.interpreter.eager import EAGER
        from ge_harness.interpreter.evaluate import evaluate

        return evaluate(made.chain(dtype), feeds, ["y"], EAGER)["y"]

    asked, _ = made.with_noise(made.sides(tmp_path, dtype, candidate=same), count)
    found = explain(asked)
    pair = found.vs_baseline["eager"]
    assert pair.differing == count
    assert pair.reproduced == 0
    assert pair.unexplained == 1
    assert found.hypotheses == ()
    assert found.status == "unexplained"


def test_noise_beside_an_explanation_is_told_apart(tmp_path):
    asked, places = made.with_noise(made.sides(tmp_path), 400)
    found = explain(asked)
    assert len(found.hypotheses) == 2
    output = found.outputs[0]
    assert output.count - output.reproduced == 400
    assert output.first_unexplained in places
    assert found.status == "partly"


def test_a_fixed_offset_in_the_last_bit_is_not_explained(tmp_path):
    def shifted(feeds, dtype):
        return (made.unrounded(feeds, dtype).view(np.uint16) + 64).view(np.float16)

    found = explain(made.sides(tmp_path, candidate=shifted))
    assert found.vs_baseline["eager"].share < 0.05
    assert found.status in ("partly", "unexplained")


def test_equal_sides_need_no_explanation(tmp_path):
    asked = made.sides(tmp_path)
    found = explain(dataclasses.replace(
        asked, baselines={"eager": tuple(asked.candidate)}))
    assert found.status == "equal"
    assert found.vs_baseline["eager"].share is None


def test_few_elements_are_called_too_few(tmp_path):
    found = explain(made.sides(tmp_path, shape=(2, 3)))
    assert 0 < found.vs_baseline["eager"].differing < 20
    assert any("too few to tell" in note for note in found.notes)


def test_a_kernel_that_cannot_run_leaves_the_rest(tmp_path):
    class Broken:
        runs = 0

        def __call__(self, node, dtype, arrays):
            raise KernelLimitError(node.op)

    found = explain(made.sides(tmp_path), Broken())
    assert found.vs_baseline["eager"].share == 1


def test_the_limit_bounds_the_search_and_is_told(tmp_path):
    found = explain(made.sides(tmp_path), limit=1)
    assert found.evaluation_limit == 1
    assert any("stopped at 1 evaluations" in note for note in found.notes)


def test_text_names_edges_and_what_is_left(tmp_path):
    asked, _ = made.with_noise(made.sides(tmp_path), 400)
    document = json.loads(serialize.dumps("run", explain(asked)))
    text = explain_text(document)
    assert "no rounding from p to s (input 0)" in text
    assert "unexplained" in text
    assert "first unexplained: flat index" in text
    assert "(EMULATED)" in explain_text(document, emulated=True)
    assert explain_text(None) == ""


def test_names_from_the_graph_cannot_reach_the_terminal_raw():
    item = {"kind": "sum", "node": "a\x1b[31m", "place": "", "source": "", "value": "x",
            "gained": 1, "evidence": "", "alternatives": []}
    document = {"status": "explained", "vs_baseline": {}, "outputs": [],
                "baselines": {}, "notes": ["\x1b[2J"], "hypotheses": [item]}
    assert "\x1b" not in explain_text(document)


def test_the_answer_does_not_hang_on_the_hash_seed(tmp_path):
    made.sides(tmp_path)
    code = (
        "import sys, pathlib; from tests.ge_harness.explain import made\n"
        "from ge_harness.explain.explain import explain\n"
        "from ge_harness.records import serialize\n"
        "print(serialize.dumps('run', explain(made.sides(pathlib.Path(sys.argv[1])))))")
    texts = [subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=str(ROOT), check=True,
        stdout=subprocess.PIPE, text=True, env={
            "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "PATH": ""}).stdout
        for seed in ("1", "2")]
    assert texts[0] == texts[1]
