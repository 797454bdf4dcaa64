from __future__ import annotations

import pytest

from dumps import DumpError, Edge, readable
from tests.dumps.survive import GRAPHS, survive

_SMALL = GRAPHS / "ge_readable_00000001_graph_3_PreRunBegin.txt"


def test_the_small_dump_is_read_in_full() -> None:
    graph = readable.read(_SMALL)
    assert [g.name for g in graph.graphs] == ["main", "sub"]
    assert [(n.name, n.type, n.line) for _, n in graph.walk()] == [
        ("x/in", "Data", 2), ("a, b)", "Split", 3), ("if", "If", 6),
        ("start", "NoOp", 7), ("arg", "Data", 12)]
    assert tuple(graph.all_edges) == (3, 0, 0)
    assert graph.warnings == ()


def test_elements_of_several_outputs_become_edges() -> None:
    graph = readable.read(_SMALL)
    branch = graph.node("if")
    assert branch is not None
    assert branch.inputs == (Edge("a, b)", 0), Edge("a, b)", 1))
    assert branch.fields["input_name"] == ("cond", "input_0")
    assert branch.subgraphs == ("sub",)
    assert graph.outputs == (Edge("if", 0), Edge("a, b)", 1))


def test_attributes_are_plain_values() -> None:
    split = readable.read(_SMALL).nodes[1].attributes
    assert split["num_split"] == 2
    assert split["axes"] == (0, 1)
    assert split["name"] == "k, v: 1"
    assert split["big"] == (1.5, 2.0, 3.0, "...", 4.0, 5.0, 6.0)
    assert readable.read(_SMALL).nodes[2].attributes["keep"] is True


def test_a_truncated_dump_keeps_whole_lines_and_counts_the_cut_one() -> None:
    data = _SMALL.read_bytes()
    cut = data.find(b"[#users=0]") + 20
    graph = readable.parse(data[:cut], "p")
    assert [node.name for node in graph.nodes] == ["x/in", "a, b)", "if"]
    assert graph.lost_nodes == 1
    assert any("no return line" in warning.message for warning in graph.warnings)


def test_an_input_that_is_not_defined_is_told() -> None:
    data = _SMALL.read_bytes().replace(b"(x=%x/in)", b"(x=%y)")
    warning = readable.parse(data, "p").warnings[0]
    assert (warning.line, "not defined" in warning.message) == (3, True)


def test_operators_without_a_graph_line_are_kept() -> None:
    data = _SMALL.read_bytes().split(b"\n", 1)[1]
    graph = readable.parse(data, "p")
    assert graph.node_count == 5
    assert graph.warnings


@pytest.mark.parametrize("data", [b"hello\n", b"graph {\n", b"\n"])
def test_other_text_is_refused(data: bytes) -> None:
    with pytest.raises(DumpError, match="graph"):
        readable.parse(data, "p")


def test_mutated_dumps_are_survived() -> None:
    survive(readable.parse, _SMALL.read_bytes(), 200)
