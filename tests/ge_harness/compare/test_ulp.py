from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.compare.dtypes import FLOAT_FORMATS, INTEGERS
from ge_harness.compare.ulp import bit_equal, max_distance, ulp_diff
from tests.ge_harness.compare import slow

ALL_16 = np.arange(2**16, dtype=np.uint16)
F32_MAX = float(np.finfo(np.float32).max)
F64_MAX = float(np.finfo(np.float64).max)


def as_dtype(bits, dtype):
    """View integer bits as the dtype; bfloat16 stays bits and is told."""
    array = np.asarray(bits, dtype=f"u{FLOAT_FORMATS[dtype].bits // 8}")
    return array if dtype == "bfloat16" else array.view(dtype)


def diff(bits_a, bits_b, dtype):
    told = dtype if dtype == "bfloat16" else None
    return ulp_diff(as_dtype(bits_a, dtype), as_dtype(bits_b, dtype), dtype=told)


@pytest.fixture(scope="module", params=["float16", "bfloat16"])
def ranked(request):
    return request.param, slow.ranks(request.param)


def test_every_16_bit_value_is_as_far_from_each_pivot_as_sorting_says(ranked):
    dtype, ranks = ranked
    nan = np.array([slow.is_nan(int(bits), dtype) for bits in ALL_16])
    place = np.array([ranks.get(int(bits), 0) for bits in ALL_16], dtype=np.int64)
    top = slow.LAYOUT[dtype]
    infinity = (2 ** top[0] - 1) * 2 ** top[1]
    for pivot in (0, 0x8000, 1, 0x8001, 0x3C00, 0xBF80, infinity - 1, infinity,
                  infinity + 0x8000):
        found = diff(ALL_16, np.full_like(ALL_16, pivot), dtype)
        expected = np.abs(place - ranks[pivot])
        expected[nan] = ranks[infinity] - ranks[infinity + 0x8000]
        np.testing.assert_array_equal(found, expected.astype(np.uint64))


def test_random_pairs_of_16_bit_values_are_as_far_apart_as_sorting_says(ranked):
    dtype, ranks = ranked
    rng = np.random.RandomState(1)
    known = np.array(sorted(ranks), dtype=np.uint16)
    a, b = rng.choice(known, 50_000), rng.choice(known, 50_000)
    expected = [abs(ranks[int(x)] - ranks[int(y)]) for x, y in zip(a, b)]
    np.testing.assert_array_equal(diff(a, b, dtype), np.array(expected, np.uint64))


@pytest.mark.parametrize(("dtype", "a", "b", "expected"), [
    ("float32", 0.0, -0.0, 0),
    ("float32", 1e-45, -1e-45, 2),
    ("float32", -1.0, 1.0, 2130706432),
    ("float32", -F32_MAX, F32_MAX, 4278190078),
    ("float32", F32_MAX, np.inf, 1),
    ("float32", np.nan, 1.0, 4278190080),
    ("float32", np.nan, np.nan, 0),
    ("float64", -F64_MAX, F64_MAX, 18437736874454810622),
    ("float64", -np.inf, np.inf, 18437736874454810624),
    ("float64", np.nan, 0.0, 18437736874454810624),
    ("float16", 6e-8, -6e-8, 2),
    ("float16", np.nan, 1.0, 63488),
])
def test_a_distance_of_the_table_is_exact(dtype, a, b, expected):
    found = ulp_diff(np.array([a], dtype), np.array([b], dtype))
    assert found.dtype == np.uint64
    assert int(found[0]) == expected
    assert int(ulp_diff(np.array([b], dtype), np.array([a], dtype))[0]) == expected


def test_bfloat16_distances_of_the_table_are_exact():
    one, next_up, minus_one = 0x3F80, 0x3F81, 0xBF80
    found = diff([one, minus_one], [next_up, one], "bfloat16")
    assert found.tolist() == [1, 32512]


def test_bfloat16_of_ml_dtypes_is_taken_as_it_is():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.array([1.0, -1.0, np.nan], ml_dtypes.bfloat16)
    b = np.array([1.0078125, 1.0, np.nan], ml_dtypes.bfloat16)
    assert ulp_diff(a, b).tolist() == [1, 32512, 0]
    assert not bit_equal(a, b)
    assert bit_equal(a, a.view(np.uint16), dtype="bfloat16")


@pytest.mark.tf
def test_bfloat16_of_tensorflow_is_taken_as_it_is():
    tf = pytest.importorskip("tensorflow")
    bfloat16 = tf.bfloat16.as_numpy_dtype
    a = np.array([1.0, -1.0]).astype(bfloat16)
    b = np.array([1.0078125, 1.0]).astype(bfloat16)
    assert ulp_diff(a, b).tolist() == [1, 32512]


@pytest.mark.parametrize(("dtype", "a", "b", "expected"), [
    ("int8", 112, -112, 224),
    ("int64", 2**63 - 1, -(2**63), 2**64 - 1),
    ("int64", 2**53 + 1, 2**53, 1),
    ("uint64", 0, 2**64 - 1, 2**64 - 1),
    ("uint8", 0, 255, 255),
    ("bool", True, False, 1),
])
def test_integers_are_subtracted_wide(dtype, a, b, expected):
    assert int(ulp_diff(np.array([a], dtype), np.array([b], dtype))[0]) == expected
    assert int(ulp_diff(np.array([b], dtype), np.array([a], dtype))[0]) == expected


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_extremes_are_exact(dtype):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, 0, 1], dtype)
    for one in ends:
        found = ulp_diff(ends, np.full_like(ends, one))
        assert [int(x) for x in found] == [abs(int(x) - int(one)) for x in ends]


def test_nan_payloads_are_not_bit_equal_and_at_distance_zero():
    a, b = (np.array([bits], np.uint32).view(np.float32)
            for bits in (0x7FC00001, 0x7FC00000))
    assert ulp_diff(a, b).tolist() == [0]
    assert not bit_equal(a, b)
    assert bit_equal(a, a.copy())


def test_signs_of_zero_are_not_bit_equal():
    assert not bit_equal(np.float32([0.0]), np.float32([-0.0]))


@pytest.mark.parametrize("function", [ulp_diff, bit_equal])
@pytest.mark.parametrize(("a", "b", "words"), [
    (np.zeros(2, "f4"), np.zeros(2, "f2"), "float32 against float16"),
    (np.zeros(2, "i4"), np.zeros(2, "u4"), "int32 against uint32"),
    (np.zeros((2, 1)), np.zeros(2), r"\[2, 1\] against \[2\]"),
    (np.zeros(()), np.zeros(1), r"\[\] against \[1\]"),
    (np.zeros(2, "c8"), np.zeros(2, "c8"), "complex64"),
    (np.zeros(2, "O"), np.zeros(2, "O"), "object"),
    (np.zeros(2, "V2"), np.zeros(2, "V2"), "dtype='bfloat16'"),
    (np.ma.array([1.0], mask=[True]), np.zeros(1), "mask"),
    (np.array(["1"]), np.array(["1"]), "cannot be compared"),
])
def test_what_cannot_be_compared_is_an_error(function, a, b, words):
    with pytest.raises(ValueError, match=words):
        function(a, b)


def test_a_float32_array_cannot_be_told_to_be_bfloat16():
    with pytest.raises(ValueError, match="holds float32"):
        ulp_diff(np.zeros(2, "f4"), np.zeros(2, "f4"), dtype="bfloat16")


def test_an_unknown_dtype_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="float8"):
        ulp_diff(np.zeros(2, "u1"), np.zeros(2, "u1"), dtype="float8")


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0, 2), (5,), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "bool"])
def test_shape_is_kept_for_any_layout_and_byte_order(shape, dtype):
    count = int(np.prod(shape, dtype=int))
    a = np.arange(count).astype(dtype).reshape(shape)
    b = np.arange(count)[::-1].astype(dtype).reshape(shape)
    expected = ulp_diff(a, b)
    assert expected.shape == shape
    swapped = np.asarray(a.astype(a.dtype.newbyteorder(">")))
    fortran = np.asfortranarray(b) if b.ndim else b
    np.testing.assert_array_equal(ulp_diff(swapped, fortran), expected)
    assert bit_equal(swapped, np.asarray(a, order="F"))


def test_strided_and_reversed_views_are_walked_right():
    base = np.arange(60, dtype=np.float32).reshape(6, 10)
    view = base[::-2, 1::3]
    assert bit_equal(view, view.copy())
    np.testing.assert_array_equal(
        ulp_diff(view, np.zeros_like(view)), ulp_diff(view.copy(), np.zeros(view.shape,
                                                                            "f4")))


def bits_of(dtype):
    return st.integers(0, 2 ** FLOAT_FORMATS[dtype].bits - 1)


def triple():
    return st.sampled_from(sorted(FLOAT_FORMATS)).flatmap(
        lambda dtype: st.tuples(st.just(dtype), *[bits_of(dtype)] * 3))


@settings(derandomize=True, max_examples=150, deadline=None)
@given(triple())
def test_distance_is_a_metric_up_to_signs_of_zero_and_nan(case):
    dtype, a, b, c = case
    ab, ba, bc, ac, aa = (int(diff([x], [y], dtype)[0]) for x, y in
                          ((a, b), (b, a), (b, c), (a, c), (a, a)))
    assert ab == ba
    assert aa == 0
    if not any(slow.is_nan(one, dtype) for one in (a, b, c)):
        assert ac <= ab + bc
    assert ab <= max_distance(dtype)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(triple())
def test_distance_counts_the_values_between(case):
    """Signed magnitude in Python integers: no wrap, no rounding."""
    dtype, a, b, _ = case
    if slow.is_nan(a, dtype) or slow.is_nan(b, dtype):
        return
    top = 2 ** (FLOAT_FORMATS[dtype].bits - 1)
    place_a, place_b = ((-(x % top) if x >= top else x) for x in (a, b))
    assert int(diff([a], [b], dtype)[0]) == abs(place_a - place_b)
