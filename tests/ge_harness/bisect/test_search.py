"""The search over switches, on oracles that cost nothing."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.bisect.search import lead_needed, lower_bound, search
from ge_harness.records.search import Plan, Status

SEVEN = tuple("abcdefg")
SETS = [frozenset(each) for size in range(8)
        for each in itertools.combinations(SEVEN, size)]


class Oracle:
    """Counts how often it is asked."""

    def __init__(self, verdict):
        self._verdict = verdict
        self.asked = []

    def __call__(self, off):
        self.asked.append(off)
        return self._verdict(off)


def all_of(culprits):
    """Agrees where every culprit is off."""
    return Oracle(lambda off: culprits <= off)


def check(outcome, verdict):
    """Hold a found set against its oracle: it agrees and nothing can be spared."""
    assert outcome.status is Status.FOUND
    off = frozenset(outcome.minimal)
    assert verdict(off) is True
    assert outcome.proved
    assert {name for name, _ in outcome.needed} == off
    for name in off:
        assert verdict(off - {name}) is False


def test_nothing_is_switched_off_where_it_agrees_already():
    oracle = all_of(frozenset())
    outcome = search(SEVEN, oracle)
    assert (outcome.status, oracle.asked) == (Status.AGREES_ALREADY, [frozenset()])


@pytest.mark.parametrize("k", range(1, 8))
def test_every_set_of_seven_switches_is_found_within_the_bound(k):
    for culprits in (each for each in SETS if len(each) == k):
        oracle = all_of(culprits)
        outcome = search(SEVEN, oracle)
        check(outcome, culprits.issubset)
        assert frozenset(outcome.minimal) == culprits
        assert outcome.only
        assert outcome.search_trials <= 2 + 2 * k * (math.log2(7 / k) + 1)
        assert outcome.proof_trials <= k - 1
        assert len(oracle.asked) == len(set(oracle.asked)) == len(outcome.trials)


@pytest.mark.parametrize("k", range(1, 8))
def test_one_of_several_alternatives_is_found_and_others_are_told(k):
    for members in (each for each in SETS if len(each) == k):
        outcome = search(SEVEN, lambda off, members=members: bool(members & off))
        assert len(outcome.minimal) == 1
        told = {each for one in (outcome.minimal, *outcome.alternatives)
                for each in one}
        assert told <= members
        assert outcome.only is (k == 1)
        assert (len(outcome.alternatives) >= 1) is (k > 1)


FEW = [each for each in SETS if 0 < len(each) < 4]


@pytest.mark.parametrize("breaker", SEVEN)
def test_a_switch_that_breaks_every_trial_does_not_end_the_search(breaker):
    for culprits in FEW:
        def verdict(off, culprits=culprits):
            return None if breaker in off else culprits <= off

        outcome = search(SEVEN, verdict)
        if breaker in culprits:
            assert outcome.status is Status.NOTHING_RESTORES
            assert outcome.set_aside == (breaker,)
        else:
            check(outcome, verdict)
            assert frozenset(outcome.minimal) == culprits


@pytest.mark.parametrize("spoiler", SEVEN)
def test_a_switch_that_makes_a_difference_itself_does_not_end_the_search(spoiler):
    for culprits in FEW:
        def verdict(off, culprits=culprits):
            return culprits <= off and spoiler not in off

        outcome = search(SEVEN, verdict, Plan(explore=128))
        if spoiler in culprits:
            assert outcome.status is Status.NOTHING_RESTORES
            assert outcome.exhaustive
        else:
            check(outcome, verdict)
            assert frozenset(outcome.minimal) == culprits


def test_two_switches_that_only_break_together_are_told_apart():
    def verdict(off):
        return None if {"c", "f"} <= off else {"f"} <= off

    outcome = search(SEVEN, verdict)
    check(outcome, verdict)
    assert outcome.minimal == ("f",)


def test_where_nothing_helps_a_sure_search_says_so():
    outcome = search(SEVEN, lambda off: False)
    assert outcome.status is Status.NOTHING_RESTORES
    assert not outcome.minimal
    exhaustive = search(SEVEN, lambda off: False, Plan(explore=128))
    assert exhaustive.exhaustive
    assert len(exhaustive.trials) == 128


def test_where_no_trial_answers_nothing_is_claimed():
    assert search(SEVEN, lambda off: None).status is Status.UNDECIDED
    assert search(SEVEN, lambda off: None if off else False).status is (
        Status.UNDECIDED)


def test_no_switches_at_all_restore_nothing():
    assert search((), lambda off: False).status is Status.NOTHING_RESTORES
    assert search((), lambda off: True).status is Status.AGREES_ALREADY


@pytest.mark.parametrize("limit", range(1, 18))
def test_at_the_limit_the_best_set_is_told_as_not_proved(limit):
    culprits = frozenset("bdf")
    oracle = all_of(culprits)
    outcome = search(SEVEN, oracle, Plan(limit=limit, alternatives=False))
    assert len(oracle.asked) <= limit
    if outcome.status is Status.LIMIT:
        assert not outcome.minimal
        assert limit < 2
    elif outcome.proved:
        check(outcome, lambda off: culprits <= off)
    else:
        assert culprits <= frozenset(outcome.minimal)
        assert len(oracle.asked) == limit


@pytest.mark.parametrize("limit", range(1, 20))
def test_at_the_limit_only_verdicts_that_were_given_are_told(limit):
    """The limit falls into the proof of a set that turned out to have one to spare."""
    undecided = {frozenset(each) for each in ("c", "ad", "bd")}
    agreeing = {frozenset(each) for each in ("bc", "bcd", "abcd")}

    def verdict(off):
        return None if off in undecided else off in agreeing

    oracle = Oracle(verdict)
    outcome = search("abcd", oracle, Plan(limit=limit))
    assert len(oracle.asked) <= limit
    if limit < 2:
        assert outcome.status is Status.LIMIT
        return
    off = frozenset(outcome.minimal)
    assert len(off) == min(len(each) for each in oracle.asked if each in agreeing)
    assert dict(outcome.needed) == {name: verdict(off - {name}) for name in off
                                    if off - {name} in oracle.asked}


def test_the_likely_ones_are_tried_first_and_alone():
    oracle = all_of(frozenset("b"))
    outcome = search(SEVEN, oracle, Plan(rungs=(3, 5), alternatives=False))
    assert oracle.asked[1] == frozenset("abc")
    assert all(off <= frozenset("abc") for off in oracle.asked)
    assert outcome.minimal == ("b",)
    later = all_of(frozenset("bd"))
    assert set(search(SEVEN, later, Plan(rungs=(3, 5))).minimal) == {"b", "d"}
    assert later.asked[1:3] == [frozenset("abc"), frozenset("abcde")]


def test_a_member_whose_absence_is_undecided_is_no_proof():
    def verdict(off):
        if {"a", "b"} <= off:
            return True
        return None if "b" in off else False

    outcome = search(SEVEN, verdict)
    assert set(outcome.minimal) == {"a", "b"}
    assert dict(outcome.needed) == {"a": None, "b": False}
    assert not outcome.proved


@pytest.mark.parametrize("k", [1, 2, 3])
def test_an_oracle_wrong_once_in_twenty_is_asked_until_it_is_sure(k):
    right = 0
    for seed in range(200):
        state = random.Random(1000 * k + seed)
        names = [f"s{index}" for index in range(64)]
        culprits = frozenset(state.sample(names, k))

        def verdict(off, state=state, culprits=culprits):
            return (culprits <= off) != (state.random() < 0.05)

        outcome = search(names, verdict, Plan(wrong=0.05, alternatives=False))
        right += frozenset(outcome.minimal) == culprits and outcome.proved
        assert 0 < outcome.wrong < 0.05
    assert right >= 198


@pytest.mark.parametrize("answers", [(True, False), (True, False, None),
                                     (False, None)])
@pytest.mark.parametrize("wrong", [0.01, 0.05, 0.3])
def test_an_oracle_that_contradicts_itself_for_ever_is_undecided(answers, wrong):
    endless = itertools.cycle(answers)
    oracle = Oracle(lambda off: next(endless))
    outcome = search(SEVEN, oracle, Plan(wrong=wrong))
    assert outcome.status is Status.UNDECIDED
    assert not outcome.minimal
    assert len(oracle.asked) == outcome.trials[0].probes < 2000


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 20])
def test_a_limit_counts_every_answer_of_a_doubtful_oracle(limit):
    oracle = all_of(frozenset("bd"))
    outcome = search(SEVEN, oracle, Plan(wrong=0.05, limit=limit))
    assert len(oracle.asked) == limit
    assert not outcome.proved


def test_where_what_is_left_gives_no_answer_nothing_restores_is_not_said():
    """Single switches differ; but whatever else is off, no trial answers."""
    def verdict(off):
        return None if off & {"a", "b"} else False

    outcome = search(("a", "b"), verdict, Plan(explore=64))
    assert outcome.status is Status.UNDECIDED
    rest = search(("a", "b", "c"), verdict, Plan(explore=64))
    assert (rest.status, rest.set_aside) == (Status.NOTHING_RESTORES, ("a", "b"))


def test_a_sure_oracle_is_asked_once_and_a_doubtful_one_until_it_leads():
    assert lead_needed(0.0, 0.99, 20) == 1
    assert lead_needed(0.05, 0.99, 20) == 3
    assert lead_needed(0.05, 0.999999, 20) > 3
    outcome = search(("a",), lambda off: "a" in off, Plan(wrong=0.05))
    assert {trial.probes for trial in outcome.trials} == {3}


@pytest.mark.parametrize(("k", "most"), [(1, 9), (2, 17), (3, 24), (5, 36)])
def test_independent_culprits_among_64_cost_no_more_than_flit_needs(k, most):
    names = [f"s{index}" for index in range(64)]
    spent = proof = 0
    for seed in range(200):
        culprits = frozenset(random.Random(10 * seed + k).sample(names, k))
        outcome = search(names, lambda off, c=culprits: c <= off)
        assert frozenset(outcome.minimal) == culprits
        spent += outcome.search_trials
        proof += outcome.proof_trials
    assert lower_bound(64, k) <= spent / 200 <= most
    assert proof / 200 <= k - 1


@given(st.data())
@settings(max_examples=150, derandomize=True, deadline=None)
def test_whatever_the_oracle_a_set_that_is_named_agrees_and_has_none_to_spare(data):
    count = data.draw(st.integers(1, 6))
    names = SEVEN[:count]
    table = {frozenset(each): data.draw(st.sampled_from((True, False, False, None)))
             for size in range(count + 1)
             for each in itertools.combinations(names, size)}
    rungs = tuple(data.draw(st.lists(st.integers(0, 8), max_size=3)))
    oracle = Oracle(table.__getitem__)
    outcome = search(names, oracle, Plan(rungs=rungs, explore=64))
    assert len(oracle.asked) == len(set(oracle.asked))
    assert [(frozenset(trial.off), trial.agrees) for trial in outcome.trials] == [
        (off, table[off]) for off in oracle.asked]
    start = table[frozenset()]
    if start is not False:
        assert outcome.status is (Status.AGREES_ALREADY if start else Status.UNDECIDED)
    elif any(table.values()):
        assert outcome.status is Status.FOUND
        off = frozenset(outcome.minimal)
        assert table[off] is True
        assert dict(outcome.needed) == {name: table[off - {name}] for name in off}
        assert not any(table[off - {name}] for name in off)
        assert outcome.proved is all(table[off - {name}] is False for name in off)
        for other in outcome.alternatives:
            assert table[frozenset(other)] is True
            assert len(other) >= len(outcome.minimal)
    else:
        assert outcome.status in (Status.NOTHING_RESTORES, Status.UNDECIDED)


@given(st.sets(st.sampled_from(SEVEN), min_size=1), st.permutations(SEVEN),
       st.integers(0, 6))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_the_order_of_the_switches_does_not_change_what_is_found(culprits, names, rung):
    outcome = search(names, all_of(culprits), Plan(rungs=(rung,)))
    assert set(outcome.minimal) == culprits
    assert list(outcome.minimal) == sorted(outcome.minimal, key=names.index)


def test_lower_bounds_are_those_of_information_and_of_the_proof():
    assert lower_bound(64, 1) == 6
    assert lower_bound(64, 2) == 11
    assert lower_bound(4, 3) == 4
    assert lower_bound(3, 0) == 1


@pytest.mark.parametrize("plan", [Plan(wrong=0.5), Plan(wrong=-0.1),
                                  Plan(confidence=1.0)])
def test_chances_that_are_none_are_refused(plan):
    with pytest.raises(ValueError, match="confidence"):
        search(SEVEN, lambda off: True, plan)
    with pytest.raises(ValueError, match="twice"):
        search(("a", "a"), lambda off: True)
