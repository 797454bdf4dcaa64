"""The nodes of every stage as rows for a page, stored as what differs from the last.

A row is [graph, name, type, inputs, outputs, line]; outputs are "dtype shape format" of
each. Long texts are shortened: the page is for reading, the JSON document for data.
"""

from __future__ import annotations

from typing import Any, Callable, List

from dumps.changes import StageChanges
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
                now[key] = _row(inner, node, inputs)
            elif known[3] == inputs and known[2] == node.type:
                now[key] = known
            else:
                now[key] = [*known[:3], inputs, *known[4:]]
        changed = {key: row for key, row in now.items() if before.get(key) != row}
        self._count += len(changed)
        if self._count > MOST_ROWS:
            self.is_cut = True
            changed = {}
        self.tables.setdefault(graph.mark, []).append(
            {"set": changed, "del": [key for key in before if key not in now]})
        self._last[graph.mark] = now
        if self._then is not None:
            self._then(graph, stage, dump, changes)


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
