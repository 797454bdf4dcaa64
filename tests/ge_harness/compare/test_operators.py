"""Dumps of operators side by side: what is paired, what is named and why."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dumps
from dumps.data_dump import DataItem
from ge_harness.compare.folder import Plan, compare_places, places_document
from ge_harness.errors import UsageError
from ge_harness.records import serialize
from ge_harness.records.comparison import Status, Verdict
from ge_harness.records.operators import Reason
from tests.ge_harness.compare.operator_folders import (
    FOLDERS,
    TIME,
    dump,
    fused_pair,
    graph,
    item,
    op,
)
from tests.shared import SAMPLES, needs_shared

ONE = np.float32([1, 2, 3])
TWO = np.float32([1, 2, 4])


def compare(a, b, **more):
    return compare_places(Plan(Path(a), Path(b), **more))


def names(found):
    return [pair.name for pair in found.pairs]


def statuses(found):
    return [pair.status.value for pair in found.pairs]


def reasons(found, side):
    return {each.name: each.reason for each in found.reasons if each.side == side}


def test_two_dump_files_belong_together_whatever_they_are_called(tmp_path):
    a = dump(tmp_path / "a", "AscBackend", "autofuse_1", [ONE], [TWO])
    b = dump(tmp_path / "b", "Add", "add", [TWO], [TWO])
    found = compare(a, b)
    assert statuses(found) == ["equal", "differs"]
    assert names(found) == ["autofuse_1.input.0", "autofuse_1.output.0"]
    assert found.verdict is Verdict.DIFFERS
    assert not found.reasons


def test_a_dump_file_against_a_npy_takes_the_only_output_or_the_one_named(tmp_path):
    a = dump(tmp_path / "a", "Split", "s", [ONE], [TWO])
    np.save(str(tmp_path / "y.npy"), ONE)
    assert statuses(compare(a, tmp_path / "y.npy")) == ["equal"]
    assert statuses(compare(tmp_path / "y.npy", a)) == ["equal"]
    both = dump(tmp_path / "b", "Split", "s", [ONE, TWO])
    with pytest.raises(UsageError, match=r"output\.0, output\.1"):
        compare(both, tmp_path / "y.npy")
    np.save(str(tmp_path / "s.output.1.npy"), TWO)
    assert statuses(compare(both, tmp_path / "s.output.1.npy")) == ["equal"]


def test_folders_are_matched_by_operator_past_times_devices_and_models(tmp_path):
    for side, folders in (("a", FOLDERS), ("b", "20270106120000/5/other_model/9/0")):
        dump(tmp_path / side / folders, "Add", "add_1", [ONE])
        dump(tmp_path / side / folders, "Mul", "mul_1", [ONE, TWO], time=TIME + 7)
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["add_1.output.0", "mul_1.output.0", "mul_1.output.1"]
    assert found.verdict is Verdict.AGREES
    assert found.has_operators


def test_a_leaf_folder_is_matched_with_a_whole_tree(tmp_path):
    dump(tmp_path / "a" / FOLDERS, "Add", "add_1", [ONE])
    dump(tmp_path / "b", "Add", "add_1", [ONE])
    assert compare(tmp_path / "a", tmp_path / "b").verdict is Verdict.AGREES


def test_steps_are_kept_apart_and_a_missing_one_is_named(tmp_path):
    for step, value in (("0", ONE), ("1", TWO)):
        for side in "ab":
            dump(tmp_path / side / f"20260106120000/0/m/1/{step}", "Add", "add",
                 [value])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["0/add.output.0", "1/add.output.0"]
    assert found.verdict is Verdict.AGREES
    dump(tmp_path / "a" / "20260106120000/0/m/1/2", "Add", "add", [ONE])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert reasons(found, "a") == {"2/add.output.0": Reason.NO_STEP}
    assert found.verdict is Verdict.DIFFERS
    dump(tmp_path / "c" / "20260106120000/0/m/1/1", "Add", "add", [TWO])
    found = compare(tmp_path / "b", tmp_path / "c")
    assert names(found) == ["1/add.output.0"]
    assert reasons(found, "a") == {"0/add.output.0": Reason.NO_STEP}


def test_iterations_of_a_loop_are_paired_in_order_of_time(tmp_path):
    for side, values in (("a", (ONE, TWO)), ("b", (ONE, ONE))):
        for number, value in enumerate(values):
            dump(tmp_path / side, "Add", "add", [value], time=TIME + 10 * number)
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["add.output.0 #1", "add.output.0 #2"]
    assert statuses(found) == ["equal", "differs"]
    assert "dump 2 of 2" in found.pairs[1].notes[0]


def test_several_dumps_against_one_are_named_and_none_is_taken(tmp_path):
    for folder in ("20260106120000", "20260107120000"):
        dump(tmp_path / "a" / folder / "0", "Add", "add", [ONE])
        dump(tmp_path / "a" / folder / "0", "Mul", "mul", [ONE])
    dump(tmp_path / "b", "Add", "add", [ONE])
    dump(tmp_path / "b", "Sub", "sub", [ONE])
    with pytest.raises(UsageError, match=r"no operator of .* --map"):
        compare(tmp_path / "a", tmp_path / "b")
    dump(tmp_path / "a" / "20260106120000" / "0", "Sub", "sub", [ONE])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["sub.output.0"]
    assert reasons(found, "a")["add.output.0"] is Reason.AMBIGUOUS
    words = next(each.words for each in found.reasons if each.name == "add.output.0")
    assert "2 dumps of it in A, 1 in B" in words
    assert "20260106120000" in words
    assert found.verdict is not Verdict.AGREES


def test_names_that_only_escaping_makes_equal_are_told_apart_by_the_files(tmp_path):
    for side in "ab":
        dump(tmp_path / side, "Add", "x/y", [ONE], time=TIME)
        dump(tmp_path / side, "Add", "x_y", [TWO], time=TIME + 1)
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["x/y.output.0", "x_y.output.0"]
    assert found.verdict is Verdict.AGREES


def test_dumps_against_converted_and_golden_npy(tmp_path):
    dump(tmp_path / "a", "Add", "scope/add", [ONE, TWO], [ONE])
    dump(tmp_path / "a", "Mul", "mul", [np.float32(5)])
    (tmp_path / "b").mkdir()
    for name, value in (
            (f"Add.scope_add.4.5.{TIME + 99}.output.0.npy", ONE),
            (f"scope_add.1.{TIME + 50}.npy", TWO),
            (f"Add.scope_add.4.5.{TIME + 99}.input.0.npy", ONE),
            (f"Mul.mul.4.5.{TIME + 99}.output.0.npy", np.float32([5]))):
        np.save(str(tmp_path / "b" / name), value)
    for a, b in (("a", "b"), ("b", "a")):
        found = compare(tmp_path / a, tmp_path / b)
        assert sorted(statuses(found)) == ["equal"] * 4
        assert found.verdict is Verdict.AGREES
        assert any("taken off" in note for pair in found.pairs for note in pair.notes)


def test_converted_folders_with_other_times_are_matched_too(tmp_path):
    for side, time in (("a", TIME), ("b", TIME + 12345)):
        (tmp_path / side).mkdir()
        np.save(str(tmp_path / side / f"Add.add.1.2.{time}.output.0.npy"), ONE)
    assert names(compare(tmp_path / "a", tmp_path / "b")) == ["add.output.0"]


def test_members_of_an_archive_named_after_operators(tmp_path):
    dump(tmp_path / "a", "Add", "add", [ONE])
    (tmp_path / "b").mkdir()
    np.savez(str(tmp_path / "b" / "golden.npz"), **{"add": ONE})
    assert statuses(compare(tmp_path / "a", tmp_path / "b")) == ["equal"]


def test_a_missing_tensor_is_a_difference(tmp_path):
    dump(tmp_path / "a", "Add", "add", [ONE])
    dump(tmp_path / "b", "Add", "add", [ONE, TWO])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found.only_b == ("add.output.1",)
    assert reasons(found, "b") == {"add.output.1": Reason.NO_COUNTERPART}
    assert found.verdict is Verdict.DIFFERS


def test_a_damaged_dump_does_not_keep_the_others_from_being_compared(tmp_path):
    for side in "ab":
        dump(tmp_path / side, "Add", "add", [ONE])
        dump(tmp_path / side, "Mul", "mul", [ONE])
        dump(tmp_path / side, "Sub", "sub", [ONE])
    bad = next((tmp_path / "a").glob("Mul.*"))
    bad.write_bytes(bad.read_bytes()[:20])
    short = next((tmp_path / "b").glob("Sub.*"))
    short.write_bytes(short.read_bytes()[:-4])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert statuses(found) == ["equal", "unreadable", "unreadable"]
    assert str(bad) in found.pairs[1].notes[0]
    assert str(short) in found.pairs[2].notes[0]
    assert found.verdict is Verdict.UNDECIDED


def test_a_single_damaged_dump_is_one_line(tmp_path):
    a = dump(tmp_path / "a", "Add", "add", [ONE])
    b = dump(tmp_path / "b", "Add", "add", [ONE])
    b.write_bytes(b.read_bytes()[:30])
    with pytest.raises(UsageError, match=r"Add\.add.*expected") as caught:
        compare(a, b)
    assert "\n" not in str(caught.value)


def test_long_names_come_from_the_mapping_and_hostile_ones_stay_text(tmp_path):
    for side in "ab":
        path = dump(tmp_path / side, "Add", "scope/add", [ONE], exact=False)
        path.rename(path.parent / "14695981039346656037")
        (tmp_path / side / "mapping.csv").write_text(
            f"14695981039346656037,../../../etc/Add.scope_add.1.2.{TIME}\n")
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["scope_add.output.0"]


def test_a_hashed_name_without_a_mapping_takes_the_name_from_the_header(tmp_path):
    for side in "ab":
        path = dump(tmp_path / side, "Add", "scope/add", [ONE])
        path.rename(path.parent / "14695981039346656037")
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["scope/add.output.0"]


def test_overflow_records_statistics_and_other_files_are_left_out(tmp_path):
    for side in "ab":
        dump(tmp_path / side, "Add", "add", [ONE])
        dump(tmp_path / side, "Opdebug", "Node_OpDebug", [np.uint8([1])])
        (tmp_path / side / f"Add.add.1.2.{TIME}.csv").write_text("x")
        (tmp_path / side / "readme").write_text("hello there, no dump at all")
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["add.output.0"]
    assert len(found.skipped) == 6


def test_a_nan_never_passes_against_a_number_and_is_said_where_both_have_it(tmp_path):
    nan = np.float32([1, np.nan, 3])
    dump(tmp_path / "a", "Add", "add", [nan])
    dump(tmp_path / "b", "Add", "add", [ONE])
    dump(tmp_path / "c", "Add", "add", [nan])
    for first, second in ("ab", "ba"):
        found = compare(tmp_path / first, tmp_path / second, standards=("ulp:99999",))
        assert found.pairs[0].status is Status.KIND_MISMATCH
        assert found.verdict is Verdict.DIFFERS
    same = compare(tmp_path / "a", tmp_path / "c")
    assert "1 of 3 elements are NaN on both sides" in same.pairs[0].notes[0]


def test_other_dtypes_are_a_status(tmp_path):
    dump(tmp_path / "a", "Add", "add", [ONE])
    dump(tmp_path / "b", "Add", "add", [ONE.astype(np.float16)])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found.pairs[0].status is Status.DTYPE_MISMATCH
    bits = np.uint16([0x3F80, 0x4000])
    for side, value in (("c", (bits, "bfloat16")), ("d", bits)):
        dump(tmp_path / side, "Add", "add", [value])
    assert statuses(compare(tmp_path / "c", tmp_path / "c")) == ["equal"]
    assert statuses(compare(tmp_path / "c", tmp_path / "d")) == ["dtype_mismatch"]


def test_eight_bit_floats_are_compared_as_bits_and_that_is_said(tmp_path):
    one, two = (np.uint8([1, 2, last]) for last in (3, 4))
    for side, value in (("a", one), ("b", two)):
        dump(tmp_path / side, "Cast", "c", [(value, "float8_e5m2")])
    found = compare(tmp_path / "a", tmp_path / "b")
    pair = found.pairs[0]
    assert (pair.status, pair.dtype) == (Status.DIFFERS, "float8_e5m2")
    assert (pair.abs.max, pair.cosine) == (None, None)
    assert "as bits" in pair.notes[0]
    assert statuses(compare(tmp_path / "a", tmp_path / "a")) == ["equal"]


def test_device_layouts_are_turned_back_where_that_is_exact(tmp_path):
    plain = np.arange(6 * 5, dtype=np.float32).reshape(6, 5)
    padded = np.full((8, 8), 7, np.float32)
    padded[:6, :5] = plain
    blocks = padded.reshape(2, 4, 2, 4).transpose(2, 0, 1, 3)
    dump(tmp_path / "a", "MatMul", "m", [item(
        np.ascontiguousarray(blocks), format="FRACTAL_NZ", origin_shape=(6, 5),
        has_origin_shape=True)])
    dump(tmp_path / "b", "MatMul", "m", [plain])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert statuses(found) == ["equal"]
    assert "turned into ND" in found.pairs[0].notes[0]


def test_layouts_without_an_exact_way_are_a_status_and_undecided(tmp_path):
    array = np.zeros((1, 1, 4, 4), np.float32)
    dump(tmp_path / "a", "Conv", "c", [item(array, format="FRACTAL_ZZ")])
    dump(tmp_path / "b", "Conv", "c", [item(array, format="NCHW")])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found.pairs[0].status is Status.FORMAT_MISMATCH
    assert "FRACTAL_ZZ" in found.pairs[0].notes[0]
    assert found.verdict is Verdict.UNDECIDED
    same = compare(tmp_path / "a", tmp_path / "a")
    assert same.pairs[0].status is Status.EQUAL
    assert "padding included" in same.pairs[0].notes[0]


def test_plain_layouts_of_four_axes_are_turned_and_of_two_mean_nothing(tmp_path):
    array = np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4)
    turned = np.ascontiguousarray(array.transpose(0, 2, 3, 1))
    dump(tmp_path / "a", "Conv", "c", [item(array, format="NCHW"),
                                       item(ONE, "output", 1, format="NHWC")])
    dump(tmp_path / "b", "Conv", "c", [item(turned, format="NHWC"),
                                       item(ONE, "output", 1, format="NCHW")])
    found = compare(tmp_path / "a", tmp_path / "b")
    assert statuses(found) == ["equal", "equal"]
    assert "turned from NCHW to NHWC" in found.pairs[0].notes[0]


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


def test_folders_without_dumps_or_graphs_are_matched_as_before(tmp_path):
    for side in "ab":
        (tmp_path / side / "sub").mkdir(parents=True)
        np.save(str(tmp_path / side / "sub" / "x.npy"), ONE)
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == ["sub/x"]
    assert not found.has_operators
    with pytest.raises(UsageError, match="folder with a file"):
        compare(tmp_path / "a", dump(tmp_path / "c", "Add", "add", [ONE]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_pipes_and_links_in_circles_are_not_waited_for(tmp_path):
    dump(tmp_path / "a", "Add", "add", [ONE])
    for name in (f"Mul.mul.1.2.{TIME}", "x.npy", "14695981039346656037"):
        os.mkfifo(str(tmp_path / "a" / name))
    (tmp_path / "a" / "round").symlink_to(tmp_path / "a")
    found = compare(tmp_path / "a", tmp_path / "a")
    assert dict(zip(names(found), statuses(found))) == {
        "add.output.0": "equal", "mul.output.0": "unreadable",
        "x.output.0": "unreadable"}
    os.mkfifo(str(tmp_path / "pipe"))
    single = next((tmp_path / "a").glob("Add.*"))
    with pytest.raises(UsageError, match="pipe"):
        compare(single, tmp_path / "pipe")


@pytest.mark.skipif(os.name == "nt", reason="names are text on this system")
def test_names_that_are_no_text_reach_a_document(tmp_path):
    name = os.fsdecode(b"caf\xe9")
    for side in "ab":
        dump(tmp_path / side, "Add", name, [ONE], exact=False)
    found = compare(tmp_path / "a", tmp_path / "b")
    assert names(found) == [f"{name}.output.0"]
    assert "caf" in serialize.dumps("compare", places_document(found))


def test_an_item_of_nothing_is_no_tensor(tmp_path):
    nothing = (DataItem("output", 1), b"")
    for side in "ab":
        dump(tmp_path / side, "Add", "add", [item(ONE), nothing])
    assert names(compare(tmp_path / "a", tmp_path / "b")) == ["add.output.0"]


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
