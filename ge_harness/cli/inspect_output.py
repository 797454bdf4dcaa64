"""What `inspect` prints and writes."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ge_harness.cli import console, exit_codes
from ge_harness.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from ge_harness.inspection.gather import Gathered
    from ge_harness.inspection.rows import SeriesRows

_MOST_WARNINGS = 50
_PROGRESS_EVERY_S = 10.0


class Heartbeat:
    """Says every ten seconds how many stages have been read."""

    def __init__(self) -> None:
        self._count = 0
        self._last = time.monotonic()

    def __call__(self, *_: object) -> None:
        """Take in one stage."""
        self._count += 1
        now = time.monotonic()
        if now - self._last >= _PROGRESS_EVERY_S:
            self._last = now
            console.note(f"{self._count} stages read")


def show(args: argparse.Namespace, doc: dict[str, Any]) -> None:
    """Print the inspection, or the stages asked for."""
    from ge_harness.report import inspect_text

    if args.json:
        console.document("inspect", doc)
        return
    if args.stage or args.diff:
        console.answer("\n".join(inspect_text.changes_text(stage) for graph
                                 in doc["graphs"] for stage in graph["stages"]
                                 if args.stage or stage["order"]))
        if args.stage:
            return
    console.answer(inspect_text.inspection_text(doc))


def show_nodes(args: argparse.Namespace, doc: dict[str, Any], is_cut: bool) -> None:
    """Print the nodes asked for."""
    from ge_harness.report.nodes_text import nodes_text

    if args.json:
        console.document("inspect", doc)
    else:
        console.answer(nodes_text(doc["nodes"]))
    console.note(f"{len(doc['nodes'])} nodes" + (" and more" if is_cut else ""))


def show_against(args: argparse.Namespace, doc: dict[str, Any], other: Gathered,
             found: Gathered) -> int:
    """Print what differs from another dump; return the exit status."""
    from ge_harness.inspection.against import against
    from ge_harness.report.against_text import against_text

    differences = against(found, other)
    doc["against"] = differences
    doc["warnings"] += [{"file": each.path, "line": each.line, "message": each.message}
                        for each in other.warnings]
    if args.json:
        console.document("inspect", doc)
    else:
        console.answer(against_text(differences, details=args.diff))
    return exit_codes.DIFFERS if differences["differs"] else exit_codes.OK


def only_stage(doc: dict[str, Any], name: str) -> None:
    """Leave only the stages of one name.

    Raises:
        UnknownNameError: no stage has that name.
    """
    known = {stage["name"] for graph in doc["graphs"] for stage in graph["stages"]}
    if name not in known:
        raise UnknownNameError("stage", name, known)
    for graph in doc["graphs"]:
        graph["stages"] = [stage for stage in graph["stages"] if stage["name"] == name]
    doc["graphs"] = [graph for graph in doc["graphs"] if graph["stages"]]


def warn(doc: dict[str, Any]) -> None:
    """Print the warnings as notes."""
    for each in doc["warnings"][:_MOST_WARNINGS]:
        place = f"{each['file']}:{each['line']}" if each["line"] else each["file"]
        message = each["message"]
        console.note(message if message.startswith(each["file"])
                     else f"{place}: {message}")
    more = len(doc["warnings"]) - _MOST_WARNINGS
    if more > 0:
        console.note(f"{more} more warnings are in the JSON document")


def write_html(path: str, doc: dict[str, Any], found: Gathered,
               rows: SeriesRows) -> None:
    """Write the page; the rows of XLA's modules are read for it."""
    from ge_harness.inspection.active import module_mark
    from ge_harness.report.inspect_html import inspection_html

    marks = [graph.mark for graph in found.series.graphs]
    for module in found.modules:
        marks.append(module_mark(module))
        rows.module(marks[-1], module)
    if rows.is_cut:
        console.note("too many nodes for one page: the tables of later stages are "
                     "incomplete")
    write(path, inspection_html(doc, [rows.tables.get(mark, []) for mark in marks]))


def write(path: str, text: str) -> None:
    """Write a text file.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path}: cannot be written ({reason}); give a file in a "
                         "folder that exists") from error
    console.note(f"written: {path}")
