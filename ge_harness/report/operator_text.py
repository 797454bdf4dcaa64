"""Operators side by side as plain text: what differs first, what has no counterpart."""

from __future__ import annotations

from typing import Mapping, Sequence

from ge_harness.records.comparison import Status, TensorComparison
from ge_harness.records.operators import (
    HARMLESS,
    FirstDifference,
    Reason,
    UnmatchedReason,
)
from ge_harness.report.plain import printable

MOST_PAIRS = 40
NAME_WIDTH = 72
_MOST_NAMES = 8
_EACH = 20
_INPUTS = {
    "agree": "its inputs agree, so the difference arises in it",
    "differ": "an input differs already, so look at what comes before",
    "unknown": "its inputs were not all compared: the difference may come from before",
}
_MEANS = {
    Reason.NO_COUNTERPART: "the other side has no tensor of this name",
    Reason.NO_STEP: "the other side has no dump of this step, model or device",
    Reason.FUSED_INSIDE: "inside a fused operator of the other side",
    Reason.NEVER_DUMPED: "the compiler dumps none of their kind",
    Reason.INSERTED: "put in by the compiler, of no original operator",
    Reason.NO_OPERATOR: "the other side has nothing of this origin",
    Reason.NOT_DUMPED: "in the graph, without a dump file",
    Reason.COUNTERPART_NOT_DUMPED: "the counterpart has no dump file",
    Reason.NOT_IN_GRAPH: "dumped, and not in the graph given",
    Reason.AMBIGUOUS: "several could be meant, none was taken",
}


def labels_text(labels: Mapping[str, str]) -> str:
    """Return what the dumps of each side say of their origin, "" where nothing."""
    lines = [f"side {side.upper()}: {printable(label, 200)}\n"
             for side, label in sorted(labels.items())]
    return "".join(lines)


def first_text(first: FirstDifference | None) -> str:
    """Return the operator that differs first in words, "" where none does."""
    if first is None:
        return ""
    kind = f" ({printable(first.type, 80)})" if first.type else ""
    graph = f" of graph {printable(first.graph, 120)}" if first.graph else ""
    lines = [f"look first at {printable(first.operator, 200)}{kind}: number "
             f"{first.place} of {first.of} in order of execution{graph} (order: "
             f"{first.order})", f"  differs: {printable(first.pair, 400)}"]
    if first.counterpart != first.operator:
        kind = f" ({printable(first.counterpart_type, 80)})"
        lines.append(f"  compared with: {printable(first.counterpart, 200)}"
                     f"{kind if first.counterpart_type else ''}")
    if first.fused_from and first.fused_from != (first.operator,):
        lines.append(f"  stands for: {_originals(first)}")
    if first.passes:
        lines.append(f"  passes: {_some(first.passes)}")
    lines += [f"  input {each.index}: {_input(each.source, each.status)}{each.state}"
              for each in first.inputs[:_MOST_NAMES]]
    lines.append(f"  {_INPUTS[first.inputs_state]}")
    return "\n".join(lines) + "\n\n"


def reasons_text(reasons: Sequence[UnmatchedReason]) -> str:
    """Return what has no counterpart, by side and reason, harmless ones counted."""
    lines = []
    for side in ("a", "b"):
        for reason in Reason:
            found = [each for each in reasons
                     if each.side == side and each.reason is reason]
            if not found:
                continue
            lines.append(f"only in {side.upper()}, {reason.value} "
                         f"({_MEANS[reason]}): {len(found)}")
            if reason in HARMLESS:
                continue
            lines += [f"  {printable(each.name, 200)}: {printable(each.words, 400)}"
                      for each in found[:_EACH]]
            if len(found) > _EACH:
                lines.append(f"  and {len(found) - _EACH} more")
    return "\n".join([*lines, ""]) + "\n" if lines else ""


def worth_showing(pairs: Sequence[TensorComparison]
                  ) -> tuple[list[TensorComparison], str]:
    """Return the pairs for a table, and a line on those that were left out.

    Of many pairs the equal ones are only counted, and the first of the others shown.
    """
    if len(pairs) <= MOST_PAIRS:
        return list(pairs), ""
    others = [pair for pair in pairs if pair.status is not Status.EQUAL]
    equal, more = len(pairs) - len(others), len(others) - MOST_PAIRS
    lines = f"{equal} pairs are equal, bit for bit, and not shown\n" if equal else ""
    if more > 0:
        lines += f"{more} more that are not equal are not shown; --json has them all\n"
    return others[:MOST_PAIRS], lines


def _input(source: str, status: str) -> str:
    reads = f"{printable(source, 200)} " if source else ""
    return f"{reads}{status + ', ' if status else ''}"


def _originals(first: FirstDifference) -> str:
    types = first.fused_types
    if len(types) != len(first.fused_from):
        return _some(first.fused_from)
    return _some([f"{name} ({kind})" for name, kind in zip(first.fused_from, types)])


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name, 120) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return shown if more <= 0 else f"{shown} and {more} more"
