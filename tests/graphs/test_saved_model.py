"""SavedModels written here by this TensorFlow: variables, functions, signatures."""

from __future__ import annotations

import numpy as np
import pytest

from graphs.build import BuildOptions, build_graph
from graphs.errors import GraphError
from graphs.source import resolve

pytestmark = pytest.mark.tf
SHAPES = (("x", (2, 3)), ("i", (2,)))
X = np.arange(6.0).reshape(2, 3)
TABLE = np.arange(12.0).reshape(4, 3)
WEIGHT = np.arange(6.0).reshape(3, 2)
RIGHT = (X * X + 1 + [10, 20, 30] + TABLE[[3, 1]]) @ WEIGHT


@pytest.fixture(scope="module")
def saved_v1(tf, tmp_path_factory):
    """A SavedModel of TensorFlow 1's kind, under any TensorFlow."""
    path = tmp_path_factory.mktemp("v1") / "old model"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, (None, 3), name="x_in")
        i = tf.placeholder(tf.int32, (None,), name="i_in")
        make = {"dtype": tf.float32}
        shift = tf.get_variable("shift", initializer=np.float32([10, 20, 30]), **make,
                                use_resource=True)
        weight = tf.get_variable("weight", initializer=np.float32(WEIGHT), **make,
                                 use_resource=False)
        table = tf.get_variable("table", initializer=np.float32(TABLE), **make,
                                use_resource=True)
        summed = tf.add(x * x + np.float32(1) + shift, tf.gather(table, i), name="sum")
        y = tf.matmul(summed, weight, name="last")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(path), {"x": x, "i": i}, {"y": y})
    return path


def v2_model(tensorflow, tf):
    """Return a module with nested functions, variables, an assertion and a loop."""
    spec = tensorflow.TensorSpec
    x_spec = spec((None, 3), tf.float32, name="x")

    class Model(tensorflow.Module):
        def __init__(self):
            super().__init__()
            self.shift = tensorflow.Variable(np.float32([10, 20, 30]))
            self.weight = tensorflow.Variable(np.float32(WEIGHT))
            self.table = tensorflow.Variable(np.float32(TABLE))

        @tensorflow.function
        def inner(self, a):
            halves = tensorflow.split(a * a + np.float32(1), [1, 2], axis=1)
            return halves[1], halves[0]

        @tensorflow.function(input_signature=[
            x_spec, spec((None,), tf.int32, name="i")])
        def call(self, x, i):
            right, left = self.inner(x)
            whole = tensorflow.concat([left, right], axis=1)
            summed = whole + self.shift + tensorflow.gather(self.table, i)
            return {"y": tensorflow.matmul(summed, self.weight)}

        @tensorflow.function(input_signature=[x_spec])
        def checked(self, x):
            tensorflow.raw_ops.Assert(
                condition=tensorflow.reduce_all(x < np.float32(100)), data=["big", x])
            return {"y": self.inner(x)[1] + self.shift[0]}

        @tensorflow.function(input_signature=[x_spec])
        def train(self, x):
            self.shift.assign_add(x[0])
            return {"y": x * np.float32(2)}

        @tensorflow.function(input_signature=[x_spec])
        def loop(self, x):
            while tensorflow.reduce_sum(x) < np.float32(100):
                x = x * np.float32(2)
            return {"y": x}

    return Model()


@pytest.fixture(scope="module")
def saved_v2(tf, tmp_path_factory):
    """A SavedModel of TensorFlow 2's kind, with four signatures."""
    if tf.__version__.startswith("1"):
        pytest.skip("TensorFlow 1 cannot write this kind")
    import tensorflow

    model = v2_model(tensorflow, tf)
    path = tmp_path_factory.mktemp("v2") / "m"
    tensorflow.saved_model.save(model, str(path), signatures={
        "serving_default": model.call, "checked": model.checked, "train": model.train,
        "loop": model.loop})
    return path


@pytest.fixture
def build(tf):
    return lambda path, **options: build_graph(
        tf, resolve(str(path)), BuildOptions(**options))


@pytest.mark.parametrize("kind", ["saved_v1", "saved_v2"])
def test_a_signature_becomes_a_flat_frozen_graph(kind, request, build, run, ops):
    path = request.getfixturevalue(kind)
    built = build(path, shapes=SHAPES)
    assert {(end.name, end.shape, end.dtype) for end in built.inputs} == {
        ("x", (2, 3), "float32"), ("i", (2,), "int32")}
    assert [(end.name, end.shape) for end in built.outputs] == [("y", (2, 2))]
    kinds = {op for op, _ in ops(built)}
    assert not kinds & {"VarHandleOp", "VariableV2", "ReadVariableOp", "ResourceGather",
                        "PartitionedCall", "StatefulPartitionedCall", "NoOp"}
    found = run(built, {"x": X, "i": [3, 1]})
    assert np.array_equal(found["y"], RIGHT)
    assert built.graph_def == build(path, shapes=SHAPES).graph_def


@pytest.mark.parametrize("kind", ["saved_v1", "saved_v2"])
def test_unknown_dimensions_of_a_signature_need_a_shape(kind, request, build):
    path = request.getfixturevalue(kind)
    with pytest.raises(GraphError, match=r"input '(x|i)' has \[\?"):
        build(path)
    with pytest.raises(GraphError) as caught:
        build(path, shapes=(*SHAPES, ("xx", (1,))))
    assert caught.value.subject == "xx"


def test_a_signature_is_chosen_by_name(saved_v2, build, run):
    built = build(saved_v2, shapes=SHAPES[:1], signature="checked")
    assert built.variant == "checked"
    assert run(built, {"x": X})["y"].tolist() == (X[:, :1] ** 2 + 11).tolist()
    with pytest.raises(GraphError) as caught:
        build(saved_v2, signature="serving")
    assert caught.value.known == ("checked", "loop", "serving_default", "train")


def test_an_assertion_in_a_function_still_raises(saved_v2, build, run, tf):
    built = build(saved_v2, shapes=SHAPES[:1], signature="checked")
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(built, {"x": X + 1000})


@pytest.mark.parametrize(("signature", "said"), [
    ("train", "stateful ops are not supported: op 'AssignAddVariableOp'"),
    ("loop", "control-flow ops are not supported: op '"),
])
def test_state_and_loops_inside_functions_are_refused(saved_v2, build, signature, said):
    with pytest.raises(GraphError) as caught:
        build(saved_v2, shapes=SHAPES[:1], signature=signature)
    assert said in str(caught.value)


def test_a_part_is_cut_out_of_a_model(saved_v1, build, run, ops):
    built = build(saved_v1, shapes=(("sum", (4, 3)),), feed=("sum",), fetch=("last",))
    assert [end.name for end in built.inputs] == ["sum"]
    assert not {"Mul", "GatherV2"} & {op for op, _ in ops(built)}
    found = run(built, {"sum": np.ones((4, 3))})
    assert np.array_equal(found[built.outputs[0].name], np.ones((4, 3)) @ WEIGHT)


@pytest.mark.parametrize("data", [b"", b"noise\xff\xff", b"\x08"],
                         ids=["empty", "noise", "cut"])
def test_a_folder_with_a_broken_file_is_refused(tmp_path, build, data):
    (tmp_path / "saved_model.pb").write_bytes(data)
    with pytest.raises(GraphError) as caught:
        build(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_without_its_variables_is_refused(saved_v1, tmp_path, build):
    folder = tmp_path / "half"
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes((saved_v1 / "saved_model.pb").read_bytes())
    with pytest.raises(GraphError) as caught:
        build(folder, shapes=SHAPES)
    assert "\n" not in str(caught.value)
