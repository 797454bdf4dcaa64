"""Sums: the trees of both chips against a transcription that adds number by number."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ge_harness.backends.emulator.numerics import reduction, row_sum
from ge_harness.backends.emulator.numerics.unit import Unit
from ge_harness.backends.emulator.params import EmulatorParams, parse

LENGTHS = (1, 7, 8, 9, 17, 24, 31, 40, 63, 64, 65, 100, 127, 128, 1000, 4096, 5000)
NAMED = (24, 64, 100, 1000, 4096, 5000)
PLAIN = EmulatorParams()


def add(a, b):
    return np.float32(a + b)


def neighbors(numbers):
    """T of the reference, on a list of float32 scalars."""
    while len(numbers) > 1:
        merged = [add(numbers[i], numbers[i + 1])
                  for i in range(0, len(numbers) - 1, 2)]
        if len(numbers) % 2:
            merged.append(numbers[-1])
        numbers = merged
    return numbers[0]


def padded(row):
    return list(row) + [np.float32(0)] * (-len(row) % 8)


def slow_v1(row):
    """numerics_model.md section 4.1, v1: tail onto head, then adjacent pairs."""
    x = padded(row)
    length = len(x)
    if length <= 64:
        return neighbors(x)
    power = 1
    while power * 2 < length:
        power *= 2
    return neighbors([add(x[j], x[power + j]) if j < length - power else x[j]
                      for j in range(power)])


def slow_v2(row):
    """numerics_model.md section 4.1, v2: tail onto head, halves, then pairs."""
    x = padded(row)
    length = len(x)
    if 8 < length < 32:
        lanes = x[:8]
        for block in range(8, length, 8):
            lanes = [add(lanes[i], x[block + i]) for i in range(8)]
        return neighbors(lanes)
    if length < 64:
        return neighbors(x)
    power = 1
    while power * 2 <= length:
        power *= 2
    t = [add(x[j], x[power + j]) if j < length - power else x[j]
         for j in range(power)]
    while len(t) > 64:
        half = len(t) // 2
        t = [add(t[i], t[half + i]) for i in range(half)]
    return neighbors(t)


SLOW = {"910b": slow_v1, "950": slow_v2}


def rows(length, count=5, seed=0):
    return np.random.RandomState(seed + length).standard_normal(
        (count, length)).astype(np.float32)


def total(chip, x, axes=(1,), params=PLAIN, *, fused=True):
    make = reduction.fused_order if fused else reduction.eager_order
    return reduction.reduce("sum", x, axes, make(chip, params, 12), Unit(chip, params))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("chip", ["910b", "950"])
def test_one_tile_is_added_in_the_order_of_the_reference(chip, length):
    x = rows(length)
    found = total(chip, x)[:, 0]
    assert found.tolist() == [float(SLOW[chip](row)) for row in x]


@pytest.mark.parametrize("length", [24, 1000, 4096, 5000])
def test_the_chips_differ_with_one_tile(length):
    x = rows(length, 200)
    a, b = total("910b", x)[:, 0], total("950", x)[:, 0]
    apart = np.abs(a.view(np.int32).astype(np.int64) - b.view(np.int32))
    assert (apart > 0).mean() > 0.2
    assert np.median(apart[apart > 0]) <= 8


@pytest.mark.parametrize("length", [100, 1000, 4096, 5000])
@pytest.mark.parametrize("tile", [64, 256, 1024])
@pytest.mark.parametrize("chip", ["910b", "950"])
def test_tiles_follow_one_another_and_trees_are_inside(chip, tile, length):
    x = rows(length)
    found = total(chip, x, params=parse([f"r_tile={tile}"]))[:, 0]
    for row, value in zip(x, found):
        running = None
        for start in range(0, length, tile):
            part = SLOW[chip](row[start:start + tile])
            running = part if running is None else add(running, part)
        assert running == value


def slow_outer(values):
    """numerics_model.md section 4.1, reduction over an outer axis."""
    values, count = list(values), len(values)
    power = 1
    while power * 2 <= count:
        power *= 2
    for r in range(count - power):
        values[r] = add(values[r], values[power + r])
    values = values[:power]
    while len(values) > 1:
        half = len(values) // 2
        values = [add(values[i], values[half + i]) for i in range(half)]
    return values[0]


@pytest.mark.parametrize("cores", [2, 8, 48])
@pytest.mark.parametrize("chip", ["910b", "950"])
def test_cores_sum_aligned_blocks_and_their_sums_are_an_outer_axis(chip, cores):
    x = rows(5000)
    found = total(chip, x, params=parse([f"r_cores={cores}"]))[:, 0]
    block = -(-5000 // cores // 8) * 8
    for row, value in zip(x, found):
        parts = [SLOW[chip](row[i:i + block]) for i in range(0, 5000, block)]
        assert slow_outer(parts) == value


@pytest.mark.parametrize("count", [1, 2, 3, 24, 100, 129])
@pytest.mark.parametrize("chip", ["910b", "950"])
def test_an_outer_axis_folds_its_tail_and_halves(chip, count):
    x = rows(count, 1).reshape(1, count, 1) * np.linspace(
        0.5, 1.7, 6).astype(np.float32)
    found = total(chip, x)[0, 0]
    assert found.tolist() == [float(slow_outer(x[0, :, k])) for k in range(6)]


def test_adjacent_reduced_axes_are_one_row():
    x = rows(1000, 4)
    cube = x.reshape(4, 10, 4, 25)
    assert total("910b", cube, (1, 2, 3)).reshape(4).tobytes() == (
        total("910b", x).tobytes())


def test_axes_apart_are_reduced_from_the_inside_out():
    x = rows(96, 12).reshape(3, 4, 96)
    found = total("910b", x, (0, 2))
    inner = total("910b", x.reshape(12, 96)).reshape(3, 4)
    assert found.shape == (1, 4, 1)
    assert found.reshape(4).tolist() == [
        float(slow_outer(inner[:, k])) for k in range(4)]


def slow_950_eager(row, tile=16384):
    """numerics_model.md section 4.6: pairs of tiles, then a binary counter."""
    count = -(-len(row) // tile)
    if count == 1:
        return slow_v2(row)
    row = list(row) + [np.float32(0)] * (count * tile - len(row))
    parts = [row[i * tile:(i + 1) * tile] for i in range(count)]
    power = 1
    while power * 2 <= count:
        power *= 2
    sums = []
    for i in range(power):
        part = parts[i]
        if i < count - power:
            part = [add(a, b) for a, b in zip(part, parts[i + power])]
        sums.append(slow_v2(part))
    return neighbors(sums)  # a counter over a power of two of sums is a full tree


@pytest.mark.parametrize("length", [1000, 5000])
@pytest.mark.parametrize("tile", [256, 1024])
def test_single_sums_of_the_950_pair_tiles(length, tile):
    x = rows(length, 2)
    found = total("950", x, params=parse([f"r_tile={tile}"]), fused=False)[:, 0]
    assert found.tolist() == [float(slow_950_eager(row, tile)) for row in x]


def test_single_sums_of_the_950_have_tiles_of_64_kibibytes():
    x = rows(40000, 1)
    assert total("950", x, fused=False)[0, 0] == slow_950_eager(x[0])


def test_the_tile_that_is_found_by_itself_fills_the_unified_buffer():
    order = reduction.fused_order("910b", PLAIN, 12)
    assert order.row_tile == 196352 // 12 // 8 * 8
    assert reduction.bytes_per_element([2], [], computes=False) == 12
    small = reduction.fused_order("910b", parse(["ub_bytes=1200"]), 12)
    assert small.row_tile == 96
    x = rows(1000, 3)
    assert total("910b", x, params=parse(["ub_bytes=1200"])).tobytes() == total(
        "910b", x, params=parse(["r_tile=96"])).tobytes()


def test_hand_written_kernels_add_trees_of_64_one_by_one():
    x = rows(200, 3)
    order = reduction.repeats_order("910b", PLAIN)
    found = reduction.reduce("sum", x, (1,), order, Unit("910b", PLAIN))[:, 0]
    for row, value in zip(x, found):
        row = list(row) + [np.float32(0)] * 56
        running = neighbors(row[:64])
        for start in (64, 128, 192):
            running = add(running, neighbors(row[start:start + 64]))
        assert running == value


@pytest.mark.parametrize(("setting", "want"), [
    ("row_tree=sequential", lambda row: np.add.accumulate(row)[-1]),
    ("row_tree=pairwise", lambda row: neighbors(padded(row))),
    ("row_tree=fold_tail_then_halving_then_pairs", slow_v2),
    ("row_tree=fold_tail_then_pairs", slow_v1),
])
def test_other_orders_inside_a_tile_can_be_asked_for(setting, want):
    x = rows(1000)
    found = total("910b", x, params=parse([setting]))[:, 0]
    assert found.tolist() == [float(want(row)) for row in x]


def test_a_tree_over_tiles_differs_from_a_sequence():
    x = rows(4096, 50)
    tree = total("910b", x, params=parse(["r_tile=64", "tile_combine=tree"]))[:, 0]
    for row, value in zip(x[:5], tree):
        parts = [slow_v1(row[i:i + 64]) for i in range(0, 4096, 64)]
        assert neighbors(parts) == value
    assert (tree != total("910b", x, params=parse(["r_tile=64"]))[:, 0]).any()


def test_an_outer_axis_can_be_added_one_by_one():
    x = rows(100, 1).reshape(1, 100, 1) * np.ones(3, np.float32)
    found = total("910b", x, params=parse(["outer_tree=sequential"]))
    assert (found == np.add.accumulate(x[0, :, 0])[-1]).all()


def test_a_shuffled_order_repeats_itself_and_differs():
    x = rows(5000, 50)
    shuffled = parse(["eager_reduce_order=permuted"])
    a = total("910b", x, params=shuffled, fused=False)
    assert a.tobytes() == total("910b", x, params=shuffled, fused=False).tobytes()
    assert (a != total("910b", x, fused=False)).any()


def test_padding_changes_the_shape_of_the_tree():
    x = rows(20, 200)
    without = total("950", x, params=parse(["row_pad=none"]))
    assert without[:, 0].tolist() == [float(neighbors(list(row))) for row in x]
    assert (without != total("950", x)).any()


@pytest.mark.parametrize("chip", ["910b", "950"])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_extremes_do_not_depend_on_the_order(chip, kind):
    x = rows(1000)
    unit = Unit(chip, PLAIN)
    found = reduction.reduce(
        kind, x, (1,), reduction.fused_order(chip, PLAIN, 12), unit)
    assert found.tobytes() == getattr(x, kind)(axis=1, keepdims=True).tobytes()


def test_nan_in_an_extreme_is_a_parameter():
    x = rows(100)
    x[:, 3] = np.nan
    order = reduction.fused_order("910b", PLAIN, 12)
    assert np.isnan(reduction.reduce("max", x, (1,), order, Unit("910b", PLAIN))).all()
    ignore = parse(["nan_minmax=ignore"])
    found = reduction.reduce("max", x, (1,), order, Unit("910b", ignore))
    assert found.tobytes() == np.nanmax(x, axis=1, keepdims=True).tobytes()


@pytest.mark.parametrize("chip", ["910b", "950"])
def test_a_product_goes_through_the_same_tree(chip):
    x = np.exp2(np.random.RandomState(3).randint(-2, 3, (4, 100))).astype(np.float32)
    order = reduction.fused_order(chip, PLAIN, 12)
    found = reduction.reduce("prod", x, (1,), order, Unit(chip, PLAIN))[:, 0]
    assert found.tolist() == np.prod(x.astype(float), axis=1).tolist()


def test_empty_reductions_give_the_neutral_value():
    order = reduction.fused_order("910b", PLAIN, 12)
    unit = Unit("910b", PLAIN)
    empty = np.zeros((3, 0), np.float32)
    assert reduction.reduce("sum", empty, (1,), order, unit).tolist() == [[0]] * 3
    assert reduction.reduce("max", empty, (1,), order, unit)[0, 0] == -np.inf
    whole = rows(5)
    assert reduction.reduce("sum", whole, (), order, unit) is whole


def test_a_scalar_is_reduced_over_all_axes():
    x = rows(100, 10)
    assert total("910b", x, (0, 1)).reshape(())[()] == slow_v1(x.reshape(-1))


def test_orders_are_records():
    order = reduction.fused_order("910b", PLAIN, 12)
    assert order == dataclasses.replace(order)
    assert order.row_tree == row_sum.V1
