from __future__ import annotations

from collections import namedtuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.backends import node_walk
from ge_harness.backends.base import BackendFailure

Node = namedtuple("Node", "name op input")
Graph = namedtuple("Graph", "node")


def _graph(**nodes):
    """name=(op, input, ...) in the order given."""
    return Graph([Node(name, text[0], list(text[1:])) for name, text in nodes.items()])


def _trace(graph, fetches, feeds):
    """Return the names in order of execution and the fetched values, as texts."""
    order = []

    def run(node, inputs):
        order.append(node.name)
        return [f"{node.name}:{index}({','.join(inputs)})" for index in range(2)]

    steps = node_walk.plan(graph, fetches, list(feeds))
    return order, node_walk.walk(steps, feeds, fetches, run)


def test_only_what_leads_to_a_fetch_is_executed():
    graph = _graph(x=("Placeholder",), a=("Neg", "x"), unused=("Bad", "x"),
                   b=("Add", "a:1", "x"))
    order, values = _trace(graph, ["b:0"], {"x:0": "X"})
    assert order == ["a", "b"]
    assert values == ["b:0(a:1(X),X)"]


def test_control_inputs_come_first_and_are_no_values():
    graph = _graph(b=("Id", "x", "^guard"), guard=("Assert", "x"), x=("Placeholder",))
    order, values = _trace(graph, ["b"], {"x": "X"})
    assert order == ["guard", "b"]
    assert values == ["b:0(X)"]


def test_a_fed_tensor_stops_the_walk_and_may_be_fetched():
    graph = _graph(x=("Placeholder",), a=("Neg", "x"), b=("Neg", "a"))
    order, values = _trace(graph, ["b:0", "a:0"], {"a:0": "A"})
    assert order == ["b"]
    assert values == ["b:0(A)", "A"]


def test_a_value_is_released_after_its_last_use():
    graph = _graph(x=("Placeholder",), a=("Neg", "x"), b=("Neg", "a"), c=("Neg", "b"))
    steps = node_walk.plan(graph, ["c:0", "a:0"], ["x:0"])
    assert [step.released for step in steps] == [("x:0",), (), ("b:0",)]


@pytest.mark.parametrize(("nodes", "words"), [
    ({"y": ("Neg", "gone")}, "no node 'gone'"),
    ({"y": ("Neg", "x"), "x": ("Placeholder",)}, "placeholder 'x' is not fed"),
    ({"y": ("Neg", "z"), "z": ("Neg", "y")}, "waits for itself"),
    ({"y": ("Neg", "z:7"), "z": ("Const",)}, "no tensor 'z:7'"),
    ({}, "no node 'y'"),
], ids=["missing", "unfed", "cycle", "no-output", "no-fetch"])
def test_a_broken_graph_is_a_named_failure(nodes, words):
    with pytest.raises(BackendFailure, match=words):
        _trace(_graph(**nodes), ["y:0"], {})


def test_a_chain_of_fifty_thousand_nodes_needs_no_recursion():
    nodes = [Node("n0", "Const", [])]
    nodes += [Node(f"n{index}", "Neg", [f"n{index - 1}"]) for index in range(1, 50_000)]
    steps = node_walk.plan(Graph(nodes), ["n49999:0"], [])
    assert [step.node.name for step in steps[:2]] == ["n0", "n1"]
    assert len(steps) == 50_000


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_every_node_comes_once_and_after_its_inputs(data):
    count = data.draw(st.integers(1, 12))
    nodes = []
    for index in range(count):
        chosen = data.draw(st.lists(st.integers(0, index - 1), max_size=3)) if (
            index) else []
        marks = [data.draw(st.sampled_from(("", "^", ":0"))) for _ in chosen]
        nodes.append(Node(f"n{index}", "Op", [
            f"^n{i}" if mark == "^" else f"n{i}{mark}"
            for i, mark in zip(chosen, marks)]))
    shuffled = data.draw(st.permutations(nodes))
    order, _ = _trace(Graph(shuffled), [f"n{count - 1}:0"], {})
    assert len(order) == len(set(order))
    place = {name: index for index, name in enumerate(order)}
    for node in nodes:
        if node.name in place:
            for text in node.input:
                assert place[node_walk.parse(text)[0]] < place[node.name]
