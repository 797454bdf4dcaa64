"""`flags`: parse, check and explain an AUTOFUSE_FLAGS or AUTOFUSE_DFX_FLAGS string."""

from __future__ import annotations

import argparse

from ge_harness.cli import console, exit_codes
from ge_harness.report import flags_text
from ge_harness.switches.autofuse_files import with_skip_file
from ge_harness.switches.autofuse_flags import parse_flags
from ge_harness.switches.autofuse_keys import CHIPS, DFX_FLAGS, FLAGS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("string", metavar="STRING",
                        help="the value of the variable, taken as it is")
    parser.add_argument("--dfx", action="store_true",
                        help=f"STRING is {DFX_FLAGS}, not {FLAGS}")
    parser.add_argument("--chip", type=str.lower, choices=CHIPS, metavar="CHIP",
                        help="check against one chip: " + ", ".join(CHIPS))
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Explain the string; 2 when it would not do what it says."""
    report = with_skip_file(parse_flags(
        args.string, DFX_FLAGS if args.dfx else FLAGS, args.chip or ""))
    if args.json:
        console.document("flags", report)
    else:
        console.answer(flags_text.describe(report))
    return exit_codes.OK if report.works else exit_codes.USAGE
