"""`report`: builds report.html again from the records on disk."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Callable

from ge_harness.bisect import trials
from ge_harness.cli import console, exit_codes
from ge_harness.errors import HarnessError, UsageError
from ge_harness.experiment.store import REPORT_FILE, RUN_FILE, RunFolder, read_run
from ge_harness.experiments import store
from ge_harness.report import bisect_html, experiment_html, run_html

_TITLE = "ge_harness report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run_dir", nargs="+", metavar="RUN_DIR",
                        help="folder of a run, of an experiment, or of a bisection; "
                        "several of a kind are put side by side")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Write the report into the first folder and say where it is."""
    folders = [Path(text) for text in args.run_dir]
    page, count = _page(folders)
    where = RunFolder(folders[0].resolve()).write(REPORT_FILE, page)
    if args.json:
        console.document("report", {"report": str(where), "runs": count})
    else:
        console.answer(f"report: {where}")
    return exit_codes.OK


def _page(folders: list[Path]) -> tuple[str, int]:
    """Return the page of folders of one kind, and how much is on it."""
    files = [store.report_files(folder) for folder in folders]
    bisected = [trials.is_bisection(folder) for folder in folders]
    for kind, found in (("experiment", [bool(each) for each in files]),
                        ("bisection", bisected)):
        if any(found) and not all(found):
            bare = folders[found.index(False)]
            raise UsageError(f"{bare}: holds no {kind}, and the others do; runs, "
                             "experiments and bisections are reported apart")
    if any(bisected):
        return _bisections(folders)
    return _experiments(folders, files) if any(files) else _runs(folders)


def _bisections(folders: list[Path]) -> tuple[str, int]:
    documents = [trials.read_answer(folder) for folder in folders]
    for folder, document in zip(folders, documents):
        _check(folder / trials.ANSWER_FILE, partial(bisect_html.render, [document]))
    return bisect_html.render(documents), len(documents)


def _experiments(folders: list[Path], files: list[list[Path]]) -> tuple[str, int]:
    reports = []
    for path in (each for group in files for each in group):
        report = store.read(path)
        _check(path, partial(experiment_html.render, [report]))
        reports.append(report)
    skipped = [line for folder in folders for line in store.read_skipped(folder)]
    return experiment_html.render(reports, skipped), len(reports)


def _runs(folders: list[Path]) -> tuple[str, int]:
    paths = [path for folder in folders for path in _run_folders(folder)]
    documents = [read_run(path) for path in paths]
    for path, document in zip(paths, documents):
        _check(path / RUN_FILE, partial(run_html.render, [document], _TITLE))
    return run_html.render(documents, _TITLE), len(documents)


def _check(path: Path, render: Callable[[], str]) -> None:
    """Refuse a damaged document by its file, before all are rendered together.

    Raises:
        UsageError: a field is missing or of another kind.
        UnavailableError: the extra `report` is not installed.
    """
    try:
        render()
    except HarnessError:
        raise
    except Exception as error:  # whatever a template meets in a damaged document
        raise UsageError(f"{path}: damaged: {str(error) or error!r}") from error


def _run_folders(folder: Path) -> list[Path]:
    if (folder / RUN_FILE).is_file():
        return [folder]
    inner = sorted(path.parent for path in folder.glob(f"*/{RUN_FILE}"))
    if not inner:
        raise UsageError(f"{folder}: no {RUN_FILE} in it or in its folders, no "
                         "experiment and no bisection; expected the folder of a run")
    return inner
