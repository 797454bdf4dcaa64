"""Device layouts: made here element by element, turned back by the reader."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumps import data_dump_layout
from dumps.data_dump_layout import between, to_plain

PADDING = 99


def blocks(array, block):
    """Return an array as FRACTAL_NZ, element by element, padding filled."""
    *lead, rows, columns = array.shape
    shape = (*lead, -(-columns // block), -(-rows // block), block, block)
    found = np.full(shape, PADDING, array.dtype)
    for index in np.ndindex(array.shape):
        *outer, n, c = index
        found[(*outer, c // block, n // block, n % block, c % block)] = array[index]
    return found


def five(array, layout, block):
    """Return an NC1HWC0 or NDC1HWC0 array."""
    length = dict(zip(layout, array.shape))
    axes = "NDHW" if "D" in layout else "NHW"
    shape = [length[axis] for axis in axes]
    place = 2 if "D" in layout else 1
    shape.insert(place, -(-length["C"] // block))
    found = np.full((*shape, block), PADDING, array.dtype)
    for index in np.ndindex(array.shape):
        at = dict(zip(layout, index))
        target = [at[axis] for axis in axes]
        target.insert(place, at["C"] // block)
        found[(*target, at["C"] % block)] = array[index]
    return found


def fractal_z(array, layout, block):
    """Return a FRACTAL_Z array."""
    length = dict(zip(layout, array.shape))
    height, width = length["H"], length["W"]
    found = np.full((-(-length["C"] // block) * height * width,
                     -(-length["N"] // block), block, block), PADDING, array.dtype)
    for index in np.ndindex(array.shape):
        at = dict(zip(layout, index))
        first = (at["C"] // block * height + at["H"]) * width + at["W"]
        found[first, at["N"] // block, at["N"] % block, at["C"] % block] = array[index]
    return found


def numbers(shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.sampled_from([2, 4]))
def test_fractal_nz_comes_back_without_its_padding(shape, block):
    array = numbers(shape)
    found = to_plain(blocks(array, block), "FRACTAL_NZ", shape)
    assert (found.format, found.refused) == ("ND", "")
    np.testing.assert_array_equal(found.array, array)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.sampled_from(["NCHW", "NHWC", "NCDHW", "NDHWC"]),
       st.lists(st.integers(1, 5), min_size=5, max_size=5), st.sampled_from([2, 4]))
def test_five_axes_come_back_in_the_original_layout(layout, lengths, block):
    array = numbers(lengths[:len(layout)])
    format = "NDC1HWC0" if "D" in layout else "NC1HWC0"
    found = to_plain(five(array, layout, block), format, array.shape, layout)
    assert (found.format, found.refused) == (layout, "")
    np.testing.assert_array_equal(found.array, array)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.sampled_from(["NCHW", "HWCN"]),
       st.lists(st.integers(1, 5), min_size=4, max_size=4), st.sampled_from([2, 4]))
def test_filters_come_back_in_the_original_layout(layout, lengths, block):
    array = numbers(lengths)
    found = to_plain(fractal_z(array, layout, block), "FRACTAL_Z", lengths, layout)
    assert (found.format, found.refused) == (layout, "")
    np.testing.assert_array_equal(found.array, array)


def test_a_layout_is_told_by_the_shape_where_only_one_fits():
    array = numbers((2, 3, 5, 7))
    found = to_plain(five(array, "NCHW", 4), "NC1HWC0", array.shape)
    assert found.format == "NCHW"
    np.testing.assert_array_equal(found.array, array)


@pytest.mark.parametrize(("format", "dumped", "origin", "words"), [
    ("NC1HWC0", (1, 1, 16, 16, 16), (1, 16, 16, 16), "NCHW and NHWC both fit"),
    ("NC1HWC0", (1, 1, 2, 2, 16), (1, 17, 2, 2), "does not fit"),
    ("NC1HWC0", (1, 1, 2, 2, 16), None, "without its original shape"),
    ("NC1HWC0", (4, 16), (4, 16), "does not fit"),
    ("FRACTAL_NZ", (1, 1, 16, 16), (16,), "does not fit"),
    ("FRACTAL_NZ", (2, 1, 16, 16), (16, 16), "does not fit"),
    ("FRACTAL_NZ", (16, 16), (16, 16), "does not fit"),
    ("FRACTAL_Z", (4, 1, 16, 16), (0, 0, 0, 0), "does not fit"),
    ("FRACTAL_ZN_LSTM", (1, 1, 16, 16), (16, 16), "no exact conversion"),
    ("format_77", (1,), (1,), "no exact conversion"),
])
def test_what_is_not_sure_is_refused_with_the_reason(format, dumped, origin, words):
    array = np.zeros(dumped, np.float16)
    found = to_plain(array, format, origin)
    assert words in found.refused
    assert found.array is array
    assert found.format == format


@pytest.mark.parametrize("origin", [
    (0, 1 << 61, 1 << 61, 5, 5), (0, *(1,) * 70, 5, 5)])
def test_an_original_shape_that_no_array_has_is_refused(origin):
    array = np.zeros((0, 1, 1, 16, 16), np.float32)
    found = to_plain(array, "FRACTAL_NZ", origin)
    assert found.array is array
    assert found.refused


def test_filters_of_several_groups_are_refused():
    array = np.zeros((4, 1, 16, 16), np.float32)
    assert to_plain(array, "FRACTAL_Z", (16, 16, 2, 2), "NCHW", 1).format == "NCHW"
    found = to_plain(array, "FRACTAL_Z", (16, 16, 2, 2), "NCHW", 2)
    assert "2 groups" in found.refused
    assert found.array is array


def test_a_copy_that_would_be_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(data_dump_layout, "LARGEST_BYTES", 8)
    found = to_plain(np.zeros((1, 1, 2, 2), np.float32), "FRACTAL_NZ", (2, 2))
    assert "16 bytes" in found.refused


@pytest.mark.parametrize("format", ["ND", "NCHW", "NHWC", "HWCN", ""])
def test_plain_layouts_are_left_alone(format):
    array = np.zeros((1, 2, 3, 4))
    found = to_plain(array, format, None)
    assert found.array is array
    assert (found.format, found.refused) == (format, "")


@pytest.mark.parametrize("one", ["NCHW", "NHWC", "HWCN"])
@pytest.mark.parametrize("other", ["NCHW", "NHWC", "HWCN"])
def test_plain_layouts_turn_into_one_another(one, other):
    lengths = {"N": 2, "C": 3, "H": 4, "W": 5}
    array = numbers([lengths[axis] for axis in one])
    found = between(array, one, other)
    assert found.shape == tuple(lengths[axis] for axis in other)
    for index in np.ndindex(array.shape):
        at = dict(zip(one, index))
        assert found[tuple(at[axis] for axis in other)] == array[index]


def test_no_way_between_layouts_is_none():
    assert between(np.zeros((1, 2)), "NCHW", "NHWC") is None
    assert between(np.zeros((1, 2, 3, 4)), "NCHW", "FRACTAL_Z") is None
