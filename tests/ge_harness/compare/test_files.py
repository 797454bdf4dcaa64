from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ge_harness.compare.files import TensorFile, match, tensors_in
from ge_harness.errors import UsageError


def load(path, dtype=None):
    (array, name), notes = TensorFile("t", path).load(dtype)
    return array, name, notes


def header(text, version=b"\x01\x00", data=b""):
    text = text.encode() + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + data


def write(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8", "i1", ">i8", "?", "u2"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (5,), (2, 3)])
def test_saved_arrays_come_back(tmp_path, dtype, shape):
    array = np.asfortranarray(np.arange(6)[:int(np.prod(shape, dtype=int))]
                              .reshape(shape).astype(dtype)).reshape(shape)
    path = tmp_path / "x.npy"
    np.save(str(path), array)
    found, _, notes = load(path)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    assert notes == ()


def test_fortran_order_comes_back_as_saved(tmp_path):
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    np.save(str(tmp_path / "x.npy"), array)
    found, _, _ = load(tmp_path / "x.npy")
    assert found.flags.f_contiguous
    np.testing.assert_array_equal(found, array)


def test_bfloat16_saved_by_numpy_is_guessed_and_said(tmp_path):
    path = write(tmp_path / "x.npy", header(
        "{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}",
        data=b"\x80\x3f\x00\x40"))
    array, name, notes = load(path)
    assert (name, array.tolist()) == ("bfloat16", [0x3F80, 0x4000])
    assert "taken as bfloat16" in notes[0]
    assert load(path, "bfloat16")[1:] == ("bfloat16", ())
    assert load(path, "float16")[1] == "float16"


def test_a_told_dtype_without_effect_is_said(tmp_path):
    np.save(str(tmp_path / "x.npy"), np.zeros(2, np.float32))
    _, name, notes = load(tmp_path / "x.npy", "bfloat16")
    assert name == "float32"
    assert "has no effect" in notes[0]


def test_uint16_bits_become_bfloat16_when_told(tmp_path):
    np.save(str(tmp_path / "x.npy"), np.zeros(2, np.uint16))
    assert load(tmp_path / "x.npy", "bfloat16")[1] == "bfloat16"
    assert load(tmp_path / "x.npy")[1] == "uint16"


OK = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"
HOSTILE = {
    "empty": (b"", "empty"),
    "foreign": (b"GIF89a....", "expected a .npy"),
    "cut magic": (b"\x93NUM", "expected a .npy"),
    "cut version": (b"\x93NUMPY\x01", "version"),
    "future": (header(OK, b"\x09\x00"), "version"),
    "cut length": (b"\x93NUMPY\x01\x00\x10", "truncated"),
    "cut head": (header(OK)[:30], "truncated inside the head"),
    "cut data": (header(OK, data=b"\0" * 11), r"\[3\] of float32 = 12 bytes, found 11"),
    "no data": (header(OK), "found 0"),
    "huge": (header(OK.replace("3", "10**9").replace("10**9", "9" * 30)), "truncated"),
    "negative": (header(OK.replace("3", "-3")), "damaged"),
    "boolean": (header(OK.replace("(3,)", "(True,)")), "damaged"),
    "code": (header("__import__('os').abort()"), "damaged"),
    "nested": (header("(" * 5000), "damaged"),
    "missing": (header("{'descr': '<f4'}"), "expected the keys"),
    "no dict": (header("7"), "expected the keys"),
    "axes": (header(OK.replace("(3,)", str((1,) * 40))), "damaged"),
    "objects": (header(OK.replace("<f4", "|O")), "never unpickled"),
    "fields": (header(OK.replace("'<f4'", "[('a', '<f4')]")), "fields"),
    "no dtype": (header(OK.replace("<f4", "zz")), "does not know"),
    "text": (header(OK.replace("<f4", "<U4"), data=b"\0" * 48), "expected float"),
    "dates": (header(OK.replace("<f4", "<M8[s]"), data=b"\0" * 24), "expected float"),
    "complex": (header(OK.replace("<f4", "<c8"), data=b"\0" * 24), "complex64"),
    "raw": (header(OK.replace("<f4", "|V3"), data=b"\0" * 9), "cannot be compared"),
    "long head": (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f", "at most"),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_file_is_one_line_that_names_it(tmp_path, name):
    content, words = HOSTILE[name]
    path = write(tmp_path / "bad.npy", content)
    with pytest.raises(UsageError, match=words) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pickled_objects_are_refused_unopened(tmp_path):
    np.save(str(tmp_path / "x.npy"), np.array([{"a": 1}], dtype=object))
    with pytest.raises(UsageError, match="never unpickled"):
        load(tmp_path / "x.npy")


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_a_file_cut_anywhere_is_refused(tmp_path, cut):
    stream = io.BytesIO()
    np.save(stream, np.arange(20.0))
    with pytest.raises(UsageError):
        load(write(tmp_path / "x.npy", stream.getvalue()[:cut]))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_members_of_an_archive_are_matched_by_name(tmp_path, save):
    save(str(tmp_path / "a.npz"), x=np.arange(3), y=np.arange(4.0), z=np.float32(2))
    save(str(tmp_path / "b.npz"), y=np.arange(4.0), z=np.float32(3))
    found = match(tmp_path / "a.npz", tmp_path / "b.npz")
    assert [name for name, _, _ in found.pairs] == ["y", "z"]
    assert (found.only_a, found.only_b, found.single) == (("x",), (), False)
    (array, name), _ = found.pairs[0][1].load()
    assert (array.tolist(), name) == ([0, 1, 2, 3], "float64")


def test_plainly_stored_members_are_mapped(tmp_path):
    np.savez(str(tmp_path / "a.npz"), x=np.arange(3000))
    (array, _), _ = tensors_in(tmp_path / "a.npz")[0]["x"].load()
    base = array
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_damaged_archives_are_refused(tmp_path):
    np.savez_compressed(str(tmp_path / "good.npz"), x=np.random.RandomState(0).rand(99))
    whole = (tmp_path / "good.npz").read_bytes()
    with pytest.raises(UsageError, match=r"cannot be read as \.npz"):
        tensors_in(write(tmp_path / "cut.npz", whole[:-30]))
    broken = bytearray(whole)
    broken[200:260] = bytes(60)
    damaged = write(tmp_path / "broken.npz", bytes(broken))
    with pytest.raises(UsageError, match="x"):
        tensors_in(damaged)[0]["x"].load()


def test_an_archive_without_arrays_is_refused(tmp_path):
    with zipfile.ZipFile(str(tmp_path / "a.npz"), "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(UsageError, match=r"none of them a \.npy"):
        tensors_in(tmp_path / "a.npz")


def test_a_lying_member_is_refused(tmp_path):
    with zipfile.ZipFile(str(tmp_path / "a.npz"), "w") as archive:
        archive.writestr("x.npy", header(OK, data=b"\0" * 4))
        archive.writestr("y.npy", b"\0" * 4000)
    for name in "xy":
        with pytest.raises(UsageError, match=name):
            tensors_in(tmp_path / "a.npz")[0][name].load()


def test_folders_are_matched_by_relative_name(tmp_path):
    for side, names in (("a", ("x", "sub/y", "only")), ("b", ("x", "sub/y", "more"))):
        for name in names:
            path = tmp_path / side / (name + ".npy")
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(str(path), np.zeros(2))
    (tmp_path / "a" / "notes.txt").write_text("x")
    found = match(tmp_path / "a", tmp_path / "b")
    assert [name for name, _, _ in found.pairs] == ["sub/y", "x"]
    assert (found.only_a, found.only_b) == (("only",), ("more",))
    assert [Path(path).name for path in found.skipped] == ["notes.txt"]


def test_single_files_belong_together_whatever_their_names(tmp_path):
    np.save(str(tmp_path / "x.npy"), np.zeros(2))
    np.savez(str(tmp_path / "y.npz"), other=np.zeros(2))
    found = match(tmp_path / "x.npy", tmp_path / "y.npz")
    assert found.single
    assert found.pairs[0][2].member == "other"


def test_places_that_do_not_go_together_are_refused(tmp_path):
    np.save(str(tmp_path / "x.npy"), np.zeros(2))
    np.savez(str(tmp_path / "p.npz"), a=np.zeros(2), b=np.zeros(2))
    np.savez(str(tmp_path / "q.npz"), c=np.zeros(2), d=np.zeros(2))
    with pytest.raises(UsageError, match="folder with a file"):
        match(tmp_path, tmp_path / "x.npy")
    with pytest.raises(UsageError, match="no such file"):
        match(tmp_path / "x.npy", tmp_path / "nope.npy")
    with pytest.raises(UsageError, match="a, b against c, d"):
        match(tmp_path / "p.npz", tmp_path / "q.npz")


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="found no"):
        tensors_in(tmp_path)


@pytest.mark.parametrize("name", ["AscBackend.autofuse_28_Pow.3.44.1783906987170021",
                                  "Add.add_1.1.59.1767681027598365.4.0.0.0"])
def test_ge_dumps_are_named_where_only_arrays_are_taken(tmp_path, name):
    path = write(tmp_path / name, b"\x10" + bytes(40))
    for place in (path, tmp_path):
        with pytest.raises(UsageError, match=r"GE data.dump"):
            tensors_in(place)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(str(tmp_path / "x.npy"))
    with pytest.raises(UsageError, match="plain file"):
        tensors_in(tmp_path / "x.npy")
