"""`ge_harness compare A B`: tensors in doubt against tensors that are trusted."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ge_harness.cli import exit_codes
from ge_harness.errors import UsageError

if TYPE_CHECKING:
    from ge_harness.compare.folder import PlacesComparison

NAME = "compare"
HELP = "compare tensors: bits, ULPs, errors, standards"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of cli.md."""
    parser.add_argument("a", metavar="A", help=".npy, .npz, dump or folder: in doubt")
    parser.add_argument("b", metavar="B", help="the same: trusted")
    parser.add_argument("--reference", metavar="R", help="the same: the truth")
    parser.add_argument(
        "--standard", action="append", metavar="NAME",
        help="rule that decides, repeatable; see 'list standards' (default: bits)")
    parser.add_argument("--dtype", metavar="NAME",
                        help="what raw bits stand for, e.g. bfloat16 for uint16 files")
    parser.add_argument("--values", action="store_true",
                        help="compare values although shapes or dtypes differ")
    parser.add_argument(
        "--map", metavar="GRAPH", help="dump of the graph of A (ge_proto_*_Build.txt): "
        "matches fused operators with their original ones")
    parser.add_argument("--against-map", metavar="GRAPH", help="dump of the graph of B")
    parser.add_argument("--junit", metavar="FILE", help="also write JUnit XML")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(args: argparse.Namespace) -> int:
    """Compare and print; return the exit status."""
    from ge_harness.compare import folder
    from ge_harness.records.comparison import Status, Verdict

    plan = folder.Plan(
        Path(args.a), Path(args.b), Path(args.reference) if args.reference else None,
        tuple(args.standard or ("bits",)), args.dtype, args.values,
        Path(args.map) if args.map else None,
        Path(args.against_map) if args.against_map else None)
    found = folder.compare_places(plan)
    _show(args, found)
    if args.junit:
        _write_junit(Path(args.junit), found)
    if found.verdict is Verdict.AGREES:
        return exit_codes.OK
    if found.verdict is Verdict.DIFFERS:
        return exit_codes.DIFFERS
    unreadable = any(pair.status is Status.UNREADABLE for pair in found.pairs)
    return exit_codes.USAGE if unreadable else exit_codes.UNDECIDED


def _show(args: argparse.Namespace, found: PlacesComparison) -> None:
    from ge_harness.compare.folder import places_document
    from ge_harness.records.serialize import dumps
    from ge_harness.report.compare_text import comparison_text, names_text
    from ge_harness.report.operator_text import (
        NAME_WIDTH,
        first_text,
        labels_text,
        reasons_text,
        worth_showing,
    )

    sys.stderr.write(names_text("files that hold no tensor, left out", found.skipped))
    if args.json:
        sys.stdout.write(dumps("compare", places_document(found)))
        return
    pairs, left_out, widest = list(found.pairs), "", 40
    if found.has_operators:
        sys.stdout.write(labels_text(found.labels) + first_text(found.first)
                         + reasons_text(found.reasons))
        pairs, left_out = worth_showing(found.pairs)
        widest = NAME_WIDTH
    else:
        sys.stdout.write(names_text("only in A", found.only_a))
        sys.stdout.write(names_text("only in B", found.only_b))
    sys.stdout.write(left_out)
    sys.stdout.write(comparison_text(
        pairs, found.verdict, found.standards, widest=widest))


def _write_junit(path: Path, found: PlacesComparison) -> None:
    from ge_harness.report.junit import junit_xml

    text = junit_xml(found.pairs, found.in_doubt)
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
