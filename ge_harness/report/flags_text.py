"""What `flags` prints for people; the canonical form is its last line."""

from __future__ import annotations

from ge_harness.records.flags import FlagItem, FlagsReport
from ge_harness.report.plain import printable, table

_MOST = 60


def describe(report: FlagsReport) -> str:
    """Return the whole answer; the canonical form is its last line."""
    parts = [_head(report)]
    if report.items:
        parts.append(_entries(report))
    parts += [_issues(report), _inert(report), _defaults(report), _tail(report)]
    return "\n".join(part for part in parts if part)


def _head(report: FlagsReport) -> str:
    chip = f" on {report.chip}" if report.chip else ""
    verdict = "does what it says" if report.works else "would NOT do what it says"
    gate = ""
    if report.variable == "AUTOFUSE_FLAGS":
        gate = f"; AutoFuse is {'on' if report.gate_open else 'off'}"
    return f"{report.variable}{chip}: {verdict}{gate}\n"


def _entries(report: FlagsReport) -> str:
    rows = [(item.position, item.text, item.status, item.effective or "-",
             _readers(item), item.meaning) for item in report.items[:_MOST]]
    text = table(("#", "entry", "status", "acts as", "readers", "meaning"), rows,
                 widest=52)
    return text + _more(len(report.items), "entries")


def _readers(item: FlagItem) -> str:
    return " ".join(f"{view.reader}:{view.outcome}" for view in item.readers) or "none"


def _issues(report: FlagsReport) -> str:
    rows = [(issue.severity, f"entry {item.position}", issue.message)
            for item in report.items for issue in item.issues]
    rows += [(issue.severity, "string", issue.message) for issue in report.issues]
    order = ("error", "warning", "note")
    rows.sort(key=lambda row: order.index(row[0]))
    lines = [f"{severity}: {place}: {printable(message, 400)}"
             for severity, place, message in rows[:_MOST]]
    if not lines:
        return ""
    return "\n".join(lines) + "\n" + _more(len(rows), "remarks")


def _inert(report: FlagsReport) -> str:
    if not report.inert:
        return ""
    lines = ["Without effect:"]
    lines += [f"  {printable(line, 300)}" for line in report.inert[:_MOST]]
    return "\n".join(lines) + "\n" + _more(len(report.inert), "lines")


def _defaults(report: FlagsReport) -> str:
    rows = [(one.key, one.default, one.accepted, "" if one.documented else "no")
            for one in report.defaults]
    if not rows:
        return ""
    return "Not set, so at their defaults:\n" + table(
        ("key", "default", "takes", "documented"), rows, widest=52)


def _tail(report: FlagsReport) -> str:
    lines = [f"{name}: {what}" for name, what in report.legend]
    if report.suggestion:
        lines.append(f"probably meant: {printable(report.suggestion)}")
    lines.append(f"canonical: {printable(report.canonical) or '(empty)'}")
    return "\n".join(lines) + "\n"


def _more(count: int, what: str) -> str:
    return f"({count - _MOST} more {what})\n" if count > _MOST else ""
