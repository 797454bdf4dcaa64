"""The files that say which passes ran: fusion_result.json, traces, logs, kernels."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from dumps import fusion_result, kernel_meta, plog, trace
from dumps.errors import DumpError
from tests.shared import SAMPLES, needs_shared

DATA = Path(__file__).resolve().parents[1] / "data" / "dumps" / "evidence"
READERS = {"fusion_result": fusion_result.read, "trace": trace.read, "plog": plog.read,
           "kernel_meta": kernel_meta.read}


def _totals(path):
    return {(c.family, c.name): (c.match_times, c.effect_times, c.repository_hit_times)
            for c in fusion_result.read(path).totals}


def test_a_repeated_key_adds_up_and_overwrites_nothing():
    assert _totals(DATA / "generation_d_repeated.json") == {
        ("graph_fusion", "RealDiv2MulsFusionPass"): (4, 3, None),
        ("graph_fusion", "MulAddFusionPass"): (3, 0, None),
        ("ub_fusion", "AutomaticUbFusion"): (-1, 4, 2)}
    graphs = fusion_result.read(DATA / "generation_d_repeated.json").graphs
    assert [(g.session, g.graph, g.records) for g in graphs] == [("0", "1", 2)]


def test_all_generations_may_stand_in_one_file():
    found = fusion_result.read(DATA / "generations_glued.json")
    assert found.generations == ("A", "B", "C", "null")
    assert [(g.session, g.graph) for g in found.graphs] == [
        ("0", "1"), ("0", "11"), ("1", "11")]
    assert _totals(DATA / "generations_glued.json") == {
        ("graph_fusion", "A"): (6, 4, None), ("ub_fusion", "B"): (5, 5, None)}
    assert found.warnings == ()


def test_a_match_without_effect_is_not_active():
    counts = {c.name: c.active
              for c in fusion_result.read(DATA / "generation_d_repeated.json").totals}
    assert counts == {"RealDiv2MulsFusionPass": True, "MulAddFusionPass": False,
                      "AutomaticUbFusion": True}


def test_the_file_null_says_that_nothing_was_counted(tmp_path):
    path = tmp_path / "fusion_result.json"
    path.write_text("null")
    assert fusion_result.read(path).generations == ("null",)
    assert fusion_result.read(path).graphs == ()


def test_damaged_text_keeps_what_has_its_shape_and_is_flagged(tmp_path):
    path = tmp_path / "fusion_result.json"
    text = (DATA / "generation_d_repeated.json").read_text()
    path.write_text(text[:-60])
    found = fusion_result.read(path)
    assert found.is_damaged
    assert "not JSON" in found.warnings[0].message
    assert _totals(path)[("graph_fusion", "RealDiv2MulsFusionPass")] == (4, 3, None)


@pytest.mark.parametrize(("text", "why"), [
    ('{"session_and_graph_id_0_1":{"graph_fusion":{"A":{"match_times":"x"}}}}',
     "expected a number"),
    ('{"session_and_graph_id_0_1":{"graph_fusion":{"A":[1]}}}', "expected an object"),
    ('{"other":1, "session_and_graph_id_0_1":{}}', "left out"),
    ('{"session_and_graph_id_0_1":{"graph_fusion":7}}', "expected an object"),
])
def test_what_cannot_be_read_is_warned_of(tmp_path, text, why):
    path = tmp_path / "fusion_result.json"
    path.write_text(text)
    assert any(why in warning.message for warning in fusion_result.read(path).warnings)


@needs_shared
@pytest.mark.parametrize(("name", "generation", "graphs", "totals"), [
    ("DenseNet3d", "A", 2, (14, 5)), ("GNMT", "A", 2, (31, 15)),
    ("ResNet50_TF2", "A", 1, (6, 6)), ("tabnet", "B", 4, (52, 21)),
    ("ModelsGenesis", "B", 19, (24, 11)), ("TransferringGAN", "B", 1, (63, 30)),
    ("RevisitingSelfSupervised", "B", 2, (32, 16)), ("oam_asys", "C", 1, (2, 1)),
    ("hhhh_1222", "D", 3, (11, 2)), ("hhhh_function", "D", 4, (9, 3)),
])
def test_every_real_file_is_read_without_a_warning(name, generation, graphs, totals):
    path = SAMPLES / "fusion_result" / f"{name}_fusion_result.json"
    found = fusion_result.read(path)
    assert found.generations == (generation,)
    assert sum(graph.records for graph in found.graphs) == graphs
    assert found.warnings == ()
    assert (len(found.totals), sum(c.active for c in found.totals)) == totals


@needs_shared
def test_totals_of_a_real_file_are_those_of_an_independent_count():
    import re
    for path in sorted((SAMPLES / "fusion_result").glob("*.json")):
        numbers = re.findall(r'"effect_times": *"(-?\d+)"', path.read_text())
        counted = sum(c.effect_times for c in fusion_result.read(path).totals)
        assert counted == sum(int(number) for number in numbers)


def test_edits_of_a_trace_are_added_up_for_each_owner():
    found = trace.read(DATA / "trace_2026_1_2_3_4_5_001.txt")
    owners = {(o.owner, o.stage): o for o in found.owners}
    cast = owners["GE", "OptimizeStage1_2::CastRemovePass"]
    assert (cast.removed, cast.added) == (("cast_a",), ())
    assert (cast.edges_added, cast.edges_removed, cast.line) == (1, 1, 1)
    div = owners["FE", "RealDiv2MulsFusionPass"]
    assert (div.added, div.modified, div.records) == (("div_muls",), (("type", 1),), 2)
    assert owners["Fusion", "MyPass"].modified_nodes == ("x",)
    assert found.records == 6
    assert [(w.line, "expected" in w.message) for w in found.warnings] == [(7, True)]


def test_lines_of_a_log_become_findings():
    found = plog.read(DATA / "plog-41_20260102030405678.log")
    kinds = {(f.kind, f.family, f.name): f for f in found.findings}
    assert found.pids == ("41",)
    assert (found.records, found.continuations) == (18, 4)
    cast = kinds["ran", "ge", "CastRemovePass"]
    assert (cast.count, cast.calls, cast.line) == (2, 11, 7)
    assert kinds["changed", "ge", "CastRemovePass"].line == 8
    assert kinds["disabled", "ge", "ConstantFoldingPass"].labels == (
        "OptimizeStage1_2",)
    assert kinds["disabled", "graph_fusion", "AddNFusionPass"].count == 1
    div = kinds["changed", "graph_fusion", "RealDiv2MulsFusionPass"]
    assert (div.match_times, div.effect_times) == (3, 2)
    assert kinds["matched", "graph_fusion", "MulAddFusionPass"].effect_times == 0
    assert kinds["changed", "ub_fusion", "TbeEltwiseFusionPass"].effect_times == 2
    assert kinds["ran", "ge", "AttachStreamLabelPass"].labels == (
        "OptimizeStage2", "ControlAttrOptimize")
    assert ("ran", "ge", "ReshapeRecoveryPass") in kinds
    assert ("step", "", "OptimizeStage1") in kinds
    assert ("disabled", "ge", "AutoFusePass") in kinds
    assert dict(found.options) == {"ge.oo.level": "O3", "working_oo_level": "3",
                                   "switch ConstantFoldingPass": "off"}


@needs_shared
def test_a_real_debug_log_names_its_passes():
    found = plog.read(SAMPLES / "run_20230713" / "plog-370_20230713074107861.log.gz")
    engine = [f for f in found.findings if f.family == "graph_fusion"]
    assert len(engine) == 48
    assert all(f.kind == "ran" for f in engine)
    names = {f.name for f in found.findings if (f.kind, f.family) == ("ran", "ge")}
    assert {"ConstantFoldingPass", "CastRemovePass", "CompileNodesPass",
            "AtomicAddrCleanPass", "PrunePass"} <= names
    assert found.records + found.continuations == 9004
    assert found.pids == ("370",)


def test_a_kernel_description_is_held_against_its_object_file(tmp_path):
    found = kernel_meta.read(DATA / "te_add.json")
    assert (found.core_type, found.block_dim) == ("VectorCore", 1)
    assert found.sha256 == found.object_sha256
    assert found.warnings == ()
    (tmp_path / "te_add.json").write_bytes((DATA / "te_add.json").read_bytes())
    (tmp_path / "te_add.o").write_bytes(b"another object")
    assert "the object file beside" in kernel_meta.read(
        tmp_path / "te_add.json").warnings[0].message


@needs_shared
def test_real_kernel_descriptions_are_read():
    found = [kernel_meta.read(path) for path
             in sorted((SAMPLES / "kernel_meta").glob("*.json"))]
    assert [each.core_type for each in found] == ["VectorCore", "VectorCore", "MIX"]
    assert all(len(each.sha256) == 64 for each in found)


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize("content", [
    b"", b"\0" * 5000, b"\x7fELF" + b"\0\1" * 100, b"hello\n", b"{" * 100000,
    b"[" * 100000, b"\xff\xfe" * 50, b"\x1f\x8b\x08broken", b"9" * 10000, b"\n\n\n",
], ids=["empty", "zeros", "elf", "text", "braces", "brackets", "utf16", "gzip",
        "digits", "blank"])
def test_a_file_of_another_kind_is_a_dump_error(tmp_path, name, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(DumpError) as caught:
        READERS[name](path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["trace", "plog"])
def test_a_gigantic_line_is_cut_and_said(tmp_path, name):
    source = {"trace": "trace_2026_1_2_3_4_5_001.txt",
              "plog": "plog-41_20260102030405678.log"}[name]
    path = tmp_path / "file"
    good = (DATA / source).read_bytes()
    path.write_bytes(good + b"x" * (3 << 20) + b"\n" + good)
    found = READERS[name](path)
    assert any("longer than" in warning.message for warning in found.warnings)


def test_a_packed_file_cut_short_keeps_its_first_lines(tmp_path):
    path = tmp_path / "plog-1_2.log.gz"
    body = (DATA / "plog-41_20260102030405678.log").read_bytes() * 50
    path.write_bytes(gzip.compress(body)[:-20])
    found = plog.read(path)
    assert found.records > 18
    assert any("breaks off" in warning.message for warning in found.warnings)


def test_a_folder_or_a_missing_file_is_a_dump_error(tmp_path):
    for reader in READERS.values():
        with pytest.raises(DumpError):
            reader(tmp_path)
        with pytest.raises(DumpError):
            reader(tmp_path / "missing")


def test_a_file_named_like_a_log_that_is_none_is_refused_early(tmp_path):
    path = tmp_path / "plog-1_2.log"
    path.write_bytes(b"\n" * 9000000)
    begin = time.process_time()
    with pytest.raises(DumpError):
        plog.read(path)
    assert time.process_time() - begin < 2
