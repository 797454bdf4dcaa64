"""What the files that AUTOFUSE_DFX_FLAGS names really hold (reads files)."""

from __future__ import annotations

from dataclasses import replace

from ge_harness.errors import UsageError
from ge_harness.records.flags import FlagIssue, FlagsReport
from ge_harness.switches.autofuse_keys import SKIP_FILE
from ge_harness.switches.skip_node_names import read_skip_file


def with_skip_file(report: FlagsReport) -> FlagsReport:
    """Return the report with what is right and wrong with the file it names.

    A file that is not here is a warning only: the string may be meant for another
    machine.
    """
    path = next((item.effective for item in report.items
                 if item.key == SKIP_FILE and item.status != "lost"), "")
    if not path or "\0" in path:
        return report
    try:
        skip, warnings = read_skip_file(path)
    except (UsageError, ValueError) as error:
        issue = FlagIssue("warning", "skip_file", str(error))
        return replace(report, issues=(*report.issues, issue))
    found = [FlagIssue("warning", "skip_file", f"{path}: {text}") for text in warnings]
    for what, names in (("operator types", skip.types), ("operators", skip.names)):
        if names:
            shown = ", ".join(names[:20]) + (" ..." if len(names) > 20 else "")
            found.append(FlagIssue(
                "note", "skip_file",
                f"{path} leaves out {len(names)} {what}: {shown}"))
    return replace(report, issues=(*report.issues, *found))
