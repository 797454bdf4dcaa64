"""The nodes of every stage as rows for a page, stored as what differs from the last.

A row is [graph, name, type, inputs, outputs, line, since]; outputs are "dtype shape
format" of each, since is the stage that last changed the node in any way. Long texts
are shortened: the page is for reading, the JSON document for data.
"""

from __future__ import annotations

from typing import Any, Callable, List

import dumps
from dumps.changes import StageChanges
from dumps.errors import DumpError
from dumps.hlo_passes import ModulePasses
from dumps.records import DumpGraph, DumpNode
from dumps.series import GraphStages, Stage
from ge_harness.inspection.touched import everything

LONGEST = 200
MOST_ROWS = 200000
Row = List[Any]
Then = Callable[[GraphStages, Stage, DumpGraph, StageChanges], None]


class SeriesRows:
    """Collects rows while a series is read.

    Attributes:
        tables: for each graph's mark, one {"set": {key: row}, "del": [key]} a stage.
        is_cut: there were more rows than fit.
    """

    def __init__(self, then: Then | None = None) -> None:
        self._then = then
        self._last: dict[str, dict[str, Row]] = {}
        self._count = 0
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.is_cut = False

    def __call__(self, graph: GraphStages, stage: Stage, dump: DumpGraph,
                 changes: StageChanges) -> None:
        """Take in one stage."""
        before = self._last.get(graph.mark, {})
        touched = set(everything(changes))
        now: dict[str, Row] = {}
        for inner, node in dump.walk():
            key = f"{inner.name}\u0001{node.name}"
            known = before.get(key)
            inputs = _inputs(node)
            if known is None or (inner.name, node.name) in touched:
                now[key] = [*_row(inner, node, inputs), stage.order]
            elif known[3] == inputs and known[2] == node.type:
                now[key] = known
            else:
                now[key] = [*known[:3], inputs, *known[4:]]
        self._keep(graph.mark, now)
        if self._then is not None:
            self._then(graph, stage, dump, changes)

    def module(self, mark: str, module: ModulePasses) -> None:
        """Take in a compilation of XLA: what each pass left, where it changed it.

        Args:
            mark: what tells the compilation from others.
            module: its passes.
        """
        now: dict[str, Row] = {}
        for order, each in enumerate(module.passes):
            if (each.changed or not order) and not self.is_cut:
                now = _module_rows(each.path, order, self._last.get(mark, {}))
            self._keep(mark, now)

    def _keep(self, mark: str, now: dict[str, Row]) -> None:
        """Store the rows of a stage as what differs from the one before."""
        before = self._last.get(mark, {})
        changed = {key: row for key, row in now.items() if before.get(key) != row}
        self._count += len(changed)
        if self._count > MOST_ROWS:
            self.is_cut = True
            changed = {}
        self.tables.setdefault(mark, []).append(
            {"set": changed, "del": [key for key in before if key not in now]})
        self._last[mark] = now


def _module_rows(path: str, order: int, before: dict[str, Row]) -> dict[str, Row]:
    try:
        dump = dumps.read(path)
    except DumpError:
        return before
    now: dict[str, Row] = {}
    for inner, node in dump.walk():
        key = f"{inner.name}\u0001{node.name}"
        row = [*_row(inner, node, _inputs(node)), order]
        known = before.get(key)
        # The line alone is no change.
        is_same = known is not None and known[:5] == row[:5]
        now[key] = known if known is not None and is_same else row
    return now


def _row(graph: DumpGraph, node: DumpNode, inputs: str) -> Row:
    outputs = "; ".join(_desc(desc) for desc in node.output_descs[:16])
    return [_short(graph.name), _short(node.name), _short(node.type), inputs,
            _short(outputs), node.line]


def _inputs(node: DumpNode) -> str:
    words = ["-" if edge is None else f"{edge.node}:{edge.index}"
             for edge in node.inputs[:64]]
    words += [f"^{name}" for name in node.controls[:64]]
    return _short(", ".join(words))


def _desc(desc: Any) -> str:
    shape = "" if desc.shape is None else "x".join(map(str, desc.shape)) or "scalar"
    return " ".join(part for part in (desc.dtype, shape, desc.format) if part)


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST // 2]}...{text[-LONGEST // 2:]}"
