"""The options of `bisect`, and what they mean as a record."""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from ge_harness.bisect import choices, driver
from ge_harness.cli import run_arguments
from ge_harness.errors import UsageError
from graphs.source import resolve

# What belongs to the search and not to the runs it consists of.
_OWN = ("--granularity", "--goal", "--max-runs", "--error-rate", "--pass", "--command",
        "--out", "--resume", "--backend", "--standard", "--json", "--verbosity")
_BARE = ("--json",)
# What belongs to the harness' own runs: a command of the user's would not notice it.
_OF_RUNS = ("goal", "standard", "baseline", "dtype", "variant", "shape", "size", "seed",
            "sets", "repeat", "threads", "inputs", "fetch", "feed", "signature",
            "emulator_param", "ensemble", "grappler", "data_dump")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("source", metavar="SUBGRAPH|FILE", nargs="?", default="",
                        help="as for run; not needed with --command")
    run_arguments.add_options(parser)
    add = parser.add_argument
    add("--granularity", choices=choices.GRANULARITIES, default="pass",
        help="switches of passes, or operators that AutoFuse leaves alone")
    add("--goal", default="bits", metavar="GOAL",
        help="bits, ulp:N, standard:NAME, or no-worse than the base line against "
        "float64")
    add("--max-runs", type=int, default=0, metavar="N",
        help="at most N runs; the best set so far is told as not proved")
    add("--pass", dest="passes", action="append", default=[], metavar="NAME",
        help="search among these switches only, in this order")
    add("--command", dest="user_command", default="", metavar="CMD",
        help="run this for each trial instead of a subgraph: exit 0 agrees, 1 differs, "
        "else undecided; docs/bisect.md has its variables")
    add("--error-rate", type=float, default=0.0, metavar="P",
        help="chance that one run of an unsteady device or command is wrong; runs are "
        "then repeated until the verdict is sure")


def asked(args: argparse.Namespace) -> driver.Asked:
    """Return what a bisection is asked for.

    Raises:
        UsageError: options that cannot be used, or not together.
    """
    if bool(args.source) == bool(args.user_command):
        raise UsageError("bisect takes a subgraph, or --command=CMD, one of the two")
    if args.max_runs < 0 or not 0 <= args.error_rate < 0.5:
        raise UsageError("expected --max-runs of 0 or more, --error-rate of 0 or more "
                         "and less than 0.5")
    if args.explain or args.collect or args.source == "all":
        raise UsageError("--explain, --collect and 'all' go with run, not bisect")
    if args.source:
        resolve(args.source)
    else:
        _check_command(args)
    chosen = run_arguments.backends(args)
    if len(chosen) != 1:
        raise UsageError("bisect takes one backend")
    backend, reason = chosen[0]
    words = ["python", "-m", "ge_harness"]
    return driver.Asked(
        options=run_arguments.options(args, args.source, backend), goal=args.goal,
        granularity=args.granularity, max_runs=args.max_runs, wrong=args.error_rate,
        passes=tuple(args.passes), command=args.user_command, environ=dict(os.environ),
        reason=reason,
        words=(*words, "run", args.source, f"--backend={backend}",
               *_given(args, _OWN)),
        repeat_command=" ".join(shlex.quote(word) for word in (
            *words, "bisect", *([args.source] if args.source else []),
            f"--backend={backend}",
            *_given(args, ("--out", "--resume", "--backend", "--json")))))


def _check_command(args: argparse.Namespace) -> None:
    """Refuse what would do nothing with a command; it rules by its exit status."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    usual = parser.parse_args([])
    given = [name for name in _OF_RUNS if getattr(args, name) != getattr(usual, name)]
    if given:
        raise UsageError(f"--{given[0].replace('_', '-')} goes with a subgraph, not "
                         "with --command, whose exit status decides")
    if args.backend in (None, "auto"):
        args.backend = "ge"  # Whose switches: nothing has to run here.


def _given(args: argparse.Namespace, dropped: tuple[str, ...]) -> list[str]:
    """Return the options of the command line, "--name=value", without some."""
    words = sys.argv[sys.argv.index("bisect") + 1:] if "bisect" in sys.argv else []
    found: list[str] = []
    for word in words:
        if word.startswith("--"):
            found.append(word)
        elif found and "=" not in found[-1] and word != args.source and (
                found[-1] not in _BARE):
            found[-1] += f"={word}"
    return [word for word in found if word.split("=")[0] not in dropped]
