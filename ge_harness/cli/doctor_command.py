"""`doctor`: whether this machine can run each backend, and how to mend what is not."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from ge_harness.backends.table import BACKENDS
from ge_harness.cli import console, exit_codes
from ge_harness.report import doctor_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--backend", metavar="NAME", choices=BACKENDS.names(),
                        help="examine this one only, and exit 3 unless it works: "
                        + ", ".join(BACKENDS.names()))
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Examine the backends; 0 when one that compiles works, 3 otherwise."""
    from ge_harness.experiment.doctor import examine

    names = (args.backend,) if args.backend else BACKENDS.names()
    progress = console.Progress(len(names) + 1)
    try:
        with tempfile.TemporaryDirectory(prefix="ge_harness-doctor-") as folder:
            report = examine(args.backend or "", dict(os.environ), Path(folder),
                             progress)
    finally:
        progress.close()
    if args.json:
        console.document("doctor", report)
    else:
        console.answer(doctor_text.describe(report))
    return exit_codes.OK if report.works else exit_codes.UNAVAILABLE
