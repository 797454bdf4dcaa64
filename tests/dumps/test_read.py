from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dumps
from dumps import DumpError, detect, lines, source
from dumps.discover import discover
from tests.dumps.survive import GRAPHS
from tests.shared import SAMPLES, needs_shared

_FILES = {
    "TF_GeOp1_0.pbtxt": ("tf_pbtxt", 5), "ascgraph_proto.txt": ("ascgraph", 3),
    "ascgraph_00003_fused_AfterDtypeConsistency_7.txt": ("ascgraph", 3),
    "ascgraph_00004_fused_AutoFuseBeforeOptimize_7.txt": ("ascgraph", 3),
    "ascgraph_00005_fused_AfterPreProcess_7.txt": ("ascgraph", 2),
    "ge_onnx_00000002_graph_3_Build.pbtxt": ("ge_onnx", 3),
    "ge_proto_00000007_graph_3_Build.txt": ("ge_proto", 6),
    "ge_readable_00000001_graph_3_PreRunBegin.txt": ("readable", 5),
    "model.json": ("atc_json", 3),
}
_HLO = b"""HloModule small

ENTRY main {
  p = f32[2] parameter(0)
  ROOT n = f32[2] negate(p)
}
"""


@pytest.mark.parametrize("name", sorted(_FILES))
def test_every_format_is_found_by_its_name(name: str) -> None:
    graph = dumps.read(GRAPHS / name)
    assert (graph.format, graph.node_count) == _FILES[name]
    assert graph.warnings == ()


@pytest.mark.parametrize("name", sorted(_FILES))
def test_every_format_is_found_by_its_content(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "unnamed"
    copy.write_bytes((GRAPHS / name).read_bytes())
    graph = dumps.read(copy)
    assert (graph.format, graph.node_count) == _FILES[name]


@pytest.mark.parametrize("name", sorted(_FILES))
def test_packed_files_are_read(name: str, tmp_path: Path) -> None:
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress((GRAPHS / name).read_bytes()))
    assert dumps.read(packed).node_count == _FILES[name][1]


def test_hlo_text_is_handed_on(tmp_path: Path) -> None:
    path = tmp_path / "module_0001.small.after_optimizations.txt"
    path.write_bytes(_HLO)
    graph = dumps.read(path)
    assert (graph.format, [n.name for n in graph.nodes]) == ("hlo", ["p", "n"])


def test_content_wins_where_the_name_lies(tmp_path: Path) -> None:
    path = tmp_path / "ge_proto_00000001_graph_1_Build.txt"
    path.write_bytes((GRAPHS / "model.json").read_bytes())
    graph = dumps.read(path)
    assert graph.format == "atc_json"
    assert "named like ge_proto" in graph.warnings[-1].message


@needs_shared
def test_every_graph_among_the_samples_is_read() -> None:
    assert SAMPLES is not None
    found = {}
    for path in sorted(SAMPLES.rglob("*")):
        if path.parent.name in ("resnet50_fe", "run_20230713", "train_2020", "ascgraph",
                                "single_subgraph", "atc_json") \
                and "plog" not in path.name:
            graph = dumps.read(path)
            found[path.name] = (graph.format, graph.node_count)
            assert graph.warnings == ()
    assert len(found) == 13
    assert found["origin.txt"] == ("ge_proto", 4)
    assert found["test_seri_asc_graph.txt"] == ("ascgraph", 1)
    assert found["ge_onnx_00000001_graph_11_Build.pbtxt"] == ("ge_onnx", 18)


@pytest.mark.parametrize("content", [
    b"", b"\n", b"hello\n", b"\x7fELF\0\0", b"\0" * 5000, b"{}", b"[]", b"\x1f\x8bxx",
    gzip.compress(b"")])
def test_what_holds_no_graph_gives_one_line(content: bytes, tmp_path: Path) -> None:
    for name in ("ge_proto_00001_Build.txt", "x.json", "x"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(DumpError) as caught:
            dumps.read(path)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)


def test_a_gzip_cut_short_gives_what_was_in_it(tmp_path: Path) -> None:
    data = (GRAPHS / "ge_proto_00000007_graph_3_Build.txt").read_bytes()
    packed = gzip.compress(data)
    path = tmp_path / "ge_proto_00001_Build.txt.gz"
    path.write_bytes(packed[:len(packed) * 3 // 4])
    graph = dumps.read(path)
    assert graph.nodes[0].name == "x"
    assert graph.warnings


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b" " * 5_000_000))
    with pytest.raises(DumpError, match="at most 1,000,000"):
        source.load(path, 1_000_000)


def test_untrusted_text_is_shown_on_one_short_line() -> None:
    shown = source.shown("\x1b[31m\n‮<b>" + "a" * 1000)
    assert shown.isprintable()
    assert shown.isascii()
    assert len(shown) < 150


def test_formats_are_told_from_the_first_bytes_only() -> None:
    assert detect.by_content(b"# note\n\n  graph { op {") == "ge_proto"
    assert detect.by_content(b"\xef\xbb\xbfgraph {\n  node {") == "ge_onnx"
    assert detect.by_content("graph {\n op".encode("utf-16")) == "ge_proto"
    assert detect.by_content(b"plain") is None


def test_reading_needs_neither_tensorflow_nor_protobuf() -> None:
    code = ("import sys, dumps; dumps.read(sys.argv[1]); "
            "bad = [m for m in sys.modules if m.startswith(('tensorflow', "
            "'google.protobuf', 'ge_harness'))]; sys.exit(str(bad) if bad else 0)")
    root = Path(dumps.__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code, str(GRAPHS / "model.json")], cwd=str(root),
        capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("name", "good", "bad"), [
    ("ge_proto_00000007_graph_3_Build.txt", b" i: 2\n", b" i: x2\n"),
    ("ge_proto_00000007_graph_3_Build.txt", b" b: false\n", b" b: falsch\n"),
    ("ge_proto_00000007_graph_3_Build.txt", b" dim: ", b" dim: x"),
    ("ge_proto_00000007_graph_3_Build.txt", b"dtype: DT_FLOAT", b"dtype: DT_FLAOT"),
    ("ge_onnx_00000002_graph_3_Build.pbtxt", b" ints: ", b" ints: x"),
    ("TF_GeOp1_0.pbtxt", b" size: ", b" size: x"),
], ids=["integer", "boolean", "axis", "dtype", "onnx integer", "tensorflow axis"])
def test_a_bad_value_inside_an_operator_is_a_warning_once_it_is_looked_at(
        tmp_path, name, good, bad):
    data = (GRAPHS / name).read_bytes()
    assert good in data
    path = tmp_path / name
    path.write_bytes(data)
    sound = dumps.read(path)
    sound.load_details()
    path.write_bytes(data.replace(good, bad, 1))
    damaged = dumps.read(path)
    damaged.load_details()
    assert damaged.node_count == sound.node_count
    assert len(damaged.warnings) == len(sound.warnings) + 1
    assert 0 < damaged.warnings[-1].line <= 1 + data[:data.index(good)].count(b"\n")


BOMBS = {
    "brackets": b"}\n", "indented brackets": b"  }\n", "quotes": b'"\n',
    "comments": b"#\n", "letters": b"a\n", "openings": b"op {\n",
    "nodes": b"node {", "graphs": b'graph("x"):\n', "properties": b"    .x = y.y\n",
    "blanks": b"\n", "instructions": b"  a = f32[2] add(a, a\n",
}
HEADS = {
    "ge_proto": b'graph {\n  op {\n    name: "a"\n    type: "B"\n  }\n',
    "ge_onnx": b'graph {\n  node {\n    name: "a"\n    op_type: "ge:B"\n  }\n',
    "tf_pbtxt": b'node {\n  name: "a"\n  op: "B"\n}\n',
    "readable": b'graph("g"):\n  %a : [#users=1] = Node[type=B] ()\n',
    "ascgraph": b"Graph: g\nSizes:\nNodes:\n  a: B (0)\n",
    "hlo": b"HloModule x\n\nENTRY main {\n  a = f32[2] parameter(0)\n",
}


@pytest.mark.parametrize("bomb", sorted(BOMBS))
@pytest.mark.parametrize("kind", sorted(HEADS))
def test_megabytes_of_one_line_end_soon_and_keep_what_came_before(
        tmp_path, kind, bomb):
    text = HEADS[kind] + BOMBS[bomb] * (1000000 // len(BOMBS[bomb]))
    path = tmp_path / "dump.txt"
    path.write_bytes(text)
    begin = time.process_time()
    graph = dumps.read(path)
    assert time.process_time() - begin < 1.5
    assert "a" in {node.name for node in graph.nodes}
    assert len(graph.warnings) <= 205


@pytest.mark.parametrize(("kind", "after"), [
    ("readable", b"  %b : [#users=1] = Node[type=B] ()\n"),
    ("ascgraph", b"  b: B (1)\n"), ("hlo", b"  b = f32[2] negate(a)\n")])
def test_operators_after_damage_without_end_are_counted_as_lost(
        tmp_path, kind, after):
    path = tmp_path / "dump.txt"
    path.write_bytes(HEADS[kind] + b"  ??? \"\n" * 50000 + after * 7)
    graph = dumps.read(path)
    assert graph.nodes[0].name == "a"
    lost = graph.node_count + graph.lost_nodes
    assert lost >= 8
    assert any("lost" in str(warning) for warning in graph.warnings)


def test_a_log_that_unpacks_to_far_more_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "plog-1_2.log.gz"
    with gzip.open(str(path), "wb", 1) as file:
        for _ in range(90):
            file.write(b"a\n" + b"\0" * (1 << 20) + b"\n")
    reader = lines.LineReader(path)
    count = sum(1 for _ in reader)
    assert count < 180
    assert any("the rest is not read" in str(each) for each in reader.warnings)


def test_what_is_no_file_is_left_out_with_a_warning(tmp_path):
    os.mkfifo(str(tmp_path / "ge_proto_00000001_graph_1_Build.txt"))
    (tmp_path / "loop").symlink_to(tmp_path)
    found, warnings = discover(tmp_path)
    assert found == []
    assert {each.message for each in warnings} == {
        "no regular file, left out", "a link to a folder, not followed"}
