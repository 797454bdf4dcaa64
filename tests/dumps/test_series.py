"""A folder of dumps becomes runs, graphs and ordered stages, each with its changes."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

import dumps
from dumps.discover import discover
from dumps.errors import DumpError
from dumps.series import read_series
from tests.dumps.series_text import GRAPH, make_series, node
from tests.shared import SAMPLES, needs_shared

DATA = Path(__file__).resolve().parents[1] / "data" / "dumps" / "series"


def series(path):
    files, _ = discover(path)
    return read_series([file for file in files if file.kind == "graph"], dumps.read)


def write(folder, name, nodes=None, graph=GRAPH):
    folder.mkdir(parents=True, exist_ok=True)
    nodes = nodes or [node("x", "Data"), node("out", "NetOutput", ["x"])]
    (folder / name).write_text(make_series.model(graph, nodes))


def test_the_changes_of_the_kept_series_are_these_and_no_others():
    (graph,) = series(DATA).graphs
    assert [(stage.serial, stage.name, stage.is_known) for stage in graph.stages] == [
        (3, "PreRunBegin", True), (10, "PreRunAfterPrepare", True),
        (11, "OptimizeOriginalGraph_FeGraphFusionAfter", True),
        (12, "OptimizeOriginalGraph_FeOpDtypeJudgeAfter", True),
        (13, "AutofuseOptimize_Entry", True), (14, "AutoFuser_AfterLowering", True),
        (15, "AutofuseOptimize_Exit", True), (16, "OptimizeStage1_1", True),
        (100, "OptimizeStage1_2", True), (101, "VendorStage", False),
        (102, "Build", True)]
    said = {stage.name: _say(stage.changes) for stage in graph.stages
            if stage.changes.total}
    assert said == {
        "OptimizeOriginalGraph_FeGraphFusionAfter": ["div for div_muls"],
        "OptimizeOriginalGraph_FeOpDtypeJudgeAfter": ["scale: dtype"],
        "AutoFuser_AfterLowering": [
            "add+relu in autofuse_pointwise_0_Add_Relu"],
        "OptimizeStage1_2": ["-up", "-down",
                             "trans_TransData_7 is downtrans_TransData_7"],
        "Build": ["join: attributes"],
    }
    assert [stage.node_count for stage in graph.stages] == [
        11, 11, 11, 11, 11, 10, 10, 10, 8, 8, 8]


def _say(changes):
    said = [f"+{ref.name}" for ref in changes.added]
    said += [f"-{ref.name}" for ref in changes.removed]
    said += [f"{each.old_name} is {each.node.name}" for each in changes.renamed]
    said += ["+".join(ref.name for ref in each.originals) + f" in {each.node.name}"
             for each in changes.fused]
    said += ["+".join(ref.name for ref in each.before) + " for "
             + "+".join(ref.name for ref in each.after) for each in changes.replaced]
    return said + [f"{each.node.name}: {', '.join(each.what)}"
                   for each in changes.changed]


def test_the_script_still_writes_the_kept_series(tmp_path):
    make_series.small(tmp_path)
    for path in sorted(tmp_path.rglob("*.*")):
        if path.is_file():
            kept = DATA / path.relative_to(tmp_path)
            assert path.read_bytes() == kept.read_bytes()


def test_order_is_by_number_and_not_by_spelling(tmp_path):
    for serial in ("00000009", "00000010", "00000100"):
        write(tmp_path, f"ge_proto_{serial}_graph_1_S{int(serial)}.txt")
    write(tmp_path, "ge_proto_00002_graph_1_S2.txt")
    (graph,) = series(tmp_path).graphs
    assert [stage.name for stage in graph.stages] == ["S2", "S9", "S10", "S100"]


def test_equal_serials_stay_beside_each_other(tmp_path):
    write(tmp_path, "ge_proto_00000001_graph_1_Build.txt")
    write(tmp_path, "ge_proto_00000001_graph_1_PreRunBegin.txt")
    write(tmp_path, "ge_proto_00000001_graph_2_Build.txt", graph="other")
    found = series(tmp_path).graphs
    assert [[stage.name for stage in graph.stages] for graph in found] == [
        ["Build", "PreRunBegin"], ["Build"]]


def test_processes_and_graphs_stay_apart(tmp_path):
    for pid in (7, 8):
        for graph in (1, 11):
            write(tmp_path / f"pid_{pid}_deviceid_0",
                  f"ge_proto_00000001_graph_{graph}_Build.txt", graph=f"g_{graph}")
    found = series(tmp_path).graphs
    assert [(graph.run, graph.name, len(graph.stages)) for graph in found] == [
        ("pid 7, device 0", "g_1", 1), ("pid 7, device 0", "g_11", 1),
        ("pid 8, device 0", "g_1", 1), ("pid 8, device 0", "g_11", 1)]


def test_packed_files_are_read_like_others(tmp_path):
    shutil.copytree(str(DATA), str(tmp_path / "series"))
    for path in sorted((tmp_path / "series").rglob("*.txt")):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    plain, packed = series(DATA).graphs[0], series(tmp_path).graphs[0]
    assert [(s.name, s.node_count, _say(s.changes)) for s in packed.stages] == [
        (s.name, s.node_count, _say(s.changes)) for s in plain.stages]


def test_a_damaged_stage_is_left_out_and_said(tmp_path):
    write(tmp_path, "ge_proto_00000001_graph_1_PreRunBegin.txt")
    (tmp_path / "ge_proto_00000002_graph_1_Build.txt").write_bytes(b"\0" * 100)
    found = series(tmp_path)
    assert [stage.name for stage in found.graphs[0].stages] == ["PreRunBegin"]
    assert len(found.unreadable) == 1
    assert "ge_proto_00000002" in found.warnings[0].path


def test_a_subgraph_dump_is_not_compared_with_its_parent(tmp_path):
    write(tmp_path, "ge_proto_00000001_graph_1_AutoFuser_BeforeAutoFuse.txt")
    write(tmp_path, "ge_proto_00000002_graph_1_AutoFuser_BeforeAutoFuse_Subgraph.txt",
          graph="body")
    write(tmp_path, "ge_proto_00000003_graph_1_AutoFuser_AfterAllFuse.txt")
    found = series(tmp_path).graphs
    assert [(graph.name, len(graph.stages)) for graph in found] == [
        (GRAPH, 2), ("body", 1)]


def test_a_dump_of_a_failed_step_says_so(tmp_path):
    write(tmp_path, "ge_proto_00000001_graph_1_"
                    "OptimizeOriginalGraph_FeOpDtypeJudgeAfter_Failed.txt")
    write(tmp_path, "ge_proto_00000002_graph_1_InferShapeBlackBox.txt")
    write(tmp_path, "ge_proto_00000003_graph_1_Build.txt")
    (graph,) = series(tmp_path).graphs
    assert [stage.is_failure for stage in graph.stages] == [True, True, False]


def test_a_missing_path_is_a_dump_error(tmp_path):
    with pytest.raises(DumpError):
        discover(tmp_path / "missing")


def test_many_interleaved_graphs_are_each_compared_with_their_own_last_stage(tmp_path):
    for stage in range(3):
        for graph in range(8):
            nodes = [node("x", "Data"), node(f"a{graph}", "Abs", ["x"], attrs={
                "k": stage}), node("out", "NetOutput", [f"a{graph}"])]
            write(tmp_path, f"ge_proto_{stage * 8 + graph:08d}_graph_{graph}_S.txt",
                  nodes, graph=f"g{graph}")
    for graph in series(tmp_path).graphs:
        assert [_say(stage.changes) for stage in graph.stages] == [
            [], [f"a{graph.graph_id}: attributes"], [f"a{graph.graph_id}: attributes"]]


@needs_shared
def test_formats_of_one_stage_are_joined_though_one_name_lacks_the_graph_id():
    found = series(SAMPLES / "run_20230713").graphs
    assert [(graph.name, graph.session, [(stage.node_count, stage.format,
                                          len(stage.twins)) for stage in graph.stages])
            for graph in found] == [
        ("ge_default_20230713074122_1", "0", [(6, "ge_proto", 1)]),
        ("ge_default_20230713074125_11", "0", [(18, "ge_proto", 1)])]
    assert dict(found[0].stages[0].ops) == {
        "Variable": 2, "Constant": 1, "Assign": 1, "NoOp": 1, "NetOutput": 1}
    assert len(found[1].stages[0].subgraphs) == 4


@needs_shared
def test_two_files_of_different_names_with_one_serial_order_are_not_joined(tmp_path):
    folder = SAMPLES / "run_20230713"
    shutil.copy(str(folder / "ge_proto_00000000_Build.txt"), str(tmp_path))
    shutil.copy(str(folder / "ge_onnx_00000001_graph_11_Build.pbtxt"), str(tmp_path))
    found = series(tmp_path).graphs
    assert sorted(graph.name for graph in found) == [
        "ge_default_20230713074122_1", "ge_default_20230713074125_11"]
    assert [stage.twins for graph in found for stage in graph.stages] == [(), ()]
