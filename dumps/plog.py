"""Log files of the compiler (plog): the lines that name passes.

A record begins with `[LEVEL] MODULE(pid,process):time [file:line]...`; lines without
that head continue the record before. Findings of one kind, family and name are added up
and keep the line of the first. A timed pass **ran**; whether it changed anything a log
says only for a few (`effected_times`, `remove Cast`, ...), which count as "changed".

Source: reference: fusion_result.md section 6, graph_dumps.md section 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from dumps.errors import DumpError
from dumps.lines import LineReader
from dumps.plog_lines import FINDERS, MARKS, Hit
from dumps.records import DumpWarning
from dumps.source import shown

MOST_FINDINGS = 50000
_HEAD = re.compile(
    r"\[(?P<level>INFO|WARNING|ERROR|EVENT|TRACE|DEBUG)\] ?"
    r"(?P<module>[A-Z_a-z0-9]{1,32})\((?P<pid>\d{1,10}),(?P<process>[^)]{0,200})\):"
    r"(?P<time>[\d\-:.]{10,40}) ?(?P<rest>.*)", re.S)
_MARK = re.compile("|".join(map(re.escape, MARKS)))
# A file whose first lines hold no record of a log is none.
_MOST_BEFORE = 100000
_NAME = re.compile(r"(?:plog|device)-\d+_\d+\.log(?:\.gz)?")


@dataclass(frozen=True)
class LogFinding:
    """What the log says about one pass or step.

    Attributes:
        kind: "ran" (timed or begun), "matched", "changed", "disabled", "enabled",
            "step" (a stage of the compiler finished or was timed) or "note".
        family: "graph_fusion", "ub_fusion", "ge", "autofuse", or "" where the line
            does not tell.
        name: the pass as the log spells it, without its labels.
        labels: the labels before it ("OptimizeStage1_1"), outermost first.
        line: 1-based line of the first record.
        text: that record's message, shortened.
        count: records added up.
        match_times: patterns found, None where no record counts them.
        effect_times: changes, None where no record counts them.
        calls: calls counted by the log, None where it does not.
    """

    kind: str
    family: str
    name: str
    labels: tuple[str, ...]
    line: int
    text: str
    count: int = 1
    match_times: int | None = None
    effect_times: int | None = None
    calls: int | None = None


@dataclass(frozen=True)
class Plog:
    """One log file.

    Attributes:
        path: the file.
        pids: processes that wrote into it, sorted.
        levels: (level, records) pairs, sorted.
        records: records with a head.
        continuations: lines without one.
        findings: in the order of their first line.
        options: options of the compiler the log names, as (name, value), sorted.
        warnings: what could not be read.
    """

    path: str
    pids: tuple[str, ...]
    levels: tuple[tuple[str, int], ...]
    records: int
    continuations: int
    findings: tuple[LogFinding, ...]
    options: tuple[tuple[str, str], ...] = ()
    warnings: tuple[DumpWarning, ...] = ()


@dataclass
class _State:
    levels: dict[str, int] = field(default_factory=dict)
    pids: set[str] = field(default_factory=set)
    found: dict[tuple[str, str, str], LogFinding] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    records: int = 0
    continuations: int = 0
    is_cut: bool = False


def read(path: str | Path) -> Plog:
    """Read a log file, gz accepted.

    Raises:
        DumpError: it cannot be read or holds no record of a log.
    """
    reader = LineReader(path)
    state = _State()
    for number, line in reader:
        if number > _MOST_BEFORE and not state.records:
            break
        if not line:
            continue
        if line.startswith("["):
            head = _HEAD.match(line)
            if head is not None:
                _count_record(state, head)
                line = head.group("rest")
            else:
                state.continuations += 1
        else:
            state.continuations += 1
        if _MARK.search(line) is not None:
            _find(state, number, line)
    if not state.records:
        raise DumpError(path, 1, "no record of a log",
                        "[LEVEL] MODULE(pid,process):time [file:line]...")
    if state.is_cut:
        reader.warn(0, f"more than {MOST_FINDINGS:,} different findings; the others "
                    "are left out")
    return Plog(str(path), tuple(sorted(state.pids)),
                tuple(sorted(state.levels.items())), state.records,
                state.continuations, tuple(state.found.values()),
                tuple(sorted(state.options.items())), tuple(reader.warnings))


def looks_like(name: str, head: bytes) -> bool:
    """Say whether a file may be a log, by name or first bytes."""
    if _NAME.fullmatch(name):
        return True
    text = head.decode("utf-8", "replace")
    return any(_HEAD.match(line) for line in text.split("\n")[:20])


def _count_record(state: _State, head: re.Match[str]) -> None:
    state.records += 1
    level = head.group("level")
    state.levels[level] = state.levels.get(level, 0) + 1
    if len(state.pids) < 1000:
        state.pids.add(head.group("pid"))


def _find(state: _State, number: int, line: str) -> None:
    for finder in FINDERS:
        hit = finder(line)
        if hit is None:
            continue
        if hit.kind == "option":
            if len(state.options) < 10000:
                state.options[hit.name] = hit.value
        else:
            _keep(state, number, line, hit)
        return


def _keep(state: _State, number: int, line: str, hit: Hit) -> None:
    key = (hit.kind, hit.family, hit.name)
    before = state.found.get(key)
    if before is None and len(state.found) >= MOST_FINDINGS:
        state.is_cut = True
        return
    if before is None:
        text = shown(line.strip(), 300)[1:-1]
        state.found[key] = LogFinding(
            hit.kind, hit.family, hit.name, hit.labels, number, text, 1,
            hit.match_times, hit.effect_times, hit.calls)
        return
    state.found[key] = LogFinding(
        before.kind, before.family, before.name, before.labels, before.line,
        before.text, before.count + 1, _sum(before.match_times, hit.match_times),
        _sum(before.effect_times, hit.effect_times), _sum(before.calls, hit.calls))


def _sum(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b
