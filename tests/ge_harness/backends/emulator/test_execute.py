"""Execution: what rounds where, in single operators and in fused kernels."""

from __future__ import annotations

import numpy as np
import pytest

from dumps.graphdef import AttrValue
from ge_harness.backends.emulator.execute import execute_plan
from ge_harness.backends.emulator.ir import Desc, Port
from ge_harness.backends.emulator.params import EmulatorParams, parse
from ge_harness.interpreter.errors import EvaluationError
from ge_harness.interpreter.value import Tensor, rounded, values
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.plans import (
    constant,
    one,
    op,
    plan,
    region,
    run,
)
from tests.ge_harness.backends.emulator.probes import PROBES
from tests.ge_harness.backends.emulator.test_row_sum import slow_v1, slow_v2

RANDOM = np.random.RandomState(0)
SHAPE = (8, 64)
X, Y, B = (RANDOM.standard_normal(SHAPE).astype(np.float16) for _ in range(3))


@pytest.fixture(autouse=True)
def _seeded():
    RANDOM.seed(1)


def wide(array, dtype="float16"):
    return values(Tensor(array, dtype), "float32")


def chain(dtype="float16", shape=SHAPE):
    """m = x y; s = m + b; z = relu(s)."""
    return [op("m", "Mul", "x y", dtype, shape), op("s", "AddV2", "m b", dtype, shape),
            op("z", "Relu", "s", dtype, shape)]


def fed(dtype="float16", arrays=(X, Y, B)):
    return dict(zip("xyb", [(rounded(wide(a), dtype), dtype) for a in arrays]))


@pytest.mark.parametrize("chip", ["910b", "950"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_fused_kernel_rounds_at_its_store_and_single_operators_at_each(dtype, chip):
    inputs = fed(dtype)
    x, y, b = (wide(array, dtype) for array, _ in inputs.values())
    fused = run(inputs, [region(chain(dtype), ["z"])], ["z"], chip=chip)[0]
    assert fused.tobytes() == rounded(np.maximum(x * y + b, 0), dtype).tobytes()
    single = run(inputs, chain(dtype), ["z"], chip=chip)[0]
    product = wide(rounded(x * y, dtype), dtype)
    total = wide(rounded(product + b, dtype), dtype)
    assert single.tobytes() == rounded(np.maximum(total, 0), dtype).tobytes()
    assert (fused.tobytes() == single.tobytes()) == (dtype == "float32")


def test_a_stored_value_is_rounded_but_read_unrounded_inside():
    m, z = run(fed(), [region(chain(), ["m", "z"])], ["m", "z"])
    assert m.tobytes() == (X * Y).tobytes()
    exact = np.maximum(wide(X) * wide(Y) + wide(B), 0).astype(np.float16)
    assert z.tobytes() == exact.tobytes()
    assert z.tobytes() != np.maximum(X * Y + B, 0).tobytes()


def test_a_view_of_a_load_is_stored_bit_by_bit_nan_payloads_too():
    bits = np.arange(65536, dtype=np.uint32).astype(np.uint16).reshape(256, 256)
    node = op("y", "Reshape", "x shape", "float16", (65536,))
    found = run({"x": (bits.view(np.float16), "float16")},
                [region([node], ["y"], [constant("shape", [65536], "int32")])], ["y"])
    assert found[0].tobytes() == bits.tobytes()


@pytest.mark.parametrize("settings", [
    ["fused_compute_dtype=storage"], ["fused_round_at=operators"]])
def test_a_fused_kernel_can_round_at_every_operator(settings):
    found = run(fed(), [region(chain(), ["z"])], ["z"], settings=settings)
    assert found[0].tobytes() == run(fed(), chain(), ["z"])[0].tobytes()


def test_an_effective_blacklist_rounds_at_every_operator():
    low = run(fed(), [region(chain(), ["z"], low=True)], ["z"])
    assert low[0].tobytes() == run(fed(), chain(), ["z"])[0].tobytes()


def test_a_narrow_kernel_rounds_between_the_steps_of_a_composition():
    y = RANDOM.uniform(0.01, 0.99, 500).astype(np.float16)
    dy = RANDOM.standard_normal(500).astype(np.float16)
    found = one("SigmoidGrad", y, dy, fused=True,
                settings=["fused_compute_dtype=storage"])
    assert found.tobytes() == ((y * (np.float16(1) - y)) * dy).tobytes()
    once = one("SigmoidGrad", y, dy, fused=True,
               settings=["fused_round_at=operators"])
    a, b = wide(y), wide(dy)
    assert once.tobytes() == ((a * (1 - a)) * b).astype(np.float16).tobytes()


def test_a_cast_inside_a_fused_kernel_is_deleted_unless_kept():
    x = RANDOM.standard_normal(1000).astype(np.float32)
    nodes = [op("c", "Cast", "x", "float16", (1000,), DstT="float16", SrcT="float32"),
             op("y", "Mul", "c c", "float16", (1000,))]
    inputs = {"x": (x, "float32")}
    deleted = run(inputs, [region(nodes, ["y"])], ["y"])[0]
    assert deleted.tobytes() == (x * x).astype(np.float16).tobytes()
    half = x.astype(np.float16).astype(np.float32)
    kept = run(inputs, [region(nodes, ["y"])], ["y"],
               settings=["drop_float_casts=false"])[0]
    assert kept.tobytes() == (half * half).astype(np.float16).tobytes()
    assert run(inputs, nodes, ["y"])[0].tobytes() == kept.tobytes()
    assert kept.tobytes() != deleted.tobytes()


def test_a_widening_cast_of_an_unrounded_value_keeps_what_it_has():
    nodes = [op("m", "Mul", "x y", "float16", SHAPE),
             op("w", "Cast", "m", "float32", SHAPE, DstT="float32", SrcT="float16")]
    found = run(fed(), [region(nodes, ["w"])], ["w"])[0]
    assert found.tobytes() == (wide(X) * wide(Y)).tobytes()


@pytest.mark.parametrize(("decimals", "expected"), [
    ("7", np.float32(0.3333333)), ("exact", np.float32(1 / 3))])
def test_attribute_scalars_have_seven_decimals(decimals, expected):
    x = RANDOM.standard_normal(1000).astype(np.float32)
    third = float(np.float32(1 / 3))
    node = op("y", "Muls", "x", "float32", (1000,), value=third)
    inside = region([node], ["y"], attr_scalars=(("y", "value", third),))
    found = run({"x": (x, "float32")}, [inside], ["y"],
                settings=[f"attr_scalar_decimals={decimals}"])[0]
    assert found.tobytes() == (x * expected).tobytes()
    single = run({"x": (x, "float32")}, [node], ["y"])[0]
    assert single.tobytes() == (x * np.float32(1 / 3)).tobytes()


def test_a_small_attribute_scalar_becomes_zero():
    node = op("y", "Muls", "x", "float32", (2,), value=1e-8)
    inside = region([node], ["y"], attr_scalars=(("y", "value", 1e-8),))
    x = np.array([1e8, 3], np.float32)
    assert run({"x": (x, "float32")}, [inside], ["y"])[0].tolist() == [0, 0]


def test_leaky_relu_hands_its_slope_over_as_a_float():
    node = op("y", "LeakyRelu", "x", "float32", (2,), alpha=1e-8)
    inside = region([node], ["y"], attr_scalars=(("y", "alpha", 1e-8),))
    x = np.array([-1e8, 3], np.float32)
    found = run({"x": (x, "float32")}, [inside], ["y"])[0]
    assert found.tobytes() == np.array([x[0] * np.float32(1e-8), 3], "f4").tobytes()


def test_overflow_inside_a_fused_kernel_stays_finite():
    big = np.full(SHAPE, 60000, np.float16)
    nodes = [op("m", "AddV2", "x x", "float16", SHAPE),
             op("y", "Sub", "m x", "float16", SHAPE)]
    inputs = {"x": (big, "float16")}
    assert (run(inputs, [region(nodes, ["y"])], ["y"])[0] == 60000).all()
    assert np.isinf(run(inputs, nodes, ["y"])[0]).all()
    saturated = run(inputs, nodes, ["y"], settings=["overflow_mode=saturate"])[0]
    assert (saturated == np.float16(65504) - np.float16(60000)).all()


def test_float32_never_saturates():
    x = np.array([3e38], np.float32)
    found = one("AddV2", x, x, dtype="float32", settings=["overflow_mode=saturate"])
    assert np.isinf(found)[0]


@pytest.mark.parametrize(("chip", "target", "settings", "expected"), [
    ("910b", "int8", [], 1), ("950", "int8", [], 0), ("950", "uint8", [], 1),
    ("910b", "int32", [], 0), ("910b", "int8", ["extra_fp16_hop_to_int8=false"], 0),
    ("950", "int8", ["extra_fp16_hop_to_int8=true"], 1)])
@pytest.mark.parametrize("fused", [False, True])
def test_the_way_to_int8_goes_by_float16(chip, target, settings, expected, fused):
    x = np.array([0.9999], np.float32)
    node = op("y", "Cast", "x", target, (1,), DstT=target, SrcT="float32")
    kernels = [region([node], ["y"])] if fused else [node]
    found = run({"x": (x, "float32")}, kernels, ["y"], chip=chip, settings=settings)
    assert found[0].tolist() == [expected]
    assert found[0].dtype == target


def softmax(x, *, half):
    """numerics_model.md section 2.3: fp16 difference on 910B, the rest float32."""
    apart = wide(x) - wide(x).max(axis=1, keepdims=True)
    if half:
        apart = apart.astype(np.float16).astype(np.float32)
    power = np.exp(apart.astype(np.float64)).astype(np.float32)
    tree = slow_v1 if half else slow_v2
    total = np.array([[tree(row)] for row in power], np.float32)
    return (power / total).astype(np.float16)


@pytest.mark.parametrize("kind", ["Softmax", "SoftmaxV2"])
def test_softmax_subtracts_in_float16_on_the_910b(kind):
    x = (RANDOM.standard_normal((20, 100)) * 4).astype(np.float16)
    old = one(kind, x)
    new = one(kind, x, chip="950", settings=["div_accuracy=correct"])
    assert old.tobytes() == softmax(x, half=True).tobytes()
    assert new.tobytes() == softmax(x, half=False).tobytes()
    assert (old != new).any()
    other = one(kind, x, settings=["eager_softmax_sub_dtype=fp32"])
    assert (other != old).any()


def test_softmax_over_another_axis():
    x = RANDOM.standard_normal((6, 40)).astype(np.float16)
    axes = AttrValue("list", (AttrValue("i", 0),))
    found = one("SoftmaxV2", x.T.copy(), axes=axes)
    assert found.tobytes() == one("SoftmaxV2", x).T.copy().tobytes()


AXIS = [constant("axis", [1], "int32")]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("chip", "tree"), [("910b", slow_v1), ("950", slow_v2)])
def test_a_mean_is_a_sum_times_a_reciprocal(chip, tree, fused):
    x = RANDOM.standard_normal((50, 787)).astype(np.float16)
    found = one("Mean", x, chip=chip, fused=fused, consts=AXIS, out=(50,))
    sums = np.array([tree(row) for row in wide(x)], np.float32)
    times = sums * (np.float32(1) / np.float32(787))
    assert found.tobytes() == times.astype(np.float16).tobytes()


def test_other_forms_of_a_mean():
    x = RANDOM.standard_normal((500, 787)).astype(np.float32)

    def form(name):
        return one("Mean", x, dtype="float32", consts=AXIS, out=(500,),
                   settings=[f"mean_form={name}"])

    sums = np.array([slow_v1(row) for row in x], np.float32)
    scale = np.float32(1) / np.float32(787)
    assert form("sum_over_n").tobytes() == (sums / np.float32(787)).tobytes()
    before = np.array([slow_v1(row) for row in x * scale], np.float32)
    assert form("scale_before_sum").tobytes() == before.tobytes()
    assert (form("sum_over_n") != form("auto")).any()


def test_a_mean_keeps_its_axis_where_it_is_told_and_integers_are_exact():
    x = RANDOM.standard_normal((5, 7)).astype(np.float16)
    kept = one("Mean", x, consts=AXIS, out=(5, 1), keep_dims=True)
    assert kept.shape == (5, 1)
    whole = one("Mean", np.array([[1, 2, 6]], np.int32), dtype="int32", consts=AXIS,
                out=(1,))
    assert whole.tolist() == [3]


@pytest.mark.parametrize("chip", ["910b", "950"])
def test_a_float16_sum_is_float32_inside_and_rounds_once(chip):
    x = np.full((1, 4096), 0.1, np.float16)
    found = one("Sum", x, chip=chip, consts=AXIS, out=(1,))
    assert found[0] == np.float16(4096 * float(np.float16(0.1)))


def norm_inputs(dtype):
    shape = (30, 100)
    arrays = [RANDOM.standard_normal(shape) * 2, RANDOM.uniform(0.5, 2, 100),
              RANDOM.standard_normal(100)]
    names = ("x", "gamma", "beta")
    return {name: (rounded(array.astype(np.float32), dtype), dtype)
            for name, array in zip(names, arrays)}


def norm_node(dtype):
    rows = Desc(dtype, (30, 1))
    return op("y", "LayerNorm", "x gamma beta", dtype, (30, 100), more=(rows, rows),
              begin_norm_axis=1, epsilon=1e-5)


def slow_repeats(row):
    """The 910B's basic sum: a tree in each 64, then one by one."""
    row = list(row) + [np.float32(0)] * (-len(row) % 64)
    sums = [slow_v1(row[i:i + 64]) for i in range(0, len(row), 64)]
    total = sums[0]
    for each in sums[1:]:
        total = np.float32(total + each)
    return total


def test_layer_norm_of_the_910b_scales_before_the_sum():
    inputs = norm_inputs("float32")
    x, gamma, beta = (array for array, _ in inputs.values())
    found = run(inputs, [norm_node("float32")], ["y"])[0]
    scale = np.float32(1) / np.float32(100)

    def center(rows):
        sums = [slow_repeats(row) for row in rows * scale]
        return np.array(sums, np.float32).reshape(-1, 1)

    apart = x - center(x)
    spread = center(apart * apart) + np.float32(1e-5)
    expected = apart * (np.float32(1) / np.sqrt(spread)) * gamma + beta
    assert found.tobytes() == expected.tobytes()


def test_layer_norm_in_bfloat16_has_ties_away_from_zero_on_the_910b():
    inputs = norm_inputs("bfloat16")
    away = run(inputs, [norm_node("bfloat16")], ["y"])[0]
    even = run(inputs, [norm_node("bfloat16")], ["y"], settings=["eager_round=rne"])[0]
    apart = away.astype(np.int32) - even
    assert set(np.unique(apart)) <= {0, 1}
    assert PROBES["tie_b16"]("910b", ())[0, :2].tolist() == [0x3F81, 0xBF7F]
    assert PROBES["tie_b16"]("910b", ("eager_round=rne",))[0, :2].tolist() == [
        0x3F80, 0xBF7F]
    assert run(norm_inputs("float16"), [norm_node("float16")], ["y"],
               chip="950")[0].dtype == np.float16


def test_layer_norm_gives_mean_and_variance_too():
    made = plan(norm_inputs("float32"), [norm_node("float32")], ["y"])
    made = made.__class__(made.chip, made.inputs, made.constants, made.kernels,
                          (("m", Port("y", 1)), ("v", Port("y", 2))), made.descs)
    arrays = {name: array for name, (array, _) in norm_inputs("float32").items()}
    found = execute_plan(made, arrays, EmulatorParams())
    x = arrays["x"].astype(np.float64)
    np.testing.assert_allclose(found["m"], x.mean(1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(found["v"], x.var(1, keepdims=True), rtol=1e-5)


A16 = RANDOM.standard_normal((24, 256)).astype(np.float16)
W16 = RANDOM.standard_normal((256, 40)).astype(np.float16)
BIAS = RANDOM.standard_normal(40).astype(np.float16)


def test_a_matrix_product_with_bias_rounds_once():
    found = one("MatMul", A16, W16, BIAS, out=(24, 40))
    total = np.matmul(wide(A16), wide(W16)) + wide(BIAS)
    assert found.tobytes() == total.astype(np.float16).tobytes()
    plain = one("MatMul", A16, W16, out=(24, 40))
    assert (found != plain + BIAS).any()
    turned = one("MatMul", A16.T.copy(), W16.T.copy(), BIAS, out=(24, 40),
                 transpose_a=True, transpose_b=True)
    np.testing.assert_allclose(turned.astype(float), total, rtol=1e-3, atol=1e-3)


def test_k_is_added_tile_by_tile_and_part_by_part():
    a, w = wide(A16) / 3, wide(W16) / 3

    def product(*settings):
        return one("MatMul", a, w, dtype="float32", out=(24, 40), settings=settings)

    parts = [np.matmul(a[:, i:i + 64], w[i:i + 64]) for i in range(0, 256, 64)]
    tiled = ((parts[0] + parts[1]) + parts[2]) + parts[3]
    assert product("matmul_k_tile=64").tobytes() == tiled.tobytes()
    split = product("matmul_k_tile=64", "matmul_accum=split_k")
    assert split.tobytes() == ((parts[0] + parts[1]) + (parts[2] + parts[3])).tobytes()
    assert (product() != tiled).any()
    ragged = product("matmul_k_tile=96", "matmul_accum=split_k", "matmul_k_cores=3")
    np.testing.assert_allclose(ragged, product(), rtol=1e-4, atol=1e-4)
    coarse = product("matmul_accum=hf32")
    assert 1e-5 < np.abs(coarse - product()).max() < 1e-1


def test_an_empty_k_gives_zeros():
    a, w = np.zeros((3, 0), np.float32), np.zeros((0, 2), np.float32)
    for settings in ([], ["matmul_accum=split_k"], ["matmul_k_tile=16"]):
        found = one("MatMul", a, w, dtype="float32", out=(3, 2), settings=settings)
        assert found.tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("kind", ["AddV2", "Sub"])
def test_contraction_rounds_a_product_and_a_sum_once(kind):
    x, y, b = (RANDOM.standard_normal(2000).astype(np.float32) for _ in range(3))
    inputs = {"x": (x, "float32"), "y": (y, "float32"), "b": (b, "float32")}
    sign = -1 if kind == "Sub" else 1
    for order, factor in (("m b", 1), ("b m", sign)):
        nodes = [op("m", "Mul", "x y", "float32", (2000,)),
                 op("z", kind, order, "float32", (2000,))]
        found = run(inputs, [region(nodes, ["z"])], ["z"],
                    settings=["fma_contraction=true"])[0]
        addend = b.astype(float) * (sign if order == "m b" else 1)
        exact = x.astype(float) * y * factor + addend
        assert found.tobytes() == exact.astype(np.float32).tobytes()
        plain = run(inputs, [region(nodes, ["z"])], ["z"])[0]
        assert (plain != found).any()


def test_rounding_in_between_stops_contraction():
    settings = ["fma_contraction=true", "fused_round_at=operators"]
    found = run(fed(), [region(chain(), ["z"])], ["z"], settings=settings)[0]
    assert found.tobytes() == run(fed(), chain(), ["z"])[0].tobytes()


EXP_X = RANDOM.uniform(-8, 8, 5000).astype(np.float16)


def test_exp_of_float16_is_native_on_the_910b():
    noisy = one("Exp", EXP_X)
    once = np.exp(EXP_X.astype(float)).astype(np.float16)
    apart = noisy.view(np.int16).astype(int) - once.view(np.int16)
    assert set(np.unique(apart)) == {-1, 0, 1}
    assert one("Exp", EXP_X, settings=["eager_fp16_exp=native_rne"]).tobytes() == (
        once.tobytes())
    twice = np.exp(EXP_X.astype(float)).astype(np.float32).astype(np.float16)
    for settings in (["eager_fp16_exp=fp32"], ["impl_mode=high_precision"]):
        assert one("Exp", EXP_X, settings=settings).tobytes() == twice.tobytes()
    assert one("Exp", EXP_X, chip="950").tobytes() == twice.tobytes()
    assert one("Exp", EXP_X, fused=True).tobytes() == twice.tobytes()


def test_division_of_float16_is_correct_or_noisy_on_the_910b():
    x, y = X.reshape(-1), Y.reshape(-1)
    assert one("RealDiv", x, y).tobytes() == (x / y).tobytes()
    noisy = one("RealDiv", x, y, settings=["eager_fp16_div=noise"])
    apart = noisy.view(np.int16).astype(int) - (x / y).view(np.int16)
    assert set(np.unique(apart)) == {-1, 0, 1}
    calm = one("RealDiv", x, y,
               settings=["eager_fp16_div=noise", "impl_mode=high_precision"])
    assert calm.tobytes() == (x / y).tobytes()


def test_kernels_that_were_not_found_can_be_native():
    once = one("SquaredDifference", X, Y)
    apart = wide(X) - wide(Y)
    assert once.tobytes() == (apart * apart).astype(np.float16).tobytes()
    native = one("SquaredDifference", X, Y,
                 settings=["eager_unlocated_910b=native_steps"])
    assert native.tobytes() == ((X - Y) * (X - Y)).tobytes()
    assert one("SquaredDifference", X, Y, chip="950",
               settings=["eager_unlocated_910b=native_steps"]).tobytes() == (
        once.tobytes())
    sigmoid = one("Sigmoid", X, settings=["eager_unlocated_910b=native_steps"])
    half = np.exp(-X.astype(float)).astype(np.float16)
    assert sigmoid.tobytes() == (np.float16(1) / (half + np.float16(1))).tobytes()


def test_float32_can_be_stored_in_float16_everywhere():
    x = RANDOM.standard_normal(1000).astype(np.float32)
    nodes = [op("m", "Mul", "x x", "float32", (1000,)),
             op("y", "AddV2", "m x", "float32", (1000,))]
    half = x.astype(np.float16)
    found = run({"x": (x, "float32")}, nodes, ["y"],
                settings=["global_precision_mode=fp16"])[0]
    assert found.dtype == np.float32
    assert found.tobytes() == (half * half + half).astype(np.float32).tobytes()
    w = half.astype(np.float32)
    fused = run({"x": (x, "float32")}, [region(nodes, ["y"])], ["y"],
                settings=["global_precision_mode=fp16"])[0]
    assert fused.tobytes() == (w * w + w).astype(np.float16).astype("f4").tobytes()
    exp = one("Exp", x, dtype="float32", settings=[
        "global_precision_mode=fp16", "eager_fp16_exp=native_rne"])
    truth = np.exp(half.astype(float)).astype(np.float16)
    assert exp.tobytes() == truth.astype(np.float32).tobytes()


@pytest.mark.parametrize("fused", [False, True])
def test_nan_in_a_maximum_is_a_parameter(fused):
    a = np.array([np.nan, 1, 2], np.float16)
    b = np.array([1, np.nan, 1], np.float16)
    np.testing.assert_array_equal(one("Maximum", a, b, fused=fused),
                                  np.array([np.nan, np.nan, 2]))
    ignore = one("Maximum", a, b, fused=fused, settings=["nan_minmax=ignore"])
    assert ignore.tolist() == [1, 1, 2]


def test_the_chip_of_the_plan_can_be_overruled():
    x = RANDOM.standard_normal(1000).astype(np.float32)
    assert one("Tanh", x, dtype="float32", settings=["chip=950"]).tobytes() == (
        one("Tanh", x, dtype="float32", chip="950").tobytes())
    assert one("Tanh", x, dtype="float32", chip="950").tobytes() != (
        one("Tanh", x, dtype="float32").tobytes())


def test_tensors_between_two_parts_of_a_fused_kernel_are_stored():
    first = region([op("m", "Mul", "x y", "float16", SHAPE)], ["m"])
    second = region([op("z", "AddV2", "m b", "float16", SHAPE)], ["z"])
    both = first.__class__("f", "FusedAscBackend", ("pointwise",),
                           (*first.graphs, *second.graphs),
                           tuple(Port(name) for name in "xyb"), (Port("z"),), ())
    found = run(fed(), [both], ["z"])[0]
    assert found.tobytes() == (X * Y + B).tobytes()


def test_an_operator_may_stand_in_two_kernels():
    m = op("m", "Mul", "x y", "float16", SHAPE)
    first = region([m, op("s", "AddV2", "m b", "float16", SHAPE)], ["s"])
    second = region([m, op("t", "Sub", "m b", "float16", SHAPE)], ["t"])
    s, t = run(fed(), [first, second], ["s", "t"])
    product = wide(X) * wide(Y)
    assert s.tobytes() == (product + wide(B)).astype(np.float16).tobytes()
    assert t.tobytes() == (product - wide(B)).astype(np.float16).tobytes()


@pytest.mark.parametrize("chip", ["910b", "950"])
def test_blocks_of_rows_give_the_bits_of_the_whole(chip, monkeypatch):
    from ge_harness.backends.emulator.numerics import blocks, rows

    shape = (3, 50, 40)
    arrays = {"x": RANDOM.standard_normal(shape),
              "c": RANDOM.standard_normal((3, 50, 1)),
              "v": RANDOM.standard_normal(40), "k": np.array(0.7)}
    inputs = {name: (array.astype(np.float16), "float16")
              for name, array in arrays.items()}
    nodes = [op("a", "Mul", "x c", "float16", shape),
             op("b", "Tanh", "a", "float16", shape),
             op("d", "BiasAdd", "b v", "float16", shape),
             op("e", "Mul", "d k", "float16", shape)]
    whole = [run(inputs, kernels, ["b", "e"], chip=chip)
             for kernels in ([region(nodes, ["b", "e"])], nodes)]
    for block in (7, 64, 1000):
        monkeypatch.setattr(rows, "BLOCK", block)
        monkeypatch.setattr(blocks, "BLOCK", block)
        cut = [run(inputs, kernels, ["b", "e"], chip=chip)
               for kernels in ([region(nodes, ["b", "e"])], nodes)]
        assert [[a.tobytes() for a in each] for each in cut] == [
            [a.tobytes() for a in each] for each in whole]
        assert cut[0][0].shape == shape


@pytest.mark.parametrize("shapes", [
    ((300, 1), (1, 1)), ((20, 6, 5), (6, 5)), ((20, 6, 5), (20, 1, 5)),
    ((20, 6, 5), (1, 6, 1)), ((20, 6, 5), (5,)), ((20, 6, 5), ()), ((30, 5), (1, 5)),
    ((1, 1, 60), (1, 1, 1))], ids=str)
@pytest.mark.parametrize("biased", [False, True])
def test_blocks_of_rows_take_every_broadcast(shapes, biased, monkeypatch):
    from ge_harness.backends.emulator.numerics import blocks, rows

    whole, part = shapes
    dtype = "float32"
    inputs = {"x": (RANDOM.standard_normal(whole).astype(np.float32), dtype),
              "p": (RANDOM.standard_normal(part).astype(np.float32), dtype),
              "v": (RANDOM.standard_normal(whole[-1]).astype(np.float32), dtype)}
    nodes = [op("a", "Sub", "x p", dtype, whole), op("e", "Mul", "p a", dtype, whole)]
    if biased:
        nodes.append(op("e2", "BiasAdd", "e v", dtype, whole))
    else:
        inputs.pop("v")
    x, p = inputs["x"][0], inputs["p"][0]
    expected = p * (x - p) + (inputs["v"][0] if biased else 0)
    monkeypatch.setattr(rows, "BLOCK", 16)
    monkeypatch.setattr(blocks, "BLOCK", 16)
    last = nodes[-1].name
    for kernels in ([region(nodes, [last])], nodes):
        found = run(inputs, kernels, [last])[0]
        assert found.tobytes() == expected.astype(np.float32).tobytes()


def test_the_worked_example_runs_as_compiled():
    compilation = cases.compiled(cases.mul_add_relu(), cases.GATE, level="O3")
    found = execute_plan(compilation.plan, dict(zip("xyb", (X, Y, B))),
                         EmulatorParams())
    exact = np.maximum(wide(X) * wide(Y) + wide(B), 0).astype(np.float16)
    assert next(iter(found.values())).tobytes() == exact.tobytes()


@pytest.mark.parametrize(("arrays", "part"), [
    ({}, "no array for input 'x'"),
    ({"x": X[:2]}, "expected float16[8, 64]"),
    ({"x": X.astype(np.float32)}, "float32[8, 64]"),
], ids=["missing", "shape", "dtype"])
def test_inputs_that_do_not_fit_are_refused(arrays, part):
    made = plan({"x": (X, "float16")}, [op("y", "Relu", "x", "float16", SHAPE)], ["y"])
    with pytest.raises(EvaluationError) as caught:
        execute_plan(made, arrays, EmulatorParams())
    assert part in str(caught.value)


def test_unknown_operators_and_missing_tensors_are_named():
    inputs = {"x": (X, "float16")}
    with pytest.raises(EvaluationError) as caught:
        run(inputs, [op("y", "Fantasy", "x", "float16", SHAPE)], ["y"])
    assert "no op 'Fantasy'" in str(caught.value)
    for kernels in ([op("y", "Relu", "gone", "float16", SHAPE)],
                    [region([op("y", "Relu", "gone", "float16", SHAPE)], ["y"])]):
        with pytest.raises(EvaluationError) as caught:
            run(inputs, kernels, ["y"])
        assert "'gone:0'" in str(caught.value)
    with pytest.raises(EvaluationError) as caught:
        run(inputs, [op("y", "MatMul", "x x", "float16", (8, 8))], ["y"])
    assert "do not fit" in str(caught.value)


def test_runs_repeat_and_inputs_are_not_touched():
    before = X.tobytes()
    made = plan(fed(), [region(chain(), ["z"])], ["z"])
    arrays = {name: array for name, (array, _) in fed().items()}
    settings = parse(["div_accuracy=noise", "exp_accuracy=noise"])
    first = execute_plan(made, arrays, settings)["z"].tobytes()
    assert execute_plan(made, arrays, settings)["z"].tobytes() == first
    assert X.tobytes() == before
