"""The arguments of `experiment`, and what they come to for one part of a call."""

from __future__ import annotations

import argparse
import sys

from ge_harness.cli import run_arguments
from ge_harness.experiment.options import RunOptions
from ge_harness.experiments import training_plan
from ge_harness.experiments.table import EXPERIMENTS

_FUSE_ALL = ("--enable_autofuse=true;--autofuse_enable_pass=reduce,concat,slice,gather,"
             "transpose,split")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `experiment`."""
    parser.add_argument("source", metavar="ID", nargs="?",
                        choices=(*EXPERIMENTS.names(), "all"),
                        help="A, B, C1, C2, C3, D, E or all ('list experiments')")
    run_arguments.add_options(parser)
    parser.add_argument("--subgraph", action="append", default=[], metavar="NAME|FILE",
                        help="run this instead of the experiment's own subgraphs "
                        "(A, B), or beside them (D)")
    parser.add_argument("--budget", type=run_arguments.positive, default=0, metavar="N",
                        help="most trials of B's search for counter-examples")
    parser.add_argument("--corpus", default="", metavar="FILE",
                        help="text that E trains on (default: source of the standard "
                        "library)")
    parser.add_argument("--steps", type=run_arguments.positive, default=0, metavar="N",
                        help="steps of E (default 1000, 200 in 'all'); its model: "
                        "--variant=layers=N, width, heads, sequence, batch")
    parser.add_argument("--plan", default="", metavar="FILE",
                        help="a grid of experiments, as JSON")
    parser.add_argument("--yes", action="store_true",
                        help="go on after the estimate of --size=paper")
    parser.set_defaults(sets=0, repeat=0)


def options(args: argparse.Namespace, name: str, backend: str) -> RunOptions:
    """Return the options of one experiment on one backend.

    Raises:
        UsageError: one that the experiment does not take.
    """
    if name != "E":
        return run_arguments.options(_fusing(args, backend), name, backend)
    asked = run_arguments.options(args, name, backend)
    return training_plan.asked(asked, args.corpus, args.steps,
                               in_all=args.source == "all")


def _fusing(args: argparse.Namespace, backend: str) -> argparse.Namespace:
    """Return arguments that have GE fuse where nothing was asked of it.

    AutoFuse is off unless its flags say otherwise, so an experiment on fusion would
    measure nothing.
    """
    asked = (args.opt_level, args.preset, args.autofuse_flags)
    if backend not in ("ge", "emulator") or any(asked):
        return args
    return argparse.Namespace(
        **{**vars(args), "opt_level": "O3", "autofuse_flags": _FUSE_ALL})


def command(asked: RunOptions) -> str:
    """Return the command line that repeats one experiment on one backend."""
    given = sys.argv[1:]
    words = [word for word in given if word.startswith("--") and word.split("=")[0] not
             in ("--out", "--resume", "--backend", "--json") and "=" in word]
    steps = dict(asked.variants).get("steps", "") if asked.source == "E" else ""
    if steps and not any(word.endswith(f"steps={steps}") for word in words):
        words.append(f"--steps={steps}")
    return " ".join(["python", "-m", "ge_harness", "experiment", asked.source,
                     f"--backend={asked.backend}", *words])
