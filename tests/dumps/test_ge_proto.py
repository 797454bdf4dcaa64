from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumps import DumpError, DumpGraph, Edge, ge_proto, ge_tree, textproto
from dumps.records import TensorDesc, TensorValue, WarningLog
from tests.dumps.survive import GRAPHS, survive
from tests.shared import SAMPLES, needs_shared

_SMALL = GRAPHS / "ge_proto_00000007_graph_3_Build.txt"
_COUNTS = [
    # file, operators, subgraphs, data, control, empty, late inputs
    ("run_20230713/ge_proto_00000000_Build.txt", 6, 0, 2, 3, 1, 0),
    ("run_20230713/ge_proto_00000001_Build.txt", 18, 4, 12, 2, 4, 0),
    ("train_2020/ge_proto_00056_Build.txt", 5, 0, 3, 1, 2, 0),
    ("single_subgraph/origin.txt", 4, 0, 3, 0, 0, 2),
    ("resnet50_fe/ge_proto_00015_OptimizeQuantGraph_FeGraphFusionAfter.txt",
     465, 0, 587, 0, 1, 0),
    ("resnet50_fe/ge_proto_00017_OptimizeOriginalGraph_FeGraphFusionAfter.txt",
     710, 0, 990, 0, 1, 106),
    ("resnet50_fe/ge_proto_00026_afterUBMatch.txt", 399, 0, 414, 0, 1, 0),
    ("resnet50_fe/ge_proto_00046_afterUBMatch.txt", 234, 0, 249, 0, 0, 109),
    ("ascgraph/test_seri_compute_graph.txt", 3, 0, 2, 0, 1, 1),
]


def _small() -> DumpGraph:
    return ge_proto.read(_SMALL)


def _late(graph: DumpGraph) -> int:
    count = 0
    for each in graph.graphs:
        place = {node.name: at for at, node in enumerate(each.nodes)}
        for at, node in enumerate(each.nodes):
            sources = [edge.node for edge in node.inputs if edge] + list(node.controls)
            count += sum(place[source] > at for source in sources)
    return count


@needs_shared
@pytest.mark.parametrize("row", _COUNTS, ids=[row[0][-24:] for row in _COUNTS])
def test_real_dumps_have_the_counts_of_the_inventory(row: tuple) -> None:
    assert SAMPLES is not None
    name, nodes, subgraphs, data, control, empty, late = row
    graph = ge_proto.read(SAMPLES / name)
    assert (graph.node_count, len(graph.subgraphs)) == (nodes, subgraphs)
    assert tuple(graph.all_edges) == (data, control, empty)
    assert _late(graph) == late
    assert graph.warnings == ()
    assert not graph.unknown_fields


@needs_shared
@pytest.mark.parametrize("name", [row[0] for row in _COUNTS])
def test_lines_point_at_the_operators(name: str) -> None:
    assert SAMPLES is not None
    lines = (SAMPLES / name).read_text(encoding="latin-1").split("\n")
    for _, node in ge_proto.read(SAMPLES / name).walk():
        assert lines[node.line - 1].strip() == "op {"
        assert lines[node.line].strip() == f'name: "{node.name}"'
        assert node.text.startswith(lines[node.line - 1].encode())
        assert node.text.endswith(b"}\n")


@needs_shared
@pytest.mark.parametrize("name", [row[0] for row in _COUNTS if "resnet" not in row[0]])
def test_outline_and_full_parser_agree_on_real_dumps(name: str) -> None:
    assert SAMPLES is not None
    _agree((SAMPLES / name).read_bytes())


def _agree(data: bytes) -> None:
    """Compare the reader with graphs made from a tree of the whole text."""
    quick = ge_proto.parse(data, "p")
    log = WarningLog("p")
    whole = textproto.parse(data, "p", log)
    trees = whole.messages("graph") or [whole]
    slow = [ge_tree.graph(message, log, "ge_proto") for message in trees]
    assert [g.name for g in quick.graphs] == [g.name for g in slow]
    for ours, theirs in zip(quick.graphs, slow):
        assert len(ours.nodes) == len(theirs.nodes)
        assert (ours.outputs, ours.inputs) == (theirs.outputs, theirs.inputs)
        for a, b in zip(ours.nodes, theirs.nodes):
            assert (a.name, a.type, a.inputs, a.controls, a.line) == (
                b.name, b.type, b.inputs, b.controls, b.line)
            assert a.input_descs == b.input_descs
            assert a.output_descs == b.output_descs
            assert (a.fields, a.subgraphs) == (b.fields, b.subgraphs)
            assert sorted(a.attributes) == sorted(b.attributes)


_NAMES = st.text(st.sampled_from('ab/:_"\\{}\n中 '), min_size=1, max_size=8)


def _escape(text: str) -> str:
    return "".join(f"\\{byte:03o}" if byte < 32 or byte > 126 or byte in b'"\\'
                   else chr(byte) for byte in text.encode())


@settings(derandomize=True, max_examples=40, deadline=None)
@given(st.lists(st.tuples(_NAMES, st.lists(st.one_of(
    st.just(""), st.tuples(_NAMES, st.integers(-1, 3)).map(lambda p: f"{p[0]}:{p[1]}")),
    max_size=3), st.integers(0, 3)), min_size=1, max_size=6))
def test_outline_and_full_parser_agree_on_made_dumps(ops: list) -> None:
    text = 'graph {\n  name: "g"\n'
    for name, inputs, shape in ops:
        text += f'  op {{\n    name: "{_escape(name)}"\n    type: "T"\n'
        text += "".join(f'    input: "{_escape(each)}"\n' for each in inputs)
        text += "    input_desc {\n      dtype: DT_INT8\n      shape {\n"
        text += "        dim: 3\n" * shape + "      }\n    }\n  }\n"
    data = (text + "}\n").encode()
    _agree(data)
    loose = re.sub(rb"(?m)^ +", lambda m: b"\t" * len(m.group()), data)
    assert [(n.name, n.type, n.inputs, n.controls, n.line, n.input_descs)
            for n in ge_proto.parse(loose, "p").nodes] == [
        (n.name, n.type, n.inputs, n.controls, n.line, n.input_descs)
        for n in ge_proto.parse(data, "p").nodes]


def test_the_small_dump_is_read_in_full() -> None:
    graph = _small()
    node = graph.nodes[1]
    assert (graph.name, [g.name for g in graph.subgraphs]) == (
        "ge_default_20240102030405_3", ["body"])
    assert node.name == 'scope/mul:0 "quoted"'
    assert node.inputs == (Edge("x", 0), None, Edge("later", 1))
    assert (node.controls, node.line, node.subgraphs) == (("start",), 42, ("body",))
    assert graph.outputs == (Edge('scope/mul:0 "quoted"', 0),)
    assert tuple(graph.all_edges) == (4, 1, 2)
    assert graph.attributes["_session_graph_id"] == "0_3"
    assert graph.attributes["stream_num"] == 1


def test_attributes_are_plain_python_values() -> None:
    found = _small().nodes[1].attributes
    assert found["DstT"] == "bfloat16"
    assert found["_datadump_original_op_names"] == ()
    assert found["_tbe_kernel_buffer"] == b'\x7fELF\x02\x01\x00"\\\n'
    assert found["epsilon"] == 1e-05
    assert found["pass_name"] == ("MulAddFusionPass", "中")
    assert found["shape_range"] == ((1, -1), ())
    assert found["then"]["name"] == "f"
    assert found["then"]["attr"]["deep"] is False
    assert found["value"] == TensorValue(
        TensorDesc("int32", "ND", (1,), raw_dtype="DT_INT32"), b"\x01\0\0\0")


def test_descriptors_have_numpy_names_and_the_original_layout() -> None:
    data, mul = _small().nodes[:2]
    assert data.output_descs == (TensorDesc(
        "float16", "NCHW", (2, -1), "float32", "NHWC", (2, -1),
        raw_dtype="DT_FLOAT16"),)
    assert data.output_descs[0].attributes["device_type"] == "NPU"
    assert (mul.input_descs[0].dtype, mul.input_descs[0].shape) == ("bfloat16", ())
    assert (mul.output_descs[0].shape, mul.output_descs[0].format) == (
        (-2,), "FRACTAL_NZ")
    assert mul.input_descs[0].line == 133


def test_other_fields_and_unknown_ones_are_kept_and_counted() -> None:
    graph = _small()
    fields = graph.nodes[1].fields
    assert (fields["id"], fields["stream_id"], fields["src_index"]) == (4, -1, (0,))
    assert fields["is_input_const"] == (False, True)
    assert fields["brand_new_field"] == (5,)
    assert graph.unknown_fields == {"brand_new_field": 1}


def test_the_index_names_every_operator() -> None:
    assert ge_proto.index(_SMALL) == [
        (node.name, node.type, node.line) for _, node in _small().walk()]


def test_the_index_takes_a_graph_without_a_model_around_it(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_bytes(b'op {\n  name: "a"\n  type: "T"\n}\nname: "g"\nop {\n'
                     b'  name: "b"\n  type: "U"\n}\n')
    assert ge_proto.index(path) == [("a", "T", 1), ("b", "U", 6)]


@pytest.mark.parametrize("cut", range(60, 3600, 97))
def test_a_truncated_dump_keeps_what_was_complete_and_counts_the_rest(cut: int) -> None:
    data = _SMALL.read_bytes()
    cut = min(cut, len(data) - 3)
    whole = _small()
    complete = [node.name for graph in whole.graphs for node in graph.nodes
                if data.find(node.text) + len(node.text) <= cut]
    graph = ge_proto.parse(data[:cut], "p")
    assert [node.name for _, node in graph.walk()][:len(complete)] == complete
    begun = data[:cut].count(b"\n  op {\n")
    assert graph.node_count + graph.lost_nodes >= begun
    assert graph.warnings or b"}\n}\n" in data[:cut][-400:]


def test_one_changed_byte_in_an_attribute_loses_no_operator() -> None:
    data = _SMALL.read_bytes()
    start = data.find(b'    attr {\n      key: "DstT"')
    end = data.find(b"    id: 4")
    rng = random.Random(5)
    names = [node.name for _, node in _small().walk()]
    for _ in range(400):
        place = rng.randrange(start, end)
        changed = data[:place] + bytes((rng.randrange(256),)) + data[place + 1:]
        graph = ge_proto.parse(changed, "p")
        graph.load_details()
        assert [node.name for _, node in graph.walk()] == names


@pytest.mark.parametrize(("old", "new", "lost", "message"), [
    (b'  op {\n    name: "later"', b'  oq {\n    name: "later"', 1, "expected"),
    (b'  op {\n    name: "later"', b'  op z\n    name: "later"', 1, "damaged"),
    (b'    name: "later"\n', b'    nbme: "later"\n', 0, "without a name"),
    (b'"x:0"\n  }\n  op {\n    name: "start"', b'"x:0"\n  )\n  op {\n    name: "start"',
     0, "not closed"),
    (b'graph {\n  name: "body"', b'grbph {\n  name: "body"', 0, "expected"),
    (b'graph {\n  name: "body"', b'graph z\n  name: "body"', 0, "damaged head"),
    (b'      value {\n        dt: 27', b'      value z\n        dt: 27', 0, "line"),
])
def test_damaged_brackets_are_told_and_operators_counted(
        old: bytes, new: bytes, lost: int, message: str) -> None:
    data = _SMALL.read_bytes()
    assert old in data
    graph = ge_proto.parse(data.replace(old, new), "p")
    assert (graph.node_count, graph.lost_nodes) == (6 - lost, lost)
    assert any(message in warning.message for warning in graph.warnings)


def test_operators_before_and_after_a_damaged_one_are_whole() -> None:
    data = _SMALL.read_bytes()
    start = data.find(b"    type: \"Mul\"")
    graph = ge_proto.parse(data[:start] + b"\xff{{{" * 50 + data[start + 200:], "p")
    names = [node.name for node in graph.nodes]
    assert names[0] == "x"
    assert names[-3:] == ["later", "start", "Node_Output"]
    assert graph.warnings


def test_two_dumps_in_one_file_are_noticed() -> None:
    data = _SMALL.read_bytes()
    graph = ge_proto.parse(data + data, "p")
    assert graph.node_count == 12
    assert any("several dumps" in warning.message for warning in graph.warnings)


@pytest.mark.parametrize("text", [
    b'graph { op { name: "a" type: "T" input: "b:1" } op < name: "b" type: "U" > }',
    b'graph {\n\top {\n\t\tname: "a"\n\t\ttype: "T"\n\t\tinput: "b:1"\n\t}\n'
    b'\top { # note\n\t\tname: \'b\' type: "U"\n\t}\n}\n',
    b'graph {\r\n  op {\r\n    name: "a"\r\n    type: "T"\r\n    input: "b:1"\r\n'
    b'  }\r\n  op {\r\n    name: "b"\r\n    type: "U"\r\n  }\r\n}\r\n',
    b'op {\n  type: "T"\n  name: "a"\n  input: ["b:1"]\n}\nop { name: "b" type: "U" }',
    b'graph {\n  op {\n    name: "a"\n    type: "T"\n    id: 1\n    input: "b:1"\n  }\n'
    b'  op { name: "b" type: "U" }\n}'])
def test_other_surfaces_give_the_same_graph(text: bytes) -> None:
    graph = ge_proto.parse(text, "p")
    assert [(n.name, n.type, n.inputs) for n in graph.nodes] == [
        ("a", "T", (Edge("b", 1),)), ("b", "U", ())]
    assert graph.warnings == ()


def test_utf16_text_is_read() -> None:
    data = _SMALL.read_bytes().decode().encode("utf-16")
    assert ge_proto.parse(data, "p").node_count == 6


@pytest.mark.parametrize("data", [
    b"\n", b"hello\n", b"\x7fELF" + bytes(range(256)) * 4, b"{}", b"name: 1\n",
    b"\0" * 100])
def test_what_is_no_dump_gives_one_line(data: bytes) -> None:
    with pytest.raises(DumpError) as caught:
        ge_proto.parse(data, "p")
    assert str(caught.value).startswith("p:1: found ")
    assert "\n" not in str(caught.value)


def test_a_file_too_large_or_empty_or_absent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="max_bytes"):
        ge_proto.read(_SMALL, max_bytes=100)
    (tmp_path / "empty").write_bytes(b"")
    for name in ("empty", "absent", "."):
        with pytest.raises(DumpError):
            ge_proto.read(tmp_path / name)


def test_an_input_without_a_number_is_told() -> None:
    graph = ge_proto.parse(b'graph {\n  op {\n    name: "a"\n    type: "T"\n'
                           b'    input: "b"\n  }\n}\n', "p")
    assert graph.nodes[0].inputs == (Edge("b", 0),)
    assert "without an output number" in graph.warnings[0].message


def test_names_of_100_kilobytes_are_kept() -> None:
    name = "n" * 100000
    graph = ge_proto.parse(f'graph {{\n  op {{\n    name: "{name}"\n    type: "T"\n'
                           "  }\n}\n".encode(), "p")
    assert graph.nodes[0].name == name


def test_mutated_dumps_are_survived() -> None:
    survive(ge_proto.parse, _SMALL.read_bytes(), 120)


def test_a_text_that_ends_in_an_attribute_of_the_model_says_so():
    graph = ge_proto.parse(
        b'graph {\n  op {\n    name: "a"\n    type: "B"\n  }\n}\nattr {\n  key: "k"\n',
        "x")
    assert [node.name for node in graph.nodes] == ["a"]
    assert [each.message for each in graph.warnings] == ["the text ends inside 'attr'"]
    assert graph.warnings[0].line == 7
