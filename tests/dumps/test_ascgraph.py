from __future__ import annotations

from pathlib import Path

import pytest

from dumps import DumpError, Edge, ascgraph, asctext, ge_proto
from dumps.records import TensorDesc
from tests.dumps.survive import GRAPHS, survive
from tests.shared import SAMPLES, needs_shared

_PROTO = GRAPHS / "ascgraph_proto.txt"
_NEW = GRAPHS / "ascgraph_00003_fused_AfterDtypeConsistency_7.txt"
_MIDDLE = GRAPHS / "ascgraph_00004_fused_AutoFuseBeforeOptimize_7.txt"
_OLD = GRAPHS / "ascgraph_00005_fused_AfterPreProcess_7.txt"
_ALL = (_PROTO, _NEW, _MIDDLE, _OLD)


@needs_shared
def test_the_real_ascgraph_has_one_node() -> None:
    assert SAMPLES is not None
    graph = ascgraph.read(SAMPLES / "ascgraph" / "test_seri_asc_graph.txt")
    assert (graph.name, graph.attributes["tiling_key"]) == ("fused_graph", 23130)
    assert [(n.name, n.type, n.line) for n in graph.nodes] == [("x", "Data", 4)]
    assert graph.nodes[0].output_descs[0].dtype == "float32"
    assert graph.warnings == ()


@needs_shared
def test_the_graph_inside_an_autofuse_node_is_read() -> None:
    assert SAMPLES is not None
    outer = ge_proto.read(SAMPLES / "ascgraph" / "test_seri_compute_graph.txt")
    fused = next(node for node in outer.nodes if node.type == "AscGraph")
    graph = ascgraph.of_node(fused)
    assert graph is not None
    assert [node.type for node in graph.nodes] == (
        ["Data", "Load"] + ["Abs"] * 6 + ["Store", "Output"])
    assert [axis["size"] for axis in graph.attributes["axis"]] == [
        "1024", "1025", "10"]
    assert [axis["align"] for axis in graph.attributes["axis"]] == ["1", "1", "1"]
    assert all(graph.node(edge.node) for node in graph.nodes for edge in node.inputs
               if edge)
    other = next(node for node in outer.nodes if node.type != "AscGraph")
    assert ascgraph.of_node(other) is None


def test_the_serialized_form_is_read_in_full() -> None:
    graph = ascgraph.read(_PROTO)
    assert [(n.name, n.type, n.inputs, n.line) for n in graph.nodes] == [
        ("data0", "Data", (), 16), ("cast", "Cast", (Edge("data0", 0),), 52),
        ("out", "Output", (Edge("cast", 1),), 66)]
    assert [n.output_descs[0].dtype for n in graph.nodes[:2]] == ["float16", "float32"]
    data = graph.nodes[0]
    assert data.output_descs[0] == TensorDesc("float16", shape=(-1, 64), raw_dtype="1")
    assert data.output_descs[0].attributes["repeats"] == ("s0", "64")
    assert data.attributes["ir_attr"] == {"index": 3}
    assert data.attributes["api"] == {"type": 2, "compute_type": 0, "unit": 0}
    assert graph.attributes["axis"][1]["from"] == (0,)
    assert graph.outputs == (Edge("cast", 1),)


@pytest.mark.parametrize(("path", "nodes"), [
    (_NEW, [("data0", "Data", 22), ("cast/up", "Cast", 31), ("out", "Output", 38)]),
    (_MIDDLE, [("data0", "Data", 8), ("add", "Add", 15), ("out", "Output", 20)]),
    (_OLD, [("data0", "Data", 5), ("add", "Add", 11)])], ids=["new", "middle", "old"])
def test_every_dialect_is_read(path: Path, nodes: list) -> None:
    graph = ascgraph.read(path)
    assert [(n.name, n.type, n.line) for n in graph.nodes] == nodes
    assert graph.name == "fused"
    assert graph.warnings == ()
    assert graph.nodes[0].output_descs[0].dtype == "float16"
    assert graph.nodes[1].output_descs[0].dtype == "float32"
    assert [edge.node for edge in graph.nodes[1].inputs if edge] == ["data0", "data0"]


def test_outputs_of_a_node_are_told_apart() -> None:
    graph = ascgraph.read(_NEW)
    cast = graph.nodes[1]
    assert [desc.dtype for desc in cast.output_descs] == ["float32", "bfloat16"]
    assert cast.output_descs[0].shape == (1024, 64)
    assert cast.inputs == (Edge("data0", 0), Edge("data0", 1))
    assert graph.outputs == (Edge("cast/up", 1),)


def test_axes_are_read_in_every_dialect() -> None:
    assert ascgraph.read(_NEW).attributes["axis"] == (
        {"id": 0, "name": "z0", "axis_type": "ORIGINAL", "size": "s0", "from": ()},
        {"id": 1, "name": "z1", "axis_type": "TILE_IN", "size": "64", "from": ("z0",)})
    assert ascgraph.read(_MIDDLE).attributes["axis"] == (
        ascgraph.read(_NEW).attributes["axis"])
    assert ascgraph.read(_OLD).attributes["axis"][0]["size"] == "16"


def test_a_file_cut_before_its_end_mark_is_told() -> None:
    data = _NEW.read_bytes()
    graph = ascgraph.parse(data[:data.find(b"VIEW 3")], "p")
    assert graph.node_count == 3
    assert any("End of Dump" in warning.message for warning in graph.warnings)


def test_a_damaged_node_line_is_counted() -> None:
    graph = ascgraph.parse(_NEW.read_bytes().replace(
        b"[1] cast/up : ascir", b"[1] cast/up ascir"), "p")
    assert graph.lost_nodes == 1
    graph = ascgraph.parse(_PROTO.read_bytes().replace(
        b'  attr {\n    name: "cast"', b'  atr {\n    name: "cast"'), "p")
    assert graph.node_count == 3
    assert any("without a name" in warning.message for warning in graph.warnings)


def test_a_lost_node_line_shows_in_what_is_left() -> None:
    lines = _MIDDLE.read_bytes().split(b"\n")
    graph = ascgraph.parse(b"\n".join(lines[:14] + lines[15:]), "p")
    assert graph.lost_nodes == 1
    assert any("twice under" in warning.message for warning in graph.warnings)
    assert any("not in the graph" in warning.message for warning in graph.warnings)


def test_symbols_have_no_size() -> None:
    assert asctext.shape(("s0", "64", "(s0 * 2)")) == (-1, 64, -1)


@pytest.mark.parametrize("data", [b"hello\n", b"graph {\n", b"\n"])
def test_other_text_is_refused(data: bytes) -> None:
    with pytest.raises(DumpError, match="AscGraph"):
        ascgraph.parse(data, "p")


@pytest.mark.parametrize("path", _ALL, ids=["proto", "new", "middle", "old"])
def test_mutated_graphs_are_survived(path: Path) -> None:
    survive(ascgraph.parse, path.read_bytes(), 80)


@pytest.mark.parametrize(("text", "said"), [
    ("Graph: g\nSizes:\nNodes:\n  a: Abs (0)\n    .x = b.", "may be cut short"),
    ("=" * 80 + "\nGraph: g\n" + "=" * 80 + "\nVIEW 2: Graph Structure\nNodes:\n"
     "  [0] a : ascir.ops.Abs\nVIEW 3: Memory Layout\n# Queues", "'End of Dump'"),
], ids=["no frame", "after the part that is read"])
def test_a_debug_text_that_was_cut_says_so(text, said):
    graph = ascgraph.parse(text.encode(), "x")
    assert [node.name for node in graph.nodes] == ["a"]
    assert any(said in each.message for each in graph.warnings)
