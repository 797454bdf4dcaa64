from __future__ import annotations

import pytest

from dumps import DumpError, Edge, ge_onnx, ge_proto
from dumps.records import TensorDesc
from tests.dumps.survive import GRAPHS, survive
from tests.shared import SAMPLES, needs_shared

_SMALL = GRAPHS / "ge_onnx_00000002_graph_3_Build.pbtxt"
_TWINS = [
    ("ge_proto_00000000_Build.txt", "ge_onnx_00000000_graph_1_Build.pbtxt",
     {"ge_default_20230713074122_1": 6}),
    ("ge_proto_00000001_Build.txt", "ge_onnx_00000001_graph_11_Build.pbtxt",
     {"ge_default_20230713074125_11": 5, "ge_default_20230713074125_sub_0_input": 3,
      "ge_default_20230713074125_sub_1_unknow": 2,
      "ge_default_20230713074125_sub_2_unknow": 6,
      "ge_default_20230713074125_sub_3_unknow": 2}),
]


@needs_shared
@pytest.mark.parametrize(("proto", "onnx", "graphs"), _TWINS, ids=["0", "1"])
def test_twins_agree_node_by_node(proto: str, onnx: str, graphs: dict) -> None:
    assert SAMPLES is not None
    left = ge_proto.read(SAMPLES / "run_20230713" / proto)
    right = ge_onnx.read(SAMPLES / "run_20230713" / onnx)
    assert {g.name: len(g.nodes) for g in left.graphs} == graphs
    assert {g.name: len(g.nodes) for g in right.graphs} == graphs
    assert left.all_edges == right.all_edges
    assert right.warnings == ()
    for graph in left.graphs:
        twin = next(each for each in right.graphs if each.name == graph.name)
        for node in graph.nodes:
            other = twin.node(node.name)
            assert other is not None
            assert (other.type, other.inputs, other.controls) == (
                node.type, node.inputs, node.controls)
            assert other.input_descs == node.input_descs
            assert other.output_descs == node.output_descs
            for key, value in node.fields.items():
                assert key == "has_out_attr" or other.fields[key] == value


@needs_shared
def test_lines_point_at_the_nodes() -> None:
    assert SAMPLES is not None
    path = SAMPLES / "run_20230713" / _TWINS[1][1]
    lines = path.read_text(encoding="latin-1").split("\n")
    for _, node in ge_onnx.read(path).walk():
        assert lines[node.line - 1].strip() == "node {"
        assert f'name: "{node.name}"' in [
            line.strip() for line in lines[node.line:node.line + 12]]


def test_the_small_dump_is_read_in_full() -> None:
    graph = ge_onnx.read(_SMALL)
    assert graph.name == "main"
    assert [(n.name, n.type, n.line) for _, n in graph.walk()] == [
        ("x", "Data", 4), ("call", "PartitionedCall", 62), ("inner", "Data", 74)]
    assert tuple(graph.all_edges) == (1, 1, 1)
    call = graph.nodes[1]
    assert (call.inputs, call.controls) == ((Edge("x", 0),), ("x",))
    assert graph.warnings == ()


def test_what_is_not_printed_is_zero_and_doubles_are_allowed() -> None:
    node = ge_onnx.read(_SMALL).nodes[0]
    assert node.fields["id"] == 0
    assert node.fields["is_input_const"] == (0,)
    assert node.attributes["label"] == ""
    assert node.output_descs[0].attributes["placement"] == 0


def test_descriptors_are_put_together_from_their_attributes() -> None:
    graph = ge_onnx.read(_SMALL)
    assert graph.nodes[0].output_descs == (TensorDesc(
        "bfloat16", "ND", (4,), "float32", "NHWC", (4,), raw_dtype="DT_BF16"),)
    inner = graph.subgraphs[0].nodes[0]
    assert inner.input_descs == (TensorDesc("int8", "ND", (3, 4), raw_dtype="DT_INT8"),)


@pytest.mark.parametrize(("old", "new", "lost"), [
    (b'        node {\n          name: "in', b'        nope\n          name: "in', 1),
    (b'  node {\n    input: ""', b'  nodd {\n    input: ""', 1),
    (b"      g {\n", b"      g z\n", 0)])
def test_damage_around_nodes_is_told(old: bytes, new: bytes, lost: int) -> None:
    data = _SMALL.read_bytes()
    assert old in data
    graph = ge_onnx.parse(data.replace(old, new), "p")
    assert graph.node_count + graph.lost_nodes >= 3 - (1 if lost == 0 else 0)
    assert graph.lost_nodes >= lost
    assert graph.warnings


def test_a_hostile_port_number_takes_no_memory() -> None:
    data = _SMALL.read_bytes().replace(b"desc_dtype:0", b"desc_dtype:999999")
    assert len(ge_onnx.parse(data, "p").nodes[0].output_descs) < 2000


def test_a_packed_descriptor_that_is_no_json_is_told() -> None:
    data = _SMALL.read_bytes().replace(b'"{\\"dtype', b'"{\\"dty\\"pe')
    graph = ge_onnx.parse(data, "p")
    graph.load_details()
    assert any("no JSON object" in warning.message for warning in graph.warnings)


def test_other_text_is_refused() -> None:
    with pytest.raises(DumpError, match="ONNX"):
        ge_onnx.parse(b"hello", "p")


def test_mutated_dumps_are_survived() -> None:
    survive(ge_onnx.parse, _SMALL.read_bytes(), 120)
