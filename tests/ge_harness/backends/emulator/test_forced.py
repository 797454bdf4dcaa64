"""Forced mechanisms: tile size, Newton steps, scalar against vector products."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.backends.emulator import params
from ge_harness.backends.emulator.execute import execute_plan
from ge_harness.backends.emulator.params import parse
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.plans import constant, one, op, region, run
from tests.ge_harness.backends.emulator.test_row_sum import add, slow_v1, slow_v2
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder

TILES = (512, 1024, 2048)
LONG = np.random.RandomState(1).standard_normal((1, 16384)).astype(np.float32)


def compiled_sum(dtype, chip):
    made = graph(placeholder("x", dtype, LONG.shape), const("axis", [1], "int32"),
                 node("y", "Sum", "x", "axis", T=dtype, Tidx="int32"))
    return cases.compiled(made, cases.REDUCE, chip, level="O3")


def tiled(row, tile, tree):
    total = None
    for start in range(0, len(row), tile):
        part = tree(row[start:start + tile])
        total = part if total is None else add(total, part)
    return total


@pytest.mark.parametrize("tile", TILES)
def test_a_forced_tile_holds_for_a_sum_that_autofuse_gives_back(tile):
    compilation = compiled_sum("float32", "910b")
    assert cases.left(compilation) == ["ReduceSum"]
    found = execute_plan(compilation.plan, {"x": LONG}, parse([f"r_tile={tile}"]))
    assert next(iter(found.values()))[0] == tiled(LONG[0], tile, slow_v1)


@pytest.mark.parametrize("chip", ["910b", "950"])
def test_tiles_of_three_sizes_differ_and_each_repeats_itself(chip):
    x = np.random.RandomState(2).standard_normal((40, 16384)).astype(np.float32)
    axis = [constant("axis", [1], "int32")]

    def total(tile):
        return one("Sum", x, dtype="float32", chip=chip, out=(40,), consts=axis,
                   fused=True, settings=[f"r_tile={tile}"])

    sums = [total(tile) for tile in TILES]
    for tile, found in zip(TILES, sums):
        assert found.tobytes() == total(tile).tobytes()
    for left, right in ((0, 1), (0, 2), (1, 2)):
        assert (sums[left] != sums[right]).any()
    tree = slow_v1 if chip == "910b" else slow_v2
    assert sums[2][0] == tiled(x[0], 2048, tree)


@pytest.mark.parametrize("chip", ["910b", "950"])
@pytest.mark.parametrize("fused", [False, True])
def test_newton_steps_bring_rsqrt_nearer(fused, chip):
    x = np.random.RandomState(3).uniform(0.01, 100, 20000).astype(np.float32)
    truth = 1 / np.sqrt(x.astype(np.float64))

    def worst(form):
        found = one("Rsqrt", x, dtype="float32", chip=chip, fused=fused,
                    settings=[f"rsqrt_form={form}"])
        return np.abs(found / truth - 1).max()

    assert 1e-6 < worst("newton2") < 1e-5
    assert worst("newton3") < 3e-7
    assert worst("auto") < 1.5e-7


def test_newton_steps_show_in_float16():
    x = np.random.RandomState(4).uniform(0.01, 100, 200000).astype(np.float16)
    two, three, plain = (one("Rsqrt", x, settings=[f"rsqrt_form={form}"])
                         for form in ("newton2", "newton3", "auto"))
    assert 0 < (two != plain).mean() < 0.05
    assert (three != plain).mean() < (two != plain).mean()


@pytest.mark.parametrize("fused", [False, True])
def test_newton_steps_bring_division_nearer(fused):
    stream = np.random.RandomState(5)
    x, y = (stream.uniform(0.01, 100, 20000).astype(np.float32) for _ in range(2))
    truth = x.astype(np.float64) / y

    def worst(form):
        found = one("RealDiv", x, y, dtype="float32", fused=fused,
                    settings=[f"div_form={form}"])
        return np.abs(found / truth - 1).max()

    assert 1e-7 < worst("newton3") < 5e-7
    assert 1e-6 < worst("newton2") < 1e-3
    assert worst("auto") <= 2.0 ** -24


def test_newton_steps_leave_special_values_alone():
    x = np.array([0, -0.0, np.inf, -1, np.nan, 1e-40, 3e38], np.float32)
    with np.errstate(all="ignore"):
        expected = np.float32(1) / np.sqrt(x)
        quotient = x / np.array([0, 1, 2, -0.0, 1, 1e-40, np.inf], np.float32)
    found = one("Rsqrt", x, dtype="float32", settings=["rsqrt_form=newton3"])
    np.testing.assert_allclose(found, expected, rtol=3e-7)
    found = one("RealDiv", x, np.array([0, 1, 2, -0.0, 1, 1e-40, np.inf], np.float32),
                dtype="float32", settings=["div_form=newton3"])
    np.testing.assert_allclose(found, quotient, rtol=3e-7)


X = np.random.RandomState(6).uniform(-1, 1, (100, 100)).astype(np.float32)
SPLIT = ["muls_equals_mul=false"]


def test_a_scalar_product_can_differ_from_a_vector_product():
    k = np.float32(0.7)
    full = np.full_like(X, k)
    scalar = one("Mul", X, k, dtype="float32", settings=SPLIT)
    vector = one("Mul", X, full, dtype="float32", settings=SPLIT)
    assert vector.tobytes() == (X * k).tobytes()
    apart = scalar.view(np.int32).astype(int) - vector.view(np.int32)
    assert set(np.unique(apart)) == {-1, 0, 1}
    assert one("Mul", X, k, dtype="float32").tobytes() == vector.tobytes()


def test_in_fused_kernels_only_float32_constants_are_scalars():
    def product(dtype, scalars):
        k = constant("k", np.float32(0.7).astype(dtype), dtype)
        inside = [op("m", "Mul", "x k", dtype, X.shape),
                  op("w", "Cast", "m", "float32", X.shape, DstT="float32", SrcT=dtype)]
        x = X.astype(dtype)
        inputs = {"x": (x, dtype)}
        kernel = region(inside, ["w"], [k], scalars=scalars)
        found = run(inputs, [kernel], ["w"], [k], settings=SPLIT)[0]
        exact = x.astype(np.float32) * np.float32(np.float32(0.7).astype(dtype))
        return (found != exact).any()

    assert product("float32", ("k",))
    assert not product("float16", ())


def test_forced_settings_are_labeled():
    for setting in ("r_tile=512", "rsqrt_form=newton2", "div_form=newton3",
                    "muls_equals_mul=false"):
        assert params.forced(parse([setting])) == (setting,)
    for setting in ("rsqrt_form=div_sqrt", "exp_accuracy=noise", "r_cores=8"):
        assert params.forced(parse([setting])) == ()
