from __future__ import annotations

import numpy as np
import pytest

from ge_harness.experiments import statistics as stats


@pytest.mark.parametrize("share", [0.5, 0.99, 1.0])
def test_a_quantile_of_a_histogram_is_within_one_percent(share):
    errors = np.exp(np.random.RandomState(0).randn(5000) * 2)
    exact = np.sort(errors)[int(np.ceil(share * errors.size)) - 1]
    found = float(stats.quantile_of(stats.histogram(errors), share))
    assert found <= exact <= found * 1.0101


def test_zeros_fall_below_the_first_edge():
    counts = stats.histogram(np.zeros(7))
    assert counts[0] == 7
    assert float(stats.quantile_of(counts, 0.99)) == 0.0


def test_equal_sides_have_the_ratio_one_and_no_spread():
    counts = np.stack([stats.histogram(np.abs(np.random.RandomState(i).randn(100)))
                       for i in range(20)])
    found = stats.bootstrap_p99(counts, counts, 0, 1.0)
    assert (found.ratio, found.low, found.high) == (1.0, 1.0, 1.0)


def test_the_interval_excludes_one_where_one_side_is_clearly_worse():
    rows = [np.abs(np.random.RandomState(i).randn(200)) for i in range(50)]
    better = np.stack([stats.histogram(row) for row in rows])
    worse = np.stack([stats.histogram(2 * row) for row in rows])
    found = stats.bootstrap_p99(worse, better, 0, 2.0)
    assert 1.5 < found.low <= found.high < 2.5
    again = stats.bootstrap_p99(worse, better, 0, 2.0)
    assert again == found
    assert stats.bootstrap_max(np.array([2.0, 4.0]), np.array([1.0, 2.0]), 0,
                               2.0).low == 2.0


@pytest.mark.parametrize(("above", "below", "ratio"), [
    (0, 0, 1.0), (None, None, 1.0), (1, 0, float("inf")), (3, 2, 1.5)])
def test_a_ratio_of_nothing_and_nothing_is_one(above, below, ratio):
    assert stats.ratio_of(above, below) == ratio


def test_errors_are_in_ulp_of_the_unrounded_reference():
    side = np.array([1.0, 2.0, np.inf], np.float16)
    truth = np.array([1.0 + 2.0**-11, 2.0, 1.0])
    assert stats.ulp_errors(side, truth, "float16").tolist() == [0.5, 0.0]
