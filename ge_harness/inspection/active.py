"""Which passes acted, from everything that was found.

The strength of what shows a pass: a graph trace records the very edits; a difference of
two stages with the pass's name on the node comes next, then a name on a node alone, the
counts of fusion_result.json (what the pass itself returned), and last a line of a log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Sequence

from dumps.changes import NodeRef
from dumps.fusion_result import FusionResult
from dumps.hlo_passes import PIPELINE_START, ModulePasses
from dumps.plog import LogFinding, Plog
from dumps.series import GraphStages
from dumps.source import shown
from dumps.trace import GraphTrace, OwnerEdits
from ge_harness.catalogue import passes
from ge_harness.inspection.scope import Scopes, engine_process
from ge_harness.inspection.stage_evidence import StageWatcher
from ge_harness.inspection.tally import Tallies
from ge_harness.inspection.touched import Touched
from ge_harness.records.inspection import Evidence, PassReport

_NO_PASSES = frozenset({"OP", "RTS", "MODEL"})
_OWNER_FAMILY = {"GE": "ge", "GE_SUB": "ge", "Fusion": "graph_fusion"}
_MOST_STEPS = 2000


def wanted_names(traces: Iterable[GraphTrace]) -> set[str]:
    """Return the nodes whose type and dtypes the traces need from the dumps."""
    found: set[str] = set()
    for each in traces:
        for edits in each.owners:
            found.update(edits.added, edits.removed, edits.modified_nodes)
    return found


@dataclass(frozen=True)
class Sources:
    """What there is besides the stages.

    Attributes:
        graphs: the graphs of the series.
        fusion: counts of the fusion engine.
        traces: graph traces.
        logs: logs.
        modules: compilations of XLA.
    """

    graphs: Sequence[GraphStages] = ()
    fusion: Sequence[FusionResult] = ()
    traces: Sequence[GraphTrace] = ()
    logs: Sequence[Plog] = ()
    modules: Sequence[ModulePasses] = ()


def report(tallies: Tallies, watcher: StageWatcher, sources: Sources) -> PassReport:
    """Join all evidence.

    Args:
        tallies: what the stages already gave; takes in the rest.
        watcher: the watcher of the stages.
        sources: everything else.
    """
    tallies.has_fusion_result = bool(sources.fusion)
    scopes = Scopes(sources.graphs)
    for each in sources.traces:
        _trace(tallies, watcher, each, scopes)
    matched = _fusion(tallies, sources.fusion, scopes)
    disabled: dict[tuple[str, str], None] = {}
    steps: dict[str, None] = {}
    options: dict[str, str] = {}
    for log in sources.logs:
        _log(tallies, log, scopes.process(log.pids), (disabled, steps))
        options.update(log.options)
    for module in sources.modules:
        _module(tallies, module)
    return PassReport(
        tallies.findings(), tuple(matched), tuple(disabled),
        tuple(watcher.unattributed), tuple(steps)[:_MOST_STEPS],
        tuple(sorted(options.items())))


def _trace(tallies: Tallies, watcher: StageWatcher, found: GraphTrace,
           scopes: Scopes) -> None:
    for edits in found.owners:
        if edits.owner in _NO_PASSES or not (
                edits.added or edits.removed or edits.modified
                or edits.edges_added or edits.edges_removed):
            continue
        family, name = _owner(edits)
        touched = Touched()
        for node in (*edits.added, *edits.removed, *edits.modified_nodes):
            if node in watcher.names:
                kind, dtypes = watcher.names[node]
                touched.ref(NodeRef("", node, kind, dtypes))
        known_graphs = {scopes.of_name(each) for each in edits.graphs}
        graph = known_graphs.pop() if len(known_graphs) == 1 else ""
        tallies.add((graph, family, name),
                    Evidence("graph trace", _edits(edits), found.path, edits.line),
                    touched)


def _owner(edits: OwnerEdits) -> tuple[str, str]:
    parts = [part for part in edits.stage.split("::") if part] or [edits.stage]
    if edits.owner == "FE":
        name = parts[-1]
        for family in ("graph_fusion", "ub_fusion", "ge"):
            if passes.lookup(family, name):
                return family, name
        return "graph_fusion", name
    family = _OWNER_FAMILY.get(edits.owner, "ge")
    for part in reversed(parts):
        if passes.lookup(family, part) or part.endswith("Pass"):
            return family, part
    return family, parts[0] if edits.owner == "GE_SUB" else parts[-1]


def _edits(edits: OwnerEdits) -> str:
    counts = [(len(edits.added), "nodes added"), (len(edits.removed), "nodes removed"),
              (edits.edges_added, "edges added"),
              (edits.edges_removed, "edges removed"),
              (sum(count for _, count in edits.modified), "other edits")]
    said = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"{shown(edits.owner + ':' + edits.stage)[1:-1]}: {said}"


def _fusion(tallies: Tallies, found: Sequence[FusionResult],
            scopes: Scopes) -> list[tuple[str, str, int]]:
    matches: dict[tuple[str, str], int] = {}
    effects: dict[tuple[str, str], int] = {}
    for result in found:
        process = scopes.process(engine_process(result.path))
        for part in result.graphs:
            mark = scopes.of_id(part.graph, process)
            for count in part.counts:
                key = (count.family, count.name)
                matches[key] = matches.get(key, 0) + count.match_times
                effects[key] = effects.get(key, 0) + count.effect_times
                tally = tallies.of(*key, mark)
                tally.match_times = (tally.match_times or 0) + count.match_times
                tally.effect_times = (tally.effect_times or 0) + count.effect_times
                if not count.active:
                    continue
                tally.declared = True
                where = f"session {part.session or '?'}, graph {part.graph or '?'}"
                tallies.add((mark, *key), Evidence(
                    "fusion_result", f"{where}: {count.effect_times} effects of "
                    f"{count.match_times} matches", result.path))
    return sorted((*key, matches[key]) for key, effect in effects.items()
                  if effect <= 0)


def _log(tallies: Tallies, log: Plog, scope: str,
         notes: tuple[dict[tuple[str, str], None], dict[str, None]]) -> None:
    disabled, steps = notes
    for finding in log.findings:
        family, name = _logged(finding)
        if finding.kind == "disabled":
            disabled[family, name] = None
        elif finding.kind in ("ran", "changed"):
            tally = tallies.add((scope, family, name), _log_evidence(finding, log),
                                stage="::".join(finding.labels))
            if finding.effect_times is not None and not tally.declared:
                tally.effect_times = max(finding.effect_times, tally.effect_times or 0)
            if finding.match_times is not None and not tally.declared:
                tally.match_times = max(finding.match_times, tally.match_times or 0)
        elif finding.kind == "step":
            if passes.lookup(family, name):
                tallies.add((scope, family, name), _log_evidence(finding, log))
            else:
                steps[finding.name] = None


def _logged(finding: LogFinding) -> tuple[str, str]:
    """Return family and name of what a log line names, by the catalogue."""
    name = finding.name.split("::")[-1] if finding.kind == "step" else finding.name
    if finding.family and finding.kind != "step":
        if passes.lookup(finding.family, name):
            return finding.family, name
        if finding.family == "graph_fusion" and passes.lookup("ub_fusion", name):
            return "ub_fusion", name
        return finding.family, name
    for family in ("ge", "graph_fusion", "ub_fusion"):
        if passes.lookup(family, name):
            return family, name
    return "ge", name


def _log_evidence(finding: LogFinding, log: Plog) -> Evidence:
    times = f"{finding.count} times: " if finding.count > 1 else ""
    changed = finding.kind == "changed"
    said = "changed the graph" if changed else "ran"
    return Evidence("log", f"{said}, {times}{finding.text}", log.path, finding.line,
                    changed)


def _module(tallies: Tallies, module: ModulePasses) -> None:
    for each in module.passes:
        if not each.changed or each.name == PIPELINE_START:
            continue
        touched = Touched()
        touched.ops.update(each.ops)
        touched.dtypes.update(each.dtypes)
        said = (f"module {module.number}: {each.added} instructions came, "
                f"{each.removed} went since {shown(each.previous, 80)[1:-1]}")
        tallies.add((module_mark(module), "hlo_pass", each.name),
                    Evidence("stage difference", said, each.path), touched,
                    each.pipeline)


def module_mark(module: ModulePasses) -> str:
    """Return what tells a compilation of XLA from others."""
    return f"hlo|{module.stamp}|{module.number}|{module.name}"
