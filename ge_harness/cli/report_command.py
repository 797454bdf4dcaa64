"""`report`: builds report.html again from the records on disk."""

from __future__ import annotations

import argparse
from pathlib import Path

from ge_harness.cli import console, exit_codes
from ge_harness.errors import UsageError
from ge_harness.experiment.store import REPORT_FILE, RUN_FILE, RunFolder, read_run
from ge_harness.report import run_html


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run_dir", nargs="+", metavar="RUN_DIR",
                        help="folder of a run; several are put side by side")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Write the report into the first folder and say where it is."""
    folders = [Path(text) for text in args.run_dir]
    documents = [read_run(path) for folder in folders for path in _runs(folder)]
    page = run_html.render(documents, "ge_harness report")
    where = RunFolder(folders[0].resolve()).write(REPORT_FILE, page)
    if args.json:
        console.document("report", {"report": str(where), "runs": len(documents)})
    else:
        console.answer(f"report: {where}")
    return exit_codes.OK


def _runs(folder: Path) -> list[Path]:
    if (folder / RUN_FILE).is_file():
        return [folder]
    inner = sorted(path.parent for path in folder.glob(f"*/{RUN_FILE}"))
    if not inner:
        raise UsageError(f"{folder}: no {RUN_FILE} in it or in its folders; expected "
                         "the folder of a run")
    return inner
