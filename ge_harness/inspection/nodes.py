"""Nodes asked for by name: what each is, and through which stages it came."""

from __future__ import annotations

from typing import Any, Callable

from dumps.changes import StageChanges
from dumps.records import DumpGraph, DumpNode, TensorDesc
from dumps.series import GraphStages, Stage
from dumps.sides import originals
from ge_harness.catalogue.pattern import BoundedPattern

_MOST_NODES = 2000
_PASS_KEYS = ("pass_name", "pass_name_ub", "_single_op_ub_pass_name")

Then = Callable[[GraphStages, Stage, DumpGraph, StageChanges], None]


class NodeFinder:
    """Collects the nodes whose names an expression finds.

    Attributes:
        found: for each node, in the order of finding, its card with a history.
        is_cut: there were more than fit.
    """

    def __init__(self, pattern: BoundedPattern, stage: str | None,
                 then: Then | None = None) -> None:
        self._pattern = pattern
        self._stage = stage
        self._then = then
        self._cards: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._matches: dict[str, bool] = {}
        self.is_cut = False

    @property
    def found(self) -> list[dict[str, Any]]:
        """The cards."""
        return list(self._cards.values())

    def __call__(self, graph: GraphStages, stage: Stage, dump: DumpGraph,
                 changes: StageChanges) -> None:
        """Take in one stage."""
        if self._stage in (None, stage.name):
            for inner, node in dump.walk():
                if self._wants(node.name):
                    self._take(graph, stage, inner, node)
        if self._then is not None:
            self._then(graph, stage, dump, changes)

    def _wants(self, name: str) -> bool:
        known = self._matches.get(name)
        if known is None:
            known = self._pattern.search(name)
            if len(self._matches) < 1000000:
                self._matches[name] = known
        return known

    def _take(self, graph: GraphStages, stage: Stage, inner: DumpGraph,
              node: DumpNode) -> None:
        key = (graph.mark, inner.name, node.name)
        card = self._cards.get(key)
        if card is None:
            if len(self._cards) >= _MOST_NODES:
                self.is_cut = True
                return
            card = {"graph": inner.name, "run": graph.run, "name": node.name,
                    "history": []}
            self._cards[key] = card
        state = _state(node)
        last = card["history"][-1] if card["history"] else None
        if last is None or any(last[part] != state[part] for part in state):
            card["history"].append(dict(state, stage=stage.name, file=stage.path,
                                        line=node.line))


def _state(node: DumpNode) -> dict[str, Any]:
    passes: list[str] = []
    for key in _PASS_KEYS:
        value = node.attributes.get(key)
        passes += [value] if isinstance(value, str) else [
            each for each in value or () if isinstance(each, str)]
    return {
        "type": node.type,
        "inputs": [None if edge is None else f"{edge.node}:{edge.index}"
                   for edge in node.inputs],
        "controls": list(node.controls),
        "input_descs": [_desc(desc) for desc in node.input_descs],
        "output_descs": [_desc(desc) for desc in node.output_descs],
        "original_names": list(originals(node)),
        "passes": passes,
    }


def _desc(desc: TensorDesc) -> dict[str, Any]:
    return {"dtype": desc.dtype, "format": desc.format,
            "shape": None if desc.shape is None else list(desc.shape)}
