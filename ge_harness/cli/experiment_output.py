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
_WORST = (exit_codes.INTERNAL, exit_codes.USAGE, exit_codes.UNAVAILABLE,
          exit_codes.UNDECIDED, exit_codes.DIFFERS)


def answer(args: argparse.Namespace, folder: RunFolder,
           reports: Sequence[dict[str, Any]], missed: Sequence[tuple[str, int]]
           ) -> int:
    """Print what was found, write the test report, and return the exit status.

    Args:
        args: of the command; `source` is "all" for several experiments.
        folder: of the call.
        reports: `experiment` documents as plain data.
        missed: (sentence, exit status) of what was not run.
    """
    skipped = [line for line, _ in missed]
    if args.json and len(reports) == 1 and not skipped:
        console.document("experiment", reports[0])
    elif args.json:
        console.document("experiments", {"experiments": list(reports),
                                         "skipped": list(skipped)})
    else:
        lines = [f"not run: {printable(line)}" for line in skipped]
        console.answer("\n".join([experiment_text.text(reports), *lines]))
    store.write_all(folder, reports, skipped)
    (console.note if args.json else console.answer)(page(folder, skipped))
    found = {_STATUS[report["verdict"]] for report in reports}
    lacking = {status for _, status in missed}
    if args.source == "all" and reports:
        # The verdicts are what the call is to show, and what this machine lacks is a
        # named skip; neither is a failure of it.
        found.clear()
        lacking.discard(exit_codes.UNAVAILABLE)
    found |= lacking
    return next((status for status in _WORST if status in found), exit_codes.OK)


def page(folder: RunFolder, skipped: Sequence[str]) -> str:
    """Write report.html of all that the folder holds, as `report` would.

    Returns:
        where it is, or why there is none.
    """
    try:
        text = experiment_html.render(store.read_all(folder.path), skipped)
    except HarnessError as error:
        return f"no {REPORT_FILE}: {error}\nfolder: {folder.path}"
    return f"report: {folder.write(REPORT_FILE, text)}"
