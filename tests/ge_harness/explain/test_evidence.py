"""What optimized programs of the three stacks say."""

from __future__ import annotations

import pytest

from ge_harness.explain import candidates
from ge_harness.explain.evidence import Evidence, gather
from ge_harness.explain.policy import CONTRACTION, EDGE, STEP, SUM, Key

OLD = """HloModule cluster_1__.9

%fused_computation (p0: f16[4], p1: f16[4]) -> f16[4] {
  %p0 = f16[4]{0} parameter(0)
  %p1 = f16[4]{0} parameter(1)
  %multiply.1 = f16[4]{0} multiply(%p0, %p1), metadata={op_type="Mul" op_name="s/mul"}
  ROOT %add.2 = f16[4]{0} add(%multiply.1, %p1), metadata={op_type="Add" op_name="add"}
}

ENTRY %main (a: f16[4], b: f16[4]) -> f16[4] {
  %a = f16[4]{0} parameter(0)
  %b = f16[4]{0} parameter(1)
  ROOT %fusion = f16[4]{0} fusion(%a, %b), kind=kLoop, calls=%fused_computation
}
"""
NEW = """HloModule a_inference_f_1, is_scheduled=true

%Mean-reduction.1 (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %add.0 = f32[] add(%x, %y)
}

%fused_computation (p: bf16[3,250]) -> f32[3,250] {
  %p = bf16[3,250]{1,0} parameter(0)
  %convert.1 = f32[3,250]{1,0} convert(%p)
  %sub.0 = f32[3,250]{1,0} subtract(%convert.1, %convert.1)
  %convert.2 = bf16[3,250]{1,0} convert(%sub.0)
  %convert.3 = f32[3,250]{1,0} convert(%convert.2)
  ROOT %Square.0 = f32[3,250]{1,0} multiply(%convert.3, %convert.3)
}

%wrapped (q: f32[3,250], z: f32[]) -> f32[3,8] {
  %q = f32[3,250]{1,0} parameter(0)
  %z = f32[] parameter(1)
  ROOT %reduce-window.1 = f32[3,8]{1,0} reduce-window(%q, %z), \
window={size=1x32 stride=1x32 pad=0_0x3_3}, to_apply=%Mean-reduction.1
}

ENTRY %main (a: bf16[3,250]) -> f32[3,8] {
  %a = bf16[3,250]{1,0} parameter(0)
  %zero = f32[] constant(0)
  %f = f32[3,250]{1,0} fusion(%a), kind=kLoop, calls=%fused_computation
  ROOT %w = f32[3,8]{1,0} fusion(%f, %zero), kind=kLoop, calls=%wrapped
}
"""


def write(folder, text, name="module_0000.after_optimizations.txt"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_metadata_names_the_nodes_of_a_kernel(tmp_path):
    found = gather(write(tmp_path, OLD), ["s/mul", "add", "other"], ["fusion"])
    assert found.kernels == (frozenset(("s/mul", "add")),)
    assert found.together(("add", "s/mul"))
    assert not found.together(("add", "other"))
    assert found.wide == frozenset()
    assert found.windows == ()
    assert found.passes == ("fusion",)
    assert found.found


def test_names_of_instructions_do_where_there_is_no_metadata(tmp_path):
    found = gather(write(tmp_path, NEW), ["Mean", "sub", "Square"])
    assert found.kernels == (frozenset(("sub", "Square")),)
    assert found.windows == (32,)
    assert found.wide == frozenset(("Square",))  # sub is converted at once


@pytest.mark.parametrize("text", ["", "not a program", OLD[:150], NEW[:400],
                                  "HloModule x\n" + "{" * 500, "HloModule \x00\n}"])
def test_damaged_programs_give_no_evidence_and_no_error(tmp_path, text):
    found = gather(write(tmp_path, text), ["mul", "add"])
    assert found.kernels == ()
    assert found.windows == ()


def test_no_folder_is_no_evidence(tmp_path):
    assert gather(None, ["a"]) == Evidence()
    assert gather(tmp_path / "missing", ["a"]) == Evidence()
    assert not gather(tmp_path, ["a"]).found


def test_sums_are_tried_as_the_program_shows_first():
    assert candidates.sum_orders(1000, Evidence(windows=(16,)))[0] == (
        "float32, windows of 16")
    plain = candidates.sum_orders(1000, Evidence())
    assert plain[0] == "float32, one by one"
    assert "float32, windows of 32" in plain
    assert not [order for order in candidates.sum_orders(8, Evidence())
                if "windows" in order]


def test_seeds_begin_with_nothing_and_hold_what_shares_a_kernel():
    places = {
        Key(EDGE, "b", "input 0"): {"source": "a"},
        Key(EDGE, "d", "input 0"): {"source": "c"},
        Key(CONTRACTION, "b", "input 0"): {"source": "a"},
        Key(STEP, "m", "total"): {},
        Key(SUM, "m"): {"size": "100", "dtype": "float16"},
    }
    evidence = Evidence(kernels=(frozenset("ab"),), wide=frozenset("c"), found=True)
    choices = candidates.choices(places, evidence, kernels=False)
    seeds = candidates.seeds(choices, places, evidence)
    assert seeds[0] == {}
    assert {Key(EDGE, "b", "input 0"): "on"} in seeds
    assert {Key(EDGE, "d", "input 0"): "on"} in seeds
    assert any(Key(SUM, "m") in seed and Key(STEP, "m", "total") in seed
               for seed in seeds)
    assert len({tuple(sorted(seed.items())) for seed in seeds}) == len(seeds)
