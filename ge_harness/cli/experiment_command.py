"""`experiment`: a claim put to the test, with a verdict that can be defended."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ge_harness.cli import console, exit_codes, run_arguments
from ge_harness.errors import HarnessError, UsageError
from ge_harness.experiment.store import REPORT_FILE, RunFolder
from ge_harness.experiments import estimate, store, sweep
from ge_harness.experiments.bench import Bench
from ge_harness.experiments.table import EXPERIMENTS
from ge_harness.records import serialize
from ge_harness.report import experiment_html, experiment_text
from ge_harness.report.plain import printable
from graphs.errors import GraphError

_STATUS = {"holds": exit_codes.OK, "refuted": exit_codes.DIFFERS,
           "inconclusive": exit_codes.UNDECIDED, "not applicable": exit_codes.OK}
_ALL = ("A", "C1", "C2", "C3", "D", "B")
_PLANNED = "E"
_WORST = (exit_codes.USAGE, exit_codes.UNAVAILABLE, exit_codes.UNDECIDED,
          exit_codes.DIFFERS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("source", metavar="ID", nargs="?", default="all",
                        choices=(*EXPERIMENTS.names(), "all"),
                        help="A, B, C1, C2, C3, D, E or all ('list experiments')")
    run_arguments.add_options(parser)
    parser.add_argument("--subgraph", action="append", default=[], metavar="NAME|FILE",
                        help="run this instead of the experiment's own subgraphs "
                        "(A, B), or beside them (D)")
    parser.add_argument("--budget", type=int, default=0, metavar="N",
                        help="most trials of B's search for counter-examples")
    parser.add_argument("--corpus", default="", metavar="FILE",
                        help="text that E trains on")
    parser.add_argument("--plan", default="", metavar="FILE",
                        help="a grid of experiments, as JSON")
    parser.add_argument("--yes", action="store_true",
                        help="go on after the estimate of --size=paper")
    parser.set_defaults(sets=0, repeat=0)


def run(args: argparse.Namespace) -> int:
    """Run what was asked for and print it."""
    if args.plan:
        return _sweep(args)
    if args.source == _PLANNED:
        EXPERIMENTS.load(_PLANNED)
    ids = _ALL if args.source == "all" else (args.source,)
    plan = [(name, backend, reason) for backend, reason in _backends(args)
            for name in ids]
    if args.size == "paper":
        console.note(estimate.paper(ids, args.dtype or "float16"))
        if not args.yes:
            raise UsageError("--size=paper: repeat with --yes to go on")
    folder = (RunFolder.resume(args.resume) if args.resume
              else RunFolder.create(args.out, "experiment", args.source))
    reports, skipped = _run_all(args, plan, folder)
    return _answer(args, folder, reports, skipped)


def _backends(args: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    source, args.source = args.source, ""
    try:
        return run_arguments.backends(args)
    finally:
        args.source = source


def _run_all(args: argparse.Namespace, plan: list[tuple[str, str, str]],
             folder: RunFolder) -> tuple[list[dict[str, Any]], list[str]]:
    progress = console.Progress(len(plan))
    reports: list[dict[str, Any]] = []
    skipped: list[str] = []
    if args.source == "all":
        skipped.append("E: not built yet in this version of ge_harness")
    try:
        for name, backend, reason in plan:
            try:
                options = run_arguments.options(args, name, backend)
                bench = Bench(options, store.inner(folder, name),
                              lambda text: progress(text, 0),
                              subgraphs=args.subgraph, budget=args.budget)
                bench.probe()
                report = EXPERIMENTS.load(name)(bench)
            except (HarnessError, GraphError) as error:
                if len(plan) == 1:
                    raise
                skipped.append(f"{name} on {backend}: {error}")
                continue
            report = store.with_call(report, reason, _command(name, backend))
            store.write(bench.folder, report)
            reports.append(serialize.to_plain(report))
            progress(f"{name} on {backend}: {report.verdict.value}")
    finally:
        progress.close()
    return reports, skipped


def _answer(args: argparse.Namespace, folder: RunFolder,
            reports: list[dict[str, Any]], skipped: list[str]) -> int:
    if args.json and len(reports) == 1 and not skipped:
        console.document("experiment", reports[0])
    elif args.json:
        console.document("experiments", {"experiments": reports, "skipped": skipped})
    else:
        lines = [f"not run: {printable(line)}" for line in skipped]
        console.answer("\n".join([experiment_text.text(reports), *lines]))
    where = _page(folder, reports, skipped)
    (console.note if args.json else console.answer)(where)
    if args.source == "all":
        # The verdicts are what the call is to show; they are no failure of it.
        return exit_codes.OK if reports else exit_codes.UNAVAILABLE
    found = {_STATUS[report["verdict"]] for report in reports}
    if not reports:
        found.add(exit_codes.UNAVAILABLE)
    return next((status for status in _WORST if status in found), exit_codes.OK)


def _page(folder: RunFolder, reports: list[dict[str, Any]], skipped: list[str]) -> str:
    try:
        page = experiment_html.render(reports, skipped)
    except HarnessError as error:
        return f"no report.html: {error}\nfolder: {folder.path}"
    return f"report: {folder.write(REPORT_FILE, page)}"


def _sweep(args: argparse.Namespace) -> int:
    folder = (RunFolder.resume(args.resume) if args.resume
              else RunFolder.create(args.out, "experiment", "sweep"))
    cells = sweep.read_plan(args.plan)
    progress = console.Progress(len(cells))
    try:
        reports, skipped = sweep.run(cells, folder, progress)
    finally:
        progress.close()
    args.source = "all"
    return _answer(args, folder, reports, skipped)


def _command(name: str, backend: str) -> str:
    given = sys.argv[1:]
    words = [word for word in given if word.startswith("--") and word.split("=")[0] not
             in ("--out", "--resume", "--backend", "--json") and "=" in word]
    return " ".join(["python", "-m", "ge_harness", "experiment", name,
                     f"--backend={backend}", *words])
