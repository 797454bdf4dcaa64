"""`list`: what there is, a line each. Imports neither TensorFlow nor NumPy."""

from __future__ import annotations

import argparse
import importlib
from typing import Sequence, Tuple

from ge_harness.backends.table import BACKENDS
from ge_harness.cli import console, exit_codes
from ge_harness.experiments.table import EXPERIMENTS
from ge_harness.report import plain

Listing = Tuple[Tuple[str, ...], Sequence[Tuple[str, ...]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("what", nargs="?", default="subgraphs", choices=sorted(_KINDS),
                        help="what to list (default: subgraphs)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Print the list asked for."""
    columns, rows = _KINDS[args.what]()
    if args.json:
        keys = [column.replace(" ", "_") for column in columns]
        console.document("list", {
            "what": args.what, "items": [dict(zip(keys, row)) for row in rows]})
    else:
        console.answer(plain.table(columns, rows, widest=100))
    return exit_codes.OK


def _subgraphs() -> Listing:
    graphs = importlib.import_module("graphs")
    rows = [(name, str(graphs.describe(name))) for name in graphs.names()]
    return ("name", "what it is"), rows


def _backends() -> Listing:
    rows = []
    for name in BACKENDS.names():
        entry = BACKENDS.entry(name)
        state = "available" if entry.target else "not built yet"
        rows.append((name, state, entry.needs or "numpy", entry.help))
    return ("name", "state", "needs", "what it is"), rows


def _experiments() -> Listing:
    rows = [(name, EXPERIMENTS.entry(name).help,
             "available" if EXPERIMENTS.entry(name).target else "not built yet")
            for name in EXPERIMENTS.names()]
    return ("name", "what it tests", "state"), rows


def _stages() -> Listing:
    catalogue = importlib.import_module("ge_harness.catalogue.stages")
    return catalogue.columns(), list(catalogue.rows())


def _passes() -> Listing:
    catalogue = importlib.import_module("ge_harness.catalogue.passes")
    return catalogue.columns(), list(catalogue.rows())


def _standards() -> Listing:
    standards = importlib.import_module("ge_harness.compare.standards")
    rows = [(item.name, item.rule, item.reason) for item in standards.STANDARDS]
    return ("name", "rule", "why"), rows


_KINDS = {
    "subgraphs": _subgraphs, "backends": _backends, "experiments": _experiments,
    "stages": _stages, "passes": _passes, "standards": _standards,
}
