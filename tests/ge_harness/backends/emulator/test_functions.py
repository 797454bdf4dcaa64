"""Instructions and functions: all float16 values, exact cases, and what is rounded."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ge_harness.backends.emulator.numerics import casts, exact
from ge_harness.backends.emulator.numerics import functions as f
from ge_harness.backends.emulator.numerics.compositions import (
    Steps,
    floor_div,
    floor_div_corrected,
    log1p,
    relu_grad,
    relu_grad_half,
)
from ge_harness.backends.emulator.numerics.unit import NarrowUnit, Unit, single
from ge_harness.backends.emulator.params import EmulatorParams, parse
from ge_harness.interpreter import special
from ge_harness.interpreter.value import rounded

PLAIN = EmulatorParams()
V1, V2 = Unit("910b", PLAIN), Unit("950", PLAIN)
HALVES = np.arange(65536, dtype=np.uint32).astype(np.uint16).view(np.float16)
FINITE = np.sort(HALVES[np.isfinite(HALVES)].astype(np.float32))
WIDE = FINITE.astype(np.float64)
SMALLEST = np.float32(2.0 ** -126)


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def ulps(found, truth):
    """Return errors in float32 ULP where the truth is a normal float32 number."""
    size = np.abs(truth)
    normal = np.isfinite(truth) & (size >= 2.0 ** -126) & (size < 3.4e38)
    spacing = 2.0 ** (np.floor(np.log2(np.where(normal, size, 1.0))) - 23)
    return np.where(normal, np.abs(found.astype(np.float64) - truth) / spacing, 0.0)


def bits(array):
    return np.ascontiguousarray(array).view(np.int32)


def pairs(count=200000, seed=0):
    """Return random float32 pairs of every kind but NaN."""
    stream = np.random.RandomState(seed)
    raw = stream.randint(0, 2 ** 32, (2, count), dtype=np.uint64).astype(np.uint32)
    a, b = raw.view(np.float32)
    keep = ~(np.isnan(a) | np.isnan(b))
    return a[keep], b[keep]


SIGMOID = 1 / (1 + np.exp(-np.maximum(WIDE, -700)))
GELU = WIDE / (1 + np.exp(np.minimum(
    -2 * np.sqrt(2 / np.pi) * (WIDE + 0.044715 * WIDE ** 3), 700)))
INSIDE = np.abs(WIDE) > 1e-3
CORE = WIDE > -5


@pytest.mark.parametrize("unit", [V1, V2], ids=["910b", "950"])
@pytest.mark.parametrize(("function", "truth", "limit", "where"), [
    (f.sigmoid, SIGMOID, 3, True),
    (f.tanh_v1, np.tanh(WIDE), 300, INSIDE),
    (f.tanh_v2, np.tanh(WIDE), 3, True),
    (f.tanh_eager_v1, np.tanh(WIDE), 3, True),
    (f.tanh_eager_v2, np.tanh(WIDE), 2, True),
    (f.tanh_libm, np.tanh(WIDE), 0.501, True),
    (f.erf_v1, special.erf(WIDE), 8, True),
    (f.erf_v2, special.erf(WIDE), 1.1, True),
    (f.erf_libm, special.erf(WIDE), 0.501, True),
    (f.gelu_v1, GELU, 30, CORE),
    (f.gelu_v2, GELU, 60, CORE),
    (f.gelu_eager_v1, GELU, 60, CORE),
    (f.gelu_libm, GELU, 0.501, CORE),
], ids=lambda value: getattr(value, "__name__", ""))
def test_each_form_is_near_its_function(unit, function, truth, limit, where):
    error = np.where(where, ulps(function(unit, FINITE), truth), 0)
    assert error.max() < limit
    if limit > 1:
        assert error.max() > 0.51


@pytest.mark.parametrize("unit", [V1, V2], ids=["910b", "950"])
@pytest.mark.parametrize("function", [
    f.sigmoid, f.tanh_v1, f.tanh_v2, f.tanh_eager_v1, f.tanh_eager_v2, f.erf_v2,
], ids=lambda function: function.__name__)
def test_rising_functions_rise_but_for_their_last_bits(unit, function):
    found = function(unit, FINITE)
    fall = np.minimum(np.diff(found.astype(np.float64)), 0)
    assert -fall.min() <= 2.0 ** -21


@pytest.mark.parametrize("function", [f.tanh_v1, f.tanh_v2, f.tanh_eager_v1,
                                      f.tanh_eager_v2, f.erf_v1, f.erf_v2])
def test_limits_are_reached(function):
    ends = function(V1, np.array([-np.inf, -100, 100, np.inf], np.float32))
    np.testing.assert_allclose(ends, [-1, -1, 1, 1], atol=2e-7)
    assert np.isnan(function(V1, np.array([np.nan], np.float32)))[0]


def test_odd_polynomials_are_odd_near_zero():
    for function in (f.tanh_v2, f.tanh_eager_v1, f.tanh_eager_v2, f.erf_v1, f.erf_v2):
        x = FINITE[np.abs(FINITE) < 0.5]
        assert (function(V1, -x) == -function(V1, x)).all()
        assert function(V1, single(0.0).reshape(1))[0] == 0


@pytest.mark.parametrize("half", [FINITE, FINITE[np.abs(FINITE) < 90]])
def test_exp_is_rounded_once(half):
    found, wide = exact.exp(half)
    np.testing.assert_allclose(wide[np.abs(half) < 90],
                               np.exp(half[np.abs(half) < 90].astype(float)),
                               rtol=6e-15)
    truth = np.exp(half.astype(np.float64)).astype(np.float32)
    assert found.tobytes() == truth.tobytes()
    assert V1.exp(half).tobytes() == truth.tobytes()


def test_exp_of_float32_is_rounded_once_too():
    x = np.random.RandomState(1).uniform(-104, 89, 300000).astype(np.float32)
    truth = np.exp(x.astype(np.float64)).astype(np.float32)
    assert (exact.exp(x)[0] != truth).mean() < 1e-5
    ends = np.array([np.inf, -np.inf, 0, 1000, -1000, np.nan], np.float32)
    np.testing.assert_array_equal(
        V1.exp(ends), np.array([np.inf, 0, 1, np.inf, 0, np.nan], np.float32))


def test_ln_is_rounded_once():
    x = np.concatenate([FINITE[FINITE > 0], np.abs(pairs()[0]),
                        np.random.RandomState(2).uniform(0.9, 1.1, 100000)])
    x = x[(x > 0) & np.isfinite(x)].astype(np.float32)
    truth = np.log(x.astype(np.float64)).astype(np.float32)
    assert (V1.ln(x) != truth).mean() < 1e-5
    ends = np.array([0, -0.0, -1, np.inf, np.nan, 1], np.float32)
    np.testing.assert_array_equal(
        V1.ln(ends), np.array([-np.inf, -np.inf, np.nan, np.inf, np.nan, 0], "f4"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "sqrt"])
def test_five_operators_in_float32_rounded_once_are_correctly_rounded(name, dtype):
    raw = np.random.RandomState(5).randint(0, 65536, (2, 100000)).astype(np.uint16)
    if dtype == "float16":
        a, b = raw.view(np.float16).astype(np.float32)
    else:
        a, b = (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
    keep = np.isfinite(a) & np.isfinite(b) & (b != 0)
    a, b = np.abs(a[keep]) if name == "sqrt" else a[keep], b[keep]
    operands = (a,) if name == "sqrt" else (a, b)
    once = casts.to_storage(getattr(V1, name)(*operands), dtype)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply,
                "div": np.true_divide, "sqrt": np.sqrt}[name]
    truth = rounded(function(*[x.astype(np.float64) for x in operands]), dtype)
    assert once.tobytes() == truth.tobytes()


def test_fma_rounds_once():
    a, b = pairs(20000, 7)
    c, _ = pairs(20000, 8)
    size = min(len(a), len(c))
    scale = np.random.RandomState(9).randint(-24, 25, size)
    c = np.where(np.arange(size) % 2 == 0, c[:size],
                 np.ldexp(-a[:size] * b[:size], scale)).astype(np.float32)
    a, b = a[:size], b[:size]
    keep = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    a, b, c = a[keep][:3000], b[keep][:3000], c[keep][:3000]
    for x, y, z, found in zip(a, b, c, casts.fma(a, b, c)):
        assert_nearest(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)),
                       found)


def assert_nearest(value, found):
    """Hold `found` to be the float32 nearest to a fraction, ties to even."""
    if not np.isfinite(found):
        assert abs(value) >= Fraction(2) ** 128 - Fraction(2) ** 103
        return
    here = abs(Fraction(float(found)) - value)
    for side in (-np.inf, np.inf):
        other = np.nextafter(found, np.float32(side))
        if np.isfinite(other):
            there = abs(Fraction(float(other)) - value)
            even = bits(found.reshape(1))[0] % 2 == 0
            assert here < there or (here == there and even)


def test_fma_where_a_second_rounding_would_go_wrong():
    one = np.float32(1) + np.float32(2.0 ** -12)
    a = np.array([one, one, one, 1, 2.0 ** -75], np.float32)
    b = np.array([one, one, one, 1 + 2.0 ** -23, 2.0 ** -75], np.float32)
    c = np.array([2.0 ** -60, -2.0 ** -60, 0, 2.0 ** -24 + 2.0 ** -47, SMALLEST], "f4")
    for x, y, z, found in zip(a, b, c, casts.fma(a, b, c)):
        assert_nearest(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)),
                       found)
    # one * one lies halfway: 1 + 2^-11 + 2^-24
    assert casts.fma(a, b, c)[0] > casts.fma(a, b, c)[1]
    assert casts.fma(a[:1].reshape(()), b[0], c[0]).shape == ()
    for x, y, z in ((a[0], b, c), (a, b[0], c), (a[0], b, c[0])):
        whole = casts.fma(*np.broadcast_arrays(x, y, z))
        found = casts.fma(np.asarray(x), np.asarray(y), np.asarray(z))
        assert found.tobytes() == whole.tobytes()


@pytest.mark.parametrize("name", ["sqrt", "exp", "ln"])
def test_noise_moves_inexact_results_by_one_place_at_most(name):
    x = np.abs(pairs()[0]) if name != "exp" else np.random.RandomState(1).uniform(
        -80, 80, 100000).astype(np.float32)
    noisy = getattr(Unit("910b", parse([f"{name}_accuracy=noise"])), name)(x)
    plain = getattr(V1, name)(x)
    apart = bits(noisy).astype(np.int64) - bits(plain)
    assert set(np.unique(apart)) == {-1, 0, 1}
    assert 0.4 < (apart != 0).mean() < 0.55
    again = getattr(Unit("910b", parse([f"{name}_accuracy=noise"])), name)(x[::-1])
    assert again[::-1].tobytes() == noisy.tobytes()
    other = getattr(Unit("910b", parse([f"{name}_accuracy=noise", "noise_seed=2"])),
                    name)(x)
    assert (other != noisy).any()
    assert getattr(Unit("910b", parse([f"{name}_accuracy=noise"])), name)(
        np.array([{"exp": 0}.get(name, 1)], "f4")) == {"exp": 1, "ln": 0}.get(name, 1)


def test_division_is_correct_faithful_or_noisy():
    a, b = pairs()
    exactly = Unit("910b", PLAIN).div(a, b)
    assert exactly.tobytes() == (a / b).tobytes()
    faithful = Unit("950", parse(["subnormals=keep"])).div(a, b)
    normal = np.isfinite(a / b) & (np.abs(a / b) > SMALLEST) & np.isfinite(a)
    error = ulps(faithful, a.astype(np.float64) / b)[normal]
    assert 0.5 < error.max() < 1
    assert 0.2 < (faithful != a / b)[normal].mean() < 0.3
    assert V2.div_exact(a, b).tobytes() == (a / b).tobytes()
    noisy = Unit("910b", parse(["div_accuracy=noise"])).div(a, b)
    apart = bits(noisy)[normal].astype(np.int64) - bits(a / b)[normal]
    assert set(np.unique(apart)) == {-1, 0, 1}
    ends = Unit("950", PLAIN).div(np.array([0, 1, -1, np.inf, 6], "f4"),
                                  np.array([0, 0, 0, np.inf, 3], "f4"))
    np.testing.assert_array_equal(ends, np.array([np.nan, np.inf, -np.inf, np.nan, 2]))


def test_subnormals_are_flushed_by_functions_of_the_950_only():
    tiny = np.array([1e-40, -1e-40], np.float32)
    assert V1.div(tiny, single(1)).tobytes() == tiny.tobytes()
    assert V2.div(tiny, single(1)).tolist() == [0, 0]
    assert np.signbit(V2.div(tiny, single(1))).tolist() == [False, True]
    assert V2.sqrt(tiny[:1])[0] == 0
    assert V1.sqrt(tiny[:1])[0] > 0
    assert V2.ln(tiny[:1])[0] == -np.inf
    assert V1.ln(tiny[:1])[0] < -90
    assert V2.rsqrt(tiny[:1])[0] == np.inf
    assert V2.exp(np.array([-90], "f4"))[0] == 0
    assert V1.exp(np.array([-90], "f4"))[0] > 0
    for name in ("add", "mul"):
        assert getattr(V2, name)(tiny, single(1 if name == "mul" else 0)).tobytes() == (
            tiny.tobytes())
    every = Unit("910b", parse(["subnormals=flush_all"]))
    assert every.mul(tiny, single(1)).tolist() == [0, 0]
    assert every.add(tiny, tiny).tolist() == [0, 0]
    kept = Unit("950", parse(["subnormals=keep"]))
    assert kept.div(tiny, single(1)).tobytes() == tiny.tobytes()


def test_scalar_products_differ_only_where_that_is_asked_for():
    x = FINITE[np.abs(FINITE) > 1]
    k, full = single(0.7), np.full_like(x, np.float32(0.7))
    assert V1.mul(x, k).tobytes() == V1.mul(x, full).tobytes()
    apart = Unit("910b", parse(["muls_equals_mul=false"]))
    assert apart.mul(x, full).tobytes() == V1.mul(x, full).tobytes()
    moved = bits(apart.mul(x, k)).astype(np.int64) - bits(V1.mul(x, k))
    assert set(np.unique(moved)) == {-1, 0, 1}
    assert apart.mul(x, single(2)).tobytes() == (x * 2).tobytes()


def test_all_halves_survive_every_way_to_storage():
    wide = HALVES.astype(np.float32)
    nan = np.isnan(HALVES)
    back = casts.to_storage(wide, "float16")
    assert back[~nan].tobytes() == HALVES[~nan].tobytes()
    kept = casts.to_storage(wide, "float16", saturate=True)
    assert np.isfinite(kept).all()
    assert (kept[nan] == 0).all()
    assert kept[np.isposinf(HALVES)][0] == 65504
    assert kept[np.isneginf(HALVES)][0] == -65504
    assert casts.to_storage(wide, "float32", saturate=True)[np.isinf(wide)].size == 2
    assert casts.narrowed(wide, "float32") is wide


def test_saturation_holds_for_bfloat16_and_finite_overflow():
    x = np.array([3.4e38, -np.inf, np.nan, 1.5], np.float32)
    found = casts.to_storage(x, "bfloat16", saturate=True)
    assert found.tolist() == [0x7F7F, 0xFF7F, 0, 0x3FC0]
    assert casts.to_storage(np.array([1e6], "f4"), "float16", saturate=True) == 65504


def test_ties_go_away_from_zero_where_they_should():
    tie = np.array([1 + 2.0 ** -8, -(1 + 2.0 ** -8), 1 + 3 * 2.0 ** -8], np.float32)
    assert casts.to_storage_ties_away(tie, "bfloat16").tolist() == [
        0x3F81, 0xBF81, 0x3F82]
    assert casts.to_storage(tie, "bfloat16").tolist() == [0x3F80, 0xBF80, 0x3F82]
    assert casts.to_storage_ties_away(np.array([np.nan], "f4"), "bfloat16")[0] > 0x7F80


def test_hf32_keeps_eleven_bits():
    x = pairs()[0]
    found = casts.hf32(x)
    finite = np.isfinite(x) & (np.abs(x) < 3e38)
    assert (bits(found) & 0xFFF == 0)[finite].all()
    normal = finite & (np.abs(x) > SMALLEST)
    assert (np.abs(found[normal] / x[normal].astype(float) - 1) <= 2.0 ** -12).all()
    assert found[np.isinf(x)].tobytes() == x[np.isinf(x)].tobytes()


@pytest.mark.parametrize("exponent", [2, 3, 4, 0.5, -0.5, 1, -1, -2, 0, 0.50000005])
@pytest.mark.parametrize("power", [f.power_v1, f.power_v2])
def test_constant_exponents_are_products_and_roots(power, exponent):
    x = FINITE[(FINITE > 1e-3) & (FINITE < 1e3)]
    expected = {2: x * x, 3: x * x * x, 4: (x * x) * (x * x), 0.5: np.sqrt(x),
                0.50000005: np.sqrt(x), -0.5: 1 / np.sqrt(x), 1: x, -1: 1 / x,
                -2: 1 / (x * x), 0: np.ones_like(x)}[exponent]
    unit = Unit("950", parse(["div_accuracy=correct"]))
    assert power(unit, x, single(exponent)).tobytes() == expected.tobytes()


def test_general_exponents_have_signs_and_special_values():
    a = np.array([-2, -2, 0, -0.0, np.inf, 2, 1, -1, 3, np.nan, 0.5, 2], np.float32)
    b = np.array([3, 2.5, -1, 3, -2, 0, np.nan, np.inf, 1.7, 2, 200, 127], np.float32)
    want = np.power(a.astype(float), b.astype(float))
    for power in (f.power_v1, f.power_v2, f.power_libm):
        np.testing.assert_allclose(power(V1, a, b), want.astype(np.float32), rtol=1e-5)
    x = FINITE[(FINITE > 0.1) & (FINITE < 10)]
    b = np.full_like(x, np.float32(1.7))
    truth = np.power(x.astype(float), b.astype(float))
    assert 1 < ulps(f.power_v1(V1, x, b), truth).max() < 10
    assert ulps(f.power_v2(V1, x, b), truth).max() < 0.501


def test_exponents_known_at_run_time_are_special_on_the_950():
    x = FINITE[(FINITE > 0.1) & (FINITE < 10)]
    three = np.full_like(x, np.float32(3))
    assert f.power_v2(V2, x, three).tobytes() == (x * x * x).tobytes()
    assert f.power_v1(V1, x, three).tobytes() != (x * x * x).tobytes()


def test_rsqrt_is_a_root_and_a_quotient():
    x = FINITE[FINITE > 0]
    assert V1.rsqrt(x).tobytes() == (np.float32(1) / np.sqrt(x)).tobytes()
    assert np.isnan(V1.rsqrt(np.array([-1], "f4")))[0]
    assert V1.rsqrt(np.array([0], "f4"))[0] == np.inf
    norm = V1.norm_rsqrt(np.array([0, np.inf, 4], "f4"))
    assert norm.tolist() == [np.finfo(np.float32).max, 0, 0.5]
    assert (V1.norm_rsqrt(x) != V1.rsqrt(x)).any()


def test_log1p_is_composed_with_its_two_exceptions():
    x = np.array([1e-10, 0.5, np.inf, 0, -1], np.float32)
    found = log1p(Steps(V1), x)
    assert found[0] == x[0]
    assert np.isnan(found[2])  # inf / (inf - 1)
    np.testing.assert_allclose(found[[1, 3]], np.log1p([0.5, 0.0]), rtol=2e-7)
    assert found[4] == -np.inf


def test_relu_grad_gives_nan_where_infinity_meets_zero():
    dy = np.array([np.inf, 3, 3, 3, np.nan], np.float32)
    x = np.array([-1, -1, 2, np.nan, 2], np.float32)
    for function in (relu_grad, relu_grad_half):
        np.testing.assert_array_equal(function(Steps(V1), dy, x),
                                      np.array([np.nan, 0, 3, 0, np.nan]))
    half = FINITE[FINITE > 0]
    assert (relu_grad_half(Steps(V1), np.ones_like(half), half) == 1).all()


def test_floor_division_is_corrected_on_the_950_only():
    a = np.array([7, -7, 1, 3], np.float32)
    b = np.array([2, 2, 0.1, 0.3], np.float32)
    assert floor_div(Steps(V1), a, b).tolist() == [3, -4, 10, 10]
    assert floor_div_corrected(Steps(Unit("950", parse(["div_accuracy=correct"]))),
                               a, b).tolist() == [3, -4, 9, 9]


def test_a_narrow_unit_rounds_every_instruction():
    def rounding(x):
        return casts.narrowed(np.asarray(x), "float16")

    unit = NarrowUnit("910b", PLAIN, rounding)
    x = FINITE[np.abs(FINITE) < 10]
    for name in ("exp", "sqrt", "ln"):
        found = getattr(unit, name)(np.abs(x))
        again = casts.narrowed(found, "float16")
        np.testing.assert_array_equal(found, again)
    steps = rounding(rounding(x * np.float32(0.3)) + np.float32(1))
    assert unit.add(unit.mul(x, single(0.3)), single(1)).tobytes() == steps.tobytes()


def test_neighbors_stay_finite_and_keep_their_sign():
    x = np.array([0, -0.0, np.inf, np.nan, 3.4028235e38, 1e-45, -1.5], np.float32)
    up = casts.beside(x, np.full(7, 1, np.int32))
    down = casts.beside(x, np.full(7, -1, np.int32))
    np.testing.assert_array_equal(up[:3], x[:3])
    assert up[4] == x[4]
    assert down[5] == x[5]
    assert up[6] == np.nextafter(x[6], np.float32(0))
    half = np.array([0, 65504, -1, np.nan, np.inf], np.float16)
    np.testing.assert_array_equal(
        casts.beside_half(half, np.full(5, 1)),
        np.array([0, 65504, np.nextafter(half[2], np.float16(0)), np.nan, np.inf]))
