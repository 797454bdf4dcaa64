from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.compare import quantile, stream
from ge_harness.compare.compare import (
    compare_storage,
    compare_tensor,
    compare_values,
    verdict_of,
)
from ge_harness.compare.document import pair_document
from ge_harness.compare.dtypes import as_storage
from ge_harness.errors import UnknownNameError, UsageError
from ge_harness.records.comparison import Status, TensorComparison, Verdict
from ge_harness.records.serialize import build, dumps, loads

F4 = np.float32


def status(a, b, **options):
    return compare_tensor("t", np.asarray(a), np.asarray(b), **options).status


def test_finite_against_infinity_is_a_kind_mismatch_and_no_distance():
    """Case F01: the compiled side stays finite where eager overflows."""
    eager = np.array([88, np.inf, np.inf, -np.inf], F4)
    compiled = np.array([88, 89, 200, -200], F4)
    found = compare_tensor("t", compiled, eager,
                           reference=compiled.astype(np.float64))
    assert found.status is Status.KIND_MISMATCH
    assert (found.mismatch_count, found.count) == (3, 4)
    assert found.nonfinite.finite_vs_inf == found.nonfinite.changed == 3
    assert found.ulp.max == 0
    assert (found.ulp.share_0, found.ulp.share_kind) == (0.25, 0.75)
    assert found.worst[0].kind == "finite_vs_inf"
    assert found.worst[0].ulp is None
    assert (found.nearer.a, found.nearer.b, found.nearer.same) == (3, 0, 1)


def test_max_against_infinity_is_saturation_and_never_tolerated():
    """Case F11; the saturation mode of Ascend gives 65504 for infinity."""
    found = compare_tensor("t", np.float16([65504, 1]), np.float16([np.inf, 1]),
                           standards=("ulp:1", "mixed", "msprobe-ulp"))
    assert found.status is Status.KIND_MISMATCH
    assert found.nonfinite.saturated == 1
    assert found.nonfinite.finite_vs_inf == 1
    assert [one.passed for one in found.standards] == [False, False, False]


@pytest.mark.parametrize(("a", "b", "expected"), [
    (F4([0.0]), F4([-0.0]), Status.EQUAL_VALUE),
    (F4([1.0, np.nan]), F4([1.0, np.nan]), Status.EQUAL),
    (F4([np.nan]), F4([1.0]), Status.KIND_MISMATCH),
    (F4([np.inf]), F4([-np.inf]), Status.KIND_MISMATCH),
    (F4([np.inf]), F4([np.inf]), Status.EQUAL),
    (F4([1e-45]), F4([-1e-45]), Status.DIFFERS),
    (F4([]), F4([]), Status.EQUAL),
    (np.zeros((0, 3)), np.zeros((0, 3)), Status.EQUAL),
    (np.zeros((0, 3)), np.zeros((3, 0)), Status.SHAPE_MISMATCH),
    (F4(1), F4([1]), Status.SHAPE_MISMATCH),
    (F4([1]), np.float64([1]), Status.DTYPE_MISMATCH),
    (np.array([1.5], ">f4"), np.array([1.5], "<f4"), Status.EQUAL),
    (np.array([1.5], ">f4"), np.array([1.75], "<f4"), Status.DIFFERS),
    (np.int64([2**53 + 1]), np.int64([2**53]), Status.DIFFERS),
    (np.zeros((2, 3), order="F"), np.zeros((2, 3)), Status.EQUAL),
])
def test_status_of_odd_pairs(a, b, expected):
    assert status(a, b) is expected


def test_nan_payloads_differ_in_bits_and_not_in_value():
    a, b = (np.array([bits, 0], np.uint32).view(F4)
            for bits in (0x7FC00001, 0x7FC00000))
    found = compare_tensor("t", a, b, standards=("bits", "binary"))
    assert found.status is Status.EQUAL_VALUE
    assert (found.bit_mismatch_count, found.nan_payload_count) == (1, 1)
    assert [one.passed for one in found.standards] == [False, True]
    assert found.worst[0].a_bits == "0x7fc00001"


def test_byte_order_is_said():
    found = compare_tensor("t", np.array([1.5], ">f4"), np.array([1.5], "<f4"))
    assert "byte order differs (>f4 against <f4)" in found.notes[0]


def test_int8_difference_is_wide():
    found = compare_tensor("t", np.int8([112]), np.int8([-112]))
    assert found.abs.max == 224
    assert found.ulp.max is None
    assert found.worst[0].abs == 224


def test_booleans_count_flips():
    found = compare_tensor("t", np.array([True, False, True]),
                           np.array([True, True, False]))
    assert (found.mismatch_count, found.rel.count, found.cosine) == (2, 0, None)


def test_a_boolean_of_another_byte_is_not_equal():
    odd = np.frombuffer(b"\2\0\1", np.bool_)
    found = compare_tensor("t", odd, np.array([True, False, True]),
                           standards=("bits", "ulp:9"))
    assert (found.status, found.bit_mismatch_count) == (Status.DIFFERS, 1)
    assert [one.passed for one in found.standards] == [False, False]
    assert (found.worst[0].a_bits, found.worst[0].b_bits) == ("0x02", "0x01")


@pytest.mark.filterwarnings("error")
def test_a_signaling_nan_is_compared_without_a_warning():
    odd = np.frombuffer(b"\1\0\0\0\0\0\xf0\x7f" * 2, np.float64)
    assert compare_tensor("t", odd, np.array([1.0, 2.0])).nonfinite.changed == 2
    assert compare_tensor("t", np.array([1.0, 2.0]), odd).nonfinite.changed == 2


# Case F12: what a cosine hides, and what it cries about.
def test_a_thousand_values_one_ulp_apart_differ_although_the_cosine_prints_one():
    x = np.random.RandomState(0).rand(1000).astype(F4) + F4(1)
    found = compare_tensor("t", np.nextafter(x, F4(9)), x)
    assert f"{found.cosine:.8f}" == "1.00000000"
    assert found.status is Status.DIFFERS
    assert (found.mismatch_count, found.ulp.share_1) == (1000, 1.0)


def test_a_thousand_negated_values_differ_although_one_large_value_hides_them():
    x = np.concatenate([np.random.RandomState(1).rand(1000) + 0.5, [1e6]]).astype(F4)
    y = -x
    y[-1] = x[-1]
    found = compare_tensor("t", y, x, standards=("mixed", "stat", "close"))
    assert found.cosine > 0.99999999
    assert found.mismatch_count == 1000
    assert [one.passed for one in found.standards] == [False, False, False]


@pytest.mark.parametrize("x", [F4([1e-6] * 50), F4([0.0] * 50), F4([1, np.nan, 3])],
                         ids=["tiny", "zero", "nan"])
def test_identical_tensors_are_equal_whatever_the_cosine(x):
    assert status(x, x.copy()) is Status.EQUAL


def test_twice_the_tensor_differs_although_the_cosine_is_one():
    x = np.arange(1, 100, dtype=F4)
    found = compare_tensor("t", 2 * x, x)
    assert found.cosine == 1.0
    assert found.mismatch_count == 99


def test_zero_tensors_have_no_cosine():
    assert compare_tensor("t", F4([0, 0]), F4([0, 0])).cosine is None


def test_values_on_request_keep_the_mismatch():
    a, b = as_storage(F4(2)), as_storage(F4([1]))
    first = compare_storage("t", a, b, None, ())
    assert (first.count, first.bit_equal) == (0, None)
    found = compare_values(first, a, b)
    assert found.status is Status.SHAPE_MISMATCH
    assert (found.mismatch_count, found.ulp.max) == (1, 2**23)
    assert verdict_of([found]) is Verdict.DIFFERS


def test_values_of_different_dtypes_are_compared_without_ulp():
    a, b = as_storage(np.float16([1.5, 2])), as_storage(F4([1.5, 1]))
    found = compare_values(compare_storage("t", a, b, None, ()), a, b)
    assert found.status is Status.DTYPE_MISMATCH
    assert (found.mismatch_count, found.abs.max, found.ulp.max) == (1, 1.0, None)


def test_values_of_different_counts_are_not_compared():
    a, b = as_storage(F4([1, 2])), as_storage(F4([1]))
    found = compare_values(compare_storage("t", a, b, None, ()), a, b)
    assert found.bit_equal is None
    assert "2 elements against 1" in found.notes[-1]


def test_the_five_worst_come_first_and_the_first_of_equals_before_the_others():
    base = np.ones((4, 3), F4)
    side = base.copy()
    side[0, 1], side[2, 2], side[3, 0], side[1, 1] = 3, np.nan, 2, 3
    side[3, 1] = side[3, 2] = np.nextafter(F4(1), F4(2))
    found = compare_tensor("t", side, base)
    assert [one.index for one in found.worst] == [
        (2, 2), (0, 1), (1, 1), (3, 0), (3, 1)]
    assert found.abs.index == (0, 1)


def test_mismatches_are_counted_by_magnitude():
    b = F4([0, 1e-5, 0.5, 5, 5, 1e20, np.inf])
    a = F4([1, 2e-5, 0.5, 6, 6, 2e20, 1])
    found = compare_tensor("t", a, b)
    assert {one.label: one.count for one in found.buckets} == {
        "0": 1, "1e-6 to 1e-3": 1, "1 to 1e3": 2, "1e12 and more": 1, "inf or nan": 1}


def test_both_sides_are_measured_against_the_reference():
    reference = np.array([1 + 2.0**-11, 2.0])
    found = compare_tensor("t", np.float16([1 + 2.0**-10, 2]), np.float16([1, 2]),
                           reference=reference)
    assert found.a_errors.ulp.max == found.b_errors.ulp.max == 0.5
    assert found.nearer.same == 2
    assert found.worst[0].reference == reference[0]


def test_a_reference_of_another_shape_is_an_error():
    with pytest.raises(ValueError, match="reference has shape"):
        compare_tensor("t", F4([1]), F4([1]), reference=np.zeros(2))


def test_dual_without_a_reference_says_what_is_missing():
    with pytest.raises(UsageError, match="--reference"):
        compare_tensor("t", F4([1]), F4([1]), standards=("dual:L1",))


def test_an_unknown_standard_gets_the_nearest_name():
    with pytest.raises(UnknownNameError) as caught:
        compare_tensor("t", F4([1]), F4([1]), standards=("mixd",))
    assert caught.value.nearest == "mixed"


def test_bfloat16_bits_are_compared_as_told():
    a, b = np.array([0x3F80], np.uint16), np.array([0x3F81], np.uint16)
    found = compare_tensor("t", a, b, dtype="bfloat16", reference=np.array([1.0]))
    assert (found.dtype, found.ulp.max, found.worst[0].b) == ("bfloat16", 1, 1.0078125)
    assert found.b_errors.ulp.max == 1.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_record_does_not_depend_on_chunks_or_on_what_is_kept(dtype, monkeypatch):
    rng = np.random.RandomState(3)
    b = (rng.randn(3, 20_000) * 100).astype(dtype)
    a = b.copy()
    a[:, ::7] = (b[:, ::7] * 1.25).astype(dtype)
    standards = ("mixed", "stat", "close", "dual:L1", "msprobe-ulp", "ulp:4")
    whole = compare_tensor("t", a, b, reference=b * 1.0001, standards=standards)
    monkeypatch.setattr(quantile, "KEEP", 50)
    monkeypatch.setattr(stream, "CHUNK", 2 * stream.BLOCK)
    assert compare_tensor("t", a, b, reference=b * 1.0001, standards=standards) == whole


def test_document_is_json_of_the_kind_compare():
    a = F4([np.nan, 1, -np.inf])
    found = compare_tensor("t", a, F4([2, 1, 0]), standards=("bits", "ulp:1"))
    text = dumps("compare", {"pairs": [pair_document(found, a="x", b="y")]})
    pair = loads("compare", text, "memory")["pairs"][0]
    assert pair["status"] == "kind_mismatch"
    assert pair["worst"]["a"] == "nan"
    assert pair["worst"]["ulp"] is None
    assert pair["standards"]["ulp:1"]["passed"] is False
    assert set(pair) >= {"name", "a", "b", "shape", "dtype", "status", "bit_equal",
                         "ulp", "abs", "rel", "cosine", "nonfinite", "worst",
                         "standards"}


def test_the_record_survives_json():
    reference = np.array([1.0, 2.0, 3.0])
    found = compare_tensor("t", F4([1, 2, 4]), F4([1, 2, 3]), reference=reference,
                           standards=("bits", "mixed"))
    text = dumps("comparison", found)
    assert build(TensorComparison, loads("comparison", text, "memory")) == found


def test_verdict_of_nothing_is_undecided():
    assert verdict_of([]) is Verdict.UNDECIDED
    equal = compare_tensor("t", F4([1]), F4([1]))
    assert verdict_of([equal]) is Verdict.AGREES
    assert verdict_of([equal], unmatched=1) is Verdict.DIFFERS


def test_a_standard_without_thresholds_is_undecided():
    found = compare_tensor("t", np.array([1.0]), np.array([1.5]), standards=("mixed",))
    assert found.standards[0].passed is None
    assert verdict_of([found]) is Verdict.UNDECIDED


floats = st.floats(width=32) | st.sampled_from([0.0, -0.0, float("nan"), 1e-45])


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.tuples(floats, floats | st.just(None)), min_size=1, max_size=20))
def test_layers_agree_with_one_another(pairs):
    a = np.array([one for one, _ in pairs], F4)
    b = np.array([one if other is None else other for one, other in pairs], F4)
    found = compare_tensor("t", a, b)
    same_bits = a.view(np.uint32) == b.view(np.uint32)
    same_value = (a == b) | (np.isnan(a) & np.isnan(b))
    assert found.bit_mismatch_count == np.count_nonzero(~same_bits)
    assert found.mismatch_count == np.count_nonzero(~same_value)
    assert found.bit_mismatch_count == (found.mismatch_count + found.zero_sign_count
                                        + found.nan_payload_count)
    assert found.nonfinite.changed + found.ulp.count == found.count
    shares = (found.ulp.share_0 + found.ulp.share_1 + found.ulp.share_2plus
              + found.ulp.share_kind)
    assert shares == pytest.approx(1)


def test_mapped_arrays_are_compared_in_bounded_memory(tmp_path):
    count = 3 << 20
    for name in "ab":
        array = np.lib.format.open_memmap(str(tmp_path / name), "w+", "f4", (count,))
        array[:] = np.arange(count)
        array.flush()
        if name == "a":
            array[count // 2] += 1
        del array
    a, b = (np.load(str(tmp_path / name), mmap_mode="r") for name in "ab")
    tracemalloc.start()
    try:
        found = compare_tensor("t", a, b)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found.mismatch_count, found.worst[0].index) == (1, (count // 2,))
    assert peak < 20 * 2**20 < a.nbytes + b.nbytes
