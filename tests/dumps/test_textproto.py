from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumps import outline, textlines, textproto, texttokens
from dumps.records import WarningLog
from dumps.textproto import Message, to_bool, to_bytes, to_float, to_int, to_text
from tests.dumps import mutate
from tests.dumps.survive import GRAPHS
from tests.shared import SAMPLES, needs_shared

_KEYS = st.sampled_from(["name", "op", "attr", "i", "Zz_9"])
_TOKENS = st.one_of(
    st.integers(-2**63, 2**64).map(lambda n: b"%d" % n),
    st.sampled_from([b"true", b"DT_FLOAT16", b"1e-05", b"-inf", b"nan", b"VT_X"]),
    st.binary(max_size=12).map(
        lambda b: b'"' + b"".join(b"\\%03o" % c if c < 32 or c > 126 or c in b'"\\'
                                  else bytes((c,)) for c in b) + b'"'))
_FIELDS = st.recursive(
    st.lists(st.tuples(_KEYS, _TOKENS), max_size=4),
    lambda inner: st.lists(st.tuples(_KEYS, st.one_of(_TOKENS, inner)), max_size=4),
    max_leaves=20)


def _print(fields: list, depth: int = 0) -> bytes:
    """Print as TextFormat does."""
    lead = b" " * (2 * depth)
    text = b""
    for key, value in fields:
        name = key.encode()
        if isinstance(value, bytes):
            text += lead + name + b": " + value + b"\n"
        else:
            text += (lead + name + b" {\n" + _print(value, depth + 1)
                     + lead + b"}\n")
    return text


def _reprint(fields: list, seed: int) -> bytes:
    """Print the same in another surface: brackets, colons, separators, comments."""
    text = b""
    for number, (key, value) in enumerate(fields):
        kind = (seed + number) % 3
        name = key.encode()
        if isinstance(value, bytes):
            text += name + (b":", b" : ", b":\t")[kind] + value
        else:
            opened, closed = ((b" {", b"}"), (b":<", b">"), (b": {", b"}"))[kind]
            text += name + opened + _reprint(value, seed + 1) + closed
        text += (b" ", b", ", b"; # note } {\n")[(seed + number) % 3]
    return text


def _plain(items: list) -> list:
    return [(key, value if isinstance(value, bytes) else _plain(value.items))
            for key, value, _ in items]


@settings(derandomize=True, max_examples=80, deadline=None)
@given(_FIELDS)
def test_all_ways_of_reading_regular_text_agree(fields: list) -> None:
    data = _print(fields)
    log = WarningLog("p")
    by_line = textlines.parse_regular(data, Message, 1, 0)
    by_token = texttokens.parse(data, Message, 1, log)
    by_indent = textlines.parse_damaged(data, Message, 1, (0, log))
    assert by_line == by_token == by_indent
    assert _plain(by_line or []) == [(k, v) if isinstance(v, bytes) else
                                     (k, _as_plain(v)) for k, v in fields]
    assert log.all() == ()


def _as_plain(fields: list) -> list:
    return [(k, v if isinstance(v, bytes) else _as_plain(v)) for k, v in fields]


@settings(derandomize=True, max_examples=80, deadline=None)
@given(_FIELDS, st.integers(0, 5))
def test_every_surface_of_the_same_message_gives_the_same_tree(
        fields: list, seed: int) -> None:
    log = WarningLog("p")
    found = textproto.parse(_reprint(fields, seed), "p", log)
    assert _plain(found.items) == _as_plain(fields)
    assert log.all() == ()


@settings(derandomize=True, max_examples=100, deadline=None)
@given(_FIELDS)
def test_the_outline_finds_the_fields_of_the_outermost_level(fields: list) -> None:
    data = outline.prepare(_print(fields) or b"\n", "p")
    parts = outline.outline(data, 0, len(data) - 1, 0, b"op")
    assert [part.key.decode() for part in parts] == [key for key, _ in fields]
    assert all(part.is_closed for part in parts)
    assert outline.is_regular(data)
    assert outline.odd_lines(data) == []


@needs_shared
@pytest.mark.parametrize("name", [
    "run_20230713/ge_proto_00000001_Build.txt", "train_2020/ge_proto_00056_Build.txt",
    "run_20230713/ge_onnx_00000001_graph_11_Build.pbtxt",
    "ascgraph/test_seri_compute_graph.txt"])
def test_all_ways_agree_on_real_files(name: str) -> None:
    assert SAMPLES is not None
    data = (SAMPLES / name).read_bytes()
    log = WarningLog(name)
    by_line = textlines.parse_regular(data, Message, 1, 0)
    assert by_line == texttokens.parse(data, Message, 1, log)
    assert by_line == textlines.parse_damaged(data, Message, 1, (0, log))
    assert log.all() == ()


@pytest.mark.parametrize(("token", "value"), [
    (rb'"a\n\r\t\"\'\\b"', b"a\n\r\t\"'\\b"), (rb"'it\'s'", b"it's"),
    (rb'"\344\270\255"', "中".encode()), (rb'"\0\7\1771"', b"\0\x07\x7f1"),
    (rb'"\x4\x41z\?"', b"\x04Az?"), (rb'"\u4e2d"', "中".encode()),
    (rb'"\U0001F600"', "😀".encode()), (rb'"\777"', b"\xff"),
    (b'"one" \'two\'\n  "three"', b"onetwothree"), (b'""', b""),
    (rb'"\\\\n"', b"\\\\n"), (rb'"\\101"', rb"\101"), (b"bare", b"bare"),
    (rb'"\uD800"', "\ufffd".encode()), (rb'"cut\\', b"cut\\")])
def test_string_escapes_are_undone(token: bytes, value: bytes) -> None:
    assert to_bytes(token) == value


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_survive_escaping(data: bytes) -> None:
    names = {10: b"\\n", 13: b"\\r", 9: b"\\t", 34: b'\\"', 39: b"\\'", 92: b"\\\\"}
    body = b"".join(names.get(c) or (bytes((c,)) if 32 <= c < 127 else b"\\%03o" % c)
                    for c in data)
    assert to_bytes(b'"' + body + b'"') == data


@pytest.mark.parametrize(("token", "value"), [
    (b"12", 12), (b"-12", -12), (b"0x1F", 31), (b"-0x1f", -31), (b"017", 15), (b"0", 0),
    (b"18446744073709551615", 2**64 - 1), (b"1.5", None), (b"x", None), (b"", None),
    (b"08", None), (b"9" * 5000, None), (b"-", None)])
def test_integers(token: bytes, value: int | None) -> None:
    assert to_int(token) == value


@pytest.mark.parametrize(("token", "value"), [
    (b"1e-05", 1e-05), (b"1.5f", 1.5), (b".5", 0.5), (b"-inf", float("-inf")),
    (b"infinity", float("inf")), (b"3", 3.0), (b"0x10", 16.0), (b"x", None)])
def test_floats(token: bytes, value: float | None) -> None:
    assert to_float(token) == value


def test_a_nan_is_read() -> None:
    found = to_float(b"nan")
    assert found is not None
    assert found != found


def test_booleans_and_text() -> None:
    assert [to_bool(t) for t in (b"true", b"f", b"1", b"maybe")] == [
        True, False, True, None]
    assert to_text(b'"\\377"') == "\udcff"


def test_lists_extensions_and_comments_are_read() -> None:
    log = WarningLog("p")
    data = (b"# head\na: [1, 2] # tail\n[x.y/Z]: { b: -1 } c: [{d: 'q'}, <e: 1>] f: []"
            b'\ng: "a" \'b\'; h <> enum: -NEG i: - 5\n')
    found = textproto.parse(data, "p", log)
    assert log.all() == ()
    assert found.integers("a") == [1, 2]
    assert found.messages("x.y/Z")[0].integer("b") == -1
    assert [list(each.names()) for each in found.messages("c")] == [["d"], ["e"]]
    assert (found.text("g"), found.all("f"), found.text("enum")) == ("ab", [], "-NEG")
    assert (found.integer("i"), found.messages("h")[0].items) == (-5, [])
    assert (found.line_of("a"), found.line_of("g")) == (2, 4)


def test_fields_can_be_asked_for_by_kind() -> None:
    found = textproto.parse(b'a: "x"\na: "y"\nm {\n  b: true\n  f: 0.5\n}\n', "p")
    assert found.texts("a") == ["x", "y"]
    assert (found.text("a"), found.data("a")) == ("y", b"y")
    assert found.text("z", "no") == "no"
    inner = found.message("m")
    assert inner is not None
    assert (inner.line, inner.boolean("b"), inner.number("f")) == (3, True, 0.5)
    assert (inner.integer("z", 7), inner.number("z")) == (7, 0)
    assert inner.boolean("z") is False
    assert list(found.names()) == ["a", "m"]
    assert found.message("a") is None


@pytest.mark.parametrize(("data", "line", "message"), [
    (b"a {\n  b: 1\n", 3, "text ends inside 1 messages"),
    (b"a: 1\n}\nb: 2\n", 2, "a closing bracket without its message"),
    (b'a: 1\nb: "open\nc: 2\n', 2, "string not closed"),
    (b"a: 1\nb:\n", 2, "without a value"),
    (b"a {\n  b {\n    c: 1\n}\nd: 2\n", 4, "a message was not closed"),
    (b'a: "x\x00y"\nb: 1\n', 1, "control bytes in a string")])
def test_damage_is_told_with_its_line(data: bytes, line: int, message: str) -> None:
    log = WarningLog("p")
    textproto.parse(data, "p", log)
    assert any(message in w.message and w.line == line for w in log.all()), log.all()


def test_fields_after_damage_are_still_read() -> None:
    log = WarningLog("p")
    data = b"a {\n  b z\n    c: 1\n  }\n  d: 2\n}\ne: 3\n" + b"f: 1\n" * 40
    found = textproto.parse(data, "p", log)
    assert found.messages("a")[0].integer("d") == 2
    assert found.integer("e") == 3
    assert log.all()


@pytest.mark.parametrize("bomb", [
    b"a {\n" * 100000, b"a <" * 100000, b"a { " * 100000 + b"} " * 100000,
    b"}" * 200000, b"[" * 100000, b'"' * 200000, b"\\" * 200000, b"a" * 500000,
    b" " * 500000, b"a: [" * 50000, b"#" * 500000, b'a: "' + b'\\"' * 200000])
def test_bombs_end_quickly(bomb: bytes) -> None:
    start = time.perf_counter()
    found = textproto.parse(bomb, "p", WarningLog("p"))
    assert isinstance(found, Message)
    assert time.perf_counter() - start < 5


def test_messages_nested_too_deep_are_left_out_with_a_warning() -> None:
    log = WarningLog("p")
    textproto.parse(b"a {" * 150 + b"}" * 150 + b" z: 1", "p", log)
    assert any("nested deeper" in warning.message for warning in log.all())


def test_mutated_text_gives_a_tree_always() -> None:
    data = (GRAPHS / "ge_proto_00000007_graph_3_Build.txt").read_bytes()
    for _, damaged in mutate.mutations(data, 3, 120):
        assert isinstance(textproto.parse(damaged, "p", WarningLog("p")), Message)
