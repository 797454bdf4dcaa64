"""Operators matched through graphs: what is paired, what is named and why."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dumps
from ge_harness.compare.folder import places_document
from ge_harness.errors import UsageError
from ge_harness.records.comparison import Status, Verdict
from ge_harness.records.operators import Reason
from tests.ge_harness.compare.operator_folders import (
    FOLDERS,
    TIME,
    compare,
    dump,
    fused_pair,
    graph,
    item,
    names,
    op,
    reasons,
    statuses,
)
from tests.shared import SAMPLES, needs_shared

ONE = np.float32([1, 2, 3])
TWO = np.float32([1, 2, 4])


def test_fused_operators_are_paired_with_their_original_ones(tmp_path):
    a, b, graph_a, graph_b = fused_pair(tmp_path)
    found = compare(a, b, map=graph_a, against_map=graph_b)
    assert names(found) == [
        "max.input.0", "max.output.0", "autofuse_4.input.0 = max.input.0",
        "autofuse_4.input.1 = max.output.0", "autofuse_4.output.0 = exp.output.0",
        "autofuse_4.output.1 = sum.output.0", "y.input.0 = exp.output.0",
        "y.input.1 = sum.output.0", "y.output.0"]
    assert set(statuses(found)) == {"equal"}
    assert found.verdict is Verdict.AGREES
    assert found.first is None
    assert reasons(found, "b") == {
        "sub.output.0": Reason.FUSED_INSIDE, "exp.input.0": Reason.FUSED_INSIDE,
        "x": Reason.NEVER_DUMPED, "Node_Output": Reason.NEVER_DUMPED}
    assert reasons(found, "a") == {
        "x": Reason.NEVER_DUMPED, "Node_Output": Reason.NEVER_DUMPED}


def test_the_first_operator_that_differs_comes_with_all_that_is_known(tmp_path):
    a, b, graph_a, graph_b = fused_pair(tmp_path, off=1e-3)
    first = compare(a, b, map=graph_a, against_map=graph_b).first
    assert (first.operator, first.type, first.graph) == (
        "autofuse_4", "AscBackend", "root")
    assert (first.place, first.of, first.order) == (3, 5, "graph of A")
    assert first.fused_from == ("sub", "exp", "sum")
    assert first.fused_types == ("Sub", "Exp", "Sum")
    assert first.passes == ("AutoFusePass",)
    assert (first.counterpart, first.counterpart_type) == ("exp", "Exp")
    assert [(each.index, each.source, each.state, each.status)
            for each in first.inputs] == [
        (0, "x.output.0", "agrees", "equal"), (1, "max.output.0", "agrees", "equal")]
    assert first.inputs_state == "agree"


def test_an_input_that_differs_already_is_said(tmp_path):
    a, b, graph_a, graph_b = fused_pair(tmp_path)
    dump(a / FOLDERS, "AscBackend", "autofuse_4", [ONE, TWO],
         [np.zeros((2, 4), np.float32), TWO], time=TIME + 5)
    first = compare(a, b, map=graph_a, against_map=graph_b).first
    assert first.operator == "autofuse_4"
    assert first.inputs_state == "differ"
    assert first.inputs[0].state == "differs"


def test_one_graph_alone_is_enough_where_the_other_side_has_original_names(tmp_path):
    a, b, graph_a, _ = fused_pair(tmp_path, off=1e-3)
    found = compare(a, b, map=graph_a)
    assert "autofuse_4.output.1 = sum.output.0" in names(found)
    assert found.first.operator == "autofuse_4"
    found = compare(b, a, against_map=graph_a)
    assert "sum.output.0 = autofuse_4.output.1" in names(found)
    assert found.first.order == "graph of B"
    golden = tmp_path / "golden"
    golden.mkdir()
    np.save(str(golden / f"exp.0.{TIME}.npy"), np.zeros((2, 4), np.float32))
    found = compare(a, golden, map=graph_a)
    assert names(found)[0] == "autofuse_4.output.0 = exp.output.0"


def test_without_a_graph_the_origin_in_the_dump_file_helps(tmp_path):
    dump(tmp_path / "a", "AscBackend", "autofuse_1", [ONE], origin=("exp", 1))
    dump(tmp_path / "b", "Exp", "exp", [TWO, ONE])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["autofuse_1.output.0 = exp.output.1"]
    assert "that the dump file names" in found.pairs[0].notes[0]


def _with_ops(tmp_path, ops_a, ops_b):
    return (graph(tmp_path / "ge_proto_00000001_graph_1_Build.txt", ops_a),
            graph(tmp_path / "ge_proto_00000002_graph_1_Build.txt", ops_b))


def test_every_operator_ends_in_a_pair_or_with_a_reason(tmp_path):
    graphs = _with_ops(tmp_path, [
        op("x", "Data"), op("paired", "Add", ["x:0"], originals=["paired"]),
        op("undumped", "Mul", ["x:0"], originals=["undumped"]),
        op("half", "Mul", ["x:0"], originals=["half"]),
        op("alone", "Mul", ["x:0"], originals=["alone"]),
        op("trans", "TransData", ["x:0"], originals=[]),
        op("trans2", "TransData", ["x:0"], originals=[])], [
        op("x", "Data"), op("paired", "Add", ["x:0"], originals=["paired"]),
        op("undumped", "Mul", ["x:0"], originals=["undumped"]),
        op("half", "Mul", ["x:0"], originals=["half"])])
    for name in ("paired", "half", "alone", "trans", "strange"):
        dump(tmp_path / "a", "Mul", name, [ONE])
    dump(tmp_path / "b", "Mul", "paired", [ONE])
    found = compare(tmp_path / "a", tmp_path / "b", map=graphs[0],
                    against_map=graphs[1])
    assert names(found) == ["paired.output.0"]
    assert reasons(found, "a") == {
        "x": Reason.NEVER_DUMPED, "undumped": Reason.NOT_DUMPED,
        "half.output.0": Reason.COUNTERPART_NOT_DUMPED,
        "alone.output.0": Reason.NO_OPERATOR, "trans.output.0": Reason.INSERTED,
        "trans2": Reason.INSERTED, "strange.output.0": Reason.NOT_IN_GRAPH}
    assert reasons(found, "b") == {
        "x": Reason.NEVER_DUMPED, "undumped": Reason.NOT_DUMPED,
        "half": Reason.NOT_DUMPED}
    assert found.verdict is Verdict.UNDECIDED
    document = places_document(found)
    assert {each["reason"] for each in document["unmatched"]["reasons"]} <= {
        each.value for each in Reason}


def test_an_operator_of_which_only_copies_are_dumped_is_named(tmp_path):
    graphs = _with_ops(tmp_path, [
        op("p", "Add", originals=["p"]), op("q", "Add", ["p:0"], originals=["q"])], [
        op("p", "Add", originals=["p"]), op("q", "Add", ["p:0"], originals=["q"])])
    dump(tmp_path / "a", "Add", "p", [ONE])
    dump(tmp_path / "a", "Add", "q", [ONE])
    dump(tmp_path / "b", "Add", "p", [ONE])
    dump(tmp_path / "b", "Add", "q", [], [ONE])
    found = compare(tmp_path / "a", tmp_path / "b", map=graphs[0],
                    against_map=graphs[1])
    assert names(found) == ["p.output.0"]
    assert reasons(found, "b") == {"q": Reason.NOT_DUMPED}
    assert reasons(found, "a") == {"q.output.0": Reason.COUNTERPART_NOT_DUMPED}


@settings(max_examples=40, deadline=None, derandomize=True,
          suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_operator_is_ever_lost(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("lost")
    names_of = [f"op{number}" for number in range(data.draw(st.integers(1, 6)))]
    sides = {}
    for side in "ab":
        groups, left = [], list(names_of)
        while left:
            size = data.draw(st.integers(1, len(left)))
            groups.append(left[:size])
            left = left[size:]
        ops, last = [op("x", "Data")], "x"
        for group in groups:
            fused = len(group) > 1
            name = "autofuse_" + "_".join(group) if fused else group[0]
            told = data.draw(st.booleans())
            ops.append(op(name, "AscBackend" if fused else "Abs", [f"{last}:0"],
                          originals=group if fused or told else None,
                          origins=[(group[-1], 0)] if told else ()))
            last = name
            kept = data.draw(st.sampled_from(["both", "output", "input", "none"]))
            if kept != "none":
                dump(root / side, "Abs", name, [ONE] if kept != "input" else [],
                     [ONE] if kept != "output" else [])
        dump(root / side, "Abs", f"strange_{side}", [ONE])
        order = data.draw(st.permutations(ops))
        sides[side] = graph(root / f"ge_proto_0000000{ord(side)}_graph_1_Build.txt",
                            order)
    found = compare(root / "a", root / "b", map=sides["a"], against_map=sides["b"])
    for side, path in sides.items():
        told = {each.name.split(".")[0] for each in found.reasons if each.side == side}
        ends = [pair.name.split(" = ") for pair in found.pairs]
        told |= {(each[0] if side == "a" else each[-1]).split(".")[0] for each in ends}
        graph_names = {node.name for node in dumps.read(path).nodes}
        assert graph_names | {f"strange_{side}"} <= told
    assert {pair.status for pair in found.pairs} <= {Status.EQUAL}
    assert found.verdict is not Verdict.DIFFERS


def test_several_operators_of_one_origin_are_named_and_the_namesake_is_taken(tmp_path):
    graphs = _with_ops(tmp_path, [
        op("fused", "Asc", ["x:0"], originals=["p", "add"], origins=[("add", 0)])], [
        op("first", "Add", ["x:0"], originals=["add"], origins=[("add", 0)]),
        op("second", "Add", ["x:0"], originals=["add"], origins=[("add", 0)])])
    dump(tmp_path / "a", "Asc", "fused", [ONE])
    dump(tmp_path / "b", "Add", "first", [ONE])
    dump(tmp_path / "b", "Add", "second", [TWO])
    found = compare(tmp_path / "a", tmp_path / "b", map=graphs[0],
                    against_map=graphs[1])
    assert not found.pairs
    assert found.verdict is Verdict.UNDECIDED
    assert reasons(found, "a") == {"fused.output.0": Reason.AMBIGUOUS}
    words = next(each.words for each in found.reasons if each.side == "a")
    assert "first, second" in words
    graph(graphs[1], [
        op("add", "Add", ["x:0"], originals=["add"], origins=[("add", 0)]),
        op("second", "TransData", ["add:0"], originals=["add"], origins=[("add", 0)])])
    dump(tmp_path / "b", "Add", "add", [ONE])
    found = compare(tmp_path / "a", tmp_path / "b", map=graphs[0],
                    against_map=graphs[1])
    assert names(found) == ["fused.output.0 = add.output.0"]


def test_without_the_origin_of_a_tensor_the_last_name_is_taken_and_said(tmp_path):
    graphs = _with_ops(tmp_path, [
        op("fused", "Asc", ["x:0"], originals=["mul", "add"])], [
        op("mul", "Mul", ["x:0"]), op("add", "Add", ["mul:0"])])
    dump(tmp_path / "a", "Asc", "fused", [ONE])
    dump(tmp_path / "b", "Add", "add", [ONE])
    dump(tmp_path / "b", "Mul", "mul", [TWO])
    found = compare(tmp_path / "a", tmp_path / "b", map=graphs[0],
                    against_map=graphs[1])
    assert names(found) == ["fused.output.0 = add.output.0"]
    assert "the last of its original operators" in found.pairs[0].notes[0]
    assert reasons(found, "b") == {"mul.output.0": Reason.FUSED_INSIDE}


def test_inputs_are_followed_through_layout_changes_and_into_subgraphs(tmp_path):
    inner = [op("data", "Data", attrs='attr { key: "_parent_node_index" value '
                '{ i: 1 } }'),
             op("inner", "Relu", ["data:0"], originals=["inner"])]
    root = [op("x", "Data"), op("p", "Abs", ["x:0"], originals=["p"]),
            op("t", "TransData", ["p:0"], originals=[]),
            op("call", "PartitionedCall", ["x:0", "t:0"], subgraphs=["body"]),
            op("last", "Neg", ["call:0"], originals=["last"])]
    path = graph(tmp_path / "ge_proto_00000001_graph_1_Build.txt", root, body=inner)
    for side, value in (("a", TWO), ("b", ONE)):
        dump(tmp_path / side, "Abs", "p", [ONE])
        dump(tmp_path / side, "Relu", "inner", [value], [ONE])
        dump(tmp_path / side, "Neg", "last", [value])
    found = compare(tmp_path / "a", tmp_path / "b", map=path, against_map=path)
    assert names(found) == ["p.output.0", "inner.input.0 = p.output.0",
                            "inner.output.0", "last.output.0"]
    first = found.first
    assert (first.operator, first.graph, first.inputs_state) == (
        "inner", "body", "agree")
    assert first.inputs[0].source == "p.output.0"


def test_graphs_given_the_wrong_way_round_are_told(tmp_path):
    a, b, graph_a, graph_b = fused_pair(tmp_path)
    with pytest.raises(UsageError, match=r"autofuse_4.* swap --map"):
        compare(a, b, map=graph_b, against_map=graph_a)


def test_operators_of_one_name_in_two_graphs_are_told_apart_in_words(tmp_path):
    path = graph(
        tmp_path / "ge_proto_00000001_graph_1_Build.txt",
        [op("if", "If", subgraphs=["then", "else"])],
        **{"then": [op("add", "Add")], "else": [op("add", "Add")]})
    dump(tmp_path / "a", "Add", "add", [ONE])
    found = compare(tmp_path / "a", tmp_path / "a", map=path, against_map=path)
    assert not found.pairs
    assert found.verdict is Verdict.UNDECIDED
    assert reasons(found, "a") == {
        "add.output.0": Reason.AMBIGUOUS, "if": Reason.NEVER_DUMPED}
    assert "add of then, add of else" in found.reasons[0].words


def test_pairs_stand_in_the_order_of_execution_not_of_the_file(tmp_path):
    ops = [op(f"n{number}", "Abs", [f"n{number + 1}:0"] if number < 4 else [],
              originals=[f"n{number}"]) for number in range(5)]
    path = graph(tmp_path / "ge_proto_00000001_graph_1_Build.txt", ops)
    for side in "ab":
        for number in range(5):
            dump(tmp_path / side, "Abs", f"n{number}", [ONE])
    found = compare(tmp_path / "a", tmp_path / "b", map=path)
    assert names(found) == [f"n{number}.output.0" for number in (4, 3, 2, 1, 0)]


def test_cycles_and_graphs_that_run_one_another_end(tmp_path):
    ring = [op("a", "Abs", ["b:0"], originals=["a"], subgraphs=["one"]),
            op("b", "Abs", ["a:0"], originals=["b"], subgraphs=["two", "root"])]
    path = graph(tmp_path / "ge_proto_00000001_graph_1_Build.txt", ring,
                 one=[op("c", "If", subgraphs=["two", "one"])],
                 two=[op("d", "If", subgraphs=["one", "root"]),
                      op("data", "Data", attrs='attr { key: "_parent_node_index" '
                         'value { i: 0 } }'),
                      op("e", "Abs", ["data:0"], originals=["e"])],
                 lost=[op("f", "Abs", ["f:0"], originals=["f"])])
    for side in "ab":
        for name in "abef":
            dump(tmp_path / side, "Abs", name, [ONE], [ONE])
    found = compare(tmp_path / "a", tmp_path / "b", map=path, against_map=path)
    assert {pair.name for pair in found.pairs} >= {
        f"{name}.output.0" for name in "abef"}


def test_the_original_layout_comes_from_the_graph_where_the_file_lacks_it(tmp_path):
    array = np.arange(16 ** 3, dtype=np.float32).reshape(1, 16, 16, 16)
    dumped = np.ascontiguousarray(
        array.reshape(1, 16, 16, 1, 16).transpose(0, 3, 1, 2, 4))
    part = item(dumped, format="NC1HWC0", origin_shape=array.shape,
                has_origin_shape=True)
    dump(tmp_path / "a", "Conv", "c", [part])
    dump(tmp_path / "b", "Conv", "c", [item(array, format="NHWC")])
    without = compare(tmp_path / "a", tmp_path / "b")
    assert without.pairs[0].status is Status.FORMAT_MISMATCH
    assert "both fit" in without.pairs[0].notes[0]
    path = graph(tmp_path / "ge_proto_00000001_graph_1_Build.txt",
                 [op("c", "Conv", originals=["c"], layout="NHWC")])
    assert statuses(compare(tmp_path / "a", tmp_path / "b", map=path)) == ["equal"]


def test_a_reference_is_found_by_the_original_operator(tmp_path):
    a, b, graph_a, graph_b = fused_pair(tmp_path, off=1e-3)
    truth = tmp_path / "r"
    truth.mkdir()
    np.save(str(truth / f"exp.0.{TIME}.npy"), np.ones((2, 4)))
    found = compare(a, b, map=graph_a, against_map=graph_b, reference=truth)
    pair = next(each for each in found.pairs if "exp.output" in each.name)
    assert pair.b_errors is not None
    other = next(each for each in found.pairs if each.name == "max.output.0")
    assert "the reference has no tensor of this name" in other.notes


@pytest.mark.parametrize(("content", "words"), [
    (b"", "cannot read the graph"), (b"\x00\x01\x02" * 50, "cannot read the graph"),
    (b'name: "m"\ngraph {\n  name: "g"\n}\n', "graph")])
def test_a_graph_that_cannot_be_used_is_one_line(tmp_path, content, words):
    dump(tmp_path / "a", "Add", "add", [ONE])
    path = tmp_path / "ge_proto_00000001_graph_1_Build.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=words) as caught:
        compare(tmp_path / "a", tmp_path / "a", map=path)
    assert str(path) in str(caught.value)
    with pytest.raises(UsageError, match="cannot read the graph"):
        compare(tmp_path / "a", tmp_path / "a", map=tmp_path / "gone.txt")


@needs_shared
@pytest.mark.parametrize("name", [
    "run_20230713/ge_proto_00000001_Build.txt", "train_2020/ge_proto_00056_Build.txt",
    "run_20230713/ge_onnx_00000001_graph_11_Build.pbtxt", "atc_json/model.json",
    "single_subgraph/origin.txt", "resnet50_fe/ge_proto_00046_afterUBMatch.txt"])
def test_graphs_of_real_runs_map_every_operator_onto_itself(tmp_path, name):
    path = SAMPLES / name
    for _, node in dumps.read(path).walk():
        for side in "ab":
            dump(tmp_path / side, node.type, node.name, [ONE] * len(node.output_descs))
    found = compare(tmp_path / "a", tmp_path / "b", map=path, against_map=path)
    assert set(statuses(found)) == {"equal"}
    assert all(" = " not in pair.name for pair in found.pairs)
    assert {each.reason for each in found.reasons} <= {Reason.NEVER_DUMPED}
    assert found.verdict is Verdict.AGREES
