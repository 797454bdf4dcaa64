"""How a search over switches is to go, its trials and what it found."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Tuple

Names = Tuple[str, ...]


class Status(enum.Enum):
    """The closed list of what a search comes to."""

    FOUND = "found"
    """A set agrees; `proved` says whether every member was shown to be needed."""
    AGREES_ALREADY = "agrees_already"
    """Nothing has to be switched off."""
    NOTHING_RESTORES = "nothing_restores"
    """No set that was tried agrees, among them all that can be off together."""
    UNDECIDED = "undecided"
    """The trials that would decide gave no answer."""
    LIMIT = "limit"
    """The limit on trials was reached before a set was found."""


@dataclass(frozen=True)
class Trial:
    """One set of switches and what came of it.

    Attributes:
        off: the switches that were off, in the order of the search.
        agrees: the verdict; None where undecided.
        probes: how often the oracle was asked.
    """

    off: Names
    agrees: bool | None
    probes: int = 1


@dataclass(frozen=True)
class Plan:
    """How to search.

    Attributes:
        rungs: lengths of beginnings that are tried first, ascending; all is the last.
        limit: how often the oracle may be asked, 0 for no limit.
        wrong: chance that one answer of the oracle is wrong; it is then asked again
            until one answer leads by enough.
        confidence: wanted chance that no verdict of the search is wrong.
        explore: most trials spent on drawn subsets where no beginning agrees.
        alternatives: look for other sets that agree, too.
        seed: of the subsets drawn.
    """

    rungs: tuple[int, ...] = ()
    limit: int = 0
    wrong: float = 0.0
    confidence: float = 0.99
    explore: int = 40
    alternatives: bool = True
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes:
        status: what it comes to.
        minimal: the set, in the order of the search; () where there is none.
        proved: every member was left on once, and that differed.
        needed: (member, verdict with it left on) pairs; what was not tried is missing.
        alternatives: other sets that agree, none with a member to spare.
        only: leaving a member on and everything else off differs, for every member:
            each set that agrees has them all, unless one more switch off can hurt.
        trials: every trial, in order.
        search_trials: trials until the set was found.
        proof_trials: further trials of the proof.
        set_aside: switches whose being off left trials undecided.
        exhaustive: every combination was tried.
        wrong: bound on the chance that a verdict is wrong, 0 for a sure oracle.
    """

    status: Status
    minimal: Names = ()
    proved: bool = False
    needed: tuple[tuple[str, bool | None], ...] = ()
    alternatives: tuple[Names, ...] = ()
    only: bool = False
    trials: tuple[Trial, ...] = ()
    search_trials: int = 0
    proof_trials: int = 0
    set_aside: Names = ()
    exhaustive: bool = False
    wrong: float = 0.0
