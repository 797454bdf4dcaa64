from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ge_harness.compare.dtypes import as_storage, round_to, to_storage, widen
from tests.ge_harness.compare import slow


def bits_of(array):
    return np.asarray(array).view(np.uint16)


def finite_magnitudes(dtype):
    exponent_bits, fraction_bits = slow.LAYOUT[dtype]
    return np.arange((2**exponent_bits - 1) * 2**fraction_bits, dtype=np.uint16)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_16_bit_value_widens_exactly(dtype):
    bits = np.arange(2**16, dtype=np.uint16)
    wide = widen(bits if dtype == "bfloat16" else bits.view(np.float16), dtype)
    for pattern, found in zip(bits.tolist(), wide.tolist()):
        expected = slow.value(pattern, dtype)
        if slow.is_nan(pattern, dtype):
            assert found != found
        else:
            assert found == expected
            assert math.copysign(1, found) == (-1 if pattern >= 0x8000 else 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_every_midpoint_of_16_bit_values_rounds_to_even(dtype, sign):
    low = finite_magnitudes(dtype)[:-1]
    storage = low if dtype == "bfloat16" else low.view(np.float16)
    above = (low + np.uint16(1))
    above_storage = above if dtype == "bfloat16" else above.view(np.float16)
    middle = (widen(storage, dtype) + widen(above_storage, dtype)) / 2
    flip = np.uint16(0x8000 if sign < 0 else 0)
    even = np.where(low % 2 == 0, low, above) | flip
    np.testing.assert_array_equal(bits_of(round_to(sign * middle, dtype)), even)
    up = sign * np.nextafter(middle, np.inf)
    down = sign * np.nextafter(middle, 0)
    np.testing.assert_array_equal(bits_of(round_to(up, dtype)), above | flip)
    np.testing.assert_array_equal(bits_of(round_to(down, dtype)), low | flip)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_16_bit_value_rounds_to_itself(dtype):
    low = finite_magnitudes(dtype)
    low = np.concatenate([low, low | np.uint16(0x8000)])
    storage = low if dtype == "bfloat16" else low.view(np.float16)
    np.testing.assert_array_equal(bits_of(round_to(widen(storage, dtype), dtype)), low)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_beyond_the_largest_value_gives_infinity_from_its_midpoint_on(dtype):
    infinity = int(finite_magnitudes(dtype)[-1]) + 1
    largest = slow.value(infinity - 1, dtype)
    edge = float(Fraction(largest) + slow.ulp_of(largest, dtype) / 2)
    wide = np.array([edge, np.nextafter(edge, 0), np.inf, -np.inf, 1e300])
    found = bits_of(round_to(wide, dtype)).tolist()
    assert found == [infinity, infinity - 1, infinity, infinity + 0x8000, infinity]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_random_values_round_to_the_nearest_by_exact_fractions(dtype):
    rng = np.random.RandomState(3)
    wide = np.ldexp(rng.randn(1000), rng.randint(-30, 15, 1000))
    narrow = widen(round_to(wide, dtype), dtype)
    for exact, found in zip(wide.tolist(), narrow.tolist()):
        error = abs(Fraction(found) - Fraction(exact))
        assert 2 * error <= slow.ulp_of(Fraction(exact), dtype)


def test_nan_stays_nan_in_bfloat16():
    quiet = round_to(np.array([np.nan, -np.nan]), "bfloat16")
    assert all(slow.is_nan(int(bits), "bfloat16") for bits in quiet)
    nan_of_low_payload = np.array([0x7F800001], np.uint32).view(np.float32)
    assert slow.is_nan(int(round_to(nan_of_low_payload, "bfloat16")[0]), "bfloat16")


def test_raw_bits_become_what_they_are_told_to_be_in_either_byte_order():
    bits = np.array([0x3C00, 0x4000], np.uint16)
    for raw in (bits, bits.astype(">u2"), bits.view("V2")):
        storage, name = as_storage(raw, "float16")
        assert name == "float16"
        assert storage.astype(np.float64).tolist() == [1.0, 2.0]


def test_storage_of_a_plain_array_is_the_array():
    array = np.arange(3.0)
    storage, name = to_storage(array)
    assert storage is array
    assert name == "float64"
