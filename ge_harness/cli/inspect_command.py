"""`inspect`: what a compiler's dumps say: stages, changes, active passes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ge_harness.cli import console, exit_codes
from ge_harness.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from ge_harness.inspection.gather import Gathered

_MOST_WARNINGS = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("dump", metavar="DUMP", help="a dump file or a folder of dumps")
    parser.add_argument("--against", metavar="DUMP2", help="what differs from DUMP")
    parser.add_argument("--stage", metavar="NAME", help="only this stage")
    parser.add_argument("--diff", action="store_true",
                        help="list every changed node of the stages shown")
    parser.add_argument("--node", metavar="REGEX", help="what is known of these nodes")
    parser.add_argument("--html", metavar="FILE", help="also write a page to read in a "
                        "browser, offline")
    parser.add_argument("--overlay", metavar="FILE", help="also write the changes as "
                        "node data for Model Explorer")
    parser.add_argument("--strict", action="store_true",
                        help="exit 1 where anything could not be read")
    parser.add_argument("--open", action="store_true", dest="open_viewer",
                        help="open the last stage in netron, if it is installed")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Inspect and print; return the exit status."""
    from ge_harness.catalogue.pattern import compile_pattern
    from ge_harness.inspection.document import document
    from ge_harness.inspection.gather import gather
    from ge_harness.inspection.nodes import NodeFinder
    from ge_harness.inspection.rows import SeriesRows

    rows = SeriesRows() if args.html else None
    finder = NodeFinder(compile_pattern(args.node), args.stage, rows) if args.node \
        else None
    found = gather(args.dump, finder or rows)
    doc = document(found)
    if args.html and rows is not None:
        _write_html(args.html, doc, [rows.tables.get(graph.mark, [])
                                     for graph in found.series.graphs])
    if args.stage:
        _only_stage(doc, args.stage)
    if args.overlay:
        from ge_harness.inspection.overlay import overlay

        _write(args.overlay, json.dumps(overlay(found.series, args.stage), indent=1))
    status = exit_codes.OK
    if args.against:
        status = _against(args, doc, gather(args.against), found)
    elif finder is not None:
        doc["nodes"] = finder.found
        _show_nodes(args, doc, finder.is_cut)
    else:
        _show(args, doc)
    _warn(doc)
    if args.open_viewer:
        from ge_harness.cli.viewer import open_viewer

        open_viewer(found.series)
    return exit_codes.DIFFERS if args.strict and doc["warnings"] else status


def _show(args: argparse.Namespace, doc: dict[str, Any]) -> None:
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


def _show_nodes(args: argparse.Namespace, doc: dict[str, Any], is_cut: bool) -> None:
    from ge_harness.report.nodes_text import nodes_text

    if args.json:
        console.document("inspect", doc)
    else:
        console.answer(nodes_text(doc["nodes"]))
    console.note(f"{len(doc['nodes'])} nodes" + (" and more" if is_cut else ""))


def _against(args: argparse.Namespace, doc: dict[str, Any], other: Gathered,
             found: Gathered) -> int:
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


def _only_stage(doc: dict[str, Any], name: str) -> None:
    known = {stage["name"] for graph in doc["graphs"] for stage in graph["stages"]}
    if name not in known:
        raise UnknownNameError("stage", name, known)
    for graph in doc["graphs"]:
        graph["stages"] = [stage for stage in graph["stages"] if stage["name"] == name]
    doc["graphs"] = [graph for graph in doc["graphs"] if graph["stages"]]


def _warn(doc: dict[str, Any]) -> None:
    for each in doc["warnings"][:_MOST_WARNINGS]:
        place = f"{each['file']}:{each['line']}" if each["line"] else each["file"]
        message = each["message"]
        console.note(message if message.startswith(each["file"])
                     else f"{place}: {message}")
    more = len(doc["warnings"]) - _MOST_WARNINGS
    if more > 0:
        console.note(f"{more} more warnings are in the JSON document")


def _write_html(path: str, doc: dict[str, Any], tables: list[Any]) -> None:
    from ge_harness.report.inspect_html import inspection_html

    _write(path, inspection_html(doc, tables))


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path}: cannot be written ({reason}); give a file in a "
                         "folder that exists") from error
    console.note(f"written: {path}")
