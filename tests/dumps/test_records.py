from __future__ import annotations

import pytest

from dumps import ge_tree, textproto
from dumps.records import (
    DumpGraph,
    DumpNode,
    DumpWarning,
    Edge,
    EdgeCounts,
    NodeDetail,
    TensorDesc,
    WarningLog,
)


def test_edges_are_counted_by_kind() -> None:
    nodes = [DumpNode("a", "Data", (None,)),
             DumpNode("b", "Add", (Edge("a", 0), Edge("a", 1), None), ("a",))]
    inner = DumpGraph("in", "p", "hlo", [DumpNode("c", "Neg", (Edge("d", 0),))])
    graph = DumpGraph("g", "p", "hlo", nodes, [inner])
    assert graph.edges == EdgeCounts(2, 1, 2)
    assert graph.all_edges == EdgeCounts(3, 1, 2)
    assert graph.node_count == 3
    assert [node.name for _, node in graph.walk()] == ["a", "b", "c"]


def test_details_are_made_once_and_only_when_asked_for() -> None:
    calls = []

    def detail() -> NodeDetail:
        calls.append(1)
        return NodeDetail({"k": 1}, (TensorDesc("int8"),), (), ("sub",), {"id": 3})

    node = DumpNode("a", "Data", detail=detail)
    assert not calls
    assert node.attributes["k"] == 1
    assert node.input_descs[0].dtype == "int8"
    assert (node.output_descs, node.subgraphs, node.fields["id"]) == ((), ("sub",), 3)
    assert len(calls) == 1


def test_the_first_of_two_nodes_with_one_name_is_found() -> None:
    graph = DumpGraph("g", "p", "hlo", [DumpNode("a", "X"), DumpNode("a", "Y")])
    found = graph.node("a")
    assert found is not None
    assert found.type == "X"
    assert graph.node("b") is None


def test_graph_attributes_are_parsed_on_demand() -> None:
    graph = DumpGraph("g", "p", "hlo", attributes=lambda: {"a": 1})
    assert graph.attributes == {"a": 1}
    assert DumpGraph("g", "p", "hlo").attributes == {}


def test_warnings_are_kept_once_and_no_more_than_the_limit() -> None:
    log = WarningLog("f.txt")
    log.add(3, "odd")
    log.add(3, "odd")
    assert log.all() == (DumpWarning("f.txt", 3, "odd"),)
    assert str(log.all()[0]) == "f.txt:3: odd"
    for line in range(1000):
        log.add(line, "more")
    assert len(log.all()) == WarningLog.LIMIT + 1
    assert "801 more warnings" in log.all()[-1].message


@pytest.mark.parametrize(("count", "text"), [(1, "1 operator lost: why"),
                                             (3, "3 operators lost: why")])
def test_lost_operators_are_counted(count: int, text: str) -> None:
    log = WarningLog("f")
    log.lose(7, count, "why")
    assert log.lost_nodes == count
    assert log.all()[0].message == text


def test_a_graph_finds_its_subgraph_by_name() -> None:
    inner = DumpGraph("in", "p", "hlo")
    graph = DumpGraph("g", "p", "hlo", subgraphs=[inner])
    assert graph.subgraph("in") is inner
    assert graph.subgraph("out") is None
    assert graph.graphs == (graph, inner)


def test_inputs_from_nowhere_are_told_once_for_a_graph() -> None:
    nodes = [DumpNode("a", "Add", (Edge("lost", 0), Edge("in", 0)), ("gone",), 4)]
    graph = DumpGraph("g", "p", "hlo", nodes, inputs=["in"])
    graph.check_references()
    assert graph.warnings == (DumpWarning(
        "p", 4, "2 inputs come from operators that are not in the graph, the first "
        "from 'lost'"),)


def test_operators_lost_after_the_last_shown_warning_are_counted_in_one():
    log = WarningLog("x")
    for line in range(WarningLog.LIMIT + 50):
        log.lose(line, 1, "damaged")
    assert str(log.all()[-1]).endswith("50 more warnings not shown; 250 operators lost "
                                       "in all")


def test_details_deep_inside_are_loaded():
    log = WarningLog("x")
    broken = textproto.parse(b'attr {\n  key: "n"\n  value {\n    i: x\n  }\n}\n', "x")
    inner = DumpNode("b", "B", detail=lambda: NodeDetail(
        ge_tree.attributes(broken, log)))
    graph = DumpGraph("g", "x", "ge_proto", [inner])
    outer = DumpGraph("o", "x", "ge_proto", [DumpNode("a", "A", detail=NodeDetail(
        {"graphs": (graph,)}))])
    outer.load_details()
    assert [each.message for each in log.all()] == ["value 'x', expected an integer"]
