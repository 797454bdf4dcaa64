"""A bisection from what was asked for to its record."""

from __future__ import annotations

import dataclasses
import platform
import shlex
from dataclasses import dataclass, field
from typing import Callable, Mapping, Sequence

import numpy as np

from ge_harness.bisect import answer, choices, files
from ge_harness.bisect.command import SCRIPT, CommandOracle
from ge_harness.bisect.goal import parse_goal
from ge_harness.bisect.knobs import Knob, Pool
from ge_harness.bisect.oracle import BackendOracle
from ge_harness.bisect.reproduce import run_command
from ge_harness.bisect.search import search
from ge_harness.bisect.trials import DIR, Answer, Trials
from ge_harness.errors import UsageError
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.records.bisection import (
    BisectFiles,
    Bisection,
    BisectRun,
    BisectVerdict,
    Reproduction,
)
from ge_harness.records.report import BackendLine
from ge_harness.records.search import Outcome, Plan, Status, Trial
from ge_harness.records.switch import Switch
from ge_harness.version import VERSION

COMMAND_GOAL = "command"
SWITCHES_DIR = "switches"
# Sets drawn where nothing else helps: so many for each switch, within these limits.
_DRAWN_EACH = 4
_LEAST_DRAWN = 40
_MOST_DRAWN = 200


@dataclass(frozen=True)
class Asked:
    """What a bisection was asked for.

    Attributes:
        options: subgraph, backend, switches to begin with; `source` is "" with a
            command.
        goal: when the results count as restored.
        granularity: "pass" or "op".
        max_runs: most runs, 0 for no limit.
        wrong: chance that one answer of a run is wrong.
        passes: names of the switches to search, () to choose them.
        command: the user's command, "" for runs of the harness.
        environ: variables of that command.
        reason: why this backend.
        words: of the `run` command with nothing more switched off.
        repeat_command: the command that repeats the bisection.
    """

    options: RunOptions
    goal: str = "bits"
    granularity: str = "pass"
    max_runs: int = 0
    wrong: float = 0.0
    passes: tuple[str, ...] = ()
    command: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    words: tuple[str, ...] = ()
    repeat_command: str = ""


def bisect(asked: Asked, folder: RunFolder, tell: Callable[[BisectRun], None]
           ) -> Bisection:
    """Find the smallest set of switches that reaches the goal.

    Args:
        asked: what to search.
        folder: where everything goes; trials that are finished there are not run again.
        tell: called with each trial as it ends.

    Raises:
        UsageError: the subgraph, an option or the command cannot be used.
        UnavailableError: the backend, or the granularity, is not available here.
    """
    if asked.command:
        return _ByCommand(asked, folder, tell).bisection()
    return _ByRuns(asked, folder, tell).bisection()


class _Bisect:
    """What both kinds of bisection share."""

    goal = COMMAND_GOAL
    baseline = ""
    variant = ""

    def __init__(self, asked: Asked, folder: RunFolder,
                 tell: Callable[[BisectRun], None]) -> None:
        self.asked = asked
        self.folder = folder
        self.knobs: dict[str, Knob] = {}
        self.notes: list[str] = []
        self.pool = Pool(())
        # Before the folder takes the question: a wrong name must not end up there.
        self.named = choices.named(asked.options.backend, asked.passes, self._refused)
        options = dataclasses.replace(
            asked.options, timeout_s=0.0, asked=(), standard="")
        self.trials = Trials(folder, self._trial, {
            "goal": asked.goal if not asked.command else COMMAND_GOAL,
            "granularity": asked.granularity, "command": asked.command,
            "passes": asked.passes, "options": options}, tell)

    def _refused(self, switch: Switch) -> str:
        options = self.asked.options
        return choices.refused(options.backend, options.setting, switch, self._chip())

    def _switches(self, names: Sequence[str] | frozenset[str]) -> tuple[Switch, ...]:
        rank = {name: place for place, name in enumerate(self.knobs)}
        return tuple(self.knobs[name].switch
                     for name in sorted(names, key=rank.__getitem__))

    def _trial(self, number: int, off: frozenset[str]) -> Answer:
        return self.run(number, self._switches(off))

    def run(self, number: int, off: tuple[Switch, ...]) -> Answer:
        """Run one trial."""
        raise NotImplementedError

    def choose(self, first: Answer) -> Pool:
        """Return the switches to search."""
        raise NotImplementedError

    def more(self) -> Pool | None:
        """Return the switches again after a search without result, None for no more."""
        return None

    def backend_line(self) -> BackendLine:
        """Return the backend as the report names it."""
        raise NotImplementedError

    def is_hopeless(self) -> bool:
        """Say that no set can help, so that drawing some is a waste."""
        return False

    def searched(self) -> Outcome:
        """Search; again with switches that came to light where nothing was found."""
        first = self.trials.first()
        if first.agrees is False or self.asked.wrong:
            self._take(self.choose(first))
        outcome = self._search(None, 0)
        while self._may_go_on(outcome) and self._has_more():
            outcome = self._search(outcome, 0)
        if self._may_go_on(outcome) and not self.is_hopeless():
            outcome = self._search(outcome, max(_LEAST_DRAWN, min(
                _MOST_DRAWN, _DRAWN_EACH * len(self.knobs))))
        return outcome

    def _may_go_on(self, outcome: Outcome) -> bool:
        limit = self.asked.max_runs
        return outcome.status in (Status.NOTHING_RESTORES, Status.UNDECIDED) and (
            outcome.trials[0].agrees is False
            and not (limit and _runs(outcome.trials) >= limit))

    def _has_more(self) -> bool:
        """Take further switches where some came to light."""
        before = set(self.knobs)
        pool = self.more()
        if pool is None or {knob.key for knob in pool.knobs} <= before:
            return False
        self._take(pool)
        return True

    def _take(self, pool: Pool) -> None:
        self.pool = pool
        old = self.knobs
        self.knobs = {knob.key: knob for knob in pool.knobs}
        self.knobs.update({name: knob for name, knob in old.items()
                           if name not in self.knobs})

    def _search(self, before: Outcome | None, explore: int) -> Outcome:
        """Search, going on from an outcome without result."""
        done = before.trials if before is not None else ()
        limit = self.asked.max_runs
        found = search(tuple(self.knobs), self.trials, Plan(
            rungs=self.pool.rungs, wrong=self.asked.wrong, explore=explore,
            limit=limit - _runs(done) if limit else 0, seed=self.asked.options.seed),
            {frozenset(trial.off): trial.agrees for trial in done})
        return dataclasses.replace(
            found, trials=done + found.trials,
            search_trials=len(done) + found.search_trials)

    def bisection(self) -> Bisection:
        """Search and return the record."""
        outcome = self.searched()
        minimal = self._switches(outcome.minimal)
        told = answer.tell(outcome, self.knobs, self.pool, self.trials)
        found = told.verdict in (BisectVerdict.PROVED, BisectVerdict.NOT_PROVED)
        written = BisectFiles()
        artifacts = {"folder": str(self.folder.path), "trials": DIR}
        if found:
            written = files.write(
                self.asked.options.backend, self.asked.options.setting, minimal,
                self.folder.path / SWITCHES_DIR, self._chip()).files
            artifacts["switches"] = SWITCHES_DIR
        return Bisection(
            goal=self.goal, granularity=self.asked.granularity,
            subgraph=self.asked.options.source, variant=self.variant,
            backend=self.backend_line(), baseline=self.baseline, verdict=told.verdict,
            why=told.why, runs=self.trials.runs(tuple(self.knobs)),
            minimal=told.minimal, alternatives=told.alternatives, proof=told.proof,
            files=written, reproduce=self._flips(outcome) if found else (),
            set_aside=outcome.set_aside, left_out=dict(self.pool.left_out),
            switch_count=len(self.knobs),
            notes=(*told.notes, *self.hints(told.verdict)),
            seed=self.asked.options.seed, command=self.asked.repeat_command,
            versions={"ge_harness": VERSION, "python": platform.python_version(),
                      "numpy": np.__version__}, artifacts=artifacts)

    def hints(self, verdict: BisectVerdict) -> tuple[str, ...]:
        """Return what else a reader should know."""
        raise NotImplementedError

    def _chip(self) -> str:
        return dict(self.asked.options.backend_options).get("chip", "")

    def _flips(self, outcome: Outcome) -> tuple[Reproduction, ...]:
        """Return the commands for the set, and with each member left on."""
        found = [Reproduction(self.command(outcome.minimal), True,
                              "the set is off")]
        for name, agrees in outcome.needed:
            rest = tuple(each for each in outcome.minimal if each != name)
            found.append(Reproduction(self.command(rest), agrees, f"{name} is left on"))
        return tuple(found)

    def command(self, names: Sequence[str]) -> str:
        """Return the command that repeats one trial."""
        raise NotImplementedError


def _runs(trials: Sequence[Trial]) -> int:
    return sum(trial.probes for trial in trials)


class _ByRuns(_Bisect):
    """Trials are runs of the harness."""

    def __init__(self, asked: Asked, folder: RunFolder,
                 tell: Callable[[BisectRun], None]) -> None:
        goal = parse_goal(asked.goal)
        choices.check_granularity(asked.granularity, asked.options.backend)
        super().__init__(asked, folder, tell)
        self.goal = goal.text
        self._goal = goal
        self._oracle = BackendOracle(asked.options, goal, folder)
        self.baseline = self._oracle.baseline
        self.variant = self._oracle.case.variant

    def run(self, number: int, off: tuple[Switch, ...]) -> Answer:
        why = self._oracle.unusable()
        return Answer(None, why) if why else self._oracle.run(number, off)

    def choose(self, first: Answer) -> Pool:
        if self.asked.passes:
            self._oracle.check_operators(self.named, self.folder.path / first.folder)
            return self.named
        if self.asked.granularity == "op":
            return self._oracle.nodes(self.folder.path / first.folder)
        return self._oracle.passes(self.trials.active())

    def more(self) -> Pool | None:
        if self.asked.passes or self.asked.granularity == "op":
            return None
        return self._oracle.passes(self.trials.active())

    def backend_line(self) -> BackendLine:
        label, emulated = next(
            ((answer.label, answer.emulated) for _, answer in self.trials.answers
             if answer.label), self._oracle.backend.describe(None))
        reason = "; ".join(part for part in (self.asked.reason, self._oracle.found)
                           if part)
        return BackendLine(self.asked.options.backend, label, reason, emulated)

    def is_hopeless(self) -> bool:
        return any(answer.as_nodewise for _, answer in self.trials.answers)

    def hints(self, verdict: BisectVerdict) -> tuple[str, ...]:
        found: tuple[str, ...] = self._oracle.warnings
        if verdict is BisectVerdict.NOTHING_RESTORES and self.is_hopeless():
            found += ("with switches off the candidate has the bits of the nodewise "
                      "base line: what is left comes from the compiler's kernels for "
                      "single operators; --baseline=nodewise asks for the passes "
                      "alone",)
        if self._goal.needs_reference and verdict is BisectVerdict.PROVED:
            found += ("the commands of the flip rule by bits; their table of errors "
                      "against float64 shows this goal",)
        return found

    def command(self, names: Sequence[str]) -> str:
        words = list(self.asked.words)
        if self._goal.standard not in ("", "bits"):
            words.append(f"--standard={self._goal.standard}")
        return run_command(words, self.asked.options.setting, self._switches(names))


class _ByCommand(_Bisect):
    """Trials are runs of a user's command."""

    def __init__(self, asked: Asked, folder: RunFolder,
                 tell: Callable[[BisectRun], None]) -> None:
        super().__init__(asked, folder, tell)
        self._oracle = CommandOracle(asked.command, asked.environ, folder.path / DIR,
                                     asked.options.timeout_s)

    def run(self, number: int, off: tuple[Switch, ...]) -> Answer:
        options = self.asked.options
        return self._oracle.run(number, options.backend, options.setting, off)

    def choose(self, first: Answer) -> Pool:
        options = self.asked.options
        if self.asked.passes:
            return self.named
        if self.asked.granularity == "op":
            raise UsageError("--granularity=op with --command: nobody knows the "
                             "operators of your model; name them with "
                             "--pass=node:NAME, once each")
        return choices.of_catalogue(options.backend, options.setting, self._refused)

    def hints(self, verdict: BisectVerdict) -> tuple[str, ...]:
        options = self.asked.options
        return (*choices.warnings(options.backend, options.setting, self._chip()),
                *choices.unlisted(self.knobs.values()))

    def backend_line(self) -> BackendLine:
        name = self.asked.options.backend
        return BackendLine(name, f"your own command, with switches of {name}",
                           self.asked.reason)

    def command(self, names: Sequence[str]) -> str:
        for run, _ in self.trials.answers:
            if frozenset(run.switches) == frozenset(names):
                script = self.folder.path / run.folder / SCRIPT
                return f"sh {shlex.quote(str(script))}"
        return ""
