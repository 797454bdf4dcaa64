"""Whatever the graph and the switches: a partition computes what the graph computes."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dumps import trace
from ge_harness.backends.emulator import artifact, dump_files, pipeline
from ge_harness.backends.emulator.ir import AscRegion, Port
from tests.ge_harness.backends.emulator import cases, plain_run
from tests.ge_harness.backends.emulator.cases import GATE
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder

ONE = ("Abs", "Neg", "Relu", "Exp", "Tanh", "Sin", "Square", "Identity")
TWO = ("Add", "Sub", "Mul", "Maximum", "AddV2")
ROWS, COLUMNS = 4, 40
FLAGS = ("", GATE, GATE + ";--autofuse_enable_pass=reduce",
         GATE + ";--recomputation_threshold=3", GATE + ";--max_fusion_size=5",
         GATE + ";--autofuse_enable_pass=reduce,concat;--recomputation_threshold=2")


@st.composite
def definitions(draw):
    """Draw a graph of pointwise operators, reductions, casts, constants and concats."""
    dtype = "float32"
    nodes = [placeholder("x0", dtype, (ROWS, COLUMNS)),
             placeholder("x1", dtype, (ROWS, 1)), const("axis", [-1], "int32"),
             const("one", 1, "int32"), const("half", 0.5, dtype),
             const("ones", np.ones(COLUMNS), dtype)]
    wide, narrow = ["x0"], ["x1"]
    for number in range(draw(st.integers(1, 14))):
        name = f"n{number}"
        kind = draw(st.sampled_from(("one", "two", "two", "scalar", "broadcast",
                                     "reduce", "cast", "concat")))
        first, other = draw(st.sampled_from(wide)), draw(st.sampled_from(wide))
        if kind == "one":
            nodes.append(node(name, draw(st.sampled_from(ONE)), first, T=dtype))
        elif kind == "two":
            nodes.append(node(name, draw(st.sampled_from(TWO)), first, other, T=dtype))
        elif kind == "scalar":
            value = draw(st.sampled_from(("half", "ones")))
            nodes.append(node(name, draw(st.sampled_from(TWO)), first, value, T=dtype))
        elif kind == "broadcast":
            small = draw(st.sampled_from(narrow))
            nodes.append(node(name, draw(st.sampled_from(TWO)), first, small, T=dtype))
        elif kind == "reduce":
            op = draw(st.sampled_from(("Sum", "Mean", "Max")))
            nodes.append(node(name, op, first, "axis", keep_dims=True, T=dtype))
            narrow.append(name)
            continue
        elif kind == "cast":
            nodes.append(node(f"{name}h", "Cast", first, SrcT=dtype, DstT="float16"))
            nodes.append(node(name, "Cast", f"{name}h", SrcT="float16", DstT=dtype))
        else:
            nodes.append(node(name, "ConcatV2", first, other, "one", T=dtype, N=2))
            continue
        wide.append(name)
    return graph(*nodes)


def arrays(built):
    random = np.random.RandomState(3)
    return {name: random.uniform(-2, 2, built.nodes[data].outputs[0].shape).astype(
        "float32") for name, data in built.inputs}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(definitions(), st.sampled_from(FLAGS), st.sampled_from(("910b", "950")))
def test_a_partition_computes_what_the_operators_compute(definition, flags, chip):
    built = cases.ge_graph(definition)
    # What may change bits by itself is left out: it is not the partition.
    off = ["ge:CastRemovePass"]
    held = cases.options(flags, chip, off=off)
    found = pipeline.compile_graph(built, dataclasses.replace(
        held, drop_cast_pairs=False))
    alone = pipeline.compile_nodewise(built, chip)
    inputs = arrays(built)
    expected = plain_run.run(alone.plan, inputs)
    got = plain_run.run(found.plan, inputs)
    assert {name: array.tobytes() for name, array in got.items()} == {
        name: array.tobytes() for name, array in expected.items()}
    _check_plan(found.plan, chip)


def _check_plan(plan, chip):
    """Every kernel reads what is there already, and keeps the limits of its chip."""
    there = {port for _, port, _ in plan.inputs} | {
        node_now.port for node_now in plan.constants}
    for kernel in plan.kernels:
        if not isinstance(kernel, AscRegion):
            assert set(kernel.inputs) <= there
            there |= {Port(kernel.name, i) for i in range(len(kernel.outputs))}
            continue
        assert set(kernel.inputs) <= there
        if "concat" not in kernel.fuse_types:
            assert len(kernel.inputs) <= {"910b": 8, "950": 14}[chip]
        given_inside = set()
        for part in kernel.graphs:
            assert set(part.loads) <= there | given_inside
            given_inside |= set(part.stores)
        assert set(kernel.outputs) <= given_inside
        there |= set(kernel.outputs)
    assert {port for _, port in plan.outputs} <= there
    assert artifact.hashes(plan, "") == artifact.hashes(plan, "")


def test_a_hostile_name_adds_no_record_to_the_trace(tmp_path):
    bad = "a,GE:Evil::EvilPass\r\nGE:Evil::EvilPass,delete,g,n,owner_graph,,,"
    definition = graph(placeholder("x", "float32", (4, 8)),
                       node(bad, "Identity", "x", T="float32"),
                       node("y", "Sin", bad, T="float32"))
    found = cases.compiled(definition)
    dump_files.write(found, tmp_path, {})
    read = trace.read(next(tmp_path.rglob("trace_*.txt")))
    assert [each.stage for each in read.owners] == ["PrepareOptimize::IdentityPass"]
    assert not read.warnings
