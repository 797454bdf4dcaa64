"""Search for a smallest set of switches that restores agreement. Pure.

The oracle says what a trial with some switches off comes to: True (agrees), False
(differs) or None (undecided: it crashed, or the switches do not go together). The
search holds one set that is known to agree and looks for the shortest beginning of it
that still does; the last switch of that is needed there. Repeated on what stands before
it, that takes about k (log2(n) + 1) trials for k culprits among n. Nothing of it
assumes that one more switch off never hurts: a trial that differs or is undecided only
moves the lower end. Every member of what is found is then left on once, which proves
that none can be spared, whatever the oracle.

Where no beginning agrees, a switch that breaks the trial is set aside, and subsets are
drawn: that finds sets spoiled by a switch whose being off makes a difference itself.
"""

from __future__ import annotations

import itertools
import math
from typing import Callable, FrozenSet, Iterator, Mapping, Optional, Sequence

import numpy as np

from ge_harness.records.search import Names, Outcome, Plan, Status, Trial

Agrees = Callable[[FrozenSet[str]], Optional[bool]]

_DENSITIES = (0.5, 0.75, 0.25, 0.875, 0.125)
_MOST_ALTERNATIVES = 2
# Times the answers to be expected, of an oracle that errs as often as is said.
_PATIENCE = 4


class _LimitError(Exception):
    """No more trials are allowed."""


def search(names: Sequence[str], agrees: Agrees, plan: Plan | None = None,
           known: Mapping[frozenset[str], bool | None] | None = None) -> Outcome:
    """Find a set of switches that restores agreement, none of which can be spared.

    Args:
        names: the switches, the most likely first; none twice.
        agrees: what a trial with these off comes to; asked once a set.
        plan: how to search.
        known: verdicts that need not be asked for; they are not counted.

    Raises:
        ValueError: a name that stands twice, or a chance that is none.
    """
    plan = plan or Plan()
    if len(set(names)) != len(names):
        raise ValueError("a switch stands twice")
    if not 0 <= plan.wrong < 0.5 or not 0 < plan.confidence < 1:
        raise ValueError("expected 0 <= wrong < 0.5 and 0 < confidence < 1")
    run = _Search(tuple(names), agrees, plan)
    run.remember(known or {})
    return run.outcome()


def lower_bound(count: int, size: int) -> int:
    """Return the trials that no search can do without on the average.

    Yes-or-no answers must tell sets of `size` among `count` apart; and the proof takes
    one trial of the set and one for each member.
    """
    if not size or count < size:
        return 1
    ways = 1
    for step in range(size):
        ways = ways * (count - step) // (step + 1)
    return max(size + 1, math.ceil(math.log2(ways)))


def lead_needed(wrong: float, confidence: float, decisions: int) -> int:
    """Return by how much an answer must lead to be taken.

    With a lead of t the chance of a wrong verdict is 1 / (1 + ((1 - wrong) / wrong)^t);
    the decisions of the search share what confidence leaves.
    Source: Wald's sequential probability ratio test of two equal and opposite rates.
    """
    if not wrong:
        return 1
    allowed = (1 - confidence) / max(1, decisions)
    odds = (1 - wrong) / wrong
    return max(1, math.ceil(math.log((1 - allowed) / allowed) / math.log(odds)))


class _Search:
    """One search: its trials so far and what they say."""

    def __init__(self, names: Names, agrees: Agrees, plan: Plan) -> None:
        self._names = names
        self._agrees = agrees
        self._plan = plan
        self._rank = {name: place for place, name in enumerate(names)}
        self._seen: dict[frozenset[str], bool | None] = {}
        self._trials: list[Trial] = []
        self._set_aside: list[str] = []
        self._exhaustive = False
        self._stop = 0
        self._asked = 0
        decisions = 4 * max(4, math.ceil(math.log2(len(names) + 1)))
        self._lead = lead_needed(plan.wrong, plan.confidence, decisions)
        # An oracle that errs no more often leads by far sooner than this.
        self._patience = math.ceil(_PATIENCE * self._lead / (1 - 2 * plan.wrong) ** 2)

    def remember(self, known: Mapping[frozenset[str], bool | None]) -> None:
        """Take verdicts that are known."""
        self._seen.update(known)

    def outcome(self) -> Outcome:
        """Search and return what came of it."""
        try:
            start = self._ask(())
            if start is not False:
                return self._end(Status.AGREES_ALREADY if start else Status.UNDECIDED)
            top, low = self._reach()
            if top is None:
                return self._end(self._why_none())
            found = self._descend(top, low)
        except _LimitError:
            if any(trial.agrees for trial in self._trials):
                return self._found(self._smallest())
            return self._end(Status.LIMIT)
        return self._prove(found, top)

    def _ask(self, off: Sequence[str]) -> bool | None:
        """Return the verdict of a set, from memory where it was asked before."""
        key = frozenset(off)
        if key not in self._seen:
            if self._stop and len(self._trials) >= self._stop:
                raise _LimitError
            verdict, probes = self._probe(key)
            self._seen[key] = verdict
            self._trials.append(Trial(self._ordered(key), verdict, probes))
        return self._seen[key]

    def _probe(self, off: frozenset[str]) -> tuple[bool | None, int]:
        """Ask until one answer leads by enough; where none ever does, undecided."""
        counts: dict[bool | None, int] = {}
        for probes in range(1, self._patience + 1):
            if self._plan.limit and self._asked >= self._plan.limit:
                raise _LimitError
            self._asked += 1
            answer = self._agrees(off)
            counts[answer] = counts.get(answer, 0) + 1
            ahead = sorted(counts.values(), reverse=True) + [0]
            if ahead[0] - ahead[1] >= self._lead:
                return max(counts, key=lambda each: counts[each]), probes
        return None, self._patience

    def _ordered(self, off: frozenset[str]) -> Names:
        return tuple(sorted(off, key=self._rank.__getitem__))

    def _reach(self) -> tuple[Names | None, int]:
        """Return a set that agrees and how long a beginning of it does not."""
        below = 0
        lengths = [rung for rung in self._plan.rungs if 0 < rung < len(self._names)]
        for length in (*sorted(set(lengths)), len(self._names)):
            if self._ask(self._names[:length]):
                return self._names[:length], below
            below = length
        pool = self._names
        if self._ask(self._names) is None:
            pool, agreeing = self._without_breakers()
            if agreeing is not None:
                return agreeing, 0
        return self._explore(pool), 0

    def _without_breakers(self) -> tuple[Names, Names | None]:
        """Set aside what breaks trials; return what is left, and a set that agrees.

        The shortest beginning that is undecided ends in a switch that breaks it.
        """
        pool = list(self._names)
        while pool and self._ask(pool) is None:
            low, high = 0, len(pool)
            while high - low > 1:
                middle = (low + high) // 2
                verdict = self._ask(pool[:middle])
                if verdict:
                    return tuple(pool), tuple(pool[:middle])
                low, high = (low, middle) if verdict is None else (middle, high)
            self._set_aside.append(pool.pop(high - 1))
        if pool and self._ask(pool):
            return tuple(pool), tuple(pool)
        return tuple(pool), None

    def _explore(self, pool: Names) -> Names | None:
        """Try sets that no ladder reaches; return one that agrees."""
        before = len(self._trials)
        for off in self._drawn(pool):
            if len(self._trials) - before >= self._plan.explore:
                return None
            if self._ask(off):
                return self._ordered(frozenset(off))
        return None

    def _drawn(self, pool: Names) -> Iterator[Sequence[str]]:
        """Yield every subset where they are few, else single ones and drawn ones."""
        if 2 ** len(self._names) <= self._plan.explore:
            for size in range(1, len(self._names) + 1):
                yield from itertools.combinations(self._names, size)
            self._exhaustive = True
            return
        for name in self._set_aside:
            yield (name,)
            yield (*pool, name)
        for group in itertools.zip_longest(
                self._complements(pool), self._random(), ((name,) for name in pool)):
            yield from (off for off in group if off)

    def _complements(self, pool: Names) -> Iterator[Names]:
        """Yield everything but a part, for ever smaller parts."""
        parts = 2
        while parts < 2 * len(pool):
            size = math.ceil(len(pool) / parts)
            for start in range(0, len(pool), size):
                yield (*pool[:start], *pool[start + size:])
            parts *= 2

    def _random(self) -> Iterator[Names]:
        """Yield drawn sets, every other without what broke trials before."""
        state = np.random.RandomState(self._plan.seed)
        for turn in range(20 * self._plan.explore):
            density = _DENSITIES[turn // 2 % len(_DENSITIES)]
            mask = state.random_sample(len(self._names)) < density
            yield tuple(name for name, off in zip(self._names, mask) if off
                        and (turn % 2 or name not in self._set_aside))

    def _descend(self, top: Names, low: int, kept: Names = ()) -> Names:
        """Return a part of a set that agrees and that no shorter beginning spares.

        Args:
            top: agrees together with `kept`, ordered.
            low: a beginning of this length does not agree.
            kept: stays off throughout.
        """
        found: list[str] = []
        pool = top
        while pool:
            length = self._shortest((*kept, *found), pool, low)
            if length == 0:
                break
            found.append(pool[length - 1])
            pool = pool[:length - 1]
            low = -1
        return self._ordered(frozenset((*kept, *found)))

    def _shortest(self, kept: Names, pool: Names, low: int) -> int:
        """Return a length whose beginning agrees while the one before does not."""
        if low < 0:
            if self._ask(kept):
                return 0
            low = 0
        high = len(pool)
        while high - low > 1:
            middle = _next_length(low, high, len(pool), len(kept))
            if self._ask((*kept, *pool[:middle])):
                high = middle
            else:
                low = middle
        return high

    def _prove(self, found: Names, top: Names) -> Outcome:
        """Leave every member on once; then look for other sets that agree."""
        searched = len(self._trials)
        alternatives: tuple[Names, ...] = ()
        only, proof = False, None
        try:
            found = self._sparing(found)
            proof = len(self._trials) - searched
            if self._plan.alternatives:
                found, alternatives, only = self._others(found, top)
        except _LimitError:
            if proof is None:
                proof = len(self._trials) - searched
            if not self._is_proved(found):
                found = min(found, self._smallest(), key=len)
        return self._found(found, alternatives=alternatives, only=only,
                           search_trials=searched, proof_trials=proof)

    def _sparing(self, found: Names) -> Names:
        """Return the set without what can be spared."""
        for name in found:
            rest = tuple(each for each in found if each != name)
            if self._ask(rest):
                return self._sparing(rest)
        return found

    def _others(self, found: Names, top: Names
                ) -> tuple[Names, tuple[Names, ...], bool]:
        """Return the smallest set known, the other sets, and whether there is none.

        Each member is left on with everything else off; where that cannot be asked,
        because everything off is undecided or is known to hurt, with the rest of `top`,
        which agrees. That takes no more than about two searches.
        """
        sets = [found]
        only = True
        spare = len(found) + 2 * math.ceil(math.log2(len(self._names) + 1)) + 2
        self._stop = len(self._trials) + spare
        try:
            for name in found:
                rest, verdict = self._all_but(name, top)
                only = only and verdict is False and len(rest) + 1 == len(self._names)
                if verdict and len(sets) <= _MOST_ALTERNATIVES:
                    other = self._sparing(self._descend(rest, 0))
                    sets += [other] if other not in sets else []
        except _LimitError:
            only = False
        self._stop = 0
        if len(self._smallest()) < min(len(each) for each in sets):
            sets.append(self._sparing(self._smallest()))
        best = min(sets, key=len)
        return best, tuple(each for each in sets if each != best), only

    def _all_but(self, name: str, top: Names) -> tuple[Names, bool | None]:
        """Return the largest set without a member that can be judged."""
        hurts = self._seen.get(frozenset(self._names), True) is not True
        for source in (top,) if hurts else (self._names, top):
            rest = tuple(each for each in source if each != name)
            verdict = self._ask(rest)
            if verdict is not None:
                break
        return rest, verdict

    def _why_none(self) -> Status:
        """Say that nothing restores only where all that can be off together differs."""
        rest = frozenset(self._names) - set(self._set_aside)
        return Status.NOTHING_RESTORES if (rest or not self._names) and (
            self._seen[rest] is False) else Status.UNDECIDED

    def _smallest(self) -> Names:
        """Return the smallest set that agreed."""
        return min((trial.off for trial in self._trials if trial.agrees), key=len)

    def _verdicts(self, found: Names) -> tuple[tuple[str, bool | None], ...]:
        """Return what came of leaving on each member, where that was tried."""
        rests = ((name, frozenset(found) - {name}) for name in found)
        return tuple((name, self._seen[rest]) for name, rest in rests
                     if rest in self._seen)

    def _is_proved(self, found: Names) -> bool:
        verdicts = [verdict for _, verdict in self._verdicts(found)]
        return verdicts == [False] * len(found)

    def _found(self, found: Names, **more: object) -> Outcome:
        return self._end(Status.FOUND, minimal=found, needed=self._verdicts(found),
                         proved=self._is_proved(found), **more)

    def _end(self, status: Status, **more: object) -> Outcome:
        decisions = len(self._trials)
        odds = (1 - self._plan.wrong) / self._plan.wrong if self._plan.wrong else 0.0
        chance = min(1.0, decisions / (1 + odds ** self._lead)) if odds else 0.0
        fields = {"search_trials": decisions, **more}
        return Outcome(status=status, trials=tuple(self._trials), wrong=chance,
                       set_aside=tuple(self._set_aside), exhaustive=self._exhaustive,
                       **fields)  # type: ignore[arg-type]


def _next_length(low: int, high: int, total: int, found: int) -> int:
    """Return the length to try: it halves what the rest of the culprits may be.

    Places are taken as uniform and the number of culprits left as geometric, less
    likely to end the more were found.
    """
    stop = _STOP[min(found, len(_STOP) - 1)]

    def share(length: int) -> float:
        return stop / (1 - (1 - stop) * length / total)

    half = (share(low) + share(high)) / 2
    return min(range(low + 1, high), key=lambda length: abs(share(length) - half))


_STOP = (0.95, 0.6, 0.4, 0.3, 0.2)
"""Chance that no more culprit is left beside the next, after 0, 1, 2, ... found."""
