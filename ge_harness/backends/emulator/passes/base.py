"""What a pass is, and the small edits that passes share."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import numpy as np

from ge_harness.backends.emulator import values
from ge_harness.backends.emulator.ir import Graph, Node, Port
from ge_harness.interpreter.value import Tensor, is_float
from ge_harness.interpreter.value import values as as_float

Rewrite = Callable[[Graph], int]


@dataclass(frozen=True)
class Pass:
    """One rewrite under its own name.

    Attributes:
        family: of the catalogue: "ge", "graph_fusion" or "autofuse".
        name: the compiler's own.
        label: in front of the name in GE's records, e.g. "OptimizeStage1_2".
        run: works on the graph in place; returns how often it changed something.
    """

    family: str
    name: str
    label: str
    run: Rewrite


def each(graph: Graph) -> Iterator[Node]:
    """Yield the nodes of a graph that changes meanwhile, each as it is then."""
    for name in list(graph.nodes):
        node = graph.nodes.get(name)
        if node is not None:
            yield node


def bypass(graph: Graph, node: Node, port: Port) -> None:
    """Take a node out and let its readers read `port`."""
    graph.redirect(node.port, port)
    graph.remove(node.name)


def replace_attrs(node: Node, **changes: Any) -> Node:
    """Return the node with fields of the record changed."""
    return dataclasses.replace(node, **changes)


def single_reader(graph: Graph, port: Port) -> str:
    """Return the only reader of a port, "" where there are others or none."""
    if port in graph.output_ports():
        return ""
    found = {name for name, _ in graph.readers().get(port, ())}
    return found.pop() if len(found) == 1 else ""


def const_values(graph: Graph, port: Port) -> np.ndarray | None:
    """Return the elements of a constant as float64 or integers, None for others."""
    node = graph.nodes[port.node]
    if not node.is_const:
        return None
    array, dtype = values.constant(node)
    if is_float(dtype):
        return as_float(Tensor(array, dtype), "float64")
    return array


def scalar_value(graph: Graph, port: Port) -> float | None:
    """Return the number that a constant of one element holds, None for others."""
    found = const_values(graph, port)
    return float(found.reshape(-1)[0]) if found is not None and found.size == 1 else (
        None)


def drop_unread_constants(graph: Graph) -> None:
    """Take out constants that nothing reads."""
    used = {port.node for node in graph for port in node.inputs}
    used |= {name for node in graph for name in node.controls}
    used |= {port.node for port in graph.output_ports()}
    for node in each(graph):
        if node.is_const and node.name not in used:
            graph.remove(node.name)


def fresh_name(graph: Graph, stem: str) -> str:
    """Return `stem` with the first free number behind it."""
    number = 0
    while f"{stem}_{number}" in graph.nodes:
        number += 1
    return f"{stem}_{number}"


def merged_origins(*nodes: Node) -> tuple[tuple[str, str], ...]:
    """Return the framework operators of several nodes, each once."""
    return tuple(dict.fromkeys(each for node in nodes for each in node.origins))
