"""`experiment`: a claim put to the test, with a verdict that can be defended."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Sequence

from ge_harness.cli import (
    console,
    exit_codes,
    experiment_arguments,
    experiment_options,
    experiment_output,
    run_arguments,
)
from ge_harness.errors import HarnessError, UsageError
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import estimate, store, sweep, training_plan
from ge_harness.experiments.bench import Bench
from ge_harness.experiments.table import EXPERIMENTS
from ge_harness.records import serialize
from graphs.errors import GraphError

_ALL = ("A", "C1", "C2", "C3", "D", "B", "E")
add_arguments = experiment_arguments.add_arguments


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


def _run_all(args: argparse.Namespace, plan: list[tuple[str, str, str]],
             folder: RunFolder
             ) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
    progress = console.Progress(len(plan))
    reports: list[dict[str, Any]] = []
    skipped: list[tuple[str, int]] = []
    try:
        for name, backend, reason in plan:
            try:
                options = experiment_arguments.options(args, name, backend)
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
            command = experiment_arguments.command(options)
            report = store.with_call(report, reason, command)
            store.write(bench.folder, report)
            reports.append(serialize.to_plain(report))
            progress(f"{name} on {backend}: {report.verdict.value}")
    finally:
        progress.close()
        if reports and len(reports) + len(skipped) < len(plan):
            # Cut short, by the user or by a fault: what is finished is not lost.
            console.note(experiment_output.page(folder, [line for line, _ in skipped]))
    return reports, skipped


def _estimate(args: argparse.Namespace, plan: Sequence[tuple[str, str, str]],
              ids: Sequence[str]) -> None:
    others = [name for name in ids if name != "E"]
    if others:
        console.note(estimate.paper(others, args.dtype or "float16"))
    runs = [experiment_arguments.options(args, name, backend)
            for name, backend, _ in plan if name == "E"]
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
