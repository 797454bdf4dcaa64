"""The points at which GE writes a dump, and the stage a dump's suffix belongs to.

The table is stages.tsv beside this module (reference: dump_stages.tsv). A suffix can
carry a graph's name, numbers, a user pass or the marks `_Subgraph` and `_Failed`;
`find` takes them apart. A suffix that is no stage of the table is placed by its serial
number and said to be unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Pattern

_COLUMNS = ("order", "stage", "component", "what", "level1", "level2", "known_from",
            "note")
_MARK = re.compile(r"(?:_Subgraph|_Failed|_sub_graph_\d+)+$")
_PLACEHOLDER = re.compile(r"<([a-zA-Z]+)>")
# Both spellings of the slots for user passes, old and new, are one stage.
# Source: reference: dump_stages.tsv and cases F16.
_CUSTOM = re.compile(r"^RunCustomPass_?(Before|After)(.*)$", re.I)


# Stages of AutoFuse's own dumps of one fused graph, in order; the graph's name stands
# before them. Source: reference: graph_dumps.md section 6.3.
ASC_STAGES = (
    "AfterDeserialize", "AutoFuseBeforeRemoveDanglingNodes", "AutoFuseBeforeOptimize",
    "AfterPreProcess", "AfterDtypeConsistency", "AfterGraphPass", "AfterMergeAxis",
    "BeforeAutoSchedule", "AfterDoTiling", "before_partition", "after_partition",
    "phase2graph_construct", "AfterConvertSplitToLoad", "AfterConvertConcatToStore",
    "AfterConvertTranspose", "AfterSplitConcat", "AfterConcatInputUnificationPass",
    "BeforeUnfoldAscBackend", "AfterUnfoldAscBackend", "AutoFuseAfterOptimize",
    "BaseFusedGraph", "FusedGraphAfterUnfold", "AfterDoSameLoadCse",
    "AfterRemoveRedundantLoads",
)


@dataclass(frozen=True)
class Stage:
    """One point at which GE writes a dump.

    Attributes:
        order: rank in one compilation, from 1.
        name: as in the file name; `<...>` stands for a graph, number or pass.
        component: "GE", "FE", "AICPU", "GE/AutoFuse", ...
        what: what has just happened.
        level1: written at DUMP_GRAPH_LEVEL=1.
        level2: written at DUMP_GRAPH_LEVEL=2, the default.
        known_from: "code and documents", "code", "documents" or "old files".
        note: remarks.
    """

    order: int
    name: str
    component: str
    what: str
    level1: bool
    level2: bool
    known_from: str
    note: str


@dataclass(frozen=True)
class StageName:
    """A suffix taken apart.

    Attributes:
        suffix: as in the file name.
        stage: the stage of the table, None where the table lacks it.
        is_subgraph: the dump holds a subgraph ("_Subgraph", "_sub_graph_<i>").
        is_failure: the step returned an error ("_Failed").
        parts: what stood for the placeholders, as (placeholder, text) pairs.
    """

    suffix: str
    stage: Stage | None
    is_subgraph: bool = False
    is_failure: bool = False
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The stage's name, or the suffix where it is unknown."""
        return self.stage.name if self.stage else self.suffix

    @property
    def order(self) -> int:
        """The stage's rank, 0 where it is unknown."""
        return self.stage.order if self.stage else 0


_STAGES: list[Stage] = []
_EXACT: dict[str, Stage] = {}
_SHAPED: list[tuple[Pattern[str], Stage]] = []


def table() -> tuple[Stage, ...]:
    """Return every stage in the order of one compilation."""
    if not _STAGES:
        lines = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8")
        for line in lines.splitlines()[1:]:
            row = dict(zip(_COLUMNS, line.split("\t")))
            stage = Stage(int(row["order"]), row["stage"], row["component"],
                          row["what"], row["level1"] == "yes", row["level2"] == "yes",
                          row["known_from"], row.get("note", ""))
            _STAGES.append(stage)
            if "<" in stage.name:
                _SHAPED.append((_shape(stage.name), stage))
            else:
                _EXACT[stage.name] = stage
                _EXACT.setdefault(_plain(stage.name), stage)
    return tuple(_STAGES)


def find(suffix: str) -> StageName:
    """Take a dump's suffix apart.

    Args:
        suffix: what follows the serial and graph id in the file name.
    """
    table()
    stage = _EXACT.get(suffix) or _EXACT.get(_plain(suffix))
    mark = _MARK.search(suffix)
    marks = mark.group(0) if mark else ""
    is_subgraph, failed = "ub" in marks, "_Failed" in marks
    if stage is not None:
        return StageName(suffix, stage, is_subgraph, failed)
    if mark:
        stage = _EXACT.get(suffix[:mark.start()])
        if stage is not None:
            return StageName(suffix, stage, is_subgraph, failed)
    for pattern, shaped in _SHAPED:
        match = pattern.match(suffix)
        if match:
            return StageName(suffix, shaped, is_subgraph, failed,
                             tuple(sorted(match.groupdict().items())))
    return StageName(suffix, None, is_subgraph, failed)


def find_asc(suffix: str) -> str:
    """Return the AutoFuse stage a suffix ends in, "" where it ends in none."""
    plain = suffix[:-len("_Subgraph_")] if suffix.endswith("_Subgraph_") else suffix
    found = [stage for stage in ASC_STAGES
             if plain == stage or plain.endswith("_" + stage)]
    return max(found, key=len) if found else ""


def _plain(name: str) -> str:
    """Return one spelling for the old and the new names of the user slots."""
    custom = _CUSTOM.match(name)
    if custom:
        return f"runcustompass{custom.group(1)}{custom.group(2)}".lower()
    return name


def _shape(name: str) -> Pattern[str]:
    parts = _PLACEHOLDER.split(name)
    text = ""
    for index, part in enumerate(parts):
        if index % 2 == 0:
            text += re.escape(part)
        elif len(part) == 1:
            text += rf"(?P<{part}>\d+)"
        else:
            text += rf"(?P<{part}>.+?)"
    return re.compile(f"^{text}$", re.S)
