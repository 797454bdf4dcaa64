"""Graph-trace files: which pass edited which node, GE's own passes included.

Written when NPU_COLLECT_PATH is set, as trace_<time>_<number>.txt. A record is eight
fields with a comma between, CRLF at its end:
owner:stage,action,graph,node,node_data,tensor_index,tensor_data,content. Commas inside
the content are not escaped, so a line is split seven times at most. Edits of an owner
are added up; the names of the nodes are kept, up to a limit.

Source: reference: fusion_result.md section 7, graph_dumps.md section 7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dumps.errors import DumpError
from dumps.lines import LineReader
from dumps.records import DumpWarning
from dumps.source import shown

MOST_NODES = 20000
MOST_OWNERS = 20000
_ACTIONS = ("add", "modify", "delete")
_EDGE = re.compile(r"output:\d+|output:-1")
_NAME = re.compile(r"trace_.*\.txt(?:\.gz)?")


@dataclass(frozen=True)
class OwnerEdits:
    """What one owner (a pass, as a rule) did to graphs.

    Attributes:
        owner: who: "GE", "GE_SUB", "FE", "Fusion", "RTS", "OP", ...
        stage: the pass or step of that owner.
        added: names of nodes it added.
        removed: names of nodes it removed.
        edges_added: edges it added.
        edges_removed: edges it removed.
        modified: what else it changed, as (what, how often), sorted.
        modified_nodes: names of nodes of which it changed something else.
        graphs: names of the graphs, sorted.
        records: lines that name it.
        line: 1-based line of the first of them.
    """

    owner: str
    stage: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    edges_added: int
    edges_removed: int
    modified: tuple[tuple[str, int], ...]
    modified_nodes: tuple[str, ...]
    graphs: tuple[str, ...]
    records: int
    line: int


@dataclass(frozen=True)
class GraphTrace:
    """One trace file.

    Attributes:
        path: the file.
        owners: in the order of their first record.
        records: records read.
        warnings: what could not be read.
    """

    path: str
    owners: tuple[OwnerEdits, ...]
    records: int
    warnings: tuple[DumpWarning, ...] = ()


class _Owner:
    def __init__(self, line: int) -> None:
        self.line = line
        self.records = 0
        self.nodes: dict[str, dict[str, None]] = {name: {} for name in _ACTIONS}
        self.edges = {"add": 0, "delete": 0, "modify": 0}
        self.modified: dict[str, int] = {}
        self.graphs: dict[str, None] = {}
        self.is_cut = False

    def take(self, action: str, fields: list[str]) -> None:
        graph, node, what = fields[2], fields[3], fields[4]
        self.records += 1
        if len(self.graphs) < 1000:
            self.graphs[graph] = None
        if what == "owner_graph":
            self._keep(action, node)
        elif _EDGE.fullmatch(what):
            self.edges[action] += 1
        else:
            kind = what.partition(":")[0][:100]
            if kind in self.modified or len(self.modified) < 1000:
                self.modified[kind] = self.modified.get(kind, 0) + 1
            self._keep("modify", node)

    def _keep(self, action: str, node: str) -> None:
        if len(self.nodes[action]) < MOST_NODES:
            self.nodes[action][node] = None
        else:
            self.is_cut = True

    def result(self, owner: str, stage: str) -> OwnerEdits:
        return OwnerEdits(
            owner, stage, tuple(self.nodes["add"]), tuple(self.nodes["delete"]),
            self.edges["add"], self.edges["delete"],
            tuple(sorted(self.modified.items())), tuple(self.nodes["modify"]),
            tuple(sorted(self.graphs)), self.records, self.line)


def read(path: str | Path) -> GraphTrace:
    """Read a trace file.

    Raises:
        DumpError: it cannot be read or holds no record.
    """
    reader = LineReader(path)
    owners: dict[tuple[str, str], _Owner] = {}
    count = bad = 0
    for number, line in reader:
        if not line:
            continue
        parsed = _split(line)
        if parsed is None:
            bad += 1
            if bad <= 20:
                reader.warn(number, f"found {shown(line)}, expected "
                            "owner:stage,action,graph,node,...; left out")
            continue
        key, fields = parsed
        if key not in owners and len(owners) >= MOST_OWNERS:
            continue
        owners.setdefault(key, _Owner(number)).take(fields[1], fields)
        count += 1
    if not count:
        raise DumpError(path, 1, "no record of a graph trace",
                        "owner:stage,action,graph,node,...")
    if bad > 20:
        reader.warn(0, f"{bad} lines in all are no records and were left out")
    for key, owner in owners.items():
        if owner.is_cut:
            reader.warn(owner.line, f"{shown(':'.join(key))} touched more than "
                        f"{MOST_NODES:,} nodes; the others are counted, not named")
    return GraphTrace(str(path), tuple(owner.result(*key) for key, owner
                                       in owners.items()),
                      count, tuple(reader.warnings))


def looks_like(name: str, head: bytes) -> bool:
    """Say whether a file may be a graph trace, by name or first bytes."""
    if _NAME.fullmatch(name):
        return True
    return _split(head.split(b"\n")[0].decode("utf-8", "replace").strip()) is not None


def _split(line: str) -> tuple[tuple[str, str], list[str]] | None:
    fields = line.split(",", 7)
    if len(fields) < 5 or fields[1] not in _ACTIONS:
        return None
    owner, colon, stage = fields[0].partition(":")
    if not colon or not owner:
        return None
    return (owner, stage), fields
