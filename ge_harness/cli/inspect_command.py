"""`inspect`: what a compiler's dumps say: stages, changes, active passes."""

from __future__ import annotations

import argparse
import json

from ge_harness.cli import exit_codes, inspect_output


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
                        help="also look inside every operator; exit 1 "
                        "where anything could not be read")
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

    beat = inspect_output.Heartbeat()
    rows = SeriesRows(beat) if args.html else None
    finder = None
    if args.node:
        finder = NodeFinder(compile_pattern(args.node), args.stage, rows or beat)
    found = gather(args.dump, finder or rows or beat, strict=args.strict)
    doc = document(found)
    if args.html and rows is not None:
        inspect_output.write_html(args.html, doc, found, rows)
    if args.stage:
        inspect_output.only_stage(doc, args.stage)
    if args.overlay:
        from ge_harness.inspection.overlay import overlay

        inspect_output.write(args.overlay, json.dumps(
            overlay(found.series, args.stage), indent=1))
    status = exit_codes.OK
    if args.against:
        other = gather(args.against, beat, strict=args.strict)
        status = inspect_output.show_against(args, doc, other, found)
    elif finder is not None:
        doc["nodes"] = finder.found
        inspect_output.show_nodes(args, doc, finder.is_cut)
    else:
        inspect_output.show(args, doc)
    inspect_output.warn(doc)
    if args.open_viewer:
        from ge_harness.cli.viewer import open_viewer

        open_viewer(found.series)
    return exit_codes.DIFFERS if args.strict and doc["warnings"] else status
