"""The trials of a bisection: run, remembered on disk, and not run again.

A trial is a file `trials/NNNN.json` in the folder of the bisection, written when the
trial has ended. A bisection that is resumed takes what is there and runs the rest; an
answer that is asked for a second time (a doubtful oracle) is a trial of its own.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, FrozenSet, Mapping, Sequence

from ge_harness.errors import UsageError
from ge_harness.experiment.store import RunFolder, read_document
from ge_harness.records import serialize
from ge_harness.records.bisection import BisectRun
from ge_harness.records.switch import ActivePass

ASKED_FILE = "bisect_asked.json"
ANSWER_FILE = "bisect.json"
DIR = "trials"


@dataclass(frozen=True)
class Answer:
    """What one trial came to.

    Attributes:
        agrees: None where undecided.
        message: why, in one line.
        folder: where its files are, "" for none.
        active: the active passes that were seen.
        as_nodewise: it misses the goal and has the bits of the nodewise base line.
        label: the honest label of its figures, "" where it gave none.
        emulated: they are a model's.
    """

    agrees: bool | None
    message: str = ""
    folder: str = ""
    active: tuple[ActivePass, ...] = ()
    as_nodewise: bool = False
    label: str = ""
    emulated: bool = False


RunTrial = Callable[[int, FrozenSet[str]], Answer]
Tell = Callable[[BisectRun], None]


class Trials:
    """The oracle of a search: runs trials, keeps them, replays what was kept.

    Attributes:
        answers: every trial of this bisection with its answer, in order.
    """

    def __init__(self, folder: RunFolder, run: RunTrial, asked: Mapping[str, Any],
                 tell: Tell) -> None:
        self._folder = folder
        self._run = run
        self._tell = tell
        self._dir = folder.path / DIR
        self._begun: dict[frozenset[str], int] = {}
        self._waiting: list[tuple[BisectRun, Answer]] = []
        self.answers: list[tuple[BisectRun, Answer]] = []
        _claim(folder, asked)
        self._dir.mkdir(exist_ok=True)
        self._kept = [each for each in (
            _read(path) for path in sorted(self._dir.glob("*.json"))) if each]

    def first(self, off: frozenset[str] = frozenset()) -> Answer:
        """Run a trial before the search; the search gets its answer, not another."""
        answer = self._next(off)
        self._waiting.append(answer)
        return answer[1]

    def __call__(self, off: frozenset[str]) -> bool | None:
        """Return what a set of switches comes to."""
        for index, (run, answer) in enumerate(self._waiting):
            if frozenset(run.switches) == off:
                del self._waiting[index]
                return answer.agrees
        return self._next(off)[1].agrees

    def active(self) -> tuple[ActivePass, ...]:
        """Return the passes seen to act in any trial."""
        found = {(each.family, each.name): each for _, answer in self.answers
                 for each in answer.active}
        return tuple(found.values())

    def runs(self, order: Sequence[str]) -> tuple[BisectRun, ...]:
        """Return every trial, its switches in the order given."""
        rank = {name: place for place, name in enumerate(order)}
        return tuple(BisectRun(
            run.number, tuple(sorted(run.switches, key=lambda name: (
                rank.get(name, len(rank)), name))),
            run.agrees, run.message, run.folder, run.duration_s)
            for run, _ in self.answers)

    def _next(self, off: frozenset[str]) -> tuple[BisectRun, Answer]:
        before = self._begun.get(off, 0)
        self._begun[off] = before + 1
        kept = [each for each in self._kept if frozenset(each[0].switches) == off]
        done = kept[before] if before < len(kept) else self._do(off)
        self.answers.append(done)
        self._tell(done[0])
        return done

    def _do(self, off: frozenset[str]) -> tuple[BisectRun, Answer]:
        number = 1 + max([run.number for run, _ in self._kept], default=-1)
        begun = time.monotonic()
        answer = self._run(number, off)
        run = BisectRun(number, tuple(sorted(off)), answer.agrees, answer.message,
                        self._folder.relative(answer.folder) if answer.folder else "",
                        round(time.monotonic() - begun, 3))
        done = (run, answer)
        self._kept.append(done)
        RunFolder(self._dir).write(f"{number:04d}.json", serialize.dumps(
            "trial", {"run": run, "answer": answer}))
        return done


def is_bisection(path: Path) -> bool:
    """Say whether a folder is one of a bisection, finished or not."""
    return any((path / name).is_file() for name in (ASKED_FILE, ANSWER_FILE))


def read_answer(path: Path) -> dict[str, Any]:
    """Return the document of a finished bisection.

    Raises:
        UsageError: there is none, or it is not one of ours.
    """
    file = path / ANSWER_FILE
    if not file.is_file():
        raise UsageError(f"{file}: not there, so this bisection has not ended; bisect "
                         f"--resume={path} with its options goes on with it")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot read a bisection: {error}") from error
    return serialize.loads("bisect", text, file)


def _claim(folder: RunFolder, asked: Mapping[str, Any]) -> None:
    """Say what the trials are of, or check that they are of the same.

    Raises:
        UsageError: the folder holds trials of another question.
    """
    file = folder.path / ASKED_FILE
    plain = serialize.to_plain(dict(asked))
    if not file.exists():
        folder.write(ASKED_FILE, serialize.dumps("bisect_asked", plain))
        return
    before = read_document("bisect_asked", file)
    for name, value in plain.items():
        if before.get(name) != value:
            raise UsageError(
                f"{folder.path}: a bisection with {name} {before.get(name)!r} cannot "
                f"be resumed with {value!r}; give --resume the options it was begun "
                "with, or begin another with --out")


def _read(path: Path) -> tuple[BisectRun, Answer] | None:
    """Return a trial that was kept, None where its file is damaged."""
    try:
        data = serialize.loads("trial", path.read_text(encoding="utf-8"), path)
        run: BisectRun = serialize.build(BisectRun, data.get("run"))
        kept = dict(data.get("answer") or {})
        kept["active"] = [serialize.build(ActivePass, each)
                          for each in kept.get("active", ())]
        answer: Answer = serialize.build(Answer, kept)
    except (OSError, UnicodeDecodeError, UsageError, TypeError, ValueError):
        return None
    return run, dataclasses.replace(answer, folder=run.folder)
