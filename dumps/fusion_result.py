"""fusion_result.json: how often each pass of the fusion engine matched and acted.

Four generations are on disk (reference: fusion_result.md section 1): A and B are
objects glued together without a separator, C is a list, D one object with a key a graph
and `null` occurs. Keys repeat when a run appends; their counts add up. A pass is active
when its effect is above zero; a match alone is the normal case of a pass that found its
pattern and then did nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

from dumps import source
from dumps.errors import DumpError
from dumps.records import DumpWarning

FAMILIES = ("graph_fusion", "ub_fusion")
MAX_BYTES = 64 * 1024 * 1024
_KEY = re.compile(r"session_and_graph_id_(-?\d{1,20})_(-?\d{1,20})")
_ID = re.compile(r"(-?\d{1,20})_(-?\d{1,20})")
_BLANK = " \t\r\n,\ufeff"
_COUNTS = ("match_times", "effect_times", "repository_hit_times")
_DAMAGED = re.compile(
    r'"(graph_fusion|ub_fusion)"|"([^"\\]{1,300})"\s{0,20}:\s{0,20}\{([^{}]{0,400})')
_DAMAGED_COUNT = re.compile(
    r'"(match_times|effect_times|repository_hit_times)"\s{0,20}:\s{0,20}'
    r'"?(-?\d{1,18})')


@dataclass(frozen=True)
class FusionCount:
    """How often one pass matched and acted in one graph.

    Attributes:
        family: "graph_fusion" or "ub_fusion".
        name: the pass or fusion rule.
        match_times: patterns found.
        effect_times: changes the pass reported.
        repository_hit_times: fusions taken from the tuning knowledge bank, None where
            the file does not count them.
    """

    family: str
    name: str
    match_times: int
    effect_times: int
    repository_hit_times: int | None = None

    @property
    def active(self) -> bool:
        """The pass reported a change."""
        return self.effect_times > 0


@dataclass(frozen=True)
class FusionGraph:
    """The counts of one graph, records of the same graph added up.

    Attributes:
        session: session id, "" where the file does not say.
        graph: graph id, "" where the file does not say.
        counts: sorted by family and name.
        records: how many records of the file were added up.
    """

    session: str
    graph: str
    counts: tuple[FusionCount, ...]
    records: int = 1


@dataclass(frozen=True)
class FusionResult:
    """One file.

    Attributes:
        path: the file.
        generations: the layouts that occur in it ("A", "B", "C", "D", "null"), sorted.
        graphs: in the order of the file.
        warnings: what could not be read.
        is_damaged: part of the counts was fished out of text that is not JSON.
    """

    path: str
    generations: tuple[str, ...]
    graphs: tuple[FusionGraph, ...]
    warnings: tuple[DumpWarning, ...] = ()
    is_damaged: bool = False

    @property
    def totals(self) -> tuple[FusionCount, ...]:
        """Counts over all graphs, sorted by family and name."""
        sums: dict[tuple[str, str], list[int | None]] = {}
        for graph in self.graphs:
            for count in graph.counts:
                _add(sums, count)
        return _counts(sums)


class _Pairs(list):  # type: ignore[type-arg]
    """A JSON object with every pair kept, also those of equal key."""


class _Collector:
    """What one file says, added up as it is met."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.warnings: list[DumpWarning] = []
        self.generations: set[str] = set()
        self.graphs: dict[tuple[str, str],
                          dict[tuple[str, str], list[int | None]]] = {}
        self.records: dict[tuple[str, str], int] = {}
        self.is_damaged = False

    def warn(self, line: int, message: str) -> None:
        if len(self.warnings) < 200:
            self.warnings.append(DumpWarning(self.path, line, message))

    def value(self, value: Any, line: int, in_list: bool = False) -> None:
        """Take one JSON value at the top of the file or in its list."""
        if value is None:
            self.generations.add("null")
        elif isinstance(value, _Pairs):
            self._object(value, line, in_list)
        elif isinstance(value, list) and not in_list:
            for item in value:
                self.value(item, line, in_list=True)
        else:
            self.warn(line, f"found {source.shown(str(value))}, expected an object; "
                      "left out")

    def _object(self, pairs: _Pairs, line: int, in_list: bool) -> None:
        names = {key for key, _ in pairs}
        if names & set(FAMILIES) or "session_and_graph_id" in names or (
                "graphId" in names or "sessionId" in names):
            self.generations.add("C" if in_list else
                                 "B" if "session_and_graph_id" in names else "A")
            self._record(pairs, _identity(pairs), line)
            return
        for key, inner in pairs:
            match = _KEY.fullmatch(key)
            if match and isinstance(inner, _Pairs):
                self.generations.add("D")
                self._record(inner, (match.group(1), match.group(2)), line)
            else:
                self.warn(line, f"found key {source.shown(key)}, expected "
                          "session_and_graph_id_<session>_<graph>; left out")

    def _record(self, pairs: _Pairs, identity: tuple[str, str], line: int) -> None:
        sums = self.graphs.setdefault(identity, {})
        self.records[identity] = self.records.get(identity, 0) + 1
        for family, passes in pairs:
            if family not in FAMILIES:
                continue
            if not isinstance(passes, _Pairs):
                self.warn(line, f"found {source.shown(str(passes))} for {family}, "
                          "expected an object; left out")
                continue
            for name, numbers in passes:
                self._pass(sums, (family, name), numbers, line)

    def _pass(self, sums: dict[tuple[str, str], list[int | None]],
              key: tuple[str, str], numbers: Any, line: int) -> None:
        if not isinstance(numbers, _Pairs):
            self.warn(line, f"found {source.shown(str(numbers))} for "
                      f"{source.shown(key[1])}, expected an object; left out")
            return
        found: dict[str, int] = {}
        for name, value in numbers:
            if name not in _COUNTS:
                continue
            number = _number(value)
            if number is None:
                self.warn(line, f"found {source.shown(str(value))} as {name} of "
                          f"{source.shown(key[1])}, expected a number; taken as 0")
            found[name] = found.get(name, 0) + (number or 0)
        _add(sums, FusionCount(key[0], key[1], found.get("match_times", 0),
                               found.get("effect_times", 0),
                               found.get("repository_hit_times")))

    def damaged(self, text: str, line: int) -> None:
        """Fish counts out of text that is not JSON."""
        self.is_damaged = True
        sums = self.graphs.setdefault(("", ""), {})
        family, count = FAMILIES[0], 0
        for match in _DAMAGED.finditer(text):
            if match.group(1):
                family = match.group(1)
                continue
            numbers = {name: int(value) for name, value
                       in _DAMAGED_COUNT.findall(match.group(3))}
            if "effect_times" in numbers or "match_times" in numbers:
                count += 1
                _add(sums, FusionCount(family, match.group(2),
                                       numbers.get("match_times", 0),
                                       numbers.get("effect_times", 0),
                                       numbers.get("repository_hit_times")))
        if count:
            self.records["", ""] = 1
        else:
            del self.graphs["", ""]
        self.warn(line, f"not JSON from here on; {count} passes read by their shape, "
                  "what else stood there is lost")


def read(path: str | Path) -> FusionResult:
    """Read a fusion_result.json of any generation.

    Raises:
        DumpError: the file cannot be read, or nothing in it is a record of fusion.
    """
    data = source.check_text(source.load(path, MAX_BYTES), path)
    text = data.decode("utf-8", "replace")
    collector = _Collector(str(path))
    for value, line in _values(text, collector):
        collector.value(value, line)
    if not collector.generations and not collector.graphs:
        raise DumpError(path, 1, source.shown(text), "a fusion_result.json")
    graphs = tuple(
        FusionGraph(session, graph, _counts(sums),
                    collector.records.get((session, graph), 1))
        for (session, graph), sums in collector.graphs.items())
    return FusionResult(str(path), tuple(sorted(collector.generations)), graphs,
                        tuple(collector.warnings), collector.is_damaged)


def looks_like(name: str, head: bytes) -> bool:
    """Say whether a file may be a fusion_result.json, by name or first bytes."""
    if "fusion_result" in name and name.endswith(".json"):
        return True
    return name.endswith(".json") and any(
        mark in head for mark in (b'"graph_fusion"', b'"ub_fusion"',
                                  b'"session_and_graph_id'))


def _values(text: str, collector: _Collector) -> Iterator[tuple[Any, int]]:
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    position, line, counted = 0, 1, 0
    while True:
        while position < len(text) and text[position] in _BLANK:
            position += 1
        line += text.count("\n", counted, position)
        counted = position
        if position >= len(text):
            return
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            collector.damaged(text[position:], line)
            return
        yield value, line


def _identity(pairs: _Pairs) -> tuple[str, str]:
    named = {key: value for key, value in pairs if isinstance(value, (str, int))}
    match = _ID.fullmatch(str(named.get("session_and_graph_id", "")))
    if match:
        return match.group(1), match.group(2)
    return str(named.get("sessionId", "")), str(named.get("graphId", ""))


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    if isinstance(value, str) and len(value) > 20:
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if abs(number) < 1 << 63 else None


def _add(sums: dict[tuple[str, str], list[int | None]], count: FusionCount) -> None:
    row = sums.setdefault((count.family, count.name), [0, 0, None])
    row[0] = (row[0] or 0) + count.match_times
    row[1] = (row[1] or 0) + count.effect_times
    if count.repository_hit_times is not None:
        row[2] = (row[2] or 0) + count.repository_hit_times


def _counts(sums: dict[tuple[str, str], list[int | None]]) -> tuple[FusionCount, ...]:
    return tuple(FusionCount(family, name, row[0] or 0, row[1] or 0, row[2])
                 for (family, name), row in sorted(sums.items()))
