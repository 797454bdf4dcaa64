"""Passes shown by the graph dumps: attributes on nodes, and what a stage changed.

Source: reference: graph_dumps.md sections 5.1, 5.2 and 6.5; fusion_result.md section 5.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Iterable

from dumps.changes import NodeRef, StageChanges, dtypes_of
from dumps.records import DumpGraph, DumpNode
from dumps.series import GraphStages, Stage
from dumps.sides import originals
from dumps.source import shown
from ge_harness.catalogue import passes
from ge_harness.inspection.tally import Tallies
from ge_harness.inspection.touched import (
    Touched,
    everything,
    predecessors,
    refs_by_pass,
)
from ge_harness.records.inspection import Evidence, Unattributed

ASC_TYPES = frozenset({"AscBackend", "FusedAscBackend", "AscBackendNoKernelOp"})
_MARKS = (b"pass_name", b"_no_task", b"_is_from_constant_folding",
          b"_original_op_attrs_in_fusion_process", b"AscBackend")
# Grappler writes its own name in front of the nodes it makes, or behind a dash.
_GRAPPLER = re.compile(
    r"(?:^|/|-)(ArithmeticOptimizer|ConstantFolding|LayoutOptimizer|Remapper|"
    r"LoopOptimizer|FunctionOptimizer|DependencyOptimizer|ShapeOptimizer|"
    r"MemoryOptimizer|AutoMixedPrecision|ScopedAllocatorOptimizer)(?:/|-|_|$)")
_GRAPPLER_NAMES = {
    "ArithmeticOptimizer": "arithmetic_optimization",
    "ConstantFolding": "constant_folding", "LayoutOptimizer": "layout_optimizer",
    "Remapper": "remapping", "LoopOptimizer": "loop_optimization",
    "FunctionOptimizer": "function_optimization",
    "DependencyOptimizer": "dependency_optimization",
    "ShapeOptimizer": "shape_optimization", "MemoryOptimizer": "memory_optimization",
    "AutoMixedPrecision": "auto_mixed_precision",
    "ScopedAllocatorOptimizer": "scoped_allocator_optimization",
}
_GRAPPLER_MARK = re.compile(rb"Optimizer|ConstantFolding[/-]|Remapper|"
                            rb"AutoMixedPrecision")


class StageWatcher:
    """Looks at each stage while it is in memory.

    Attributes:
        unattributed: stages whose changes nobody can be named for.
        names: nodes by name, for those that were asked for, as (type, dtypes).
    """

    def __init__(self, tallies: Tallies, wanted: Iterable[str] = (),
                 then: Callable[..., None] | None = None) -> None:
        self._tallies = tallies
        self._wanted = set(wanted)
        self._then = then
        self._seen: set[tuple[str, str, str, str]] = set()
        self.unattributed: list[Unattributed] = []
        self.names: dict[str, tuple[str, tuple[str, ...]]] = {}

    def __call__(self, graph: GraphStages, stage: Stage, dump: DumpGraph,
                 changes: StageChanges) -> None:
        """Take in one stage."""
        is_first = stage.order == 0
        if is_first and graph.format == "ascgraph":
            self._fused_kernel(graph, stage, dump)
        found = self._attributes(graph, stage, dump, changes, is_first)
        if not is_first:
            named = self._differences(graph, stage, changes, found)
            self._rest(graph, stage, changes, named)
        if self._wanted:
            self._remember(dump)
        if self._then is not None:
            self._then(graph, stage, dump, changes)

    def _attributes(self, graph: GraphStages, stage: Stage, dump: DumpGraph,
                    changes: StageChanges, is_first: bool) -> dict[tuple[str, str],
                                                                  Touched]:
        """Collect the passes that attributes of new or changed nodes name."""
        touched_by: dict[tuple[str, str], Touched] = {}
        shown_by: dict[tuple[str, str], str] = {}
        fresh = None if is_first else set(everything(changes))
        before = predecessors(changes)
        for inner, node in dump.walk():
            key = (inner.name, node.name)
            if fresh is not None and key not in fresh:
                continue
            if is_first:
                self._grappler(graph.mark, inner, node, stage)
            text = node.text
            if text and not any(mark in text for mark in _MARKS):
                continue
            for family, name, what in _passes_on(node):
                if self._is_new(graph.run, (family, name), node.name,
                                before.get(key, ())):
                    touched_by.setdefault((family, name), Touched()).node(inner, node)
                    shown_by.setdefault((family, name), what)
        strength = "attribute" if is_first else "stage difference"
        for (family, name), touched in touched_by.items():
            touched.add_changes(changes)
            self._add((graph.mark, family, name), strength, touched, stage,
                      f"{shown_by[family, name]}: {touched.count} nodes, first "
                      f"{touched.first}")
        return touched_by

    def _is_new(self, run: str, named: tuple[str, str], node: str,
                before: Iterable[str]) -> bool:
        """Say whether a pass is named on a node that did not inherit the name."""
        inherited = any((run, old, *named) in self._seen
                        for old in (node, *before))
        self._seen.add((run, node, *named))
        return not inherited

    def _fused_kernel(self, graph: GraphStages, stage: Stage, dump: DumpGraph) -> None:
        """Credit AutoFuse with the graph of a kernel it generates."""
        touched = Touched()
        for inner, node in dump.walk():
            touched.node(inner, node)
        chain = " ".join(f"{node.type}:{'/'.join(dtypes_of(node))}"
                         for _, node in dump.walk())
        self._add((graph.mark, "ge", "AutoFusePass"), "attribute", touched, stage,
                  f"graph of a fused kernel: {shown(chain, 300)[1:-1]}")

    def _grappler(self, mark: str, graph: DumpGraph, node: DumpNode,
                  stage: Stage) -> None:
        text = node.text
        if text and not _GRAPPLER_MARK.search(text[:4000]):
            return
        for name in dict.fromkeys((node.name, *originals(node))):
            match = _GRAPPLER.search(name[:2000])
            if match is None:
                continue
            touched = Touched()
            touched.node(graph, node)
            self._add((mark, "grappler", _GRAPPLER_NAMES[match.group(1)]), "attribute",
                      touched, stage,
                      f"TensorFlow's Grappler named a node {shown(name)}")
            return

    def _differences(self, graph: GraphStages, stage: Stage, changes: StageChanges,
                     named: dict[tuple[str, str], Touched]) -> set[tuple[str, str]]:
        """Credit what a stage's own character tells; return every node credited."""
        credited = {key for touched in named.values() for key in touched.nodes}
        for rule, refs in refs_by_pass(stage.name, changes):
            family, name, what = rule
            touched = Touched()
            for ref in refs:
                touched.ref(ref)
            credited.update(touched.nodes)
            if (family, name) in named:
                continue
            self._add((graph.mark, family, name), "stage difference", touched, stage,
                      f"{what}: {len(refs)} nodes, first {touched.first}")
        return credited

    def _rest(self, graph: GraphStages, stage: Stage, changes: StageChanges,
              credited: set[tuple[str, str]]) -> None:
        """Keep what is left without a name."""
        kinds: dict[str, int] = {}
        ops: set[str] = set()
        dtypes: set[str] = set()
        for kind, refs in _by_kind(changes):
            if any((ref.graph, ref.name) in credited for ref in refs):
                continue
            kinds[kind] = kinds.get(kind, 0) + 1
            ops.update(ref.type for ref in refs)
            dtypes.update(dtype for ref in refs for dtype in ref.dtypes)
        if kinds:
            self.unattributed.append(Unattributed(
                graph.name, stage.name, stage.path, tuple(sorted(kinds.items())),
                tuple(sorted(ops)), tuple(sorted(dtypes))))

    def _remember(self, dump: DumpGraph) -> None:
        for _, node in dump.walk():
            if node.name in self._wanted and node.name not in self.names:
                touched = Touched()
                touched.node(dump, node)
                self.names[node.name] = (node.type, tuple(sorted(touched.dtypes)))

    def _add(self, which: tuple[str, str, str], strength: str, touched: Touched,
             stage: Stage, text: str) -> None:
        said = f"stage {shown(stage.name)[1:-1]}: {text}"
        self._tallies.add(which, Evidence(strength, said, stage.path, touched.line),
                          touched, stage.name)


def _passes_on(node: DumpNode) -> list[tuple[str, str, str]]:
    """Return the passes that a node's attributes and type name, and what names them."""
    attributes = node.attributes
    found: list[tuple[str, str, str]] = []
    for name in _strings(attributes.get("pass_name")):
        found.append((_engine_family(name), name, "attribute pass_name"))
    for key in ("pass_name_ub", "_single_op_ub_pass_name"):
        found += [("ub_fusion", name, f"attribute {key}")
                  for name in _strings(attributes.get(key))]
    key = "_original_op_attrs_in_fusion_process"
    history = attributes.get(key)
    if isinstance(history, str) and len(history) < 1 << 20:
        found += [(_engine_family(name), name, f"attribute {key}")
                  for name in _keys(history)]
    if _is_set(attributes.get("_no_task")):
        found.append(("ub_fusion", "FusionVirtualOpSetSwitch", "attribute _no_task"))
    if _is_set(attributes.get("_is_from_constant_folding")):
        found.append(("ge", "ConstantFoldingPass",
                      "attribute _is_from_constant_folding"))
    if node.type in ASC_TYPES:
        found.append(("ge", "AutoFusePass", f"type {node.type}"))
    return found


def _is_set(value: Any) -> bool:
    """Say whether a flag is set; ge_onnx writes booleans as integers."""
    return isinstance(value, int) and value == 1


def _engine_family(name: str) -> str:
    """Return the family of a pass of the fusion engine; both write `pass_name`."""
    if passes.lookup("graph_fusion", name) is None and (
            passes.lookup("ub_fusion", name) is not None):
        return "ub_fusion"
    return "graph_fusion"


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple)):
        return []
    return [each for each in value if isinstance(each, str) and each]


def _keys(text: str) -> list[str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [key for key in found if key] if isinstance(found, dict) else []


def _by_kind(changes: StageChanges) -> Iterable[tuple[str, tuple[NodeRef, ...]]]:
    for ref in changes.added:
        yield "added", (ref,)
    for ref in changes.removed:
        yield "removed", (ref,)
    for renamed in changes.renamed:
        yield "renamed", (renamed.node,)
    for fused in changes.fused:
        yield "fused", (fused.node, *fused.originals)
    for replaced in changes.replaced:
        yield "replaced", (*replaced.before, *replaced.after)
    for changed in changes.changed:
        yield changed.what[0], (changed.node,)
