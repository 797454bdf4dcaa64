"""`bisect`: the smallest set of switches that restores agreement."""

from __future__ import annotations

import argparse

from ge_harness.bisect import driver
from ge_harness.bisect.trials import ANSWER_FILE
from ge_harness.cli import bisect_arguments, console, exit_codes
from ge_harness.errors import HarnessError, UnavailableError
from ge_harness.experiment.store import REPORT_FILE, RunFolder
from ge_harness.records import serialize
from ge_harness.records.bisection import BisectRun
from ge_harness.report import bisect_html, bisect_text
from graphs.errors import GraphError

_STATUS = {
    "proved": exit_codes.OK, "agrees_already": exit_codes.OK,
    "nothing_restores": exit_codes.DIFFERS, "not_proved": exit_codes.UNDECIDED,
    "undecided": exit_codes.UNDECIDED,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    bisect_arguments.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Search and print what was found."""
    asked = bisect_arguments.asked(args)
    folder = (RunFolder.resume(args.resume) if args.resume else
              RunFolder.create(args.out, "bisect", args.source or "command"))
    try:
        document = serialize.to_plain(driver.bisect(asked, folder, _tell))
    except (HarnessError, GraphError):
        if not args.resume:
            folder.drop_if_empty()
        raise
    status = _STATUS[document["verdict"]]
    where = f"folder: {folder.path}"
    try:
        folder.write(ANSWER_FILE, serialize.dumps("bisect", document))
        where = f"report: {folder.write(REPORT_FILE, bisect_html.render([document]))}"
    except HarnessError as error:
        console.note(str(error))
        if not isinstance(error, UnavailableError):
            status = max(status, error.exit_code)
    if args.json:
        console.document("bisect", document)
    else:
        console.answer(f"{bisect_text.bisect_text(document)}\n{where}")
    return status


def _tell(trial: BisectRun) -> None:
    console.note(bisect_text.line(serialize.to_plain(trial)))
