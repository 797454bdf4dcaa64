"""GraphDef files: fidelity, splats, text, functions, and what is refused."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumps import wire
from dumps.errors import DumpError
from dumps.graphdef import (
    ArgDef,
    AttrValue,
    FunctionDef,
    FunctionName,
    GraphDef,
    NodeDef,
    TensorValue,
    encode,
    parse,
    read,
    tensor_array,
    tensor_value,
    write,
)
from dumps.graphdef_records import DTYPE_NUMBERS
from dumps.graphdef_text import parse_text

SETTINGS = settings(derandomize=True, max_examples=50, deadline=None)
NAMES = st.text("abcXYZ_/09", min_size=1, max_size=12)
SHAPES = st.one_of(st.none(), st.lists(
    st.one_of(st.none(), st.integers(0, 2 ** 40)), max_size=4).map(tuple))
SCALARS = st.one_of(
    st.binary(max_size=20).map(lambda v: AttrValue("s", v)),
    st.integers(-2 ** 63, 2 ** 63 - 1).map(lambda v: AttrValue("i", v)),
    st.floats(width=32, allow_nan=False).map(lambda v: AttrValue("f", v)),
    st.booleans().map(lambda v: AttrValue("b", v)),
    st.sampled_from(["float16", "bfloat16", "int64", "ref_float32", "string"]).map(
        lambda v: AttrValue("type", v)),
    SHAPES.map(lambda v: AttrValue("shape", v)),
    st.binary(min_size=8, max_size=8).map(lambda v: AttrValue(
        "tensor", TensorValue("float16", (2, 2), v))),
    st.builds(lambda n: AttrValue("func", FunctionName(n, (("T", AttrValue(
        "type", "float32")),))), NAMES))
ATTRS = st.dictionaries(NAMES, st.one_of(
    SCALARS, st.lists(st.integers(-5, 5).map(lambda v: AttrValue("i", v))).map(
        lambda v: AttrValue("list", tuple(v))),
    st.lists(st.floats(width=32, allow_nan=False).map(
        lambda v: AttrValue("f", v))).map(lambda v: AttrValue("list", tuple(v))),
    st.lists(st.binary(max_size=5).map(lambda v: AttrValue("s", v))).map(
        lambda v: AttrValue("list", tuple(v))),
    st.just(AttrValue("none")), NAMES.map(lambda v: AttrValue("placeholder", v))),
    max_size=4).map(lambda found: tuple(sorted(found.items())))
NODES = st.builds(NodeDef, NAMES, NAMES, st.lists(NAMES, max_size=3).map(tuple),
                  st.sampled_from(["", "/cpu:0"]), ATTRS)


@SETTINGS
@given(st.lists(NODES, min_size=1, max_size=4))
def test_any_graph_survives_writing_and_reading(nodes):
    # A list without elements is written as a list without kind and read as such.
    graph = GraphDef(tuple(nodes))
    assert without_empty(parse(encode(graph))) == without_empty(graph)


def without_empty(graph):
    return [dataclasses.replace(node, attrs=tuple(
        pair for pair in node.attrs if pair[1] != AttrValue("list", ())
        and pair[1].kind != "none")) for node in graph.nodes]


@pytest.mark.parametrize("dtype", [
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 2), (2, 3)], ids=str)
def test_a_tensor_of_every_dtype_survives(dtype, shape):
    stored = graphdef_dtype(dtype)
    array = np.random.RandomState(1).randint(0, 2, shape).astype(stored)
    node = NodeDef("c", "Const", (), "", (
        ("value", AttrValue("tensor", tensor_value(array, dtype))),))
    value = parse(encode(GraphDef((node,)))).nodes[0].attr("value")
    assert (value.dtype, value.shape) == (dtype, shape)
    assert tensor_array(value).tobytes() == array.tobytes()
    assert tensor_array(value).shape == shape


def graphdef_dtype(dtype):
    return "uint16" if dtype == "bfloat16" else dtype


@pytest.mark.parametrize(("dtype", "field", "payload", "expected"), [
    ("float16", 13, [0x3C00], 1.0), ("bfloat16", 13, [0x3F80], 0x3F80),
    ("int8", 7, [-3], -3), ("uint8", 7, [200], 200), ("int16", 7, [-300], -300),
    ("int32", 7, [-70000], -70000), ("int64", 10, [-5], -5), ("bool", 11, [1], True),
    ("uint32", 16, [4000000000], 4000000000), ("uint64", 17, [2 ** 63], 2 ** 63)])
@pytest.mark.parametrize("packed", [True, False], ids=["packed", "one by one"])
def test_one_stored_element_stands_for_all(dtype, field, payload, expected, packed):
    body = wire.integer_field(1, DTYPE_NUMBERS[dtype]) + shape_of(2, 3)
    body += wire.packed_field(field, payload) if packed else b"".join(
        wire.integer_field(field, value) for value in payload)
    value = tensor_of(body)
    array = tensor_array(value)
    assert array.shape == (2, 3)
    assert (array == expected).all()
    again = tensor_of(rewritten(value))
    assert again == value


def shape_of(*sizes):
    return wire.bytes_field(2, b"".join(
        wire.bytes_field(2, wire.integer_field(1, size)) for size in sizes))


def tensor_of(body):
    entry = wire.map_field(5, "value", wire.bytes_field(8, body))
    node = wire.bytes_field(1, "c") + wire.bytes_field(2, "Const") + entry
    return parse(wire.bytes_field(1, node)).nodes[0].attr("value")


def rewritten(value):
    node = NodeDef("c", "Const", (), "", (("value", AttrValue("tensor", value)),))
    data = encode(GraphDef((node,)))
    start = data.index(b"value") + len(b"value")
    # Behind the key: map value, attribute field 8, then the tensor itself.
    message = wire.Message(data[start:])
    [(_, _, attr, at)] = list(message.fields())
    [(_, _, body, _)] = list(message.child(attr, at).fields())
    return bytes(body)


def test_a_float_splat_takes_no_memory_and_the_last_element_repeats():
    body = wire.integer_field(1, 1) + shape_of(1 << 20, 1 << 10) + wire.float_field(
        5, 0.5)
    array = tensor_array(tensor_of(body))
    assert array.shape == (1 << 20, 1 << 10)
    assert array.strides == (0, 0)
    two = wire.integer_field(1, 1) + shape_of(4) + wire.float_field(
        5, 1.0) + wire.float_field(5, 2.0)
    assert tensor_array(tensor_of(two)).tolist() == [1, 2, 2, 2]
    none = wire.integer_field(1, 1) + shape_of(3)
    assert tensor_array(tensor_of(none)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(("value", "text"), [
    (TensorValue("string", (1,), b"", (b"a",)), "dtype 'string'"),
    (TensorValue("float32", (1 << 40,), b"\0\0\0\0"), "shape"),
    (TensorValue("float32", (2,), b"\0\0\0"), "3 bytes of elements"),
    (TensorValue("float32", (1,), b"\0" * 8), "2 elements"),
    (TensorValue("resource", ()), "dtype 'resource'"),
], ids=["strings", "far too large", "torn", "too many", "a handle"])
def test_a_tensor_that_is_no_array_is_refused(value, text):
    with pytest.raises(DumpError, match=text):
        tensor_array(value, "node c")


def sample():
    function = FunctionDef(
        "f", (ArgDef("a", "float32"), ArgDef("b", "", "T")), (ArgDef("r", "float32"),),
        (NodeDef("n", "Neg", ("a",), "", (("T", AttrValue("placeholder", "T")),)),),
        (("r", "n:y:0"),), (("done", "n"),), (("_noinline", AttrValue("b", True)),))
    half = np.array([[1.5, -0.0]], np.float16)
    nodes = (
        NodeDef("x", "Placeholder", (), "/cpu:0", (
            ("dtype", AttrValue("type", "bfloat16")),
            ("shape", AttrValue("shape", (None, 4))))),
        NodeDef("c", "Const", (), "", (
            ("dtype", AttrValue("type", "float16")),
            ("value", AttrValue("tensor", tensor_value(half))))),
        NodeDef("y", "f", ("x", "c:0", "^c"), "", (
            ("k", AttrValue("list", (AttrValue("i", -1), AttrValue("i", 2)))),
            ("text", AttrValue("s", b'a"\n\xff')))))
    versions = wire.bytes_field(4, wire.integer_field(1, 134))
    return GraphDef(nodes, (function,), versions)


TEXT = rb"""
node {
  name: "x"  op: "Placeholder"  device: "/cpu:0"
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 4 } } } }
  attr { key: "dtype" value { type: DT_BFLOAT16 } }
}
node {
  name: "c"  op: "Const"
  attr { key: "dtype" value { type: DT_HALF } }
  attr { key: "value" value { tensor {
    dtype: DT_HALF tensor_shape { dim { size: 1 } dim { size: 2 } }
    half_val: 15872 half_val: 32768 } } }
}
node {
  name: "y" op: "f" input: "x" input: "c:0" input: "^c"
  attr { key: "k" value { list { i: -1 i: 2 } } }
  attr { key: "text" value { s: "a\"\n\377" } }
}
library { function {
  signature {
    name: "f"
    input_arg { name: "a" type: DT_FLOAT } input_arg { name: "b" type_attr: "T" }
    output_arg { name: "r" type: DT_FLOAT }
  }
  node_def { name: "n" op: "Neg" input: "a"
             attr { key: "T" value { placeholder: "T" } } }
  ret { key: "r" value: "n:y:0" }
  control_ret { key: "done" value: "n" }
  attr { key: "_noinline" value { b: true } }
} }
versions { producer: 134 }
"""


def test_text_and_binary_files_give_the_same_record(tmp_path):
    write(sample(), tmp_path / "g.pb")
    (tmp_path / "g.pbtxt").write_bytes(TEXT)
    assert read(tmp_path / "g.pb") == sample()
    assert read(tmp_path / "g.pbtxt") == sample()
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["g.pb", "g.pbtxt"]


def test_the_same_record_gives_the_same_bytes():
    assert encode(sample()) == encode(parse(encode(sample())))


@pytest.mark.parametrize(("text", "line", "found"), [
    (b'node { name: "a" op: "B"', 1, ""),
    (b'node {\n name: "a"\n}', 1, "a node without name or op"),
    (b'node { name: "a" op: "B" attr { key: "T"\n value { type: DT_NONE } } }', 2,
     "'DT_NONE'"),
    (b'node { name: "a" op: "B" attr { key: "T"\n value { i: oops } } }', 2, "'oops'"),
    (b"", 0, "no node"),
], ids=["cut off", "no op", "unknown dtype", "no integer", "empty"])
def test_damaged_text_is_refused_with_its_line(text, line, found):
    with pytest.raises(DumpError) as caught:
        parse_text(text, "g.pbtxt")
    assert caught.value.line == line
    assert found in caught.value.found


def graph_or_path(data, path):
    """Return (the graph, "") or (None, the path that the error names)."""
    try:
        return parse(data, path), ""
    except DumpError as error:
        return None, error.path


def test_every_truncation_gives_a_graph_or_a_dump_error():
    data = encode(sample())
    for size in range(len(data)):
        found, path = graph_or_path(data[:size], "cut.pb")
        assert found is not None or path == "cut.pb"


def test_random_damage_gives_a_graph_or_a_dump_error():
    data = bytearray(encode(sample()))
    stream = random.Random(4)
    for _ in range(3000):
        bad = bytearray(data)
        for _ in range(stream.randint(1, 4)):
            bad[stream.randrange(len(bad))] = stream.randrange(256)
        try:
            graph = parse(bytes(bad))
            encode(graph)
        except DumpError:
            continue


@pytest.mark.parametrize(("data", "text"), [
    (b"", "no node"), (b"PK\x03\x04 a zip", "found"), (b"\x89PNG\r\n\x1a\n", "found"),
    (b"\x93NUMPY\x01\x00", "found"), (b"node { name: }", "found")])
def test_a_file_of_the_wrong_kind_is_refused(tmp_path, data, text):
    path = tmp_path / "g.pb"
    path.write_bytes(data)
    with pytest.raises(DumpError, match=text) as caught:
        read(path)
    assert caught.value.path == str(path)


def test_a_missing_file_is_a_dump_error(tmp_path):
    with pytest.raises(DumpError, match="No such file"):
        read(tmp_path / "absent.pb")
    with pytest.raises(DumpError, match="readable GraphDef file"):
        read(tmp_path)


def test_attributes_nested_without_end_are_refused():
    body = b""
    for _ in range(200):
        name_list = wire.bytes_field(1, "f") + wire.map_field(2, "k", body)
        body = wire.bytes_field(10, name_list)
    node = wire.bytes_field(1, "a") + wire.bytes_field(2, "B") + wire.map_field(
        5, "k", body)
    with pytest.raises(DumpError, match="nested 64 deep"):
        parse(wire.bytes_field(1, node))


def test_fields_nobody_knows_are_kept():
    data = encode(sample()) + wire.bytes_field(77, b"new")
    graph = parse(data)
    assert encode(graph).endswith(wire.bytes_field(77, b"new"))


@pytest.mark.tf
def test_tensorflow_reads_back_what_was_read_from_it():
    tf = pytest.importorskip("tensorflow")
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float16, [None, 4], name="x")
        for value, dtype in ((np.arange(4), tf.bfloat16), ([1, -2], tf.int8),
                             (["a", b"b\xff"], tf.string), (np.nan, tf.float16),
                             ([[1.5]], tf.float64), ([True, False], tf.bool)):
            tf.constant(value, dtype)
        tf.constant(0.5, tf.float16, [100, 3])
        tf.constant(-5, tf.int64, [7])
        y = tf.transpose(tf.nn.softmax(x * tf.constant(0.7, tf.float16)), [1, 0])
        tf.identity(y[1:, ::2])
        v1.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), [1, 1, 1, 1], "SAME")
        if hasattr(tf, "function"):
            tf.function(lambda a: tf.matmul(a, a, transpose_b=True))(y)
    definition = graph.as_graph_def()
    record = parse(definition.SerializeToString())
    back = v1.GraphDef()
    back.ParseFromString(encode(record))
    assert len(back.node) == len(definition.node)
    for ours, theirs in zip(back.node, definition.node):
        assert without_value(ours, v1) == without_value(theirs, v1)
        if theirs.op == "Const":
            np.testing.assert_array_equal(
                tf.make_ndarray(ours.attr["value"].tensor),
                tf.make_ndarray(theirs.attr["value"].tensor))
    assert back.library == definition.library
    assert back.versions == definition.versions


def without_value(node, v1):
    copy = v1.NodeDef()
    copy.CopyFrom(node)
    if copy.op == "Const":
        copy.attr["value"].tensor.Clear()
    return copy


@pytest.mark.tf
def test_tensorflow_s_text_files_are_read_like_its_binary_ones():
    tf = pytest.importorskip("tensorflow")
    from google.protobuf import text_format

    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.bfloat16, [None, 2], name="x")
        tf.add_n([x, x * tf.constant(3.14159, tf.bfloat16)])
        tf.constant([np.nan, np.inf, -np.inf, -0.0, 1e-45, 0.1], tf.float32)
        tf.constant([np.nan, -np.inf, 1e-320, 0.1], tf.float64)
        tf.constant(b'quo"te\n\\\xff')
    definition = graph.as_graph_def()
    binary = parse(definition.SerializeToString())
    text = parse_text(text_format.MessageToString(definition).encode())
    assert [dataclasses.replace(node, extra=b"") for node in binary.nodes] == list(
        text.nodes)
