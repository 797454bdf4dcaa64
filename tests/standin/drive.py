"""Runs the harness with the stand-in adapter on the worker's path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ge_harness.experiment import inputs as case_inputs
from ge_harness.experiment.options import RunOptions
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import RunFailure, RunRequest
from ge_harness.worker import launch
from graphs.built import BuildOptions

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(__file__).with_name("site")
STACKS = ((1, 15), (2, 6))
"""The TensorFlow series that have an adapter."""


@dataclass(frozen=True)
class Console:
    """What one command did.

    Attributes:
        status: exit status.
        document: run.json, {} where there is none.
        out: stdout and stderr.
        folder: the run's folder.
        journal: events of every process, in order within a process.
    """

    status: int
    document: dict
    out: str
    folder: Path
    journal: list[dict]

    def side(self, name):
        """Return the record of one side."""
        return next(side for side in self.document["sides"] if side["name"] == name)

    def logs(self):
        """Return everything that any worker printed."""
        return "\n".join(path.read_text(errors="replace")
                         for path in sorted(self.folder.rglob("log.txt")))


def console(folder, mode, *words, env=None):
    """Run `ge_harness run WORDS --backend=ge` in a process of its own."""
    journal = folder / "journal"
    journal.mkdir(parents=True)
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(SITE))),
                 "STANDIN_MODE": mode, "STANDIN_JOURNAL": str(journal), **(env or {})}
    done = subprocess.run(
        [sys.executable, "-m", "ge_harness", "run", *words, "--backend=ge",
         f"--out={folder / 'run'}"], cwd=str(ROOT), env=variables, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=400)
    path = folder / "run" / "run.json"
    document = json.loads(path.read_text()) if path.exists() else {}
    return Console(done.returncode, document, done.stdout, folder / "run",
                   read_journal(journal))


def read_journal(folder):
    """Return the events of every process that wrote into a folder."""
    return [dict(json.loads(line), pid=path.stem) for path in sorted(folder.iterdir())
            for line in path.read_text().splitlines()]


def make_case(source, folder, shapes=()):
    """Build a subgraph in a worker that knows nothing of the stand-in."""
    built = launch.build(source, BuildOptions(shapes=shapes), folder)
    assert isinstance(built, BuiltCase), built
    (folder / "inputs").mkdir()
    return case_inputs.make_case(built, RunOptions(source, "ge"), folder / "inputs")


@dataclass(frozen=True)
class Done:
    """What came of one job.

    Attributes:
        result: RunSuccess or RunFailure.
        folder: the job's folder.
        journal: its events.
    """

    result: object
    folder: Path
    journal: list[dict]

    def events(self, name):
        """Return the events of one name."""
        return [event for event in self.journal if event["event"] == name]


class Driver:
    """Launches single jobs with the stand-in on the worker's path."""

    def __init__(self, monkeypatch, folder):
        self._patch = monkeypatch
        self._folder = folder
        self._number = 0
        monkeypatch.syspath_prepend(str(SITE))
        monkeypatch.setenv("PYTHONPATH", str(SITE))
        self._patch.delenv("STANDIN_MODE", raising=False)

    def __call__(self, case, standin="normal", **fields):
        """Launch one request and return what came of it."""
        return self.all([(case, fields)], standin)[0]

    def all(self, asked, standin="normal"):
        """Launch several requests in one call."""
        self._number += 1
        place = self._folder / f"drive{self._number}"
        journal = place / "journal"
        journal.mkdir(parents=True)
        self._patch.setenv("STANDIN_MODE", standin)
        self._patch.setenv("STANDIN_JOURNAL", str(journal))
        requests = [RunRequest(case, **{"backend": "ge", "timeout_s": 120.0, **fields})
                    for case, fields in asked]
        results = launch.launch(requests, place / "jobs")
        events = read_journal(journal)
        return [self._done(result, events, len(results)) for result in results]

    @staticmethod
    def _done(result, events, total):
        if isinstance(result, RunFailure):
            folder = Path(result.log_path).parent if result.log_path else None
        else:
            folder = Path(result.output_paths[0]).parents[1]
        own = events if total == 1 else [
            event for event in events if event["pid"] in {
                each["pid"] for each in events if each["event"] == "snapshot"
                and str(folder) in each["environment"].get("ASCEND_WORK_PATH", "")}]
        return Done(result, folder, own)
