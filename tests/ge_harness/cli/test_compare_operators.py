"""`compare` of data dumps on the command line, the emulator's own included."""

from __future__ import annotations

import contextlib
import io
import json
import sys

import numpy as np
import pytest

from ge_harness.backends.base import BackendFailure
from ge_harness.backends.emulator import data_dump, dump_files
from ge_harness.backends.emulator.backend import LABEL
from ge_harness.backends.emulator.execute import execute_plan
from ge_harness.backends.emulator.params import EmulatorParams
from ge_harness.cli import main
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.cases import REDUCE
from tests.ge_harness.backends.emulator.test_backend import run
from tests.ge_harness.compare.operator_folders import dump, fused_pair, graph, op


def told(*words):
    """Return exit status, standard output and standard error of `compare`."""
    out, err = io.StringIO(), io.StringIO()
    argv = sys.argv
    sys.argv = ["ge_harness", "compare", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main.main()
                status = 0
            except SystemExit as done:
                status = done.code or 0
    finally:
        sys.argv = argv
    return status, out.getvalue(), err.getvalue()


def emulated(folder, definition, flags):
    """Compile and run with dumps; return the Build dump and the data dumps."""
    found = cases.compiled(definition, flags)
    dump_files.write(found, folder, {})
    watch = data_dump.KernelDump(folder / "dump", found.stages[-1][1].name, LABEL)
    rng = np.random.RandomState(3)
    feeds = {name: rng.uniform(-4, 4, desc.shape).astype(desc.dtype)
             for name, _, desc in found.plan.inputs}
    execute_plan(found.plan, feeds, EmulatorParams(), watch)
    return next(folder.glob("ge_proto_*_1_Build.txt")), folder / "dump"


def test_the_emulators_fused_operator_is_found_and_explained(tmp_path):
    graph_a, a = emulated(tmp_path / "a", cases.softmax(), cases.REDUCE)
    graph_b, b = emulated(tmp_path / "b", cases.softmax(), "")
    maps = (f"--map={graph_a}", f"--against-map={graph_b}")
    status, out, err = told(a, b, *maps)
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[:2] == [f"side A: {LABEL}", f"side B: {LABEL}"]
    assert lines[2].startswith(
        "look first at autofuse_4_Sub_Exp_ReduceSum (AscBackend): number ")
    assert "  stands for: sub (Sub), exp (Exp), sum (Sum)" in lines
    assert "  its inputs agree, so the difference arises in it" in lines
    assert "only in B, fused_inside" in out
    assert told(a, b, *maps, "--standard=ulp:64")[0] == 0
    status, out, _ = told(b, b, maps[1].replace("--against-map", "--map"), maps[1])
    assert status == 0
    assert "look first" not in out


def test_without_graphs_fused_operators_have_no_counterpart(tmp_path):
    _, a = emulated(tmp_path / "a", cases.softmax(), cases.REDUCE)
    _, b = emulated(tmp_path / "b", cases.softmax(), "")
    status, out, _ = told(a, b)
    assert status == 1
    assert "only in A, no_counterpart" in out
    assert "  autofuse_4_Sub_Exp_ReduceSum.output.0: " in out


def test_equal_runs_of_the_emulator_dump_equal_bytes(tmp_path):
    for name in "ab":
        emulated(tmp_path / name, cases.layer_norm(), cases.REDUCE)
    files = [sorted((tmp_path / name / "dump").rglob("*.*.*.*")) for name in "ab"]
    assert files[0]
    assert [path.read_bytes() for path in files[0]] == [
        path.read_bytes() for path in files[1]]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]


def test_a_run_of_the_emulator_dumps_its_first_step_where_asked(tmp_path):
    for name, flags, options in (("a", REDUCE, (("data_dump", "tensor"),)),
                                 ("b", "", (("data_dump", "tensor"),)), ("c", "", ())):
        run(cases.softmax(), tmp_path / name, flags, options=options)
    folders = [tmp_path / name / "job" / "dumps" for name in "abc"]
    maps = [next(folder.glob("ge_proto_*_1_Build.txt")) for folder in folders[:2]]
    assert not (folders[2] / "dump").exists()
    status, out, _ = told(folders[0] / "dump", folders[1] / "dump", f"--map={maps[0]}",
                          f"--against-map={maps[1]}", "--json")
    document = json.loads(out)
    assert status == 1
    assert document["labels"] == {"a": LABEL, "b": LABEL}
    assert document["first_difference"]["operator"] == "autofuse_4_Sub_Exp_ReduceSum"
    with pytest.raises(BackendFailure, match="tensors only"):
        run(cases.softmax(), tmp_path / "d", options=(("data_dump", "stats"),))


def test_json_names_reasons_and_the_first_difference(tmp_path):
    a, b, graph_a, graph_b = fused_pair(tmp_path, off=1e-3)
    status, out, _ = told(a, b, f"--map={graph_a}", f"--against-map={graph_b}",
                          "--json")
    document = json.loads(out)
    assert status == 1
    assert document["first_difference"]["inputs_state"] == "agree"
    assert {each["reason"] for each in document["unmatched"]["reasons"]} == {
        "fused_inside", "never_dumped"}
    assert document["unmatched"]["a"] == []


def test_a_missing_dump_is_undecided_and_not_ok(tmp_path):
    a, b, graph_a, graph_b = fused_pair(tmp_path)
    for path in b.rglob("Exp.exp.*"):
        path.unlink()
    for path in b.rglob("ReduceSum.sum.*"):
        path.unlink()
    for path in b.rglob("RealDiv.y.*"):
        path.unlink()
    status, out, _ = told(a, b, f"--map={graph_a}", f"--against-map={graph_b}")
    assert status == 4
    assert "counterpart_not_dumped" in out
    assert "verdict: undecided" in out


def test_junit_names_what_one_side_lacks(tmp_path):
    dump(tmp_path / "a", "Add", "add", [np.float32([1])])
    dump(tmp_path / "b", "Add", "add", [np.float32([1]), np.float32([2])])
    status, _, _ = told(tmp_path / "a", tmp_path / "b", f"--junit={tmp_path / 'o.xml'}")
    assert status == 1
    assert 'classname="add.output.1"' in (tmp_path / "o.xml").read_text()


def test_of_many_pairs_only_those_that_are_not_equal_are_shown(tmp_path):
    for number in range(60):
        for side in "ab":
            off = side == "a" and number == 7
            dump(tmp_path / side, "Add", f"n{number}", [np.float32([1 + off])])
    status, out, _ = told(tmp_path / "a", tmp_path / "b")
    assert status == 1
    assert "59 pairs are equal, bit for bit, and not shown" in out
    assert "n8.output.0" not in out
    assert "n7.output.0: 1 of 1 elements differ" in out
    for number in range(60):
        dump(tmp_path / "a", "Add", f"n{number}", [np.float32([3])])
    status, out, _ = told(tmp_path / "a", tmp_path / "b")
    assert status == 1
    assert "20 more that are not equal are not shown; --json has them all" in out
    assert out.count(" elements differ") == 40


def test_names_from_dumps_and_graphs_reach_no_terminal_as_they_are(tmp_path):
    name = "x\x1b[31m\u202e"
    path = graph(tmp_path / "ge_proto_00000001_graph_1_Build.txt", [
        op("x\\033[31m\\342\\200\\256", "Add\\033[2J", originals=["p\\033[1m", "q"],
           passes=["P\\033c"])])
    for side, value in (("a", 1), ("b", 2)):
        dump(tmp_path / side, "Add", name, [np.float32([value])])
    status, out, err = told(tmp_path / "a", tmp_path / "b", f"--map={path}",
                            f"--against-map={path}")
    assert status == 1
    for character in ("\x1b", "\u202e"):
        assert character not in out + err
    assert "look first at x\\x1b[31m" in out


@pytest.mark.parametrize("words", [("a", "b"), ("b", "a")])
def test_a_dump_file_and_an_array_on_the_command_line(tmp_path, words):
    path = dump(tmp_path, "Add", "add", [np.float32([1, 2])])
    path.rename(tmp_path / "a")
    np.save(str(tmp_path / "b.npy"), np.float32([1, 2]))
    (tmp_path / "b.npy").rename(tmp_path / "b")
    places = [tmp_path / word for word in words]
    status, out, err = told(*places)
    assert (status, err) == (0, "")
    assert "verdict: agrees" in out
