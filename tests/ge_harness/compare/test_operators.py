"""Dumps of operators side by side: files, folders, names and layouts."""

from __future__ import annotations

import os

import numpy as np
import pytest

from dumps.data_dump import DataItem
from ge_harness.compare.folder import places_document
from ge_harness.errors import UsageError
from ge_harness.records import serialize
from ge_harness.records.comparison import Status, Verdict
from ge_harness.records.operators import Reason
from tests.ge_harness.compare.operator_folders import (
    FOLDERS,
    TIME,
    compare,
    dump,
    item,
    names,
    reasons,
    statuses,
)

ONE = np.float32([1, 2, 3])
TWO = np.float32([1, 2, 4])


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
