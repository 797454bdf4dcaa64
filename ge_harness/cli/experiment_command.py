"""`experiment`: a claim put to the test, with a verdict that can be defended."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Sequence

from ge_harness.cli import (
    console,
    exit_codes,
    experiment_options,
    experiment_output,
    run_arguments,
)
from ge_harness.errors import HarnessError, UsageError
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import estimate, store, sweep, training_plan
from ge_harness.experiments.bench import Bench
from ge_harness.experiments.table import EXPERIMENTS
from ge_harness.records import serialize
from graphs.errors import GraphError

_ALL = ("A", "C1", "C2", "C3", "D", "B", "E")
_FUSE_ALL = ("--enable_autofuse=true;--autofuse_enable_pass=reduce,concat,slice,gather,"
             "transpose,split")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
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


def run(args: argparse.Namespace) -> int:
    """Run what was asked for and print it."""
    if args.plan:
        return _sweep(args)
    args.source = args.source or "all"
    ids = _ALL if args.source == "all" else (args.source,)
    experiment_options.check(args, ids)
    plan = [(name, backend, reason) for backend, reason in _backends(args)
            for name in ids]
    if args.size == "paper":
        _estimate(args, plan, ids)
        if not args.yes:
            raise UsageError("--size=paper: repeat with --yes to go on")
    folder = (RunFolder.resume(args.resume) if args.resume
              else RunFolder.create(args.out, "experiment", args.source))
    reports, skipped = _run_all(args, plan, folder)
    return experiment_output.answer(args, folder, reports, skipped)


def _backends(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    source, args.source = args.source, ""
    try:
        return run_arguments.backends(args)
    finally:
        args.source = source


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


def _run_all(args: argparse.Namespace, plan: list[tuple[str, str, str]],
             folder: RunFolder
             ) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
    progress = console.Progress(len(plan))
    reports: list[dict[str, Any]] = []
    skipped: list[tuple[str, int]] = []
    try:
        for name, backend, reason in plan:
            try:
                options = _options(args, name, backend)
                bench = Bench(options, store.inner(folder, name),
                              lambda text: progress(text, 0),
                              subgraphs=args.subgraph, budget=args.budget)
                bench.probe()
                report = EXPERIMENTS.load(name)(bench)
            except (HarnessError, GraphError) as error:
                if len(plan) == 1:
                    if not args.resume:
                        folder.drop_if_empty()
                    raise
                skipped.append((f"{name} on {backend}: {error}",
                                getattr(error, "exit_code", exit_codes.USAGE)))
                continue
            report = store.with_call(report, reason, _command(options))
            store.write(bench.folder, report)
            reports.append(serialize.to_plain(report))
            progress(f"{name} on {backend}: {report.verdict.value}")
    finally:
        progress.close()
        if reports and len(reports) + len(skipped) < len(plan):
            # Cut short, by the user or by a fault: what is finished is not lost.
            console.note(experiment_output.page(folder, [line for line, _ in skipped]))
    return reports, skipped


def _options(args: argparse.Namespace, name: str, backend: str) -> RunOptions:
    if name != "E":
        return run_arguments.options(_fusing(args, backend), name, backend)
    options = run_arguments.options(args, name, backend)
    return training_plan.asked(options, args.corpus, args.steps,
                               in_all=args.source == "all")


def _estimate(args: argparse.Namespace, plan: Sequence[tuple[str, str, str]],
              ids: Sequence[str]) -> None:
    others = [name for name in ids if name != "E"]
    if others:
        console.note(estimate.paper(others, args.dtype or "float16"))
    runs = [_options(args, name, backend) for name, backend, _ in plan if name == "E"]
    if runs:
        console.note("--size=paper, estimated: " + training_plan.paper_estimate(
            runs[0], (args.sets or training_plan.SEEDS) + len(runs)))


def _sweep(args: argparse.Namespace) -> int:
    experiment_options.check_plan(args, sys.argv[1:])
    cells = sweep.read_plan(args.plan)
    folder = (RunFolder.resume(args.resume) if args.resume
              else RunFolder.create(args.out, "experiment", "sweep"))
    progress = console.Progress(len(cells))
    try:
        reports, skipped = sweep.run(cells, folder, progress)
    finally:
        progress.close()
    args.source = "all"
    return experiment_output.answer(args, folder, reports, [
        (line, exit_codes.UNDECIDED) for line in skipped])


def _command(options: RunOptions) -> str:
    given = sys.argv[1:]
    words = [word for word in given if word.startswith("--") and word.split("=")[0] not
             in ("--out", "--resume", "--backend", "--json") and "=" in word]
    steps = dict(options.variants).get("steps", "") if options.source == "E" else ""
    if steps and not any(word.endswith(f"steps={steps}") for word in words):
        words.append(f"--steps={steps}")
    return " ".join(["python", "-m", "ge_harness", "experiment", options.source,
                     f"--backend={options.backend}", *words])
