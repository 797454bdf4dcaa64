"""The shapes of log lines that name a pass, one finder a shape.

Each finder takes the text of a record and gives a `Hit` or None. Repetitions are
bounded, so no line makes a search slow.

Source: reference: fusion_result.md section 6 (templates with their files in the code),
graph_dumps.md section 8 (seen in a log of 2023).
"""

from __future__ import annotations

import re
from typing import Callable, NamedTuple, Pattern


class Hit(NamedTuple):
    """What one line says.

    Attributes:
        kind: as in `LogFinding.kind`, or "option".
        family: "" where the line does not tell.
        name: the pass, step or option.
        labels: labels before the name.
        match_times: patterns found, None where not counted.
        effect_times: changes, None where not counted.
        calls: calls, None where not counted.
        value: value of an option.
    """

    kind: str
    family: str
    name: str
    labels: tuple[str, ...] = ()
    match_times: int | None = None
    effect_times: int | None = None
    calls: int | None = None
    value: str = ""


Finder = Callable[[str], "Hit | None"]

_TIMED = re.compile(
    r"The time cost of (.{1,600}?) is \[(\d{1,20})\] micro ?seconds?"
    r"(?:\.?,? ?call (?:num|count) is \[(\d{1,18})\])?")
_FE_TIMED = re.compile(
    r"GraphFusion::(?:RunOpsFusionPass|RunOnePassFusion) pass_name: ?(\S{1,300})")
_COUNTS = re.compile(
    r"GraphFusionPass\[([^\]]{1,300})\]: ?pattern=([^,]{0,300}), ?"
    r"matched_times=(-?\d{1,18}), ?effected_times=(-?\d{1,18})")
_BUFFER_COUNT = re.compile(
    r"buffer_fusion_pass\[([^\]]{1,300})\]: ?(matched_times|effect_times)="
    r"(-?\d{1,18})")
_SWITCH = re.compile(r"the switch of pass \[([^\]]{1,300})\] is \[([^\]]{0,40})\]")
_OPTION = re.compile(
    r"the value \[([^\]]{0,2000})\] of option \[([^\]]{1,300})\] is set successfully")
_LEVEL = re.compile(r"working_oo_level is (\d{1,3})")
_SWITCH_STRING = re.compile(r"Get optimization switch: \[([^\]]{0,4000})\]")

# pattern, kind, family; group 1 is the name.
_NAMED: tuple[tuple[Pattern[str], str, str], ...] = (
    (re.compile(r"Begin to run pass (\S{1,300}) for node"), "ran", "ge"),
    (re.compile(r"\[FusionPass\]\[SKIP\] Pass \[([^\]]{1,300})\] is disabled"),
     "disabled", "graph_fusion"),
    (re.compile(r"Pass \[([^\]]{1,300})\] is disabled, skip it"), "disabled", "ge"),
    (re.compile(r"[Tt]he pass \[([^\]]{1,300})\] is disabled"), "disabled", ""),
    (re.compile(r"[Tt]he pass \[([^\]]{1,300})\] is enabled"), "enabled", ""),
    (re.compile(r"The graph fusion (?:pass|rule)\[([^\]]{1,300})\] switch is off"),
     "disabled", "graph_fusion"),
    (re.compile(r"Pass:\[([^\]]{1,300})\] isn't in white list, force close"),
     "disabled", "graph_fusion"),
    (re.compile(r"fusion_pass\[([^\]]{1,300})\] is not allowed in current O1"),
     "disabled", "graph_fusion"),
    (re.compile(r"(?:Load registered graph fusion pass|Load graph fusion rule)"
                r"\(switch on\): ?([^\s\"]{1,300})"), "enabled", "graph_fusion"),
    (re.compile(r"Run graph fusion pass successfully, pass name: ?([^\s,\"]{1,300})"),
     "ran", "graph_fusion"),
    (re.compile(r"Run graph fusion rule successfully, rule name: ?([^\s,\"]{1,299}?)"
                r"\.?[\s\"]*$"), "ran", "graph_fusion"),
    (re.compile(r"Start to match and run pass fusion, pass name: ?([^\s,\"]{1,300})"),
     "ran", "graph_fusion"),
    (re.compile(r"open-source registration pass, pass name: ?([^\s,\"]{1,300})"),
     "ran", "graph_fusion"),
    (re.compile(r"\[Run\]\[FusionPass\] (\S{1,300}) in stage"), "ran", "graph_fusion"),
    (re.compile(r"Run buffer fusion pass successfully, pass name: ?([^\s,\"]{1,299}?)"
                r"\.?[\s\"]*$"), "ran", "ub_fusion"),
    (re.compile(r"Start buffer fusion: ?([^\s,\"]{1,300}), Priority"), "ran",
     "ub_fusion"),
    (re.compile(r"Run (\S{1,300}) on graph .{1,600}? success"), "step", ""),
)
_FIXED: tuple[tuple[str, Hit], ...] = (
    ("CastRemovePass, remove Cast ", Hit("changed", "ge", "CastRemovePass")),
    ("by the CSE process, replace it with node",
     Hit("changed", "ge", "CommonSubexpressionEliminationPass")),
    ("--enable_autofuse=true is not set in env AUTOFUSE_FLAGS",
     Hit("disabled", "ge", "AutoFusePass")),
    ("Automatic buffer fusion is off for graph",
     Hit("disabled", "ub_fusion", "AutomaticUbFusion")),
)
_NO_PASS = frozenset({"Pass", "RunPass", "RunCustomPass"})
# A line without any of these is of no interest; checked before any expression.
MARKS = ("The time cost of ", "usionPass[", "buffer_fusion_pass[", "the switch of pass",
         "the value [", "working_oo_level", "Get optimization switch",
         "Begin to run pass", "is disabled", "is enabled", "switch is off",
         "isn't in white list", "is not allowed in current O1", "(switch on): ",
         "successfully, ", "run pass fusion, pass name", "registration pass, pass name",
         "[Run][FusionPass]", "Start buffer fusion", "success", "remove Cast ",
         "by the CSE process", "is not set in env AUTOFUSE_FLAGS",
         "Automatic buffer fusion is off")


def _timed(line: str) -> Hit | None:
    match = _TIMED.search(line)
    if match is None:
        return None
    what = match.group(1)
    calls = int(match.group(3)) if match.group(3) else None
    engine = _FE_TIMED.match(what)
    if engine:
        return Hit("ran", "graph_fusion", engine.group(1), calls=calls)
    if "[AUTOFUSE_PERFTRACE]" in line:
        return Hit("step", "autofuse", what.strip("[]"), calls=calls)
    parts = [part for part in what.split("::") if part]
    if not parts:
        return None
    place = _pass_place(parts)
    if place is None:
        return Hit("step", "", what, calls=calls)
    return Hit("ran", "ge", parts[place], tuple(parts[:place]), calls=calls)


def _pass_place(parts: list[str]) -> int | None:
    """Return which part names a pass: the last one called so, graph names follow."""
    for place in range(len(parts) - 1, -1, -1):
        if parts[place].endswith("Pass") and parts[place] not in _NO_PASS:
            return place
    return None


def _counts(line: str) -> Hit | None:
    match = _COUNTS.search(line)
    if match is None:
        return None
    matched, effected = int(match.group(3)), int(match.group(4))
    kind = "changed" if effected > 0 else "matched" if matched > 0 else "ran"
    return Hit(kind, "graph_fusion", match.group(1), match_times=matched,
               effect_times=effected)


def _buffer_counts(line: str) -> Hit | None:
    match = _BUFFER_COUNT.search(line)
    if match is None:
        return None
    number = int(match.group(3))
    if match.group(2) == "matched_times":
        return Hit("matched" if number > 0 else "ran", "ub_fusion", match.group(1),
                   match_times=number)
    return Hit("changed" if number > 0 else "ran", "ub_fusion", match.group(1),
               effect_times=number)


def _options(line: str) -> Hit | None:
    match = _OPTION.search(line)
    if match:
        return Hit("option", "", match.group(2), value=match.group(1))
    match = _SWITCH.search(line)
    if match:
        return Hit("option", "", f"switch {match.group(1)}", value=match.group(2))
    match = _LEVEL.search(line)
    if match:
        return Hit("option", "", "working_oo_level", value=match.group(1))
    match = _SWITCH_STRING.search(line)
    if match:
        return Hit("option", "", "ge.optimizationSwitch", value=match.group(1))
    return None


def _fixed(line: str) -> Hit | None:
    return next((hit for text, hit in _FIXED if text in line), None)


def _named(line: str) -> Hit | None:
    for pattern, kind, family in _NAMED:
        match = pattern.search(line)
        if match:
            parts = [part for part in match.group(1).split("::") if part]
            if parts:
                return Hit(kind, family, parts[-1], tuple(parts[:-1]))
    return None


FINDERS: tuple[Finder, ...] = (_timed, _counts, _buffer_counts, _fixed, _options,
                               _named)
