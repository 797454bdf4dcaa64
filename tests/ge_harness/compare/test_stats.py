from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.compare import quantile, stream
from ge_harness.compare.dtypes import round_to, widen
from ge_harness.compare.stats import error_stats, measure_errors
from tests.ge_harness.compare import slow


def stats(a, ref, **options):
    return error_stats(np.asarray(a), np.asarray(ref, np.float64), **options)


def test_half_ulp_gains_show_against_an_fp64_reference():
    reference = [1 + 2.0**-11, 1 + 2.0**-12]
    found = stats(np.array([1.0, 1.0], np.float16), reference)
    assert found["ulp"]["max"] == 0.5
    assert found["ulp"]["p50"] == 0.25
    assert not found["ulp_is_distance"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_ulp_error_is_that_of_exact_fractions(dtype):
    rng = np.random.RandomState(5)
    reference = np.ldexp(rng.randn(400), rng.randint(-160, 20, 400))
    reference[:4] = [0.0, 1.0, 2.0**-14, 2.0**-15 * 1.5]
    side = round_to(reference * (1 + rng.randn(400) * 1e-2), dtype)
    wide = widen(side, dtype)
    keep = np.isfinite(wide)
    errors = [float(abs(Fraction(a) - Fraction(r)) / slow.ulp_of(r, dtype))
              for a, r in zip(wide[keep].tolist(), reference[keep].tolist())]
    told = dtype if dtype == "bfloat16" else None
    found = error_stats(side[keep], reference[keep], dtype=told)["ulp"]
    assert found["count"] == len(errors)
    assert found["max"] == pytest.approx(max(errors), rel=1e-15)
    assert found["p50"] == pytest.approx(sorted(errors)[199], rel=1e-15)


def test_beyond_the_largest_finite_the_ulp_of_the_top_binade_counts():
    found = stats(np.array([65504.0], np.float16), [70000.0])
    assert found["ulp"]["max"] == (70000 - 65504) / 32
    assert found["nonfinite"]["saturated"] == 1
    assert found["nonfinite"]["changed"] == 0


def test_below_the_smallest_normal_the_ulp_is_the_subnormal_step():
    found = stats(np.array([0.0], np.float16), [2.0**-25])
    assert found["ulp"]["max"] == 0.5


def test_kinds_are_counted_and_in_no_error():
    a = np.array([np.nan, np.nan, np.inf, np.inf, 1, np.inf, np.inf, 2], np.float16)
    reference = [np.nan, 1, np.nan, 1, np.inf, -np.inf, 70000, 2]
    found = stats(a, reference)
    kinds = found["nonfinite"]
    assert {name: count for name, count in kinds.items() if count} == {
        "a_nan": 2, "b_nan": 2, "a_inf": 4, "b_inf": 2, "changed": 6,
        "nan_vs_finite": 1, "inf_vs_nan": 1, "inf_vs_finite": 2, "finite_vs_inf": 1,
        "inf_sign": 1, "overflow": 1}
    for measure in ("abs", "rel", "ulp"):
        assert found[measure]["count"] == 2
        assert found[measure]["max"] == 0
    assert found["worst_index"] == (1,)
    assert math.isnan(found["worst_value"])
    assert found["bit_equal_count"] == 3


def test_nan_reference_is_no_agreement_with_a_number():
    found = stats(np.array([1.0], np.float32), [np.nan])
    assert found["nonfinite"]["changed"] == 1
    assert found["abs"] == {"count": 0, "max": None, "mean": None, "p50": None,
                            "p99": None, "index": None}


def test_zeros_of_the_reference_are_left_out_of_relative_error_and_counted():
    found = stats(np.array([0.5, 0.0, 3.0], np.float32), [0.0, -0.0, 2.0])
    assert found["zeros_in_reference"] == 2
    assert found["rel"]["count"] == 1
    assert found["rel"]["max"] == 0.5
    assert found["abs"]["count"] == 3


def test_index_of_the_worst_is_in_the_shape_of_the_tensor():
    a = np.zeros((3, 4, 5), np.float32)
    a[1, 2, 3] = 7
    reference = np.zeros((3, 4, 5))
    for side, truth in ((a, reference), (np.asfortranarray(a),
                                         np.asfortranarray(reference))):
        found = error_stats(side, truth)
        assert found["worst_index"] == (1, 2, 3)
        assert found["abs"]["index"] == (1, 2, 3)
        assert (found["worst_value"], found["worst_reference"]) == (7.0, 0.0)


def test_a_reference_of_the_same_narrow_dtype_gives_whole_distances():
    a = np.array([1.0, 2.0], np.float16)
    found = error_stats(a, np.nextafter(a, np.float16(9)))
    assert found["ulp_is_distance"]
    assert found["ulp"]["max"] == 1


def test_integers_are_measured_exactly():
    found = error_stats(np.array([2**53 + 1, 0], np.int64), np.array([2**53, 0]))
    assert (found["abs"]["max"], found["bit_equal_count"]) == (1, 1)
    wide = error_stats(np.array([2**63 - 1], np.int64), np.array([-(2**63)]))
    assert wide["abs"]["max"] == 2**64 - 1
    assert wide["ulp"]["count"] == 0


def test_int64_against_a_float_reference_is_not_squeezed_into_float64():
    found = error_stats(np.array([2**53 + 1], np.int64), np.array([2.0**53]))
    assert found["abs"]["max"] == 1
    assert found["bit_equal_count"] == 0


def test_booleans_count_flips():
    found = error_stats(np.array([True, False, True]), np.array([True, True, False]))
    assert found["abs"]["mean"] == pytest.approx(2 / 3)
    assert found["bit_equal_count"] == 1


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_nothing_has_no_error(shape):
    found = error_stats(np.zeros(shape, np.float16), np.zeros(shape))
    assert found["count"] == 0
    assert found["ulp"]["max"] is None
    assert found["worst_index"] is None


def test_a_scalar_has_an_empty_index():
    assert error_stats(np.float32(2), np.float64(1))["worst_index"] == ()


def test_shapes_must_be_the_same():
    with pytest.raises(ValueError, match=r"\[2\] against \[3\]"):
        error_stats(np.zeros(2), np.zeros(3))


def test_float64_errors_beyond_float64_are_infinite_not_wrong():
    found = error_stats(np.array([1e300]), np.array([0.0]))
    assert found["ulp"]["max"] == math.inf
    assert found["abs"]["max"] == 1e300


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_result_does_not_depend_on_chunks_or_on_what_is_kept(dtype, monkeypatch):
    rng = np.random.RandomState(7)
    reference = rng.randn(9, 5000)
    a = (reference * (1 + rng.randn(9, 5000) * 1e-4)).astype(dtype)
    a[3, 17] = np.inf
    reference[2, :50] = 0
    whole = measure_errors(a, reference)
    monkeypatch.setattr(quantile, "KEEP", 20)
    monkeypatch.setattr(stream, "CHUNK", stream.BLOCK)
    assert measure_errors(a, reference) == whole
    keep = np.isfinite(a)
    errors = np.sort(np.abs(a[keep].astype(np.float64) - reference[keep]))
    assert whole.abs.p50 == errors[(errors.size + 1) // 2 - 1]
    assert whole.abs.p99 == errors[-(-99 * errors.size // 100) - 1]
    assert whole.abs.mean == pytest.approx(math.fsum(errors) / errors.size, rel=1e-14)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(width=16), st.floats()), min_size=1, max_size=30))
def test_counts_add_up_whatever_the_values(pairs):
    a = np.array([one for one, _ in pairs], np.float16)
    found = measure_errors(a, np.array([other for _, other in pairs]))
    kinds = found.nonfinite
    assert found.count == len(pairs)
    assert found.abs.count == found.ulp.count == found.count - kinds.changed
    parts = (kinds.nan_vs_finite, kinds.nan_vs_inf, kinds.finite_vs_nan,
             kinds.inf_vs_nan, kinds.inf_vs_finite, kinds.finite_vs_inf, kinds.inf_sign)
    assert sum(parts) == kinds.changed
    assert kinds.overflow <= kinds.inf_vs_finite
    if found.abs.count:
        assert found.abs.p50 <= found.abs.p99 <= found.abs.max


def test_mapped_arrays_are_measured_in_bounded_memory(tmp_path):
    count = 1 << 22
    rng = np.random.RandomState(9)
    pattern = rng.randn(1 << 16)
    for name, dtype in (("a", "f4"), ("r", "f8")):
        array = np.lib.format.open_memmap(str(tmp_path / name), "w+", dtype, (count,))
        for start in range(0, count, pattern.size):
            array[start:start + pattern.size] = pattern * (1 + start * 1e-12)
        array.flush()
        del array
    a, r = (np.load(str(tmp_path / name), mmap_mode="r") for name in "ar")
    tracemalloc.start()
    try:
        found = measure_errors(a, r)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.count == count
    assert found.ulp.max <= 0.5
    assert peak < 24 * 2**20 < a.nbytes + r.nbytes
