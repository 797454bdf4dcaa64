"""What a pass added to a graph and took from it, as GE's graph trace records it.

Source: reference: fusion_result.md section 7.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ge_harness.backends.emulator.ir import Graph
from ge_harness.backends.emulator.passes.base import Pass

_SEPARATORS = re.compile(r"[,\x00-\x1f\x7f]")


class Edit(NamedTuple):
    """One record.

    Attributes:
        owner: "GE:PreRun::AutoFusePass", "FE:RealDiv2MulsFusionPass".
        action: "add", "delete" or "modify".
        graph: name of the graph.
        node: name of the node.
        data: "owner_graph", "output:0", "type".
        content: the other end of an edge, or the new value.
    """

    owner: str
    action: str
    graph: str
    node: str
    data: str
    content: str = ""

    def line(self) -> str:
        """Return the record as the trace file has it; names cannot add records."""
        fields = (self.owner, self.action, self.graph, self.node, self.data, "", "",
                  self.content)
        return ",".join(_SEPARATORS.sub("_", field) for field in fields)


def between(before: Graph, after: Graph, each: Pass) -> list[Edit]:
    """Return what a pass did."""
    engine = each.family == "graph_fusion"
    owner = f"FE:{each.name}" if engine else f"GE:{each.label}::{each.name}"
    found: list[Edit] = []
    old_edges, new_edges = _edges(before), _edges(after)

    def add(action: str, node: str, data: str, content: str = "") -> None:
        found.append(Edit(owner, action, after.name, node, data, content))

    for source, target in sorted(old_edges - new_edges):
        add("delete", source[0], f"output:{source[1]}", _input(target))
    for name in before.nodes:
        if name not in after.nodes:
            add("delete", name, "owner_graph")
    for name, node in after.nodes.items():
        if name not in before.nodes:
            add("add", name, "owner_graph")
        elif node.type != before.nodes[name].type:
            add("modify", name, "type", node.type)
    for source, target in sorted(new_edges - old_edges):
        add("add", source[0], f"output:{source[1]}", _input(target))
    return found


def _input(end: tuple[str, int]) -> str:
    return f"{end[0]}:input:{end[1]}"


def _edges(graph: Graph) -> set[tuple[tuple[str, int], tuple[str, int]]]:
    found = {((port.node, port.index), (node.name, slot))
             for node in graph for slot, port in enumerate(node.inputs)}
    found |= {((port.node, port.index), ("Node_Output", slot))
              for slot, (_, port) in enumerate(graph.outputs)}
    return found


