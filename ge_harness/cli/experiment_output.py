"""What `experiment` prints and keeps: documents, tables, the test report."""

from __future__ import annotations

import argparse
from typing import Any, Sequence

from ge_harness.cli import console, exit_codes
from ge_harness.errors import HarnessError
from ge_harness.experiment.store import REPORT_FILE, RunFolder
from ge_harness.experiments import store
from ge_harness.report import experiment_html, experiment_text
from ge_harness.report.plain import printable

_STATUS = {"holds": exit_codes.OK, "refuted": exit_codes.DIFFERS,
           "inconclusive": exit_codes.UNDECIDED, "not applicable": exit_codes.OK}
_WORST = (exit_codes.USAGE, exit_codes.UNAVAILABLE, exit_codes.UNDECIDED,
          exit_codes.DIFFERS)


def answer(args: argparse.Namespace, folder: RunFolder,
           reports: Sequence[dict[str, Any]], skipped: Sequence[str]) -> int:
    """Print what was found, write the test report, and return the exit status.

    Args:
        args: of the command; `source` is "all" for several experiments.
        folder: of the call.
        reports: `experiment` documents as plain data.
        skipped: sentences on what was not run.
    """
    if args.json and len(reports) == 1 and not skipped:
        console.document("experiment", reports[0])
    elif args.json:
        console.document("experiments", {"experiments": list(reports),
                                         "skipped": list(skipped)})
    else:
        lines = [f"not run: {printable(line)}" for line in skipped]
        console.answer("\n".join([experiment_text.text(reports), *lines]))
    store.write_all(folder, reports, skipped)
    (console.note if args.json else console.answer)(page(folder, reports, skipped))
    if args.source == "all":
        # The verdicts are what the call is to show; they are no failure of it.
        return exit_codes.OK if reports else exit_codes.UNAVAILABLE
    found = {_STATUS[report["verdict"]] for report in reports}
    if not reports:
        found.add(exit_codes.UNAVAILABLE)
    return next((status for status in _WORST if status in found), exit_codes.OK)


def page(folder: RunFolder, reports: Sequence[dict[str, Any]], skipped: Sequence[str]
         ) -> str:
    """Write report.html and say where it is, or why there is none."""
    try:
        text = experiment_html.render(reports, skipped)
    except HarnessError as error:
        return f"no {REPORT_FILE}: {error}\nfolder: {folder.path}"
    return f"report: {folder.write(REPORT_FILE, text)}"
