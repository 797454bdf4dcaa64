"""Two inspections side by side: which stages and which passes differ."""

from __future__ import annotations

from typing import Any

import dumps
from dumps.changes import StageChanges, compare
from dumps.errors import DumpError
from dumps.series import GraphStages, Stage
from dumps.sides import STAMP
from ge_harness.inspection.document import changes as plain_changes
from ge_harness.inspection.gather import Gathered
from ge_harness.records.inspection import PassFinding


def against(a: Gathered, b: Gathered) -> dict[str, Any]:
    """Return what differs between two inspections, as plain data.

    Stages are paired by graph and stage name; of stages that occur several times, in
    their order.
    """
    pairs, only_a, only_b = _pairs(a, b)
    graphs = [_compare_graphs(*pair) for pair in pairs]
    passes = _passes(a, b)
    differs = bool(only_a or only_b or passes["only_a"] or passes["only_b"]
                   or passes["counts"] or any(graph["differs"] for graph in graphs))
    return {
        "a": a.source, "b": b.source, "differs": differs, "graphs": graphs,
        "graphs_only_a": [graph.name for graph in only_a],
        "graphs_only_b": [graph.name for graph in only_b], "passes": passes,
    }


def _pairs(a: Gathered, b: Gathered) -> tuple[
        list[tuple[GraphStages, GraphStages]], list[GraphStages], list[GraphStages]]:
    left = list(b.series.graphs)
    pairs = []
    only_a = []
    for graph in a.series.graphs:
        found = next((other for other in left if _key(other) == _key(graph)), None)
        if found is None:
            only_a.append(graph)
        else:
            left.remove(found)
            pairs.append((graph, found))
    if len(only_a) == 1 and len(left) == 1 and only_a[0].format == left[0].format:
        pairs.append((only_a.pop(), left.pop()))
    return pairs, only_a, left


def _key(graph: GraphStages) -> tuple[str, str]:
    return graph.format, STAMP.sub("", graph.name)


def _compare_graphs(a: GraphStages, b: GraphStages) -> dict[str, Any]:
    left = list(b.stages)
    pairs: list[tuple[Stage, Stage]] = []
    only_a: list[Stage] = []
    for stage in a.stages:
        other = next((each for each in left if each.name == stage.name), None)
        if other is None:
            only_a.append(stage)
        else:
            left.remove(other)
            pairs.append((stage, other))
    if len(a.stages) == len(b.stages) == 1 and only_a:
        pairs.append((only_a.pop(), left.pop()))
    stages = [_compare_stages(*pair) for pair in pairs]
    return {"name_a": a.name, "name_b": b.name, "stages": stages,
            "stages_only_a": [stage.name for stage in only_a],
            "stages_only_b": [stage.name for stage in left],
            "differs": bool(only_a or left
                            or any(not each["equal"] for each in stages))}


def _compare_stages(a: Stage, b: Stage) -> dict[str, Any]:
    found, problem = StageChanges(), ""
    try:
        found = compare(dumps.read(a.path), dumps.read(b.path))
    except DumpError as error:
        problem = str(error)
    return {"name": a.name, "name_b": b.name, "file_a": a.path, "file_b": b.path,
            "nodes_a": a.node_count, "nodes_b": b.node_count, "problem": problem,
            "equal": not problem and not found.total, "changes": plain_changes(found)}


def _passes(a: Gathered, b: Gathered) -> dict[str, Any]:
    in_a = {(each.family, each.name): each for each in a.passes.active}
    in_b = {(each.family, each.name): each for each in b.passes.active}
    counts = []
    for key in sorted(set(in_a) & set(in_b)):
        if in_a[key].effect_times != in_b[key].effect_times:
            counts.append({"family": key[0], "name": key[1],
                           "effect_times_a": in_a[key].effect_times,
                           "effect_times_b": in_b[key].effect_times})
    return {"only_a": _only(in_a, in_b), "only_b": _only(in_b, in_a), "counts": counts}


def _only(here: dict[tuple[str, str], PassFinding],
          there: dict[tuple[str, str], PassFinding]) -> list[dict[str, str]]:
    return [{"family": family, "name": name, "verdict": each.verdict,
             "precision_class": each.precision_class, "switch_off": each.switch_off}
            for (family, name), each in here.items() if (family, name) not in there]
