from __future__ import annotations

import pytest

from dumps import DumpError, Edge, atc_json
from dumps.records import TensorDesc
from tests.dumps.survive import GRAPHS, survive
from tests.shared import SAMPLES, needs_shared

_SMALL = GRAPHS / "model.json"


@needs_shared
def test_the_real_model_has_the_counts_of_the_inventory() -> None:
    assert SAMPLES is not None
    path = SAMPLES / "atc_json" / "model.json"
    graph = atc_json.read(path)
    assert graph.node_count == 19
    data, control, empty = graph.all_edges
    assert (data + control + empty, empty) == (25, 4)
    assert graph.warnings == ()
    lines = path.read_text(encoding="utf-8").split("\n")
    assert all(lines[node.line - 1].strip() == "{" for node in graph.nodes)
    cast = graph.node("trans_Cast_2")
    assert cast is not None
    assert cast.attributes["_op_slice_info"].startswith('{"_op_slice_info":')
    assert (cast.input_descs[0].dtype, cast.output_descs[0].dtype) == (
        "float32", "float16")


def test_the_small_model_is_read_in_full() -> None:
    graph = atc_json.read(_SMALL)
    assert (graph.name, graph.inputs) == ("main", ("x:0",))
    assert [(n.name, n.type, n.line) for n in graph.nodes] == [
        ("x", "Data", 17), ("y", "Mul", 36), ("Node_Output", "NetOutput", 81)]
    node = graph.nodes[1]
    assert (node.inputs, node.controls) == ((Edge("x", 0), None), ("x",))
    assert node.fields["id"] == 2
    assert graph.nodes[0].output_descs == (
        TensorDesc("float16", "ND", (2, 3), raw_dtype="DT_FLOAT16"),)
    assert graph.attributes["soc_version"] == "Ascend310"
    assert graph.outputs == (Edge("y", 0),)


def test_values_have_their_types_again() -> None:
    found = atc_json.read(_SMALL).nodes[1].attributes
    assert found["eps"] == 0.05
    assert found["note"] == 'a\n"b"'
    assert found["names"] == ("raw\\n",)
    assert found["customized_op_def"] is None
    assert found["big"] == 2**53 + 1


def test_a_model_without_line_breaks_is_read() -> None:
    graph = atc_json.parse(_SMALL.read_bytes().replace(b"\n", b""), "p")
    assert graph.node_count == 3
    assert graph.warnings == ()


@pytest.mark.parametrize("cut", range(300, 2500, 111))
def test_a_truncated_model_keeps_what_was_complete(cut: int) -> None:
    data = _SMALL.read_bytes()
    cut = min(cut, len(data) - 2)
    graph = atc_json.parse(data[:cut], "p")
    begun = data[:cut].count(b"\n        {")
    assert graph.node_count + graph.lost_nodes == begun
    assert graph.warnings


def test_damage_in_one_operator_loses_only_that_one() -> None:
    data = _SMALL.read_bytes().replace(b'"eps"', b'"eps')
    graph = atc_json.parse(data, "p")
    assert [node.name for node in graph.nodes] == ["x", "Node_Output"]
    assert graph.lost_nodes == 1
    assert graph.warnings[0].line == 36


@pytest.mark.parametrize("data", [
    b"[1, 2]", b"{}", b'{"a": 1}', b"\n", b"{" * 100000, b'{"graph": 3}',
    b'{"graph": ' + b"9" * 100000 + b"}", b"hello"])
def test_other_json_is_refused(data: bytes) -> None:
    with pytest.raises(DumpError, match='list "graph"'):
        atc_json.parse(data, "p")


@pytest.mark.parametrize("bomb", [
    b'{"graph":[{"op":[' + b'{"a":[' * 50000,
    b'{"graph":[{"op":[\n' + b'{"a":[\n' * 50000,
    b'{"graph":[{"op":[{"name":"a","x":' + b"[" * 100000])
def test_nesting_bombs_end_with_a_warning(bomb: bytes) -> None:
    graph = atc_json.parse(bomb, "p")
    assert graph.node_count == 0
    assert graph.warnings


def test_mutated_models_are_survived() -> None:
    survive(atc_json.parse, _SMALL.read_bytes(), 150)
