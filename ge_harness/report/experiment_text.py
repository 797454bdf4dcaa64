"""Experiments in words and tables for a terminal."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ge_harness.report.plain import number, printable, table

Document = Mapping[str, Any]
_SHOWN_ROWS = 60


def text(reports: Sequence[Document]) -> str:
    """Return the table of claims, and each experiment in full."""
    parts = [experiment_text(report) for report in reports]
    if len(reports) != 1:
        columns, rows = side_by_side(reports)
        parts.insert(0, "verdicts\n" + table(columns, rows, widest=60) + "claims\n"
                     + claims(reports))
    return "\n".join(parts)


def side_by_side(reports: Sequence[Document], words: str = "title"
                 ) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return headings and rows of the verdicts: one row a claim, one column a backend.

    Several verdicts of one experiment on one backend, as a grid gives them, stand in
    one cell.

    Args:
        reports: `experiment` documents.
        words: field that says what is claimed: "title", or "claim" for all of it.
    """
    names = list(dict.fromkeys(each["backend"]["name"] for each in reports))
    labels = {each["backend"]["name"]: each["backend"]["name"] + emulated(each)
              for each in reports}
    found: dict[tuple[str, str], list[str]] = {}
    for each in reports:
        found.setdefault((each["id"], each["backend"]["name"]), []).append(
            each["verdict"])
    claimed = {each["id"]: each[words] for each in reports}
    return (("id", "claim", *(labels[name] for name in names)), tuple(
        (id_, claimed[id_], *(", ".join(dict.fromkeys(found.get((id_, name), ["-"])))
                              for name in names)) for id_ in sorted(claimed)))


def claims(reports: Sequence[Document]) -> str:
    """Return one line an experiment and backend."""
    rows = [(report["id"], report["backend"]["name"] + emulated(report),
             report["dtype"] or "several", report["verdict"], report["why"])
            for report in reports]
    return table(("id", "backend", "dtype", "verdict", "why"), rows, widest=100)


def experiment_text(report: Document) -> str:
    """Return one experiment in full."""
    backend = report["backend"]
    lines = [f"{report['id']}: {report['title']}",
             f"backend: {backend['name']}{emulated(report)}: {backend['label']} "
             f"({backend['reason']})",
             f"claim: {report['claim']}", f"method: {report['method']}"]
    parts = ["".join(printable(line) + "\n" for line in lines)]
    for item in (report["table"], *report["more_tables"]):
        rows = [tuple(cell(value) for value in row) for row in item["rows"]]
        more = len(rows) - _SHOWN_ROWS
        tail = f"... and {more} more (--json has all)\n" if more > 0 else ""
        parts.append(printable(item["title"]) + "\n" + table(
            item["columns"], rows[:_SHOWN_ROWS], widest=72) + tail)
    shown = [f"  [{'shown' if each['ok'] else 'NOT shown'}] {each['what']}: "
             f"{each['found']}" for each in report["evidence"][:24]]
    parts.append("".join(printable(line, 300) + "\n"
                         for line in ("evidence", *shown)))
    word = ("counter-example" if report["verdict"] == "refuted"
            else "beside the verdict:")
    for each in report["counterexamples"]:
        parts.append(printable(f"{word} {each['name']}: {each['reason']}") +
                     (f"\n  {printable(each['command'])}\n" if each["command"]
                      else "\n"))
    limits = "".join(f"limit: {printable(each)}\n" for each in report["limits"])
    verdict = f"{report['verdict'].upper()}{emulated(report)}: {report['why']}"
    return "".join(parts) + limits + printable(verdict) + "\n"


def emulated(report: Document) -> str:
    """Return the mark of figures that come from a model."""
    return " (EMULATED)" if report["backend"]["emulated"] else ""


def cell(value: object) -> object:
    """Return a cell as `table` takes it."""
    if isinstance(value, (list, tuple)):
        return ", ".join(number(item) for item in value)
    return value
