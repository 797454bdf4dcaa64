"""The wire format: what is written is read, and nothing hostile gets through."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumps import wire
from dumps.errors import DumpError
from dumps.wire import Message

SETTINGS = settings(derandomize=True, max_examples=80, deadline=None)


def listed(data):
    return [(number, kind, value if isinstance(value, int) else bytes(value))
            for number, kind, value, _ in Message(data).fields()]


@SETTINGS
@given(st.integers(1, 2 ** 29 - 1), st.integers(-2 ** 63, 2 ** 63 - 1))
def test_integers_survive(number, value):
    [(found, kind, raw)] = listed(wire.integer_field(number, value))
    assert (found, kind, wire.signed(raw)) == (number, wire.VARINT, value)


@SETTINGS
@given(st.lists(st.one_of(
    st.tuples(st.just(0), st.integers(0, 2 ** 64 - 1)),
    st.tuples(st.just(2), st.binary(max_size=300)),
    st.tuples(st.just(5), st.integers(0, 2 ** 32 - 1)),
    st.tuples(st.just(1), st.integers(0, 2 ** 64 - 1)))))
def test_any_fields_survive_in_order(fields):
    data = b"".join(wire.raw_field(i + 1, kind, memoryview(value) if kind == 2 else
                                   value) for i, (kind, value) in enumerate(fields))
    assert listed(data) == [(i + 1, kind, value)
                            for i, (kind, value) in enumerate(fields)]


@SETTINGS
@given(st.binary(max_size=200))
def test_any_bytes_give_fields_or_a_dump_error(data):
    error = None
    try:
        assert listed(data) is not None
    except DumpError as caught:
        error = caught
    assert error is None or 0 <= error.line <= len(data)


@SETTINGS
@given(st.lists(st.integers(-2 ** 63, 2 ** 63 - 1)))
def test_packed_integers_survive(values):
    data = wire.packed_field(3, values)
    [(_, _, raw, at)] = list(Message(data).fields())
    assert [wire.signed(v) for v in Message(data).varints(raw, at)] == values


BROKEN = {
    "a varint without end": (b"\x08" + b"\xff" * 12, 1, "a varint over 10 bytes"),
    "a varint cut off": (b"\x08\x80", 1, "the end of the data"),
    "a key cut off": (b"\x80", 0, "the end of the data"),
    "a length past the end": (b"\x0a\x7fabc", 2, "3 bytes left"),
    "a length of exabytes": (b"\x0a" + b"\xff" * 8 + b"\x7f", 10, "0 bytes left"),
    "four bytes cut off": (b"\x0d\x01\x02", 1, "2 bytes left"),
    "eight bytes cut off": (b"\x09\x01", 1, "1 bytes left"),
    "a group": (b"\x0b", 0, "wire type 3"),
    "wire type 7": (b"\x0f", 0, "wire type 7"),
    "field number 0": (b"\x00\x01", 0, "field number 0"),
}


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_broken_bytes_are_named_with_their_offset(case):
    data, offset, found = BROKEN[case]
    with pytest.raises(DumpError) as caught:
        list(Message(data, "bad.pb").fields())
    assert (caught.value.line, caught.value.found) == (offset, found)


def test_a_field_of_another_type_is_refused():
    data = wire.integer_field(1, 5) + wire.bytes_field(2, b"abc")
    (_, _, number, _), (_, _, raw, at) = Message(data).fields()
    message = Message(data, "f.pb")
    with pytest.raises(DumpError, match="a length-delimited field"):
        message.text(number, 0)
    with pytest.raises(DumpError, match="found 3 bytes, expected a number"):
        message.integer(raw, at)
    with pytest.raises(DumpError, match="found 3 packed bytes, expected a multiple"):
        message.fixed(raw, at, 4)


def test_messages_nested_too_deep_are_refused():
    message = Message(b"", "deep.pb")
    for _ in range(64):
        message = message.child(memoryview(b""), 0)
    with pytest.raises(DumpError, match="nested 64 deep"):
        message.child(memoryview(b""), 0)


def test_floats_beyond_range_become_infinity():
    data = wire.float_field(1, 1e300)
    assert struct.unpack("<f", data[1:])[0] == float("inf")


def test_text_that_is_no_utf_8_is_kept():
    data = wire.bytes_field(1, b"a\xff")
    [(_, _, raw, at)] = Message(data).fields()
    text = Message(data).text(raw, at)
    assert wire.bytes_field(1, text) == data
