"""`report`: builds report.html again from the records on disk."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Mapping

from ge_harness.cli import console, exit_codes
from ge_harness.errors import HarnessError, UsageError
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
    paths = [path for folder in folders for path in _runs(folder)]
    documents = [read_run(path) for path in paths]
    for path, document in zip(paths, documents):
        _check(path, document)
    page = run_html.render(documents, "ge_harness report")
    where = RunFolder(folders[0].resolve()).write(REPORT_FILE, page)
    if args.json:
        console.document("report", {"report": str(where), "runs": len(documents)})
    else:
        console.answer(f"report: {where}")
    return exit_codes.OK


def _check(path: Path, document: Mapping[str, Any]) -> None:
    """Refuse a damaged document by its file, before all are rendered together.

    Raises:
        UsageError: a field is missing or of another kind.
        UnavailableError: the extra `report` is not installed.
    """
    try:
        run_html.render([document], "ge_harness report")
    except HarnessError:
        raise
    except Exception as error:  # whatever a template meets in a damaged document
        raise UsageError(f"{path / RUN_FILE}: damaged: {str(error) or error!r}"
                         ) from error


def _runs(folder: Path) -> list[Path]:
    if (folder / RUN_FILE).is_file():
        return [folder]
    inner = sorted(path.parent for path in folder.glob(f"*/{RUN_FILE}"))
    if not inner:
        raise UsageError(f"{folder}: no {RUN_FILE} in it or in its folders; expected "
                         "the folder of a run")
    return inner
