"""One side of a comparison: the nodes of a dump by graph and name, and their origins.

Source: reference: graph_dumps.md section 5.1.
"""

from __future__ import annotations

import re
from typing import Iterable, Tuple

from dumps.records import DumpGraph, DumpNode, Edge

# The TensorFlow adapter puts the time into names of graphs and of nodes made for them.
# Source: reference: graph_dumps.md section 1.5.
STAMP = re.compile(r"ge_default_\d{14}")
_NO_TIME = "ge_default_<time>"
Key = Tuple[str, str]
ORIGINAL_NAMES = "_datadump_original_op_names"
ORIGIN_NAME = "_datadump_origin_name"


class Side:
    """One dump, its nodes by graph and name.

    Attributes:
        nodes: every node by (graph, name); of equal names the first.
        order: position of each in the file.
        format: the dump's format; another format says other things of a node.
    """

    def __init__(self, graph: DumpGraph) -> None:
        self.nodes: dict[Key, DumpNode] = {}
        for inner in graph.graphs:
            name = inner.name
            for node in inner.nodes:
                self.nodes.setdefault((name, node.name), node)
        self.order = {key: place for place, key in enumerate(self.nodes)}
        self.format = graph.format
        self._consumers: dict[Key, list[tuple[Key, int]]] | None = None

    def consumers(self, key: Key) -> list[tuple[Key, int]]:
        """Return who reads a node's outputs: (node, number of its input)."""
        if self._consumers is None:
            table: dict[Key, list[tuple[Key, int]]] = {}
            for reader, node in self.nodes.items():
                for slot, edge in enumerate(node.inputs):
                    if edge is not None:
                        table.setdefault((reader[0], edge[0]), []).append(
                            (reader, slot))
            self._consumers = table
        return self._consumers.get(key, [])

    def sorted(self, keys: Iterable[Key]) -> list[Key]:
        """Return keys in the order of the file."""
        return sorted(keys, key=self.order.__getitem__)


def originals(node: DumpNode) -> tuple[str, ...]:
    """Return the names of the original operators; none where the list is empty."""
    value = node.attributes.get(ORIGINAL_NAMES)
    if isinstance(value, str):
        value = (value,)
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(name for name in value if isinstance(name, str) and name)


def origin_names(node: DumpNode) -> tuple[str, ...]:
    """Return the original operators that a node's outputs are said to be."""
    found = []
    for desc in node.output_descs:
        value = desc.attributes.get(ORIGIN_NAME)
        if isinstance(value, str) and value:
            found.append(value)
    return tuple(found)


def without_times(graph: DumpGraph) -> DumpGraph:
    """Return a dump in whose names of graphs and nodes no time stands."""
    return _without_times(graph, [_without_times(each, ()) for each in graph.subgraphs])


def stamps(graph: DumpGraph) -> frozenset[str]:
    """Return the times that stand in the names of a dump's graphs."""
    return frozenset(stamp for each in graph.graphs
                     for stamp in STAMP.findall(each.name))


def _without_times(graph: DumpGraph, inner: Iterable[DumpGraph]) -> DumpGraph:
    def plain(name: str) -> str:
        return STAMP.sub(_NO_TIME, name)

    nodes = [DumpNode(
        plain(node.name), node.type,
        tuple(edge if edge is None else Edge(plain(edge.node), edge.index)
              for edge in node.inputs),
        tuple(plain(name) for name in node.controls), node.line,
        lambda node=node: node.detail, lambda node=node: node.text)  # type: ignore[misc]
        for node in graph.nodes]
    return DumpGraph(plain(graph.name), graph.path, graph.format, nodes, tuple(inner),
                     line=graph.line)
