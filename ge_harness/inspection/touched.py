"""What a pass touched, and the passes that a stage's own character names."""

from __future__ import annotations

from typing import Iterable

from dumps.changes import CAST_TYPES, NodeRef, StageChanges, dtypes_of
from dumps.records import DumpGraph, DumpNode
from dumps.source import shown

_TRANS_TYPES = frozenset({"Cast", "TransData", "Transpose", "TransposeD", "Reshape"})
_CAST_PREFIX = "name of the removed cast in front"


class Touched:
    """Nodes that a pass touched, with their types and dtypes.

    Attributes:
        ops: operator types.
        dtypes: dtypes.
        nodes: (graph, name) of each.
        first: name of the first, shortened and printable.
        line: 1-based line of the first.
    """

    def __init__(self) -> None:
        self.ops: set[str] = set()
        self.dtypes: set[str] = set()
        self.nodes: set[tuple[str, str]] = set()
        self.first = ""
        self.line = 0

    @property
    def count(self) -> int:
        """How many nodes."""
        return len(self.nodes)

    def node(self, graph: DumpGraph, node: DumpNode) -> None:
        """Add a node of a dump."""
        self.ref(NodeRef(graph.name, node.name, node.type, dtypes_of(node), node.line))

    def ref(self, ref: NodeRef) -> None:
        """Add a node that a change refers to."""
        if not self.nodes:
            self.first, self.line = shown(ref.name), ref.line
        self.nodes.add((ref.graph, ref.name))
        self.ops.add(ref.type)
        self.dtypes.update(ref.dtypes)

    def add_changes(self, changes: StageChanges) -> None:
        """Add the nodes that went into those touched."""
        groups: list[tuple[tuple[NodeRef, ...], tuple[NodeRef, ...]]] = [
            ((fused.node,), fused.originals) for fused in changes.fused]
        groups += [(each.after, each.before) for each in changes.replaced]
        for after, before in groups:
            if any((ref.graph, ref.name) in self.nodes for ref in after):
                for ref in before:
                    self.ops.add(ref.type)
                    self.dtypes.update(ref.dtypes)


def everything(changes: StageChanges) -> Iterable[tuple[str, str]]:
    """Yield (graph, name) of every node of the later dump that changes concern."""
    for ref in changes.added:
        yield ref.graph, ref.name
    for renamed in changes.renamed:
        yield renamed.node.graph, renamed.node.name
    for fused in changes.fused:
        yield fused.node.graph, fused.node.name
    for replaced in changes.replaced:
        for ref in replaced.after:
            yield ref.graph, ref.name
    for changed in changes.changed:
        yield changed.node.graph, changed.node.name


def predecessors(changes: StageChanges) -> dict[tuple[str, str], list[str]]:
    """Return, for (graph, name) of a new node, the names of those it stands for."""
    found: dict[tuple[str, str], list[str]] = {}
    for renamed in changes.renamed:
        found[renamed.node.graph, renamed.node.name] = [renamed.old_name]
    for fused in changes.fused:
        found[fused.node.graph, fused.node.name] = [
            ref.name for ref in fused.originals]
    for replaced in changes.replaced:
        for ref in replaced.after:
            found[ref.graph, ref.name] = [old.name for old in replaced.before]
    return found


def refs_by_pass(stage: str, changes: StageChanges) -> list[
        tuple[tuple[str, str, str], list[NodeRef]]]:
    """Return the passes that a stage's changes show by their kind and place.

    Args:
        stage: name of the stage.
        changes: what it changed.

    Returns:
        ((family, name, what shows it), nodes) for each.
    """
    found: list[tuple[tuple[str, str, str], list[NodeRef]]] = []

    def add(family: str, name: str, what: str, refs: list[NodeRef]) -> None:
        if refs:
            found.append(((family, name, what), refs))

    casts = list(changes.casts_removed)
    renamed = [each.node for each in changes.renamed if each.how == _CAST_PREFIX]
    if renamed:
        add("ge", "CastRemovePass", "casts removed, their names in front of nodes that "
            "stayed", casts + renamed)
    elif stage in ("OptimizeStage1_2", "PreRunAfterOptimize1"):
        add("ge", "CastRemovePass", "casts removed in its stage", casts)
    elif stage == "AutoFuser_AfterPatternFusion":
        add("autofuse", "CastRemovePass", "casts removed in its stage", casts)
    if stage.startswith("OptimizeOriginalGraph_FeOpDtypeJudgeAfter"):
        add("ge", "FeOpDtypeJudge", "dtypes chosen", _changed(changes, "dtype"))
    if stage.startswith("OptimizeOriginalGraph_FeOpFormatJudgeAfter"):
        add("ge", "FeOpFormatJudge", "formats chosen", _changed(changes, "format"))
    if stage.startswith("OptimizeOriginalGraph_FeDistHeavyFormatAfter"):
        add("ge", "FeDistHeavyFormat", "formats spread", _changed(changes, "format"))
    if stage.startswith("OptimizeOriginalGraph_FeInsertTransNodeAfter"):
        add("ge", "FeInsertTransNodes", "casts and layout nodes inserted",
            [ref for ref in changes.added
             if ref.type in _TRANS_TYPES or ref.type in CAST_TYPES])
    return found


def _changed(changes: StageChanges, kind: str) -> list[NodeRef]:
    return [each.node for each in changes.changed if kind in each.what]
