"""Distances, spread and first differences of curves; no TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.experiments import training_curves
from ge_harness.experiments.training_curves import Run

STEPS = np.array([2, 4], np.int64)


def make(name, loss, norm=(1, 1, 1, 1), eval_loss=(2, 1)):
    return Run(name, np.array(loss, np.float32), np.array(norm, np.float32), STEPS,
               np.array(eval_loss, np.float32))


def test_the_distance_is_root_mean_square_and_greatest():
    found = training_curves.distance(np.array([1.0, 2.0]), np.array([4.0, 6.0]))
    assert found.rms == pytest.approx(np.sqrt((9 + 16) / 2))
    assert found.greatest == 4


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_curve_that_is_no_number_on_one_side_is_infinitely_far(value):
    found = training_curves.distance(np.array([1.0, value]), np.array([1.0, 2.0]))
    assert found.rms == found.greatest == np.inf


def test_equal_infinities_are_no_distance():
    found = training_curves.distance(np.array([np.inf]), np.array([np.inf]))
    assert found.rms == found.greatest == 0


def test_sampled_values_are_those_of_the_sampled_steps():
    run = make("a", [9, 8, 7, 6], norm=[1, 2, 3, 4])
    assert list(run.sampled("loss")) == [8, 6]
    assert list(run.sampled("gradient_norm")) == [2, 4]
    np.testing.assert_allclose(run.sampled("perplexity"), np.exp([2.0, 1.0]))


def test_a_pair_closer_than_any_two_seeds_is_within():
    eager = [make(f"e{seed}", [0, seed, 0, 2 * seed]) for seed in (1, 2, 4)]
    near = make("c", [0, 1.5, 0, 2.5])
    far = make("c", [0, 1, 0, 4.5])
    assert training_curves.spread("loss", eager, near).within
    found = training_curves.spread("loss", eager, far)
    assert not found.within
    assert found.pair.greatest == 2.5
    assert found.closest.greatest == 2.0


def test_one_step_far_out_is_outside_though_the_mean_is_within():
    eager = [make("e0", [0, 0, 0, 0]), make("e1", [0, 2, 0, 2])]
    spike = make("c", [0, 0, 0, 2.5])
    found = training_curves.spread("loss", eager, spike)
    assert found.pair.rms < found.closest.rms
    assert not found.within


def test_the_first_difference_in_bits_is_named_by_step_and_metric():
    eager = make("e", [1, 2, 3, 4])
    other = make("c", [1, 2, np.nextafter(np.float32(3), np.float32(9)), 5],
                 norm=[1, 1, 1, 2])
    first, second, third = training_curves.divergences(eager, other)
    assert (first.metric, first.step, first.ulp) == ("loss", 3, 1)
    assert "0x40400000" in first.eager
    assert "0x40400001" in first.compiled
    assert (second.metric, second.step) == ("gradient_norm", 4)
    assert (third.metric, third.step) == ("eval_loss", None)


def test_a_zero_of_another_sign_is_a_difference_in_bits():
    first = training_curves.divergences(
        make("e", [0.0, 1, 1, 1]), make("c", [-0.0, 1, 1, 1]))[0]
    assert (first.step, first.ulp) == (1, 0)


def test_a_nan_against_a_number_has_no_ulp():
    first = training_curves.divergences(
        make("e", [1, 1, 1, 1]), make("c", [np.nan, 1, 1, 1]))[0]
    assert (first.step, first.ulp) == (1, None)


def test_only_the_steps_asked_for_are_compared():
    a, b = make("a", [1, 2, 3, 4]), make("b", [1, 2, 9, 9])
    assert training_curves.bits_equal(a, b, 2)
    assert not training_curves.bits_equal(a, b, 3)
    assert not training_curves.bits_equal(a, b, 5)
    assert a.digest != b.digest


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32), min_size=4, max_size=4),
       st.lists(st.floats(width=32), min_size=4, max_size=4))
def test_a_first_step_is_found_exactly_where_bits_differ(xs, ys):
    a, b = make("a", xs), make("b", ys)
    found = next(each for each in training_curves.divergences(a, b)
                 if each.metric == "loss")
    same = [x.tobytes() == y.tobytes() for x, y in zip(a.loss, b.loss)]
    assert found.step == (None if all(same) else same.index(False) + 1)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=4, max_size=4))
def test_a_curve_is_within_the_spread_of_seeds_when_it_is_the_base_line(xs):
    base = make("e0", xs)
    other = make("e1", [x + 1 for x in xs])
    assert training_curves.spread("loss", [base, other], base).within
