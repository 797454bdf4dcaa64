"""Graph files, GraphDefs and cuts through build_graph, on this TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

from graphs.build import BuildOptions, build_graph
from graphs.errors import GraphError, GraphUnsupportedError
from graphs.source import resolve

pytestmark = pytest.mark.tf
HEAD = '''"""One line."""
import numpy as np
from graphs.subgraph import Input
INPUTS = (Input("x", (2, 3), ("float32", "float16")),)
'''


@pytest.fixture
def user_file(tf, tmp_path):
    """Build a graph file made of the lines of a build()."""

    def _build(body, head=HEAD, **options):
        path = tmp_path / "user.py"
        path.write_text(f"{head}def build(tf, x):\n" + "".join(
            f"    {line}\n" for line in body), encoding="utf-8")
        return build_graph(tf, resolve(str(path)), BuildOptions(**options))

    return _build


@pytest.fixture
def model(tf, tmp_path):
    """Write a GraphDef made by a function and return a builder of it."""

    def _write(make, *, text=False, edit=None):
        graph = tf.Graph()
        with graph.as_default():
            make()
        definition = graph.as_graph_def()
        if edit:
            edit(definition)
        path = tmp_path / ("model.pbtxt" if text else "model.pb")
        if text:
            path.write_text(str(definition), encoding="utf-8")
        else:
            path.write_bytes(definition.SerializeToString())
        return lambda **options: build_graph(tf, resolve(str(path)),
                                             BuildOptions(**options))

    return _write


def test_options_choose_dtype_shape_and_fetch(user_file):
    built = user_file(["y = x + x", "return {'y': y, 'z': y * x}"], dtype="float16",
                      shapes=(("x", (5, 1)),), fetch=("z",))
    assert [(e.name, e.shape, e.dtype) for e in built.inputs] == [
        ("x", (5, 1), "float16")]
    assert [(e.name, e.shape, e.dtype) for e in built.outputs] == [
        ("z", (5, 1), "float16")]


@pytest.mark.parametrize(("options", "said"), [
    ({"dtype": "bfloat16"}, "comes in float32, float16, not in 'bfloat16'"),
    ({"size": "huge"}, "found size 'huge'"),
    ({"shapes": (("x", (-1, 3)),)}, "--shape=x: found (-1, 3)"),
    ({"shapes": (("w", (1,)),)}, "--shape=w: no tensor of that name"),
    ({"variants": (("gelu", "tanh"),)}, "has no variant 'gelu'; known: none"),
    ({"fetch": ("zz",)}, "--fetch=zz: no tensor of that name"),
    ({"feed": ("^x",)}, "--feed=^x: no tensor"),
], ids=lambda value: str(value)[:30])
def test_a_wrong_option_is_named(user_file, options, said):
    with pytest.raises(GraphError) as caught:
        user_file(["return {'y': x + x}"], **options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_variant_value_gets_the_nearest(tf):
    with pytest.raises(GraphError) as caught:
        build_graph(tf, resolve("gelu"), BuildOptions(variants=(("gelu", "tahn"),)))
    assert str(caught.value) == (
        "variant 'gelu' of 'gelu' has no value 'tahn'; known: erf, tanh. "
        "Did you mean 'tanh'?")


@pytest.mark.parametrize(("body", "said"), [
    (["return [x]"], "build() returned list, expected a dict"),
    (["return {}"], "build() returned dict, expected a dict"),
    (["return {'y': 3.0}"], "build() returned float for 'y'"),
    (["return {'y': x @ x}"], "user.py:6: build() raised ValueError"),
    (["raise RuntimeError('a\\nb')"], "user.py:6: build() raised RuntimeError: a"),
    (["return {'y': nothing}"], "user.py:6: build() raised NameError"),
    (["return {'y': tf.random.uniform([2]) + x[0, 0]}"],
     "random ops are not supported: op 'RandomUniform'"),
    (["return {'y': tf.as_string(x)}"],
     "string tensors are not supported: op 'AsString' at node 'AsString'"),
    (["return {'y': tf.cast(x, tf.complex64)}"], "complex64 tensors are not supported"),
    (["return {'y': x + tf.get_variable('v', [3])}"],
     "variable ops are not supported: op 'Va"),
    (["return {'y': tf.py_func(lambda a: a, [x], tf.float32)}"],
     "Python-function ops are not supported: op 'PyFunc'"),
    (["return {'y': tf.cond(tf.reduce_all(x > 0), lambda: x, lambda: -x)}"],
     "control-flow ops are not supported: op '"),
    (["with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(x > 0), [x])]):",
      "  return {'y': tf.identity(x)}"], "tf.raw_ops.Assert is let through"),
    (["return {'y': tf.while_loop(lambda i: tf.reduce_sum(i) < 9, lambda i: i * 2,"
      " [x])[0]}"], "control-flow ops are not supported: op '"),
    (["a = tf.TensorArray(tf.float32, 2, element_shape=(3,))",
      "return {'y': a.unstack(x).stack()}"], "-list ops are not supported: op 'Tensor"),
], ids=lambda value: str(value[0])[:40] if isinstance(value, list) else "")
def test_what_a_subgraph_may_not_hold_is_refused_by_name(user_file, body, said):
    with pytest.raises(GraphError) as caught:
        user_file(body)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_no_output_needs_is_pruned_and_an_output_may_be_an_input(user_file, ops):
    built = user_file(["tf.random.uniform([9])", "return {'x': x, 'y': tf.abs(x)}"])
    assert {op for op, _ in ops(built)} == {"Placeholder", "Identity", "Abs"}
    assert [end.name for end in built.inputs] == ["x"]
    assert [end.name for end in built.outputs] == ["x_2", "y"]


def test_an_input_that_nothing_reads_is_no_feed(tf, tmp_path):
    path = tmp_path / "two.py"
    path.write_text(HEAD + "INPUTS += (Input('w', (2,), 'float32'),)\n"
                    "def build(tf, x, w):\n    return {'y': x + x}\n", encoding="utf-8")
    built = build_graph(tf, resolve(str(path)), BuildOptions())
    assert [end.name for end in built.inputs] == ["x"]


def test_hostile_output_names_become_safe(user_file):
    built = user_file(["return {'../\\x1b[31m': x + x, 'Y': x, 'y': -x}"])
    assert [end.name for end in built.outputs] == ["31m", "Y", "y_2"]


@pytest.mark.parametrize(("options", "said"), [
    ({"signature": "serve"}, "SavedModel"),
    ({"shapes": (("x", (2, 3)), ("x", (4, 5)))}, "x is given twice"),
])
def test_an_option_that_would_do_nothing_is_refused(user_file, options, said):
    with pytest.raises(GraphError, match=said):
        user_file(['return {"y": tf.exp(x)}'], **options)


@pytest.mark.parametrize("reference", ["c", "^c"])
def test_a_function_that_feeds_its_own_call_is_refused(tf, tmp_path, reference):
    definition = tf.GraphDef()
    body = definition.library.function.add()
    body.signature.name = "F"
    for ends, name in ((body.signature.input_arg, "a"),
                       (body.signature.output_arg, "o")):
        argument = ends.add()
        argument.name, argument.type = name, 1
    body.ret["o"] = "a"
    for name, op, given in (("x", "Placeholder", []), ("c", "F", ["c"]),
                            ("y", "NoOp", [reference])):
        node = definition.node.add()
        node.name, node.op = name, op
        node.input.extend(given)
    path = tmp_path / "loop.pb"
    path.write_bytes(definition.SerializeToString())
    with pytest.raises(GraphError, match="in a circle"):
        build_graph(tf, resolve(str(path)), BuildOptions())


def test_functions_of_a_graph_file_are_inlined(user_file, run, ops, tf):
    lines = ["from tensorflow.python.framework import function",
             "@function.Defun(tf.float32, tf.float32)",
             "def both(a, b): return a + b, a * b",
             "s, p = both(x, x + np.float32(1))", "t, q = both(s, p)",
             "return {'s': t, 'p': q}"]
    if not tf.__version__.startswith("1"):
        lines[:3] = ["import tensorflow", "@tensorflow.function",
                     "def both(a, b): return a + b, a * b"]
    built = user_file(lines)
    assert {op for op, _ in ops(built)} <= {
        "Placeholder", "Const", "Add", "AddV2", "Mul", "Identity"}
    x = np.arange(6.0).reshape(2, 3)
    found = run(built, {"x": x})
    total, product = x + x + 1, x * (x + 1)
    assert np.array_equal(found["s"], total + product)
    assert np.array_equal(found["p"], total * product)


def test_no_kernel_is_a_named_skip_unless_a_device_may_have_one(user_file, tf):
    lines = ["return {'y': tf.raw_ops.Cholesky(input=x[:, :2])}"]
    with pytest.raises(GraphUnsupportedError) as caught:
        user_file(lines, dtype="float16")
    assert str(caught.value) == (
        f"TensorFlow {tf.__version__} has no CPU kernel for op 'Cholesky' of float16 "
        "(node 'Cholesky')")
    device = user_file(lines, dtype="float16", check_kernels=False)
    assert device.outputs[0].dtype == "float16"
    assert user_file(lines).outputs[0].shape == (2, 2)


@pytest.mark.parametrize("text", [False, True], ids=["pb", "pbtxt"])
def test_a_model_file_is_fed_at_its_placeholders_and_read_at_its_ends(
        tf, model, run, text):
    def make():
        x = tf.placeholder(tf.float32, (2, 4), name="in/x")
        tf.placeholder(tf.float32, (), name="unused")
        a, b = tf.split(x * np.float32(2), 2, axis=1, name="halves")
        tf.identity(a, name="Out")
        tf.split(b, 2, axis=1, name="ends")

    built = model(make, text=text)()
    assert [(e.name, e.tensor) for e in built.inputs] == [("in_x", "in/x:0")]
    assert [(e.name, e.tensor) for e in built.outputs] == [
        ("Out", "Out:0"), ("ends", "ends:0"), ("ends_1", "ends:1")]
    x = np.arange(8.0).reshape(2, 4)
    found = run(built, {"in_x": x})
    assert np.array_equal(found["Out"], 2 * x[:, :2])
    assert np.array_equal(found["ends_1"], 2 * x[:, 3:])
    assert built.graph_def == model(make, text=text)().graph_def


@pytest.mark.parametrize("name", ["ffn_front", "split", "attention"])
def test_a_built_graph_given_back_as_a_model_is_the_same_graph(tf, tmp_path, name):
    built = build_graph(tf, resolve(name), BuildOptions())
    definition = tf.GraphDef.FromString(built.graph_def)
    (tmp_path / "g.pb").write_bytes(built.graph_def)
    (tmp_path / "g.pbtxt").write_text(str(definition), encoding="utf-8")
    for file in ("g.pb", "g.pbtxt"):
        again = build_graph(tf, resolve(str(tmp_path / file)), BuildOptions())
        assert again.graph_def == built.graph_def
        assert [e.tensor for e in again.inputs] == [e.tensor for e in built.inputs]


def three_steps(tf):
    def make():
        x = tf.placeholder(tf.float32, (None, 4), name="x")
        mid = tf.multiply(x, np.float32(2), name="mid")
        last = tf.add(mid, tf.reduce_sum(x), name="last")
        tf.negative(last, name="y")
    return make


def test_unknown_dimensions_need_a_shape_and_say_how(tf, model):
    build = model(three_steps(tf))
    with pytest.raises(GraphError) as caught:
        build()
    assert str(caught.value) == (
        "input 'x' has [?,4]: give its lengths, e.g. --shape=x:8,4")
    built = build(shapes=(("x", (3, 4)),))
    assert built.inputs[0].shape == built.outputs[0].shape == (3, 4)
    for wrong in ((3, 4, 1), (3,)):
        with pytest.raises(GraphError, match="--shape: x:0 is"):
            build(shapes=(("x", wrong),))


def test_feed_replaces_an_inner_tensor_and_fetch_ends_early(tf, model, run, ops):
    build = model(three_steps(tf))
    built = build(shapes=(("x", (3, 4)),), feed=("mid",), fetch=("last:0",))
    assert [end.name for end in built.inputs] == ["x", "mid"]
    assert [end.shape for end in built.inputs] == [(3, 4), (3, 4)]
    assert [end.name for end in built.outputs] == ["last"]
    assert not {"Mul", "Neg"} & {op for op, _ in ops(built)}
    found = run(built, {"x": np.ones((3, 4)), "mid": np.full((3, 4), 5.0)})
    assert np.array_equal(found["last"], np.full((3, 4), 17.0))


def test_a_feed_of_unknown_shape_is_given_one_by_its_name(tf, model):
    build = model(three_steps(tf))
    with pytest.raises(GraphError, match=r"input 'last' has \[\?,4\]"):
        build(feed=("last",))
    built = build(feed=("last",), shapes=(("last", (5, 4)),))
    assert [(end.name, end.shape) for end in built.inputs] == [("last", (5, 4))]
    assert built.outputs[0].shape == (5, 4)


def test_a_feed_that_reaches_no_output_is_refused(tf, model):
    with pytest.raises(GraphError, match="--feed=y: no output depends on it"):
        model(three_steps(tf))(feed=("y",), fetch=("last",), shapes=(("x", (1, 4)),))


def test_a_misspelt_fetch_gets_the_nearest_node(tf, model):
    with pytest.raises(GraphError) as caught:
        model(three_steps(tf))(fetch=("lats",))
    assert caught.value.subject == "lats"
    assert "Did you mean 'last'?" in str(caught.value)
    with pytest.raises(GraphError, match="no tensor 'mid:3'"):
        model(three_steps(tf))(fetch=("mid:3",), shapes=(("x", (1, 4)),))


def test_a_model_keeps_its_dtype(tf, model):
    build = model(three_steps(tf))
    shape = (("x", (1, 4)),)
    assert build(shapes=shape, dtype="float32").variant == "float32"
    with pytest.raises(GraphError, match="float32, not 'float16'; drop --dtype"):
        build(shapes=shape, dtype="float16")
    with pytest.raises(GraphError, match="has no signatures"):
        build(shapes=shape, signature="s")
    with pytest.raises(GraphError, match="has no variants"):
        build(shapes=shape, variants=(("gelu", "erf"),))


def test_defaults_of_placeholders_hold_unless_they_are_fed(tf, model, run):
    def make():
        x = tf.placeholder(tf.float32, (2,), name="x")
        keep = tf.placeholder_with_default(np.float32(0.5), (), name="keep")
        tf.multiply(x, keep, name="y")

    assert [e.name for e in model(make)().inputs] == ["x"]
    assert run(model(make)(), {"x": [2, 4]})["y"].tolist() == [1, 2]
    built = model(make)(feed=("keep",))
    assert run(built, {"x": [2, 4], "keep": 2.0})["y"].tolist() == [4, 8]


def test_an_assertion_keeps_its_message_and_its_place(tf, model, run):
    def make():
        x = tf.placeholder(tf.float32, (2,), name="x")
        fine = tf.reduce_all(tf.greater(x, np.float32(0)))
        check = tf.raw_ops.Assert(condition=fine, data=["not above zero", x])
        with tf.control_dependencies([check, tf.no_op()]):
            tf.negative(x, name="y")

    built = model(make)()
    assert run(built, {"x": [1, 2]})["y"].tolist() == [-1, -2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(built, {"x": [1, -2]})


def test_devices_and_colocation_of_another_machine_are_dropped(tf, model, run):
    def edit(definition):
        for node in definition.node:
            node.device = "/job:worker/device:GPU:3"
            node.attr["_class"].list.s.append(b"loc:@gone")

    built = model(three_steps(tf), edit=edit)(shapes=(("x", (1, 4)),))
    assert run(built, {"x": np.ones((1, 4))})["y"].tolist() == [[-6.0] * 4]


def lose_a_function(definition):
    del definition.node[-1].attr["T"]
    definition.node[-1].op = "PartitionedCall"
    definition.node[-1].attr["f"].func.name = "gone"
    definition.node[-1].attr["Tin"].list.type.append(1)
    definition.node[-1].attr["Tout"].list.type.append(1)


def rename_an_op(definition):
    definition.node[-1].op = "NoSuchOp"


def test_attributes_of_a_newer_tensorflow_at_their_default_are_dropped(tf, model, run):
    def newer(value):
        def edit(definition):
            definition.node[-1].attr["grad_a"].b = value
            definition.node[-1].attr["exponential_avg_factor"].f = 1.0
            definition.node[-1].attr["explicit_paddings"].list.SetInParent()
            definition.node[-1].attr["Tsegmentids"].type = 3
        return edit

    shapes = (("x", (1, 4)),)
    built = model(three_steps(tf), edit=newer(False))(shapes=shapes)
    assert built.graph_def == model(three_steps(tf))(shapes=shapes).graph_def
    with pytest.raises(GraphError, match="not know attribute 'grad_a' of op"):
        model(three_steps(tf), edit=newer(True))(shapes=shapes)


@pytest.mark.parametrize(("edit", "said"), [
    (lambda d: d.node[-1].input.append("nowhere"),
     "reads 'nowhere', which is not there"),
    (rename_an_op, "has no op 'NoSuchOp'"),
    (lambda d: d.node.add().CopyFrom(d.node[0]), "two nodes are called 'x'"),
    (lambda d: d.node[1].input.append("^y"), "in a circle"),
    (lambda d: d.node[-1].attr["T"].Clear(), "refuses the graph"),
    (lose_a_function, "function-call ops are not supported: op 'PartitionedCall'"),
], ids=["dangling", "unknown-op", "twice", "circle", "no-type", "no-function"])
def test_a_broken_graph_is_refused_in_one_line(tf, model, edit, said):
    with pytest.raises(GraphError) as caught:
        model(three_steps(tf), edit=edit)(shapes=(("x", (1, 4)),))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_truncation_of_a_model_is_an_error_or_a_model(tf, model, tmp_path):
    model(three_steps(tf))
    data = (tmp_path / "model.pb").read_bytes()
    texts = []
    for length in range(0, len(data), 7):
        (tmp_path / "model.pb").write_bytes(data[:length])
        try:
            build_graph(tf, resolve(str(tmp_path / "model.pb")),
                        BuildOptions(shapes=(("x", (1, 4)),)))
        except GraphError as error:
            texts.append(str(error))
    assert len(texts) > 20
    assert not [text for text in texts if "\n" in text]


def test_building_leaves_eager_execution_and_the_default_graph_alone(tf):
    import tensorflow

    before = tensorflow.executing_eagerly()
    build_graph(tf, resolve("softmax"), BuildOptions())
    assert tensorflow.executing_eagerly() is before
    if not before:
        assert not tf.get_default_graph().get_operations()
