"""From the outcome of a search to a verdict in plain words and its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Sequence

from ge_harness.bisect import knobs as knob_words
from ge_harness.bisect.knobs import Knob, Pool
from ge_harness.bisect.search import lower_bound
from ge_harness.bisect.trials import Trials
from ge_harness.records.bisection import (
    BisectProof,
    BisectVerdict,
    Culprit,
    NeededMember,
)
from ge_harness.records.search import Outcome, Status

_VERDICTS = {
    Status.AGREES_ALREADY: BisectVerdict.AGREES_ALREADY,
    Status.NOTHING_RESTORES: BisectVerdict.NOTHING_RESTORES,
    Status.UNDECIDED: BisectVerdict.UNDECIDED, Status.LIMIT: BisectVerdict.UNDECIDED,
}


@dataclass(frozen=True)
class Told:
    """What a search comes to.

    Attributes:
        verdict: the outcome.
        why: in plain words.
        minimal: the set.
        alternatives: other sets.
        proof: what shows it.
        notes: what a reader must know.
    """

    verdict: BisectVerdict
    why: str
    minimal: tuple[Culprit, ...]
    alternatives: tuple[tuple[Culprit, ...], ...]
    proof: BisectProof
    notes: tuple[str, ...]


def tell(outcome: Outcome, knobs: Mapping[str, Knob], pool: Pool, trials: Trials
         ) -> Told:
    """Return the outcome of a search in words and records."""
    verdict = _VERDICTS.get(outcome.status) or (
        BisectVerdict.PROVED if outcome.proved else BisectVerdict.NOT_PROVED)
    return Told(
        verdict, _why(verdict, outcome, trials), _culprits(outcome.minimal, knobs),
        tuple(_culprits(each, knobs) for each in outcome.alternatives),
        _proof(outcome, knobs, len(trials.answers)), _notes(outcome, pool))


def _culprits(names: Sequence[str], knobs: Mapping[str, Knob]) -> tuple[Culprit, ...]:
    return tuple(Culprit(knob.switch.family, knob.switch.name, knob.precision_class,
                         knob_words.write(knob.switch))
                 for knob in (knobs[name] for name in names))


def _proof(outcome: Outcome, knobs: Mapping[str, Knob], runs: int) -> BisectProof:
    found = dict(outcome.needed)
    spent = [trial.probes for trial in outcome.trials]
    proof = outcome.search_trials + outcome.proof_trials
    members = tuple(NeededMember(
        knobs[name].switch.family, knobs[name].switch.name, found.get(name),
        name in found) for name in outcome.minimal)
    return BisectProof(
        with_minimal_off=True if outcome.minimal else None, each_needed=members,
        only_set=outcome.only, runs=runs,
        search_runs=sum(spent[:outcome.search_trials]),
        proof_runs=sum(spent[outcome.search_trials:proof]),
        lower_bound=lower_bound(len(knobs), len(outcome.minimal)),
        error_probability=outcome.wrong)


def _why(verdict: BisectVerdict, outcome: Outcome, trials: Trials) -> str:
    names = " and ".join(outcome.minimal)
    first = trials.answers[0][1].message if trials.answers else ""
    if verdict is BisectVerdict.PROVED:
        if len(outcome.minimal) == 1:
            return f"{names} off restores agreement; with nothing off it differs"
        return (f"{names} off together restore agreement; with any one of them left on "
                "it differs")
    if verdict is BisectVerdict.NOT_PROVED:
        missing = [name for name in outcome.minimal
                   if dict(outcome.needed).get(name) is not False]
        return (f"{names} off restores agreement, but that none of them can be spared "
                f"is not proved: no answer with {', '.join(missing)} left on")
    if verdict is BisectVerdict.AGREES_ALREADY:
        return f"it agrees with nothing switched off: {first}"
    if verdict is BisectVerdict.NOTHING_RESTORES:
        return _nothing(outcome, first)
    if outcome.status is Status.LIMIT:
        return ("the limit on runs was reached before a set was found that restores "
                "agreement")
    return "nothing can be said: " + _undecided(outcome, trials)


def _undecided(outcome: Outcome, trials: Trials) -> str:
    start = outcome.trials[0]
    found = [each for run, each in trials.answers if not run.switches]
    if start.agrees is None and len({each.agrees for each in found}) > 1:
        return (f"{len(found)} runs with nothing switched off contradict one another "
                "more often than --error-rate says")
    if start.agrees is None:
        return f"the run with nothing switched off: {found[0].message}"
    failed = [each.message for _, each in trials.answers if each.agrees is None]
    return ("with everything off that can be off together there is no answer: "
            + (failed or ["the runs contradict one another"])[0])


def _nothing(outcome: Outcome, first: str) -> str:
    if not outcome.trials or len(outcome.trials) == 1:
        return f"there is no switch to search, and it differs: {first}"
    silent = sum(trial.agrees is None for trial in outcome.trials)
    if silent:
        return (f"no set that was tried restores agreement; {silent} of "
                f"{len(outcome.trials)} gave no answer"
                + (", and every combination of the switches was tried"
                   if outcome.exhaustive else "")
                + "; the culprit lies outside the switches, or among those that spoil "
                "a run")
    if outcome.exhaustive:
        return ("nothing restores agreement: every combination of the switches was "
                f"tried ({len(outcome.trials)} runs); the culprit lies outside them")
    return ("nothing restores agreement: it differs with everything off that can be "
            f"off together, and with every other set of {len(outcome.trials)} runs; "
            "the culprit lies outside the switches, or one of them makes a difference "
            "itself")


def _notes(outcome: Outcome, pool: Pool) -> tuple[str, ...]:
    found = []
    if outcome.set_aside:
        found.append("left on, since runs with them off gave no answer: "
                     + ", ".join(outcome.set_aside))
    if pool.left_out:
        shown = [f"{name} ({why.splitlines()[0]})" for name, why in pool.left_out[:5]]
        more = len(pool.left_out) - len(shown)
        found.append("not tried: " + "; ".join(shown)
                     + (f"; and {more} more" if more > 0 else ""))
    return tuple(found)
