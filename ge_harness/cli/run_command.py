"""`run`: a subgraph op by op and under a compiler, compared and accounted for."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, Iterator

from ge_harness.cli import console, exit_codes, run_arguments
from ge_harness.errors import HarnessError, UnavailableError
from ge_harness.experiment import execute
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import REPORT_FILE, RUN_FILE, RunFolder
from ge_harness.records import serialize
from ge_harness.report import run_html, run_text
from ge_harness.report.plain import printable
from graphs import names
from graphs.errors import GraphError
from graphs.source import resolve

_STATUS = {
    "agrees": exit_codes.OK, "differs": exit_codes.DIFFERS,
    "outcome_mismatch": exit_codes.DIFFERS, "invalid_switch": exit_codes.USAGE,
    "unavailable": exit_codes.UNAVAILABLE, "undecided": exit_codes.UNDECIDED,
    "not_deterministic": exit_codes.UNDECIDED,
}
_PLAIN_WORD = re.compile(r"[\w@%+=:,./-]+")
# The worst of several statuses is the first of these that occurs.
_WORST = (exit_codes.INTERNAL, exit_codes.USAGE, exit_codes.UNAVAILABLE,
          exit_codes.UNDECIDED, exit_codes.DIFFERS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    run_arguments.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Run what was asked for and print it."""
    plan = list(_plan(args))
    folder = (RunFolder.resume(args.resume) if args.resume
              else RunFolder.create(args.out, "run", args.source))
    progress = console.Progress((5 + args.collect) * len(plan))
    documents: list[dict[str, Any]] = []
    skipped: list[tuple[str, int]] = []
    stored = exit_codes.OK
    try:
        for options, reason in plan:
            own = folder if len(plan) == 1 else _inner(folder, options)
            try:
                report = execute.run(options, own, progress, reason=reason,
                                     command=_command(options, args),
                                     say=console.note)
            except (HarnessError, GraphError) as error:
                if len(plan) == 1:
                    if not args.resume:
                        folder.drop_if_empty()
                    raise
                skipped.append((f"{options.source} on {options.backend}: {error}",
                                getattr(error, "exit_code", exit_codes.USAGE)))
                continue
            document = serialize.to_plain(report)
            documents.append(document)
            stored = _store(own, document) or stored
    finally:
        progress.close()
    return max(_answer(args, folder, documents, skipped), stored)


def _store(folder: RunFolder, document: dict[str, Any]) -> int:
    """Write run.json; where that fails, the answer is still to be given."""
    try:
        folder.write(RUN_FILE, serialize.dumps("run", document))
    except HarnessError as error:
        console.note(str(error))
        return error.exit_code
    return exit_codes.OK


def _plan(args: argparse.Namespace) -> Iterator[tuple[RunOptions, str]]:
    sources = names() if args.source == "all" else (args.source,)
    chosen = run_arguments.backends(args)
    if not chosen:
        raise UnavailableError("no compiler backend is usable here; 'doctor' says why")
    for source in sources:
        resolve(source)
        for backend, reason in chosen:
            yield run_arguments.options(args, source, backend), reason


def _inner(folder: RunFolder, options: RunOptions) -> RunFolder:
    name = f"{resolve(options.source).name}-{options.backend}"
    path = folder.path / name
    if (path / "jobs").is_dir():
        return RunFolder.resume(str(path))
    return RunFolder.create(str(path), "run", name)


def _answer(args: argparse.Namespace, folder: RunFolder,
            documents: list[dict[str, Any]], skipped: list[tuple[str, int]]) -> int:
    where = _report(folder, documents, args.source)
    if args.json and len(documents) == 1 and not skipped:
        console.document("run", documents[0])
    elif args.json:
        console.document("runs", {"runs": documents,
                                  "skipped": [line for line, _ in skipped]})
    elif len(documents) == 1 and not skipped:
        console.answer(run_text.run_text(documents[0]) + f"\n{where}")
    else:
        lines = [f"not run: {printable(line)}" for line, _ in skipped]
        console.answer("\n".join([run_text.summary_table(documents), *lines, where]))
    found = {_STATUS[document["verdict"]] for document in documents}
    missed = {status for _, status in skipped}
    if args.source == "all" and documents:
        # Differences between compilers and eager are what the main job is to show, and
        # what this TensorFlow lacks is a named skip.
        found.discard(exit_codes.DIFFERS)
        missed.discard(exit_codes.UNAVAILABLE)
    found |= missed
    return next((status for status in _WORST if status in found), exit_codes.OK)


def _report(folder: RunFolder, documents: list[dict[str, Any]], title: str) -> str:
    if not documents:
        return f"run folder: {folder.path}"
    try:
        page = run_html.render(documents, f"ge_harness run: {title}")
        return f"report: {folder.write(REPORT_FILE, page)}"
    except HarnessError as error:
        return f"no report.html: {error}\nrun folder: {folder.path}"


def _command(options: RunOptions, args: argparse.Namespace) -> str:
    """Return the command line that repeats one run of this call."""
    words = ["python", "-m", "ge_harness", "run", options.source,
             f"--backend={options.backend}"]
    dropped = ("--out", "--resume", "--backend", "--json")
    given = sys.argv[1:]
    skip = False
    for word in given[given.index("run") + 1:] if "run" in given else given:
        if skip or word == args.source:
            skip = False
        elif word.split("=")[0] in dropped:
            skip = "=" not in word and word != "--json"
        else:
            words.append(word)
    return " ".join(_quote(word) for word in words)


def _quote(word: str) -> str:
    if _PLAIN_WORD.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
