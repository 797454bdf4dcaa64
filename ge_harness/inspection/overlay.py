"""Node data for Model Explorer: colors the nodes that a stage changed.

The file holds, for each graph, a value for each node id and the colors of value ranges.
Source: google-ai-edge/model-explorer, node_data_builder.py (ModelNodeData,
GraphNodeData, NodeDataResult, ThresholdItem).
"""

from __future__ import annotations

from typing import Any

from dumps.series import Series, Stage

# Value, color and meaning; a value up to the first threshold gets its color.
LEGEND = (
    (1, "#d9f0d3", "attributes, edges or name changed"),
    (2, "#fee08b", "shape or format changed"),
    (3, "#fdae61", "added, replaced or of another dtype"),
    (4, "#d73027", "fused, or a cast"),
)


def overlay(series: Series, stage_name: str | None = None) -> dict[str, Any]:
    """Return the node data of the last changing stage, or of the stage named.

    Args:
        series: the series.
        stage_name: the stage, None for the last one with changes of each graph.
    """
    graphs: dict[str, Any] = {}
    for graph in series.graphs:
        chosen = [stage for stage in graph.stages if stage.name == stage_name] if (
            stage_name) else [stage for stage in graph.stages if stage.changes.total]
        if chosen:
            for name, values in _values(chosen[-1]).items():
                graphs[name] = {
                    "results": {node: {"value": value}
                                for node, value in sorted(values.items())},
                    "thresholds": [{"value": value, "bgColor": color}
                                   for value, color, _ in LEGEND]}
    return graphs


def _values(stage: Stage) -> dict[str, dict[str, int]]:
    changes = stage.changes
    found: dict[str, dict[str, int]] = {}

    def mark(graph: str, name: str, value: int) -> None:
        nodes = found.setdefault(graph, {})
        nodes[name] = max(value, nodes.get(name, 0))

    for changed in changes.changed:
        kinds = set(changed.what)
        value = 3 if "dtype" in kinds else 2 if kinds & {"shape", "format"} else 1
        mark(changed.node.graph, changed.node.name, value)
    for renamed in changes.renamed:
        mark(renamed.node.graph, renamed.node.name, 1)
    for ref in changes.added:
        mark(ref.graph, ref.name, 3)
    for replaced in changes.replaced:
        for ref in replaced.after:
            mark(ref.graph, ref.name, 3)
    for ref in changes.casts_added:
        mark(ref.graph, ref.name, 4)
    for fused in changes.fused:
        mark(fused.node.graph, fused.node.name, 4)
    return found
