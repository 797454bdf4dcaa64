"""Partitions of shipped subgraphs, as docs/emulator.md derives them."""

from __future__ import annotations

import functools
import pathlib
import re
import subprocess
import sys
import time

import pytest

import graphs
from dumps import graphdef
from ge_harness.backends.emulator import front, pipeline
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.cases import GATE, REDUCE, fused, left

pytestmark = pytest.mark.tf


@functools.lru_cache(maxsize=None)
def shipped(name, dtype):
    """Return a shipped subgraph under GE's names, or why this TensorFlow has none."""
    tf = pytest.importorskip("tensorflow")
    from ge_harness.worker import built
    from graphs.build import build_graph
    from graphs.built import BuildOptions
    from graphs.errors import GraphUnsupportedError
    from graphs.source import resolve

    try:
        made = build_graph(tf.compat.v1, resolve(name), BuildOptions(dtype=dtype))
    except GraphUnsupportedError as error:
        return str(error)
    record = built.record(made, name, "graph.pb", None)
    return front.build(graphdef.parse(made.graph_def), record.inputs, record.outputs)


def compiled(name, flags, dtype="float16", chip="910b"):
    found = shipped(name, dtype)
    if isinstance(found, str):
        pytest.skip(found)
    return pipeline.compile_graph(found, cases.options(flags, chip))


def names(compilation):
    return [each.name for each in compilation.plan.regions]


@pytest.mark.parametrize(("dtype", "name", "inputs"), [
    ("float16", "autofuse_6_8Mul_3AddV2_Tanh", 8),
    ("float32", "autofuse_4_8Mul_3AddV2_Tanh", 4),
])
def test_elementwise_chain_is_one_kernel(dtype, name, inputs):
    found = compiled("elementwise_chain", GATE, dtype)
    assert names(found) == [name]
    assert len(found.plan.regions[0].inputs) == inputs
    assert left(found) == []


def test_gelu_is_one_kernel_of_five_inputs():
    found = compiled("gelu", GATE)
    assert names(found) == ["autofuse_4_6Mul_2AddV2_Tanh"]
    assert len(found.plan.regions[0].inputs) == 5


def test_attention_has_two_kernels_between_its_products():
    found = compiled("attention", REDUCE)
    assert fused(found) == [("Mul", "ReduceMax"), ("Sub", "Exp", "ReduceSum")]
    assert left(found) == ["BatchMatMulV2", "RealDiv", "BatchMatMulV2"]
    assert cases.codes(found) >= {"NF1006", "NF1021", "NF1031"}


def test_ffn_front_stops_at_eight_inputs():
    found = compiled("ffn_front", GATE)
    assert fused(found)[:2] == [("Sub", "Square"), ("AddV2", "Rsqrt")]
    assert len(found.plan.regions[2].inputs) == 8
    assert {"NF1002", "NF1006", "NF1007"} <= cases.codes(found)
    assert left(found) == ["Reshape", "MatMul", "ReduceMean", "ReduceMean", "Reshape"]
    assert found.effects("graph_fusion", "MatMulBiasAddFusionPass") == 1


def test_slice_broadcast_concat_keeps_three_loops_in_one_kernel():
    flags = GATE + ";--autofuse_enable_pass=slice,concat"
    found = compiled("slice_broadcast_concat", flags)
    region, = found.plan.regions
    assert region.type == "FusedAscBackend"
    assert sorted(fused(found)[0]) == ["BroadcastTo", "ConcatV2", "Slice"]
    assert len(region.graphs) == 3


def test_every_shipped_subgraph_compiles_in_well_under_a_second():
    for name in graphs.names():
        for dtype in ("float16", "bfloat16"):
            graph_now = shipped(name, dtype)
            if isinstance(graph_now, str):
                continue
            begin = time.process_time()
            for chip in ("910b", "950"):
                pipeline.compile_graph(graph_now, cases.options(REDUCE, chip))
            assert time.process_time() - begin < 1.0, name


@pytest.mark.parametrize("name", ["layernorm", "softmax", "elementwise_chain", "gelu"])
def test_bfloat16_fuses_nothing_on_910b(name):
    assert compiled(name, REDUCE, "bfloat16").plan.regions == ()


def test_the_script_of_p99_gives_an_interval_and_says_emulated():
    pytest.importorskip("tensorflow")
    root = pathlib.Path(__file__).resolve().parents[4]
    said = subprocess.run(
        [sys.executable, "scripts/emulator_p99.py", "layernorm", "--sets=4"],
        cwd=str(root), capture_output=True, check=True, text=True).stdout
    match = re.search(r"^EMULATED layernorm float16 910b, 4 seeds, .* ratio (\S+), "
                      r"95 % interval (\S+) to (\S+); ", said, re.MULTILINE)
    assert match is not None, said
    ratio, low, high = (float(text) for text in match.groups())
    assert low <= ratio <= high
