from __future__ import annotations

import pytest

from dumps import DumpError, Edge, tf_pbtxt
from dumps.records import TensorDesc
from tests.dumps.survive import GRAPHS, survive

_SMALL = GRAPHS / "TF_GeOp1_0.pbtxt"


def test_the_small_graph_is_read_in_full() -> None:
    graph = tf_pbtxt.read(_SMALL)
    assert [(n.name, n.type, n.line) for _, n in graph.walk()] == [
        ("x", "Placeholder", 1), ("c", "Const", 26), ("call", "PartitionedCall", 41),
        ("sq", "Square", 70), ("neg", "Neg", 75)]
    assert tuple(graph.edges) == (2, 1, 0)
    call = graph.nodes[2]
    assert (call.inputs, call.controls) == ((Edge("x", 0), Edge("c", 1)), ("c",))
    assert call.subgraphs == ("body",)
    assert call.fields["device"] == "/device:CPU:0"
    assert graph.warnings == ()
    assert not graph.unknown_fields


def test_functions_are_subgraphs() -> None:
    body = tf_pbtxt.read(_SMALL).subgraphs[0]
    assert (body.name, body.inputs, body.outputs) == ("body", ("a",), (Edge("neg", 0),))
    assert body.nodes[1].inputs == (Edge("sq", 0),)


def test_attributes_are_plain_values() -> None:
    x, constant, call = tf_pbtxt.read(_SMALL).nodes
    assert x.attributes["dtype"] == "float16"
    assert x.output_descs == (TensorDesc("float16", shape=(2, -1)),)
    value = constant.attributes["value"]
    assert (value.desc.dtype, value.desc.shape) == ("float32", ())
    assert value.desc.attributes["float_val"] == (0.5,)
    assert call.attributes["f"]["name"] == "body"


@pytest.mark.parametrize("cut", range(30, 1100, 61))
def test_a_truncated_graph_keeps_what_was_complete(cut: int) -> None:
    data = _SMALL.read_bytes()
    graph = tf_pbtxt.parse(data[:cut], "p")
    begun = (b"\n" + data[:cut]).count(b"\nnode {\n")
    assert len(graph.nodes) + graph.lost_nodes >= begun
    assert graph.warnings or data[:cut].endswith((b"}", b"}\n"))


def test_a_damaged_head_is_counted() -> None:
    graph = tf_pbtxt.parse(_SMALL.read_bytes().replace(
        b'node {\n  name: "c"', b'nods {\n  name: "c"'), "p")
    assert [node.name for node in graph.nodes] == ["x", "call"]
    assert graph.lost_nodes == 1


def test_other_text_is_refused() -> None:
    with pytest.raises(DumpError, match="GraphDef"):
        tf_pbtxt.parse(b"hello", "p")


def test_mutated_graphs_are_survived() -> None:
    survive(tf_pbtxt.parse, _SMALL.read_bytes(), 120)
