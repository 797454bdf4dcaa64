"""The JSON document of `inspect`, as plain data.

Paths are given as they were read, everything else as the files say it; making it fit
for a terminal or a page is the business of who shows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable

import dumps
from dumps.changes import Changed, Fused, NodeRef, Renamed, Replaced, StageChanges
from dumps.errors import DumpError
from dumps.hlo_passes import ModulePasses
from dumps.records import DumpWarning
from dumps.series import GraphStages, Stage
from ge_harness.inspection.active import module_mark
from ge_harness.inspection.gather import Gathered
from ge_harness.inspection.scope import process_of
from ge_harness.records.inspection import PassFinding, Unattributed


def document(found: Gathered) -> dict[str, Any]:
    """Return the document of kind `inspect`."""
    graphs = [_graph(found, graph) for graph in found.series.graphs]
    graphs += [_module(found, module) for module in found.modules]
    passes = found.passes
    return {
        "source": found.source,
        "graphs": graphs,
        "active_passes": [_finding(each) for each in passes.active],
        "precision_affecting": _names(passes.of_verdict("precision-affecting")),
        "undetermined": _names(passes.of_verdict("undetermined")),
        "bit_safe": _names(passes.of_verdict("bit-safe")),
        "matched_only": [
            {"family": family, "name": name, "match_times": times}
            for family, name, times in passes.matched_only],
        "disabled_passes": [{"family": family, "name": name}
                            for family, name in passes.disabled],
        "unattributed": [_unattributed(each) for each in passes.unattributed],
        "options": dict(passes.options),
        "kernels": [{"name": each.name, "kernel_name": each.kernel_name,
                     "core_type": each.core_type, "block_dim": each.block_dim,
                     "sha256": each.sha256, "file": each.path}
                    for each in found.kernels],
        "files": {"found": found.file_count, "read": found.read_count,
                  "passed_over": list(found.passed_over)},
        "warnings": [_warning(each) for each in found.warnings],
    }


def _graph(found: Gathered, graph: GraphStages) -> dict[str, Any]:
    active = found.tallies.findings(graph.mark, process_of(graph.run))
    names: dict[str, None] = {}
    for stage in graph.stages:
        names.update(dict.fromkeys(stage.subgraphs))
    return {
        "name": graph.name, "session": graph.session, "run": graph.run,
        "graph_id": graph.graph_id, "format": graph.format, "subgraphs": list(names),
        "stages": [_stage(stage) for stage in graph.stages],
        "active_passes": [_finding(each) for each in active],
        "precision_affecting": _names(each for each in active
                                      if each.verdict == "precision-affecting"),
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "order": stage.order, "serial": stage.serial, "name": stage.name,
        "known": stage.is_known, "file": stage.path, "format": stage.format,
        "other_formats": list(stage.twins), "nodes": stage.node_count,
        "edges": {"data": stage.edges.data, "control": stage.edges.control,
                  "empty": stage.edges.empty},
        "ops": dict(stage.ops), "lost_nodes": stage.lost_nodes,
        "failed": stage.is_failure,
        "changes": changes(stage.changes),
    }


def changes(found: StageChanges) -> dict[str, Any]:
    """Return the changes of a stage as plain data."""
    return {
        "added": [_ref(each) for each in found.added],
        "removed": [_ref(each) for each in found.removed],
        "renamed": [_renamed(each) for each in found.renamed],
        "fused": [_fused(each) for each in found.fused],
        "replaced": [_replaced(each) for each in found.replaced],
        "changed": [_changed(each) for each in found.changed],
        "casts_added": len(found.casts_added),
        "casts_removed": len(found.casts_removed),
        "dtype_changed": found.count("dtype"),
        "format_changed": found.count("format"),
        "shape_changed": found.count("shape"),
        "attributes_changed": found.attributes_only,
    }


def _ref(ref: NodeRef) -> dict[str, Any]:
    return {"graph": ref.graph, "name": ref.name, "type": ref.type,
            "dtypes": list(ref.dtypes), "line": ref.line}


def _renamed(each: Renamed) -> dict[str, Any]:
    return dict(_ref(each.node), old_name=each.old_name, how=each.how)


def _fused(each: Fused) -> dict[str, Any]:
    return dict(_ref(each.node), how=each.how,
                originals=[_ref(ref) for ref in each.originals])


def _replaced(each: Replaced) -> dict[str, Any]:
    return {"before": [_ref(ref) for ref in each.before],
            "after": [_ref(ref) for ref in each.after], "how": each.how}


def _changed(each: Changed) -> dict[str, Any]:
    return dict(_ref(each.node), what=list(each.what),
                details=[{"what": what, "before": before, "after": after}
                         for what, before, after in each.details])


def _finding(each: PassFinding) -> dict[str, Any]:
    return {
        "family": each.family, "name": each.name, "known": each.known,
        "match_times": each.match_times, "effect_times": each.effect_times,
        "evidence": each.evidence[0].text if each.evidence else "",
        "strength": each.strength, "standing": each.standing,
        "all_evidence": [
            {"strength": one.strength, "text": one.text, "file": one.path,
             "line": one.line, "shows_change": one.shows_change}
            for one in each.evidence],
        "level": each.level, "precision_class": each.precision_class,
        "certainty": each.certainty, "stage": each.stage,
        "switch_off": each.switch_off, "verdict": each.verdict, "reason": each.reason,
        "ops": list(each.ops), "dtypes": list(each.dtypes), "nodes": each.node_count,
    }


def _names(found: Iterable[PassFinding]) -> list[dict[str, str]]:
    return [{"family": each.family, "name": each.name} for each in found]


def _unattributed(each: Unattributed) -> dict[str, Any]:
    return {"graph": each.graph, "stage": each.stage, "file": each.path,
            "changes": dict(each.changes), "ops": list(each.ops),
            "dtypes": list(each.dtypes)}


def _warning(each: DumpWarning) -> dict[str, Any]:
    return {"file": each.path, "line": each.line, "message": each.message}


def _module(found: Gathered, module: ModulePasses) -> dict[str, Any]:
    """Return a compilation of XLA as a graph whose stages are its passes."""
    active = found.tallies.findings(module_mark(module))
    return {
        "name": module.name or f"module {module.number}", "session": "", "run": "",
        "graph_id": module.number, "format": "hlo", "subgraphs": [],
        "stages": _module_stages(module),
        "active_passes": [_finding(each) for each in active],
        "precision_affecting": _names(each for each in active
                                      if each.verdict == "precision-affecting"),
    }


def _module_stages(module: ModulePasses) -> list[dict[str, Any]]:
    stages = []
    counted: tuple[int, dict[str, int], tuple[int, int, int]] = (0, {}, (0, 0, 0))
    for order, each in enumerate(module.passes):
        if each.changed or not order:
            counted = _count(Path(each.path))
        nodes, ops, edges = counted
        stage_changes = changes(StageChanges())
        stage_changes["instructions_added"] = each.added
        stage_changes["instructions_removed"] = each.removed
        stages.append({
            "order": order, "serial": each.order, "name": each.name, "known": True,
            "file": each.path, "format": "hlo", "other_formats": [], "nodes": nodes,
            "edges": {"data": edges[0], "control": edges[1], "empty": edges[2]},
            "ops": dict(ops), "lost_nodes": 0, "failed": False,
            "changes": stage_changes})
    return stages


def _count(path: Path) -> tuple[int, dict[str, int], tuple[int, int, int]]:
    try:
        graph = dumps.read(path)
    except DumpError:
        return 0, {}, (0, 0, 0)
    ops: dict[str, int] = {}
    for _, node in graph.walk():
        ops[node.type] = ops.get(node.type, 0) + 1
    edges = graph.all_edges
    return (graph.node_count, dict(sorted(ops.items())),
            (edges.data, edges.control, edges.empty))
