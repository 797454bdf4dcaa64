"""Evidence collected for each pass, and the findings made of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ge_harness.catalogue import passes
from ge_harness.inspection.touched import Touched
from ge_harness.inspection.verdict import judge
from ge_harness.records.inspection import STRENGTHS, VERDICTS, Evidence, PassFinding

_MOST_EVIDENCE = 20
# Passes that act and are never written to fusion_result.json.
# Source: reference: fusion_result.md section 2.
_NEVER_DECLARED = frozenset({"FusionVirtualOpSetSwitch"})
_DECLARABLE = frozenset({"graph_fusion", "ub_fusion"})


@dataclass
class Tally:
    """What was collected for one pass, in one graph or for the whole process."""

    evidence: list[Evidence] = field(default_factory=list)
    ops: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    nodes: set[tuple[str, str]] = field(default_factory=set)
    stage: str = ""
    match_times: int | None = None
    effect_times: int | None = None
    declared: bool = False

    def merge(self, other: Tally) -> None:
        """Add what was collected in another graph."""
        self.evidence += other.evidence
        self.ops |= other.ops
        self.dtypes |= other.dtypes
        self.nodes |= other.nodes
        self.stage = self.stage or other.stage
        self.match_times = _sum(self.match_times, other.match_times)
        self.effect_times = _sum(self.effect_times, other.effect_times)
        self.declared = self.declared or other.declared


class Tallies:
    """The passes found so far, by graph, family and name; graph "" is the process.

    Where several processes were dumped, a process is "pid <number>" instead.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], Tally] = {}
        self.has_fusion_result = False

    def of(self, family: str, name: str, graph: str = "") -> Tally:
        """Return the tally of a pass, under the catalogue's spelling if it has one."""
        info = passes.lookup(family, name)
        key = (graph, family, info.name if info else name)
        return self._found.setdefault(key, Tally())

    def add(self, which: tuple[str, str, str], evidence: Evidence,
            touched: Touched | None = None, stage: str = "") -> Tally:
        """Add evidence for a pass, and what it touched.

        Args:
            which: graph ("" for the process), family and name.
            evidence: what shows it.
            touched: nodes, operator types and dtypes, where they are known.
            stage: where it was seen.
        """
        graph, family, name = which
        tally = self.of(family, name, graph)
        if len(tally.evidence) < _MOST_EVIDENCE:
            tally.evidence.append(evidence)
        if touched is not None:
            tally.ops.update(touched.ops)
            tally.dtypes.update(touched.dtypes)
            tally.nodes.update(touched.nodes)
        tally.stage = tally.stage or stage
        return tally

    def findings(self, graph: str | None = None,
                 process: str = "") -> tuple[PassFinding, ...]:
        """Return a finding for every pass with evidence, most telling first.

        Args:
            graph: only what concerns this graph or its process; None for all.
            process: the graph's process, "" where it is not known.
        """
        merged: dict[tuple[str, str], Tally] = {}
        for (where, family, name), tally in self._found.items():
            if graph is None or where in ("", graph, process):
                merged.setdefault((family, name), Tally()).merge(tally)
        found = [self._finding(family, name, tally)
                 for (family, name), tally in merged.items() if tally.evidence]
        found.sort(key=lambda each: (VERDICTS.index(each.verdict),
                                     STRENGTHS.index(each.strength), each.family,
                                     each.name))
        return tuple(found)

    def _finding(self, family: str, name: str, tally: Tally) -> PassFinding:
        info = passes.lookup(family, name)
        evidence = tuple(sorted(
            tally.evidence, key=lambda each: (STRENGTHS.index(each.strength),
                                              not each.shows_change)))
        changed = any(each.shows_change for each in evidence)
        verdict, reason = judge(info, name, tally.dtypes, changed=changed)
        return PassFinding(
            family, name, info is not None, info.level if info else "",
            info.precision_class if info else "unknown",
            info.certainty if info else "unknown",
            tally.stage or (info.stage if info else ""),
            info.switch_off if info else "", evidence,
            self._standing(family, name, tally, evidence), verdict, reason,
            tuple(sorted(tally.ops)), tuple(sorted(tally.dtypes)), len(tally.nodes),
            tally.match_times, tally.effect_times)

    def _standing(self, family: str, name: str, tally: Tally,
                  evidence: tuple[Evidence, ...]) -> str:
        seen = any(each.strength in STRENGTHS[:3] for each in evidence)
        if tally.declared:
            return "declared and seen" if seen else "declared, no trace"
        if not seen:
            return "log only"
        can_be = family in _DECLARABLE and name not in _NEVER_DECLARED
        if can_be and not self.has_fusion_result:
            return "seen"
        return "seen, undeclared"


def _sum(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b
