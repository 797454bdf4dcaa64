from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.compare import quantile
from ge_harness.compare.quantile import ExactQuantiles


def slow_quantile(keys, percent):
    """The smallest key that at least `percent` % of all do not exceed."""
    for key in sorted(keys):
        if 100 * sum(other <= key for other in keys) >= percent * len(keys):
            return key
    return None


def find(keys, bits, percents=(50, 99)):
    found, passes = ExactQuantiles(bits, percents), 0
    array = np.array(keys, dtype=np.uint64)
    while found.open:
        for start in range(0, array.size, 7):
            found.add(array[start:start + 7])
        found.finish_pass()
        passes += 1
    return found.values(), passes


@settings(derandomize=True, max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 40), min_size=1,
                max_size=60),
       st.sampled_from([1, 3, 1000]))
def test_quantiles_are_those_of_the_sorted_keys(keys, keep):
    old, quantile.KEEP = quantile.KEEP, keep
    try:
        found, passes = find(keys, 64, (1, 50, 99, 100))
    finally:
        quantile.KEEP = old
    assert found == tuple(slow_quantile(keys, p) for p in (1, 50, 99, 100))
    assert passes <= 4


def test_what_fits_in_memory_needs_one_pass():
    assert find(range(1000), 63) == ((499, 989), 1)


def test_16_bit_distances_need_one_pass_at_any_size(monkeypatch):
    monkeypatch.setattr(quantile, "KEEP", 10)
    assert find([0] * 500 + [65280] * 500, 16) == ((0, 65280), 1)


def test_no_key_has_no_quantile():
    assert find([], 63) == (None, 1)


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 199, 200, 201])
def test_rank_of_the_99th_percentile_is_rounded_up(count):
    keys = list(range(count))
    assert find(keys, 63)[0] == (slow_quantile(keys, 50), slow_quantile(keys, 99))
