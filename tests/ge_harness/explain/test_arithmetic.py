"""Fused multiply-add, orders of summation and roots against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.compare.dtypes import round_to
from ge_harness.explain.arithmetic import (
    fused_multiply_add,
    ordered_product,
    ordered_sum,
    two_step_rsqrt,
)

ORDERS = ("one by one", "halves", "numpy", "windows of 4", "windows of 4, again",
          "8 lanes")


def _nearest(value):
    """Round a fraction to float32 by trying the neighbors of a float64 guess."""
    guess = np.float32(float(value))
    near = [guess, np.nextafter(guess, np.float32(-np.inf)),
            np.nextafter(guess, np.float32(np.inf))]
    finite = [x for x in near if np.isfinite(x)]
    far = [abs(Fraction(float(x)) - value) for x in finite]
    best = [x for x, d in zip(finite, far) if d == min(far)]
    if len(best) == 1:
        return best[0]
    return next(x for x in best if not x.view(np.uint32) & 1)


def _single(bits):
    return np.array([bits], np.uint32).view(np.float32)


@settings(derandomize=True, max_examples=400, deadline=None)
@given(st.lists(st.integers(0, 2 ** 23 - 1), min_size=3, max_size=3),
       st.lists(st.integers(100, 150), min_size=3, max_size=3),
       st.integers(0, 7))
def test_a_fused_multiply_add_rounds_the_exact_value_once(fractions, exponents, signs):
    a, b, c = (_single(((signs >> i & 1) << 31) | (exponents[i] << 23) | fractions[i])
               for i in range(3))
    exact = Fraction(float(a[0])) * Fraction(float(b[0])) + Fraction(float(c[0]))
    found = fused_multiply_add(a, b, c)[0]
    assert found.view(np.uint32) == np.float32(_nearest(exact)).view(np.uint32)


def test_a_fused_multiply_add_does_not_round_twice_at_a_tie():
    # The product is 1 + 2^-24 + 2^-47 minus a little: float64 alone would call a tie.
    a = np.float32([1 + 2.0 ** -12])
    b = np.float32([1 - 2.0 ** -12])
    c = np.float32([2.0 ** -60])
    exact = Fraction(float(a[0])) * Fraction(float(b[0])) + Fraction(float(c[0]))
    assert fused_multiply_add(a, b, c)[0] == _nearest(exact)
    assert fused_multiply_add(np.float32([np.inf]), b, c)[0] == np.inf
    assert np.isnan(fused_multiply_add(np.float32([np.nan]), b, c)[0])
    zero = fused_multiply_add(np.float32([-1]), np.float32([3]), np.float32([3]))
    assert zero[0] == 0
    assert not np.signbit(zero[0])


def test_a_fused_multiply_add_broadcasts():
    a, b, c = np.ones((3, 1), np.float32), np.ones(4, np.float32), np.float32(2)
    assert fused_multiply_add(a, b, np.asarray(c)).tolist() == [[3.0] * 4] * 3


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_adds_every_element_once(order):
    for shape, axes in (((3, 37), (1,)), ((5, 4), (0,)), ((2, 3, 5), (0, 2)),
                        ((4, 0), (1,)), ((1, 1), (1,)), ((32,), (0,))):
        size = int(np.prod(shape))
        array = np.arange(size, dtype=np.float32).reshape(shape)
        found = ordered_sum(array, axes, order)
        np.testing.assert_array_equal(found, array.sum(axis=axes, keepdims=True))
        assert found.dtype == np.float32


def test_windows_share_their_padding_between_both_ends():
    # Ten elements in windows of 4 are padded to 12, one zero on each side.
    x = np.random.RandomState(1).normal(size=10).astype(np.float32)
    parts = [[x[0], x[1], x[2]], x[3:7], x[7:10]]
    total = np.float32(0)
    for part in parts:
        inner = np.float32(0)
        for value in part:
            inner = inner + value
        total = total + inner
    assert ordered_sum(x, (0,), "windows of 4")[0] == total


def test_orders_differ_in_bits_as_orders_do():
    x = np.random.RandomState(2).normal(size=(200, 1000)).astype(np.float32)
    found = {order: ordered_sum(x, (1,), order).tobytes() for order in ORDERS}
    assert len(set(found.values())) == len(ORDERS)


def test_two_roundings_of_a_root_are_those_of_the_dtype():
    x = np.float32([0.01, 2.0, 3.0, 99.9])
    root = round_to(np.sqrt(x.astype(np.float64)), "float16").astype(np.float32)
    assert two_step_rsqrt(x, "float16").tolist() == (np.float32(1) / root).tolist()
    assert two_step_rsqrt(x, "float32").tolist() == (
        np.float32(1) / np.sqrt(x)).tolist()


@pytest.mark.parametrize("fused", [False, True])
def test_a_product_one_by_one_adds_along_k(fused):
    state = np.random.RandomState(3)
    left = state.normal(size=(2, 3, 7)).astype(np.float32)
    right = state.normal(size=(7, 4)).astype(np.float32)
    found = ordered_product(left, right, fused=fused)
    total = np.zeros((2, 3, 4), np.float32)
    for k in range(7):
        for place in np.ndindex(2, 3, 4):
            i, j, n = place
            if fused:
                total[place] = fused_multiply_add(
                    left[i, j, k:k + 1], right[k, n:n + 1],
                    np.float32([total[place]]))[0]
            else:
                total[place] += left[i, j, k] * right[k, n]
    assert found.tobytes() == total.tobytes()
