from __future__ import annotations

import numpy as np
import pytest

from ge_harness.compare.compare import compare_tensor
from ge_harness.compare.standards import STANDARDS, parse_standard
from ge_harness.errors import UnknownNameError, UsageError

F2, F4 = np.float16, np.float32


def verdict(standard, a, b, reference=None, dtype=None):
    found = compare_tensor("t", np.asarray(a), np.asarray(b), reference=reference,
                           standards=(standard,), dtype=dtype)
    return found.standards[0]


def passes(standard, a, b, reference=None, dtype=None):
    return verdict(standard, a, b, reference, dtype).passed


def test_every_rule_of_the_table_can_be_asked_for_and_has_its_reason():
    for row in STANDARDS:
        assert parse_standard(row.name.replace(":N", ":3")).name
        assert row.rule
        assert row.reason


@pytest.mark.parametrize(("text", "name"), [
    ("ulp:02", "ulp:2"), ("dual", "dual:L1"), ("dual:L2", "dual:L2"), ("bits", "bits")])
def test_names_are_completed(text, name):
    assert parse_standard(text).name == name


@pytest.mark.parametrize("text", ["ulp", "ulp:", "ulp:-1", "ulp:1.5", "ulp:x",
                                  "ulp:\u0661", "ulp:1\n"])
def test_a_ulp_limit_is_a_whole_number(text):
    with pytest.raises(UsageError, match="expected a whole number"):
        parse_standard(text)


@pytest.mark.parametrize(("text", "nearest"), [
    ("dual:L3", "dual:L0"), ("bit", "bits"), ("clos", "close"), ("zzzz", ""), ("", "")])
def test_an_unknown_name_gets_the_nearest(text, nearest):
    with pytest.raises(UnknownNameError) as caught:
        parse_standard(text)
    assert caught.value.nearest[:4] == nearest[:4]


def test_ulp_takes_the_limit_itself():
    x = F4([1.0])
    two = np.nextafter(np.nextafter(x, F4(2)), F4(2))
    assert passes("ulp:2", two, x) is True
    assert passes("ulp:1", two, x) is False


def test_mixed_allows_one_miss_in_a_hundred_and_no_wild_one():
    g = np.ones(100, F4)
    one_off = g.copy()
    one_off[5] = 1.005
    assert passes("mixed", one_off, g) is True
    two_off = one_off.copy()
    two_off[6] = 1.005
    assert passes("mixed", two_off, g) is False
    wild = g.copy()
    wild[5] = 1.02
    assert passes("mixed", wild, g) is False


def test_mixed_forgives_a_large_error_of_few_ulp():
    g = np.full(100, 60000, F2)
    a = g.copy()
    a[0] = 60064
    assert verdict("mixed", a, g).passed is True
    assert dict(verdict("mixed", a, g).figures)["max_abs"] == 64


@pytest.mark.parametrize(("dtype", "threshold"), [("float16", 2.0**-10),
                                                  ("float32", 2.0**-13)])
def test_stat_needs_a_small_mean_and_no_tenfold_error(dtype, threshold):
    g = np.ones(1000)
    below = g.copy()
    below[0] += 9 * threshold
    assert passes("stat", below.astype(dtype), g.astype(dtype)) is True
    above = g.copy()
    above[0] += 11 * threshold
    assert passes("stat", above.astype(dtype), g.astype(dtype)) is False
    everywhere = g + 2 * threshold
    assert passes("stat", everywhere.astype(dtype), g.astype(dtype)) is False


def test_close_allows_its_share_of_misses():
    g = np.ones(1000, F2)
    one_off, two_off = g.copy(), g.copy()
    one_off[0] = 2
    two_off[:2] = 2
    assert passes("close", one_off, g) is True
    assert passes("close", two_off, g) is False


@pytest.mark.parametrize(("standard", "factor", "expected"), [
    ("dual:L0", 1.9, True), ("dual:L1", 1.9, False), ("dual:L1", 1.4, True),
    ("dual:L2", 1.4, False), ("dual:L2", 1.1, True), ("dual:L0", 2.1, False)])
def test_dual_limits_the_ratio_of_errors(standard, factor, expected):
    reference = np.linspace(1, 2, 1000)
    error = 1e-4
    b = (reference + error).astype(F4)
    a = (reference + factor * error).astype(F4)
    assert passes(standard, a, b, reference) is expected


def test_dual_counts_errors_of_small_values_apart():
    reference = np.concatenate([np.ones(10), np.zeros(10)])
    b = reference.astype(F4)
    a = b.copy()
    a[10:12] = 1e-6
    assert passes("dual:L1", a, b, reference) is True
    a[10:13] = 1e-6
    assert passes("dual:L1", a, b, reference) is False


def test_dual_does_not_judge_by_a_base_line_that_is_wrong_itself():
    found = verdict("dual:L1", F4([1, 2]), F4([1, np.inf]), np.array([1.0, 2.0]))
    assert found.passed is None
    assert "base line itself" in found.reason


@pytest.mark.parametrize("standard", ["mixed", "stat", "close", "dual:L0",
                                      "msprobe-ulp"])
@pytest.mark.parametrize("reference", [np.nan, np.inf])
def test_a_reference_without_number_never_passes_against_a_number(standard, reference):
    ones = np.ones(1000, F4)
    truth = np.ones(1000)
    truth[7] = reference
    found = verdict(standard, ones, ones, truth)
    assert found.passed is False
    assert found.golden == "reference"


@pytest.mark.parametrize("standard", ["bits", "binary", "ulp:0", "mixed", "stat",
                                      "close", "msprobe-ulp", "dual:L2"])
def test_agreeing_nan_and_infinity_pass_every_rule(standard):
    x = F4([np.nan, np.inf, -np.inf, 0, 1])
    assert passes(standard, x, x.copy(), x.astype(np.float64)) is True


@pytest.mark.parametrize("standard", ["bits", "binary", "ulp:9", "mixed", "stat",
                                      "close", "msprobe-ulp", "dual:L0"])
def test_integers_are_exact_under_every_rule(standard):
    big = np.arange(1000, dtype=np.int32) + 10**6
    off = big.copy()
    off[3] += 1
    assert passes(standard, off, big, big.astype(np.float64)) is False
    assert passes(standard, big, big.copy(), big.astype(np.float64)) is True


@pytest.mark.parametrize("standard", ["bits", "binary", "ulp:1", "mixed", "stat",
                                      "close", "msprobe-ulp", "dual:L1"])
def test_empty_tensors_pass_and_shape_mismatches_fail(standard):
    empty = np.zeros((0, 3), F4)
    assert passes(standard, empty, empty.copy(), np.zeros((0, 3))) is True
    assert passes(standard, np.zeros(2, F4), np.zeros(3, F4)) is False


def test_binary_takes_the_sign_of_zero_for_a_difference():
    assert passes("binary", F4([0.0]), F4([-0.0])) is False


def test_msprobe_allows_less_than_a_thousandth_over_one_ulp_in_float16():
    g = np.ones(2000, F2)
    a = g.copy()
    a[0] = 1 + 2 * 2.0**-10
    assert passes("msprobe-ulp", a, g) is True
    a[1] = 1 + 2 * 2.0**-10
    assert passes("msprobe-ulp", a, g) is False


def test_msprobe_takes_either_measure_in_float32():
    g = np.ones(100, F4)
    many_small = g * F4(1 + 50 * 2.0**-23)
    assert passes("msprobe-ulp", many_small, g) is True
    few_large = g.copy()
    few_large[:4] = 2
    assert passes("msprobe-ulp", few_large, g) is True
    assert passes("msprobe-ulp", g * F4(2), g) is False


@pytest.mark.parametrize("standard", ["mixed", "stat", "close", "msprobe-ulp"])
def test_float64_has_no_thresholds(standard):
    found = verdict(standard, np.array([1.0]), np.array([1.0]))
    assert found.passed is None
    assert "float64" in found.reason


def test_bfloat16_has_its_own_thresholds():
    g = np.full(100, 0x3F80, np.uint16)
    a = g + np.uint16(1)
    assert passes("mixed", a, g, dtype="bfloat16") is True
    assert passes("stat", a, g, dtype="bfloat16") is True
    assert passes("stat", a + np.uint16(1), g, dtype="bfloat16") is False
