"""The hash of a kernel stands for what it computes, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ge_harness.backends.emulator import artifact
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.cases import GATE, REDUCE
from tests.ge_harness.interpreter.graph_builder import graph, node, placeholder

ROOT = Path(__file__).resolve().parents[4]
_PROGRAM = """
from ge_harness.backends.emulator import artifact
from tests.ge_harness.backends.emulator import cases
found = cases.compiled(cases.layer_norm(), cases.REDUCE)
print(artifact.hashes(found.plan, "r_tile=auto"))
"""

def in_process(seed):
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, stdout=subprocess.PIPE,
        check=True, text=True, cwd=str(ROOT)).stdout.strip()


def test_the_hash_is_the_same_in_other_processes_and_under_other_hash_seeds():
    found = cases.compiled(cases.layer_norm(), REDUCE)
    own = str(artifact.hashes(found.plan, "r_tile=auto"))
    assert in_process("0") == own
    assert in_process("4711") == own


def test_names_of_operators_do_not_count_and_what_they_compute_does():
    def text(names, op="Neg", dtype="float32"):
        a, b = names
        nodes = [placeholder("x", dtype, (8, 64)), node(a, "Abs", "x", T=dtype),
                 node(b, op, a, T=dtype)]
        plan = cases.compiled(graph(*nodes), GATE).plan
        return artifact.region_text(plan.regions[0], plan.chip, "")

    assert text(("a", "b")) == text(("one", "two"))
    assert text(("a", "b")) != text(("a", "b"), op="Relu")
    assert text(("a", "b")) != text(("a", "b"), dtype="float16")


def test_parameters_chip_and_precision_are_part_of_the_hash():
    plan = cases.compiled(cases.mul_add_relu(), GATE).plan
    plain = artifact.hashes(plan, "")
    assert artifact.hashes(plan, "r_tile=64") != plain
    other = cases.compiled(cases.mul_add_relu(), GATE, "950").plan
    assert artifact.hashes(other, "") != plain
    low = cases.compiled(
        cases.mul_add_relu(),
        GATE + ";--autofuse_enhance_precision_blacklist=all").plan
    assert artifact.hashes(low, "") != plain


def test_the_text_shows_where_values_are_widened_and_rounded():
    plan = cases.compiled(cases.mul_add_relu(), GATE).plan
    text = artifact.region_text(plan.regions[0], plan.chip, "")
    types = [op.type for op in plan.regions[0].graphs[0].ops]
    assert types.count("Cast") == 4
    assert types[-3:] == ["Cast", "Store", "Output"]
    assert "Mul(Cast_p0 Cast_p1) float32[8, 64]" in text


EXPECTED = """ge_harness emulated kernel 1
chip 910b
type AscBackend
kinds pointwise
graph loop=[8, 64] low_precision=False
  Data_0 = Data() float16[8, 64] 0
  Load_0 = Load(Data_0) float16[8, 64]
  Cast_p0 = Cast(Load_0) float32[8, 64]
  Abs_0 = Abs(Cast_p0) float32[8, 64]
  Neg_0 = Neg(Abs_0) float32[8, 64]
  Cast_p1 = Cast(Neg_0) float16[8, 64]
  Store_0 = Store(Cast_p1) float16[8, 64]
  Output_0 = Output(Store_0) float16[8, 64] 0
  t1 <- Abs(in0)
    T=type:float16
  t2 <- Neg(t1)
    T=type:float16
  stores t2
outputs t2
r_tile=auto"""


def test_the_text_of_a_small_kernel_is_this_one():
    definition = graph(placeholder("x", "float16", (8, 64)),
                       node("a", "Abs", "x", T="float16"),
                       node("b", "Neg", "a", T="float16"))
    plan = cases.compiled(definition, GATE).plan
    assert artifact.region_text(plan.regions[0], plan.chip, "r_tile=auto") == EXPECTED
