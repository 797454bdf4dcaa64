"""The search on planted truths: found, minimal, bounded, and never by chance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ge_harness.explain.policy import EDGE, SUM, Key
from ge_harness.explain.search import MIN_GAIN, search

KEYS = [Key(EDGE, f"n{i}", "input 0") for i in range(7)]
CHOICES = {**dict.fromkeys(KEYS, ("on",)), Key(SUM, "s"): ("a", "b", "c")}


class World:
    """Elements whose bits depend on the hypotheses that touch them."""

    def __init__(self, truth, seed=0, size=1500, noise=0):
        self.calls = 0
        state = np.random.RandomState(seed)
        # Each element sees two of the places, so hypotheses interact.
        self.touch = state.randint(0, 2, (size, len(CHOICES)))
        self.wanted = self.bits(truth)
        at = state.choice(size, noise, replace=False)
        self.wanted[at] ^= np.uint64(1) + state.randint(0, 2, noise).astype(np.uint64)

    def bits(self, state):
        values = [sum(map(ord, state.get(key, ""))) for key in CHOICES]
        weights = np.array([7919 * (i + 1) ** 2 for i in range(len(values))])
        return (self.touch * (np.array(values) * weights)).sum(axis=1).astype(
            np.uint64) * np.uint64(4)

    def __call__(self, state):
        self.calls += 1
        bits = self.bits(state)
        return bits == self.wanted, bits


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_every_planted_set_is_found_and_nothing_else(count):
    for chosen in itertools.combinations(KEYS, count):
        truth = dict.fromkeys(chosen, "on")
        world = World(truth)
        found = search(world, CHOICES, [{}], 500)
        assert found.state == truth
        assert found.mask.all()


def test_a_value_is_found_among_several_and_seeds_help():
    truth = {**dict.fromkeys(KEYS, "on"), Key(SUM, "s"): "c"}
    found = search(World(truth), CHOICES, [{}, dict.fromkeys(KEYS, "on")], 500)
    assert found.state == truth
    assert set(found.gained) == set(truth)
    assert min(found.gained.values()) >= MIN_GAIN


def test_needless_hypotheses_of_a_seed_are_dropped():
    seed = dict.fromkeys(KEYS, "on")
    found = search(World({KEYS[2]: "on"}), CHOICES, [seed], 500)
    assert found.state == {KEYS[2]: "on"}


def test_the_search_keeps_to_its_limit_and_says_so():
    world = World(dict.fromkeys(KEYS, "on"))
    found = search(world, CHOICES, [{}], 5)
    assert found.exhausted
    assert world.calls == found.evaluations
    assert found.evaluations <= 5 + 4 * len(CHOICES)


def test_nothing_is_evaluated_twice_for_its_score():
    world = World({KEYS[0]: "on"})
    found = search(world, CHOICES, [{}, {}, {}], 500)
    assert world.calls == found.evaluations < 60


def test_noise_in_the_bits_is_never_explained():
    world = World({}, noise=150)
    found = search(world, CHOICES, [{}, dict.fromkeys(KEYS, "on")], 500)
    assert found.state == {}
    assert int((~found.mask).sum()) == 150


def test_noise_beside_a_truth_stays_and_the_truth_is_found():
    truth = {KEYS[1]: "on", KEYS[4]: "on"}
    found = search(World(truth, noise=120), CHOICES, [{}], 500)
    assert found.state == truth
    assert int((~found.mask).sum()) == 120


def test_the_same_input_gives_the_same_answer():
    truth = {KEYS[1]: "on", Key(SUM, "s"): "b"}
    first, second = (search(World(truth, noise=50), CHOICES, [{}], 500)
                     for _ in range(2))
    assert (first.state, first.gained, first.evaluations) == (
        second.state, second.gained, second.evaluations)
