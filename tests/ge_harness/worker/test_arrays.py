from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.backends.base import BackendFailure
from ge_harness.records.tensor import Port, TensorSpec
from ge_harness.worker import arrays


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint16", "bool",
                                   "int64", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 5), (4, 3, 2)], ids=str)
def test_numpy_reads_back_what_was_written_after_every_set(tmp_path, dtype, shape):
    path = tmp_path / "y.npy"
    file = arrays.ArrayFile(path, stacked=True)
    sets = [(np.arange(np.prod(shape, dtype=int)).reshape(shape) + i).astype(dtype)
            for i in range(3)]
    for index, array in enumerate(sets):
        file.append(array)
        read = np.load(str(path), allow_pickle=False)
        np.testing.assert_array_equal(read, np.stack(sets[:index + 1]))
        assert read.dtype == np.dtype(dtype)
        assert arrays.finished_sets([path]) == index + 1
    file.close()


def test_a_single_set_has_no_extra_axis_and_may_be_in_any_order(tmp_path):
    path = tmp_path / "y.npy"
    array = np.asfortranarray(np.arange(6).reshape(2, 3))
    file = arrays.ArrayFile(path, stacked=False)
    file.append(array)
    np.testing.assert_array_equal(np.load(str(path)), array)


def test_half_a_set_at_the_end_is_not_counted(tmp_path):
    path = tmp_path / "y.npy"
    file = arrays.ArrayFile(path, stacked=True)
    file.append(np.arange(4.0))
    file.close()
    with path.open("ab") as out:
        out.write(b"half")
    assert arrays.finished_sets([path]) == 1
    assert np.load(str(path), mmap_mode="r").shape == (1, 4)


@pytest.mark.parametrize("content", [
    b"", b"\x93NUMPY", b"text", b"\x93NUMPY\x01\x00\xff",
], ids=["empty", "cut", "other", "short"])
def test_files_that_are_no_arrays_hold_no_sets(tmp_path, content):
    (tmp_path / "y.npy").write_bytes(content)
    assert arrays.finished_sets([tmp_path / "y.npy"]) == 0
    assert arrays.finished_sets([tmp_path / "missing.npy"]) == 0
    assert arrays.finished_sets([]) == 0


def test_a_shape_that_changes_between_sets_is_refused(tmp_path):
    file = arrays.ArrayFile(tmp_path / "y.npy", stacked=True)
    file.append(np.zeros(3))
    with pytest.raises(BackendFailure, match="set 1"):
        file.append(np.zeros(4))


@pytest.mark.parametrize(("spec", "array", "good"), [
    (((None, 2), "float32"), np.zeros((7, 2), np.float32), True),
    (((2,), "float32"), np.zeros(3, np.float32), False),
    (((2,), "float32"), np.zeros((2, 1), np.float32), False),
    (((2,), "float32"), np.zeros(2, np.float64), False),
    (((2,), "bfloat16"), np.zeros(2, np.uint16), True),
    (((2,), "bfloat16"), np.zeros(2, np.float32), False),
    (((), "bool"), np.bool_(1), True),
], ids=["open", "length", "rank", "dtype", "bits", "values", "scalar"])
def test_an_output_must_be_what_its_port_says(spec, array, good):
    port = Port(TensorSpec("y", *spec), "y:0")
    if good:
        assert arrays.checked(port, array).tobytes() == array.tobytes()
    else:
        with pytest.raises(BackendFailure, match="output 'y' came as"):
            arrays.checked(port, array)


def test_sets_are_read_from_stacked_inputs_in_native_byte_order(tmp_path):
    port = Port(TensorSpec("x", (2,), "float32"), "x:0")
    np.save(str(tmp_path / "x.npy"), np.array([[1, 2], [3, 4]], ">f4"))
    found = arrays.load_set([tmp_path / "x.npy"], [port], 2, 1)["x"]
    assert found.tolist() == [3, 4]
    assert found.dtype.isnative
    with pytest.raises(BackendFailure, match="no set 2"):
        arrays.load_set([tmp_path / "x.npy"], [port], 3, 2)


def test_pickled_inputs_are_refused(tmp_path):
    np.save(str(tmp_path / "x.npy"), np.array([{}], object), allow_pickle=True)
    port = Port(TensorSpec("x", (1,), "float32"), "x:0")
    with pytest.raises(BackendFailure, match="input 'x'"):
        arrays.load_set([tmp_path / "x.npy"], [port], 1, 0)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 2 ** 40), max_size=8))
def test_headers_are_whole_and_aligned_for_any_shape(shape):
    header = arrays._header(tuple(shape), np.dtype("float32"), 0)
    assert len(header) % 64 == 0
    assert header.endswith(b"\n")
