"""The reader of data dumps: what was written comes back, damage is named."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dumps import data_dump, dtypes, wire
from dumps.data_dump import DataItem, OriginalOp
from dumps.data_dump_items import read_item
from dumps.data_dump_write import pack, raw_dtype
from dumps.errors import DumpError
from dumps.wire import Message, integer_field
from tests.dumps import mutate

# reference: tensor_dumps.md section 9.
VECTOR = bytes.fromhex(
    "42000000000000000a03322e301080ebccd1828c80031a14080110021a030a010222070a0361646420"
    "0230082215080210021a040a020203280c32040a02020340802032056164645f310000003c00400042"
    "004400450000c03f00000080")
STANDIN = Path(__file__).resolve().parents[1] / "standin" / "site"


def write(path, data):
    path.write_bytes(data)
    return path


def item(array, kind="output", index=0, **more):
    """Return an item and its bytes; bfloat16 as (uint16 array, "bfloat16")."""
    array, dtype = array if isinstance(array, tuple) else (array, array.dtype.name)
    values = {"dtype": dtype, "raw_dtype": raw_dtype(dtype), "format": "ND",
              "shape": array.shape, "origin_shape": array.shape,
              "has_origin_shape": True, "size": array.nbytes, "address": 4096, **more}
    return DataItem(kind, index, **values), array.tobytes()


def header(message, body=b""):
    return struct.pack("<Q", len(message)) + message + body


def loaded(path):
    dump = data_dump.read(path)
    return dump, [data_dump.load(dump, each) for each in dump.items]


def test_the_public_vector_reads_as_its_words_say(tmp_path):
    dump, arrays = loaded(write(tmp_path / "x", VECTOR))
    assert (dump.op_name, dump.version, dump.time_us) == (
        "add_1", "2.0", 1689262885123456)
    first, second = dump.items
    assert (first.kind, first.dtype, first.format, first.shape) == (
        "input", "float16", "ND", (2, 3))
    assert (second.kind, second.dtype, second.format, second.shape) == (
        "output", "float32", "ND", (2,))
    assert arrays[0].array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert arrays[1].array.tolist() == [1.5, 0.0]
    assert np.signbit(arrays[1].array[1])
    assert dump.items[0].address == 4096
    assert dump.items[1].original == OriginalOp("add", 0, "float32", "ND")


def test_the_writer_gives_the_public_vector_byte_for_byte(tmp_path):
    dump = data_dump.read(write(tmp_path / "x", VECTOR))
    parts = [(each, VECTOR[each.offset:each.offset + each.size]) for each in dump.items]
    assert pack(parts, dump.op_name, dump.time_us) == VECTOR


@pytest.mark.parametrize("cut", range(len(VECTOR)))
def test_a_file_cut_at_any_byte_is_named_or_keeps_what_is_whole(tmp_path, cut):
    path = write(tmp_path / "x", VECTOR[:cut])
    if cut < 74:
        with pytest.raises(DumpError) as caught:
            data_dump.read(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    dump = data_dump.read(path)
    # The output has no address: at byte 86 it is as if the writer had skipped it.
    assert ("no address" if cut == 86 else "cut short") in dump.notes[0]
    if cut >= 86:
        assert data_dump.load(dump, dump.items[0]).array[1, 2] == 5
    with pytest.raises(DumpError, match="output 0"):
        data_dump.load(dump, dump.items[1])


PLAIN = ("float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "int64",
         "uint32", "uint64", "bool", "float64")


@pytest.mark.parametrize("dtype", PLAIN)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 3), (1, 2, 1, 3)])
def test_every_plain_dtype_comes_back_mapped(tmp_path, dtype, shape):
    array = np.random.RandomState(1).randint(
        0, 2, shape or (1,)).astype(dtype).reshape(shape)
    _, (found,) = loaded(write(tmp_path / "x", pack([item(array)])))
    assert (found.dtype, found.notes, found.is_raw) == (dtype, (), False)
    assert found.array.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found.array, array)
    assert not found.array.flags.writeable or not array.size


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_all_halves_come_back_bit_for_bit(tmp_path, dtype):
    bits = np.arange(65536, dtype=np.uint16)
    array = bits.view(np.float16) if dtype == "float16" else (bits, "bfloat16")
    _, (found,) = loaded(write(tmp_path / "x", pack([item(array)])))
    assert found.dtype == dtype
    assert found.array.tobytes() == bits.tobytes()


@pytest.mark.parametrize(("dtype", "means", "storage"), [
    ("qint8", "int8", "int8"), ("quint8", "uint8", "uint8"),
    ("qint32", "int32", "int32"), ("quint16", "uint16", "uint16"),
    ("dual_sub_int8", "int8", "int8")])
def test_quantized_dtypes_are_the_integers_they_hold(tmp_path, dtype, means, storage):
    array = np.array([1, 0, 127], storage)
    _, (found,) = loaded(write(tmp_path / "x", pack([item((array, dtype))])))
    assert found.dtype == means
    np.testing.assert_array_equal(found.array, array)


@pytest.mark.parametrize(("dtype", "half"), [
    ("complex32", "float16"), ("complex64", "float32"), ("complex128", "float64")])
def test_complex_numbers_are_pairs_along_a_last_axis(tmp_path, dtype, half):
    array = np.arange(8).astype(half).reshape(2, 2, 2)
    part = item((array, dtype), shape=(2, 2))
    _, (found,) = loaded(write(tmp_path / "x", pack([part])))
    assert (found.dtype, found.array.shape) == (half, (2, 2, 2))
    np.testing.assert_array_equal(found.array, array)
    assert "pairs" in found.notes[0]


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu",
                                   "hifloat8"])
def test_dtypes_of_one_byte_are_bits(tmp_path, dtype):
    array = np.arange(256, dtype=np.uint8)
    _, (found,) = loaded(write(tmp_path / "x", pack([item((array, dtype))])))
    assert (found.dtype, found.is_raw) == (dtype, True)
    np.testing.assert_array_equal(found.array, array)


@pytest.mark.parametrize("dtype", ["string", "resource", "int4", "uint1", "dual",
                                   "float4_e2m1", "undefined", "hifloat4_scale"])
def test_dtypes_that_stand_for_no_numbers_are_refused_by_name(tmp_path, dtype):
    array = np.zeros(4, np.uint8)
    dump = data_dump.read(write(tmp_path / "x", pack([item((array, dtype))])))
    with pytest.raises(DumpError, match=raw_dtype(dtype)):
        data_dump.load(dump, dump.items[0])


def test_every_number_of_a_dtype_has_an_answer(tmp_path):
    for number in [*range(len(dtypes.IR_NAMES)), 99, 1 << 40]:
        message = wire.bytes_field(3, wire.integer_field(1, number)
                                   + wire.integer_field(6, 16))
        dump = data_dump.read(write(tmp_path / "x", header(message, bytes(16))))
        said = ""
        try:
            data_dump.load(dump, dump.items[0])
        except DumpError as error:
            said = str(error)
        assert not said or "dtype" in said


def test_inputs_come_before_outputs_buffers_and_spaces_in_the_bytes(tmp_path):
    parts = [item(np.float32([3])), item(np.float32([4]), index=1),
             item(np.float32([1]), "input"), item(np.float32([2]), "input", 1),
             (DataItem("buffer", 0, size=3), b"abc"),
             (DataItem("space", 0, size=2), b"de")]
    dump, arrays = loaded(write(tmp_path / "x", pack(parts, "op")))
    assert [(each.kind, each.index) for each in dump.items] == [
        ("input", 0), ("input", 1), ("output", 0), ("output", 1), ("buffer", 0),
        ("space", 0)]
    assert [float(each.array[0]) for each in arrays[:4]] == [1, 2, 3, 4]
    assert arrays[4].array.tobytes() + arrays[5].array.tobytes() == b"abcde"
    assert [each.index for each in dump.of("output")] == [0, 1]


def test_an_item_without_address_has_no_bytes_where_the_others_fill_the_file(tmp_path):
    lost = item(np.float32([9, 9]), "input", 0, address=0)
    parts = [(lost[0], b""), item(np.float32([1, 2]), "input", 1),
             item(np.float32([3]))]
    dump = data_dump.read(write(tmp_path / "x", pack(parts)))
    assert "no address" in dump.notes[0]
    assert data_dump.load(dump, dump.items[1]).array.tolist() == [1, 2]
    assert data_dump.load(dump, dump.items[2]).array.tolist() == [3]
    with pytest.raises(DumpError, match="no bytes"):
        data_dump.load(dump, dump.items[0])


def test_places_that_are_not_sure_are_refused(tmp_path):
    lost = item(np.float32([9, 9]), "input", 1, address=0)
    parts = [item(np.float32([7]), "input"), (lost[0], b""), item(np.float32([1, 2]))]
    data = pack(parts)
    dump = data_dump.read(write(tmp_path / "x", data[:-2]))
    assert data_dump.load(dump, dump.items[0]).array.tolist() == [7]
    for each in dump.items[1:]:
        with pytest.raises(DumpError, match="uncertain place"):
            data_dump.load(dump, each)


def test_bytes_that_do_not_fit_the_shape_are_taken_flat_and_said(tmp_path):
    part = item(np.arange(6, dtype=np.float32), shape=())
    _, (found,) = loaded(write(tmp_path / "x", pack([part])))
    assert found.array.shape == (6,)
    assert "do not fit shape []" in found.notes[0]
    odd = item(np.zeros(7, np.uint8), dtype="float32", raw_dtype="FLOAT", shape=(2,))
    dump = data_dump.read(write(tmp_path / "x", pack([odd])))
    with pytest.raises(DumpError, match="7 bytes of FLOAT"):
        data_dump.load(dump, dump.items[0])


def test_a_file_that_is_larger_than_its_items_says_so(tmp_path):
    dump = data_dump.read(write(tmp_path / "x", VECTOR + b"zz"))
    assert dump.notes == ("2 bytes follow the last item",)


def test_a_nano_dump_is_named(tmp_path):
    path = write(tmp_path / "x", struct.pack("<Q", 8) + b"\x5a" * 8)
    with pytest.raises(DumpError, match="nano"):
        data_dump.read(path)


def field(number, value):
    return wire.integer_field(number, value)


DEEP = b""
for _ in range(3000):
    DEEP = wire.bytes_field(3, DEEP)
HOSTILE = {
    "empty": (b"", "empty"),
    "no length": (b"\x01\x02", "2 bytes"),
    "endless length": (b"\xff" * 8 + b"abc", "18446744073709551615"),
    "length past the end": (struct.pack("<Q", 9) + b"abc", "9 bytes"),
    "size of 2^63": (header(wire.bytes_field(3, field(6, 1 << 63))), "9223372036854"),
    "negative size": (header(wire.bytes_field(4, field(5, -1))), "2\\^63"),
    "negative axis": (header(wire.bytes_field(3, wire.bytes_field(
        3, wire.packed_field(1, [-1])))), "dimension"),
    "axes without end": (header(wire.bytes_field(3, wire.bytes_field(
        3, wire.packed_field(1, [1] * 5000)))), "dimensions"),
    "axes one by one": (header(wire.bytes_field(3, wire.bytes_field(
        3, field(1, 2) * 5000))), "64 dimensions"),
    "items without end": (header(wire.bytes_field(3, b"") * 30000), "items"),
    "nested shapes": (header(DEEP), None),
    "name is a number": (header(field(6, 3)), "length-delimited"),
    "shape is a number": (header(wire.bytes_field(3, field(3, 3))), "length"),
    "group": (header(b"\x1b\x1c"), "wire type"),
    "long varint": (header(b"\x10" + b"\xff" * 11), "varint"),
    "foreign": (b"GIF89a" + bytes(40), "bytes"),
    "old dump without a length": (VECTOR[8:], "bytes"),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_file_is_one_line_with_its_place(tmp_path, name):
    content, words = HOSTILE[name]
    path = write(tmp_path / "bad", content)
    if words is None:
        assert data_dump.read(path).items
        return
    with pytest.raises(DumpError, match=words) as caught:
        data_dump.read(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_header_that_claims_gigabytes_is_not_read(tmp_path):
    path = tmp_path / "x"
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", 8 << 30))
        stream.truncate(9 << 30)
    with pytest.raises(DumpError, match="at most 4194304"):
        data_dump.read(path)


def test_a_tensor_larger_than_memory_is_mapped(tmp_path):
    path = tmp_path / "x"
    count = 1 << 36
    part = DataItem("output", 0, "float32", "FLOAT", "ND", (count,), size=4 * count)
    head = pack([(part, b"")], "big")
    with path.open("wb") as stream:
        stream.write(head)
        stream.truncate(len(head) + 4 * count)
    _, (found,) = loaded(path)
    assert found.array.shape == (count,)
    assert found.array[count - 1] == 0


@pytest.mark.parametrize("held", [0, 2])
@pytest.mark.parametrize("shape", [(3, 4), (1 << 40, 1 << 40, 1 << 40), (3,) * 40])
def test_part_of_a_tensor_is_no_tensor(tmp_path, shape, held):
    part = item(np.zeros(held, np.float32), shape=shape)
    dump = data_dump.read(write(tmp_path / "x", pack([part])))
    with pytest.raises(DumpError, match=f"{4 * held} bytes of FLOAT"):
        data_dump.load(dump, dump.items[0])


@pytest.mark.parametrize("shape", [(0, 1 << 61, 1 << 61), ((1 << 62) - 1, 0, 8)])
def test_an_empty_tensor_of_endless_axes_is_one_line(tmp_path, shape):
    part = item(np.zeros(0, np.float32), shape=shape)
    dump = data_dump.read(write(tmp_path / "x", pack([part])))
    with pytest.raises(DumpError, match="bytes that can be mapped"):
        data_dump.load(dump, dump.items[0])


@pytest.mark.parametrize("fields", [((2, 4), (7, 3)), ((2, 4 | 3 << 8 | 5 << 24),)])
def test_groups_are_read_from_either_field(fields):
    message = Message(b"".join(integer_field(*each) for each in fields))
    found = read_item(message, "input", 0)
    assert (found.format, found.sub_format) == ("FRACTAL_Z", 3)


def test_a_folder_and_a_missing_file_are_no_dump(tmp_path):
    for path in (tmp_path, tmp_path / "gone"):
        with pytest.raises(DumpError, match="no regular file"):
            data_dump.read(path)
        assert not data_dump.looks_like(path)


def test_damaged_copies_are_read_or_refused(tmp_path):
    path = tmp_path / "x"
    for _, damaged in mutate.mutations(VECTOR, 7, 600):
        path.write_bytes(damaged)
        said = ""
        try:
            dump = data_dump.read(path)
        except DumpError as error:
            said = str(error)
        assert "\n" not in said
        if said:
            continue
        for each in dump.items:
            try:
                found = data_dump.load(dump, each)
            except DumpError:
                continue
            assert found.array.nbytes <= path.stat().st_size


@settings(max_examples=60, deadline=None, derandomize=True,
          suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(
    st.sampled_from(["input", "output"]), st.sampled_from([*PLAIN, "bfloat16"]),
    st.lists(st.integers(0, 4), max_size=4), st.integers(0, 255)), max_size=6),
    st.text(max_size=20))
def test_whatever_is_written_comes_back(tmp_path_factory, tensors, op_name):
    op_name = op_name.encode("utf-8", "ignore").decode("utf-8")
    parts, wanted = [], []
    for kind in ("input", "output"):
        mine = [each for each in tensors if each[0] == kind]
        for index, (_, dtype, shape, byte) in enumerate(mine):
            storage = np.dtype({"bfloat16": "uint16"}.get(dtype, dtype))
            count = int(np.prod(shape, dtype=int))
            raw = bytes([byte if dtype != "bool" else byte & 1]) * (
                count * storage.itemsize)
            array = np.frombuffer(raw, storage).reshape(shape)
            parts.append(item((array, dtype), kind, index))
            wanted.append((kind, index, dtype, array))
    path = tmp_path_factory.mktemp("dump") / "x"
    dump, arrays = loaded(write(path, pack(parts, op_name, 5)))
    assert dump.op_name == op_name
    assert [(each.kind, each.index, found.dtype) for each, found in zip(
        dump.items, arrays)] == [each[:3] for each in wanted]
    for found, (_, _, _, array) in zip(arrays, wanted):
        assert found.array.shape == array.shape
        assert found.array.tobytes() == array.tobytes()


def test_another_writer_of_the_same_layout_is_read(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(STANDIN))
    for name in [name for name in sys.modules if name.startswith("standin_adapter")]:
        monkeypatch.delitem(sys.modules, name)
    writer = pytest.importorskip("standin_adapter.data_dump")
    arrays = [np.float16([[1, 2], [3, 4]]), np.int32([7])]
    path = write(tmp_path / "x", writer._file("scope/add", "origin", arrays[:1],
                                              [arrays[1], arrays[0]]))
    dump, found = loaded(path)
    assert dump.op_name == "scope/add"
    assert [(each.kind, each.index) for each in dump.items] == [
        ("input", 0), ("output", 0), ("output", 1)]
    assert [each.array.tolist() for each in found] == [
        [[1, 2], [3, 4]], [7], [[1, 2], [3, 4]]]
    assert dump.items[2].original == OriginalOp("origin", 1, "float16", "ND")
