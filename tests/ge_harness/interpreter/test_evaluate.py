"""Feeding, fetching, order, memory, and what the evaluator refuses."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from dumps.graphdef import (
    ArgDef,
    AttrValue,
    FunctionDef,
    FunctionName,
    GraphDef,
    write,
)
from ge_harness.interpreter.eager import EAGER
from ge_harness.interpreter.errors import EvaluationError, UnknownOpError
from ge_harness.interpreter.evaluate import (
    evaluate,
    evaluate_tensors,
    fp64_reference,
)
from ge_harness.interpreter.policy import Policy
from tests.ge_harness.interpreter.graph_builder import (
    const,
    graph,
    node,
    placeholder,
    single,
)

X = np.array([1.5, -2.0], np.float32)


def chain():
    return graph(placeholder("x", "float32", (2,)), node("a", "Neg", "x"),
                 node("b", "Exp", "a"), node("y", "AddV2", "a", "b"))


def test_outputs_default_to_what_nobody_consumes():
    found = fp64_reference(chain(), {"x": X})
    assert list(found) == ["y:0"]
    np.testing.assert_array_equal(found["y:0"], -X.astype(float) + np.exp(-X.astype(
        float)))


def test_every_result_of_a_sink_is_returned():
    made = graph(placeholder("x", "float32"), const("axis", 0, "int32"),
                 node("y", "Split", "axis", "x", num_split=2))
    assert sorted(fp64_reference(made, {"x": X})) == ["y:0", "y:1"]


def test_outputs_come_under_the_names_they_were_asked_by():
    found = fp64_reference(chain(), {"x:0": X}, ["b", "y:0", "x"])
    assert list(found) == ["b", "y:0", "x"]
    assert found["x"].dtype == np.float64


def test_a_file_is_evaluated_like_the_record(tmp_path):
    path = tmp_path / "chain.pb"
    write(chain(), path)
    for source in (path, str(path)):
        np.testing.assert_array_equal(
            fp64_reference(source, {"x": X})["y:0"],
            fp64_reference(chain(), {"x": X})["y:0"])


def test_any_tensor_can_be_fed_and_what_lies_behind_it_is_left_out():
    made = graph(node("bad", "NoSuchOp"), node("y", "Neg", "bad"))
    assert fp64_reference(made, {"bad": X}, ["y"])["y"].tolist() == [-1.5, 2.0]


def test_bfloat16_goes_through_as_bits():
    bits = np.array([0x3F80, 0x4049], np.uint16)
    made = single("AddV2", [bits, bits], ["bfloat16"] * 2)
    feeds = {"x0": bits, "x1": bits}
    truth = fp64_reference(made, feeds, ["y"])["y"]
    assert truth.tolist() == [2.0, 6.28125]
    eager = evaluate_tensors(made, feeds, ["y"], EAGER)["y"]
    assert eager.dtype == "bfloat16"
    assert eager.array.tolist() == [0x4000, 0x40C9]


def test_plain_numbers_take_the_dtype_of_their_placeholder():
    made = graph(placeholder("x", "bfloat16"), node("y", "Identity", "x"))
    assert evaluate(made, {"x": [1.0, 3.1415927]}, ["y"], EAGER)["y"].tolist() == [
        0x3F80, 0x4049]


def test_swapped_bytes_are_put_right():
    swapped = X.astype(">f4")
    for policy in (EAGER, Policy()):
        found = evaluate(chain(), {"x": swapped}, ["a"], policy)["a"]
        assert found.tolist() == [-1.5, 2.0]


def test_the_reference_never_rounds_to_a_narrower_float():
    made = graph(placeholder("x", "float32"), node("h", "Cast", "x", DstT="float16"),
                 node("y", "Cast", "h", DstT="float32"))
    x = np.array([1.0001, 70000.0, 1e-9], np.float32)
    assert fp64_reference(made, {"x": x})["y:0"].tolist() == x.astype(float).tolist()
    eager = evaluate(made, {"x": x}, ["y"], EAGER)["y"]
    assert eager.tolist() == [1.0, np.inf, 0.0]


def test_a_cast_to_an_integer_acts_in_the_reference_too():
    made = graph(placeholder("x", "float32"), node("y", "Cast", "x", DstT="int32"))
    found = fp64_reference(made, {"x": np.array([1.9, -1.9, 2.0], np.float32)})["y:0"]
    assert found.dtype == np.int32
    assert found.tolist() == [1, -1, 2]


def test_values_are_dropped_as_soon_as_nobody_reads_them():
    alive = []

    class Watching(Policy):
        seen: list = []  # noqa: RUF012 - shared on purpose

        def store(self, node, index, array, dtype):
            tensor = super().store(node, index, array, dtype)
            gc.collect()
            alive.append(sum(reference() is not None for reference in self.seen))
            self.seen.append(weakref.ref(tensor.array))
            return tensor

    nodes = [placeholder("n0", "float32")]
    nodes += [node(f"n{i}", "Exp", f"n{i - 1}") for i in range(1, 9)]
    fp64_reference(graph(*nodes), {"n0": X})
    evaluate(graph(*nodes), {"n0": X}, None, Watching())
    assert max(alive) <= 1


def test_an_unknown_op_names_itself_its_node_and_where_to_read_on():
    made = graph(placeholder("x", "float32"), node("odd", "Softmaxx", "x"))
    with pytest.raises(UnknownOpError) as caught:
        fp64_reference(made, {"x": X})
    error = caught.value
    assert (error.op, error.node, error.nearest, error.exit_code) == (
        "Softmaxx", "odd", "Softmax", 2)
    assert str(error) == (
        "cannot evaluate node 'odd': the interpreter has no op 'Softmaxx'. Did you "
        "mean 'Softmax'? To add it: docs/interpreter.md, 'Add an op'.")


REFUSED = {
    "a cycle": (graph(node("a", "Neg", "b"), node("b", "Neg", "a")), {}, ["a"],
                "cycle through nodes"),
    "a node that reads itself": (graph(node("a", "Neg", "a")), {}, ["a"], "cycle"),
    "a control cycle": (graph(node("a", "NoOp", "^b"), node("b", "NoOp", "^a")), {},
                        ["a"], "cycle"),
    "control flow": (graph(placeholder("x", "float32"),
                           node("s", "Switch", "x", "x")), {"x": X}, ["s"],
                     r"control flow \(Switch\)"),
    "a variable": (graph(node("v", "VarHandleOp")), {}, ["v"], "freeze the graph"),
    "strings": (graph(node("s", "StringJoin", T="string")), {}, ["s"],
                "dtype string is not supported"),
    "a placeholder without value": (chain(), {}, None, "placeholder 'x' is not fed"),
    "a wrong shape": (chain(), {"x": X[:1]}, None,
                      r"cannot feed 'x': found shape \[1\], expected \[2\]"),
    "a wrong dtype": (chain(), {"x": X.astype(np.float64)}, None,
                      "cannot feed 'x': found dtype float64, expected float32"),
    "an unknown feed": (chain(), {"xx": X}, None, "no node named 'xx'"),
    "an unknown output": (chain(), {"x": X}, ["yy"], "no node named 'yy'"),
    "an unknown input": (graph(node("y", "Neg", "gone")), {}, None,
                         "no node named 'gone' in the graph, an input of 'y'"),
    "an output that is not there": (chain(), {"x": X}, ["y:3"], "no output 3"),
    "an input that is not there": (
        graph(placeholder("x", "float32"), node("y", "Neg", "x:2")), {"x": X}, None,
        "'x:2', which that node does not give"),
    "shapes that do not fit": (
        single("AddV2", [X, np.zeros(3)], ["float32"] * 2),
        {"x0": X, "x1": np.zeros(3, np.float32)}, None,
        r"AddV2 node 'y' on \(float32\[2\], float32\[3\]\)"),
    "too few inputs": (graph(placeholder("x", "float32"), node("y", "AddV2", "x")),
                       {"x": X}, None, "1 inputs, expected at least 2"),
    "an axis out of range": (
        single("Sum", [X, np.zeros(1)], ["float32", "int32"]),
        {"x0": X, "x1": np.array([5], np.int32)}, None, "axis 5 of a tensor of rank 1"),
    "two nodes of one name": (graph(node("a", "NoOp"), node("a", "NoOp")), {}, None,
                              "two nodes are called 'a'"),
    "a constant without value": (graph(node("c", "Const", dtype="float32")), {}, None,
                                 "Const node 'c' has no value"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_it_refuses_in_one_clear_line(case):
    made, feeds, outputs, text = REFUSED[case]
    with pytest.raises(EvaluationError, match=text) as caught:
        fp64_reference(made, feeds, outputs)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_a_deep_graph_needs_no_recursion():
    nodes = [placeholder("n0", "float32")]
    nodes += [node(f"n{i}", "Neg", f"n{i - 1}") for i in range(1, 5001)]
    found = fp64_reference(graph(*nodes), {"n0": X})
    assert found["n5000:0"].tolist() == [1.5, -2.0]


def called(body_input="v"):
    body = (node("n", "Neg", body_input),
            node("s", "Split", "axis:output:0", "n:y:0", num_split=2),
            const("axis", 0, "int32"))
    return FunctionDef(
        "f", (ArgDef("v", "float32"),), (ArgDef("one", "float32"),
                                         ArgDef("two", "float32")),
        body, (("one", "s:output:0"), ("two", "s:output:1")))


def test_a_library_function_is_written_out_where_it_is_called():
    call = node("call", "PartitionedCall", "x",
                f=AttrValue("func", FunctionName("f")))
    made = GraphDef((placeholder("x", "float32"), call,
                     node("y", "Sub", "call", "call:1")), (called(),))
    assert fp64_reference(made, {"x": X})["y:0"].tolist() == [-3.5]
    direct = GraphDef((placeholder("x", "float32"), node("call", "f", "x"),
                       node("y", "Sub", "call", "call:1")), (called(),))
    assert fp64_reference(direct, {"x": X})["y:0"].tolist() == [-3.5]


def test_a_function_that_calls_itself_is_refused():
    loop = FunctionDef("f", (ArgDef("v"),), (ArgDef("r"),),
                       (node("n", "f", "v"),), (("r", "n:r:0"),))
    made = GraphDef((placeholder("x", "float32"), node("y", "f", "x")), (loop,))
    with pytest.raises(EvaluationError, match="more than 32 deep"):
        fp64_reference(made, {"x": X})


@pytest.mark.parametrize(("made", "text"), [
    (GraphDef((placeholder("x", "float32"),
               node("y", "PartitionedCall", "x",
                    f=AttrValue("func", FunctionName("g"))))), "library lacks"),
    (GraphDef((placeholder("x", "float32"), node("y", "f", "x")),
              (called("gone"),)), "reads 'gone', which it lacks"),
    (GraphDef((node("y", "f"),), (called(),)), "0 inputs, expected 1"),
], ids=["no library", "a hole in the body", "a missing argument"])
def test_a_broken_function_is_refused(made, text):
    with pytest.raises(EvaluationError, match=text):
        fp64_reference(made, {"x": X} if len(made.nodes) > 1 else {})


def test_a_default_is_used_unless_something_is_fed():
    made = graph(const("c", [1, 2], "float32"),
                 node("x", "PlaceholderWithDefault", "c", dtype="float32"),
                 node("y", "Neg", "x"))
    assert fp64_reference(made, {}, ["y"])["y"].tolist() == [-1, -2]
    assert fp64_reference(made, {"x": X}, ["y"])["y"].tolist() == [-1.5, 2]
