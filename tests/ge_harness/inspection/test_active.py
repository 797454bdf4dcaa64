"""Active passes: which, shown by what, touching what, and what that means."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dumps.errors import DumpError
from ge_harness import catalogue
from ge_harness.inspection.document import document
from ge_harness.inspection.for_run import active_passes
from ge_harness.inspection.gather import gather
from ge_harness.inspection.scope import Scopes
from ge_harness.inspection.verdict import is_floating, judge
from tests.dumps.series_text import GRAPH, make_series, node
from tests.shared import SAMPLES, needs_shared

DATA = Path(__file__).resolve().parents[2] / "data" / "dumps"
SERIES = DATA / "series"


def by_name(found):
    return {(each.family, each.name): each for each in found.passes.active}


def write(folder, stages, graph=GRAPH):
    for serial, (stage, nodes) in enumerate(stages):
        name = f"ge_proto_{serial:08d}_graph_1_{stage}.txt"
        (folder / name).write_text(make_series.model(graph, nodes, serial * 10))


def test_the_passes_of_the_kept_series_are_these_and_no_others():
    found = gather(SERIES)
    assert {key: (each.strength, each.standing, each.verdict, each.ops, each.dtypes)
            for key, each in by_name(found).items()} == {
        ("ge", "AutoFusePass"): (
            "stage difference", "seen, undeclared", "precision-affecting",
            ("Add", "AscBackend", "Relu"), ("float16",)),
        ("ge", "CastRemovePass"): (
            "stage difference", "seen, undeclared", "precision-affecting",
            ("Cast", "TransData"), ("float16", "float32")),
        ("ge", "FeOpDtypeJudge"): (
            "stage difference", "seen, undeclared", "precision-affecting", ("Mul",),
            ("float16", "float32")),
        ("graph_fusion", "RealDiv2MulsFusionPass"): (
            "stage difference", "declared and seen", "precision-affecting",
            ("Muls", "RealDiv"), ("float16",)),
        ("grappler", "arithmetic_optimization"): (
            "attribute", "seen, undeclared", "precision-affecting", ("Square",),
            ("float16",)),
        ("ub_fusion", "FusionVirtualOpSetSwitch"): (
            "stage difference", "seen, undeclared", "bit-safe", ("ConcatD",),
            ("float16",)),
        ("ub_fusion", "TbeEltwiseFusionPass"): (
            "fusion_result", "declared, no trace", "undetermined", (), ()),
    }
    assert found.passes.matched_only == (("graph_fusion", "MulAddFusionPass", 1),)
    assert found.passes.unattributed == ()
    assert found.warnings == []


def test_a_stage_named_after_autofuse_does_not_prove_that_it_ran(tmp_path):
    nodes = [node("x", "Data"), node("a", "Abs", ["x"]),
             node("out", "NetOutput", ["a"])]
    write(tmp_path, [("AutofuseOptimize_Entry", nodes),
                     ("AutoFuser_AfterAllFuse", nodes),
                     ("AutofuseOptimize_Exit", nodes)])
    assert by_name(gather(tmp_path)) == {}


def test_a_change_that_names_nobody_is_kept_without_a_name(tmp_path):
    old = [node("x", "Data"), node("a", "Abs", ["x"]), node("out", "NetOutput", ["a"])]
    new = [node("x", "Data"), node("a", "Abs", ["x"]), node("e", "Exp", ["a"]),
           node("out", "NetOutput", ["e"])]
    write(tmp_path, [("PreRunBegin", old), ("Build", new)])
    found = gather(tmp_path)
    assert found.passes.active == ()
    (left,) = found.passes.unattributed
    assert (left.stage, dict(left.changes), left.ops) == ("Build", {"added": 1},
                                                          ("Exp",))


def test_a_name_inherited_from_replaced_nodes_is_not_counted_again(tmp_path):
    first = [node("x", "Data"), node("a", "Abs", ["x"], attrs={
        "pass_name": ["RealDiv2MulsFusionPass"]}), node("b", "Exp", ["a"]),
        node("out", "NetOutput", ["b"])]
    second = [node("x", "Data"), node("f", "AscBackend", ["x"], originals=["a", "b"],
                                      attrs={"pass_name": ["RealDiv2MulsFusionPass"]}),
              node("out", "NetOutput", ["f"])]
    write(tmp_path, [("PreRunBegin", first), ("Build", second)])
    found = by_name(gather(tmp_path))
    assert [one.strength for one in
            found["graph_fusion", "RealDiv2MulsFusionPass"].evidence] == ["attribute"]
    assert ("ge", "AutoFusePass") in found


def test_a_pass_outside_the_catalogue_is_reported_as_unknown(tmp_path):
    nodes = [node("x", "Data"), node("a", "Abs", ["x"], attrs={
        "pass_name": ["RealDiv2MulsFusionPas"]}), node("out", "NetOutput", ["a"])]
    write(tmp_path, [("Build", nodes)])
    found = by_name(gather(tmp_path))["graph_fusion", "RealDiv2MulsFusionPas"]
    assert (found.known, found.precision_class, found.verdict) == (
        False, "unknown", "undetermined")
    assert "RealDiv2MulsFusionPass" in found.reason


def test_integers_alone_make_a_pass_of_any_class_bit_safe(tmp_path):
    nodes = [node("x", "Data", dtype="DT_INT32"),
             node("a", "Muls", ["x"], "DT_INT32", attrs={
                 "pass_name": ["RealDiv2MulsFusionPass"]}),
             node("out", "NetOutput", ["a"], "DT_INT32")]
    write(tmp_path, [("Build", nodes)])
    found = by_name(gather(tmp_path))["graph_fusion", "RealDiv2MulsFusionPass"]
    assert (found.verdict, found.standing) == ("bit-safe", "seen")
    assert "touched only int32" in found.reason


def test_a_trace_is_the_strongest_evidence_and_takes_dtypes_from_the_dumps(tmp_path):
    shutil.copytree(str(SERIES), str(tmp_path / "s"))
    trace = tmp_path / "s" / "extra-info" / "graph_trace" / "0"
    trace.mkdir(parents=True)
    lines = [f"GE:OptimizeStage1_2::CastRemovePass,delete,{GRAPH},up,owner_graph,,,g",
             f"FE:TbeEltwiseFusionPass,modify,{GRAPH},relu,type,,,x",
             f"OP:relu:infershape,modify,{GRAPH},relu,output_desc:0,,,x"]
    (trace / "trace_2026_1_2_001.txt").write_text("\r\n".join(lines) + "\r\n")
    found = by_name(gather(tmp_path))
    cast = found["ge", "CastRemovePass"]
    assert [one.strength for one in cast.evidence] == ["graph trace",
                                                       "stage difference"]
    fused = found["ub_fusion", "TbeEltwiseFusionPass"]
    assert (fused.standing, fused.verdict, fused.dtypes) == (
        "declared and seen", "precision-affecting", ("float16",))
    assert len(found) == 7


def test_a_log_line_is_the_weakest_evidence():
    found = gather(DATA / "evidence")
    passes = by_name(found)
    ran = passes["ge", "PermutePass"]
    assert (ran.strength, ran.standing) == ("log", "log only")
    assert not ran.evidence[0].shows_change
    assert passes["ge", "CastRemovePass"].strength == "graph trace"
    div = passes["graph_fusion", "RealDiv2MulsFusionPass"]
    assert [one.strength for one in div.evidence] == [
        "graph trace", "fusion_result", "log", "log"]
    assert (div.match_times, div.effect_times) == (4, 3)
    assert ("ge", "ConstantFoldingPass") in found.passes.disabled
    assert dict(found.passes.options)["ge.oo.level"] == "O3"


@needs_shared
def test_the_passes_of_a_real_log_are_named_with_the_log_as_evidence():
    found = gather(SAMPLES / "run_20230713")
    passes = by_name(found)
    assert len([key for key in passes if key[0] in ("graph_fusion", "ub_fusion")]) == 48
    for family, name in (("ge", "ConstantFoldingPass"), ("ge", "AtomicAddrCleanPass"),
                         ("graph_fusion", "RemoveCastFusionPass")):
        one = passes[family, name].evidence[0]
        assert one.strength == "log"
        assert "plog-370" in one.path
        assert one.line > 0
        assert name in one.text
    assert not any(each.verdict == "precision-affecting" for each in passes.values())
    assert found.warnings == []


@needs_shared
def test_attributes_of_a_real_dump_name_their_passes():
    found = by_name(gather(SAMPLES / "resnet50_fe" / "ge_proto_00046_afterUBMatch.txt"))
    assert all(each.strength == "attribute" for each in found.values())
    text = (SAMPLES / "resnet50_fe" / "ge_proto_00046_afterUBMatch.txt").read_text()
    for name in ("TbeCommonRules0FusionPass", "TbeConvDoubleInFusionPass"):
        shown = [key for key in found if key[1] == name]
        assert bool(shown) == (f'"{name}"' in text)


@pytest.mark.parametrize(("dtype", "floating"), [
    ("float16", True), ("bfloat16", True), ("float8_e4m3fn", True), ("complex64", True),
    ("int32", False), ("bool", False), ("uint8", False), ("string", False)])
def test_floating_point_is_told_from_the_rest(dtype, floating):
    assert is_floating(dtype) is floating


def test_a_class_alone_or_a_float_alone_is_no_verdict():
    upcast = catalogue.lookup("ge", "CastRemovePass")
    moved = catalogue.lookup("ge", "ConcatNotaskPass")
    assert judge(upcast, "", ["float16"], changed=True)[0] == "precision-affecting"
    assert judge(upcast, "", ["int8"], changed=True)[0] == "bit-safe"
    assert judge(upcast, "", [], changed=True)[0] == "undetermined"
    assert judge(upcast, "", ["float16"], changed=False)[0] == "undetermined"
    assert judge(moved, "", ["float16"], changed=True)[0] == "bit-safe"
    assert judge(None, "x", ["float16"], changed=True)[0] == "undetermined"


def test_nothing_readable_is_a_dump_error(tmp_path):
    for name in ("picture.bin", "notes.md"):
        (tmp_path / name).write_bytes(b"\0\1\2" * 100)
    with pytest.raises(DumpError, match="none of them readable"):
        gather(tmp_path)


def test_passes_are_also_given_for_each_graph(tmp_path):
    plain = [node("x", "Data"), node("out", "NetOutput", ["x"])]
    fused = [node("x", "Data"), node("f", "AscBackend", ["x"]),
             node("out", "NetOutput", ["f"])]
    for graph, nodes in (("g_1", plain), ("g_2", fused)):
        number = graph[-1]
        (tmp_path / f"ge_proto_0000000{number}_graph_{number}_Build.txt").write_text(
            make_series.model(graph, nodes))
    graphs = {graph["name"]: [each["name"] for each in graph["active_passes"]]
              for graph in document(gather(tmp_path))["graphs"]}
    assert graphs == {"g_1": [], "g_2": ["AutoFusePass"]}


def test_a_run_gets_the_passes_of_its_own_dumps(tmp_path):
    found = active_passes(SERIES)
    assert [each.name for each in found][:2] == ["AutoFusePass", "CastRemovePass"]
    div = next(each for each in found if each.name == "RealDiv2MulsFusionPass")
    assert (div.effect_times, div.level, div.dtypes) == (1, "O2", ("float16",))
    assert "declared and seen" in div.evidence
    assert active_passes(tmp_path) == ()
    logged = {each.name for each in active_passes(DATA / "evidence")}
    assert "PermutePass" not in logged
    assert "PermutePass" in {each.name for each in
                             active_passes(DATA / "evidence", ran_too=True)}


def test_other_json_files_of_a_run_are_passed_over(tmp_path):
    shutil.copytree(str(SERIES), str(tmp_path / "s"))
    (tmp_path / "run.json").write_text('{"schema": "ge_harness/run/1", "passes": []}')
    found = gather(tmp_path)
    assert found.warnings == []
    assert [Path(path).name for path in found.passed_over] == ["run.json"]


def test_the_graph_of_a_fused_kernel_shows_autofuse_and_its_dtypes():
    found = gather(DATA / "graphs" / "ascgraph_00003_fused_AfterDtypeConsistency_7.txt")
    (fused,) = found.passes.active
    assert (fused.name, fused.verdict) == ("AutoFusePass", "precision-affecting")
    assert "graph of a fused kernel" in fused.evidence[0].text


def test_what_one_process_declares_is_not_said_of_another(tmp_path):
    shutil.copytree(str(SERIES), str(tmp_path / "both"))
    shutil.copytree(str(SERIES / "pid_41_deviceid_0"),
                    str(tmp_path / "both" / "pid_42_deviceid_0"))
    graphs = {graph["run"]: {each["name"]: each for each in graph["active_passes"]}
              for graph in document(gather(tmp_path / "both"))["graphs"]}
    own, other = graphs["pid 41, device 0"], graphs["pid 42, device 0"]
    assert own["RealDiv2MulsFusionPass"]["standing"] == "declared and seen"
    assert other["RealDiv2MulsFusionPass"]["standing"] == "seen, undeclared"
    assert "TbeEltwiseFusionPass" in own
    assert "TbeEltwiseFusionPass" not in other


def test_a_log_counts_for_the_graphs_of_its_process(tmp_path):
    shutil.copytree(str(SERIES / "pid_41_deviceid_0"),
                    str(tmp_path / "pid_41_deviceid_0"))
    shutil.copytree(str(SERIES / "pid_41_deviceid_0"),
                    str(tmp_path / "pid_42_deviceid_0"))
    log = next((DATA / "evidence").glob("plog-41_*.log"))
    shutil.copy(str(log), str(tmp_path))
    shown = {graph["run"]: {one["file"] for each in graph["active_passes"]
                            for one in each["all_evidence"] if one["strength"] == "log"}
             for graph in document(gather(tmp_path))["graphs"]}
    assert shown["pid 41, device 0"] == {str(tmp_path / log.name)}
    assert shown["pid 42, device 0"] == set()


def test_a_trace_that_fits_graphs_of_two_processes_counts_for_both(tmp_path):
    for pid in (41, 42):
        shutil.copytree(str(SERIES / "pid_41_deviceid_0"),
                        str(tmp_path / f"pid_{pid}_deviceid_0"))
    scopes = Scopes(gather(tmp_path).series.graphs)
    assert scopes.of_name("ge_default_20260102030405_1") == ""
