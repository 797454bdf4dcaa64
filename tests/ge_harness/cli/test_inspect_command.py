"""`inspect` and `passes` as users call them, hostile names included."""

from __future__ import annotations

import contextlib
import html.parser
import io
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from ge_harness.cli import main
from tests.dumps.series_text import make_series, node
from tests.ge_harness.cli.console_run import console

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "data" / "dumps"
SERIES = DATA / "series"
# As they stand in a file: escaped by the writer of the text format.
HOSTILE = ("line\\nbreak", "\\033[31mred\\033[0m", "</script><script>alert(1)</script>",
           "<img src=x onerror=alert(1)>", "../../etc/passwd", "a" * 100000,
           "\\342\\200\\256gnp.exe", "=cmd|calc", "&amp;\\\"'")


def call(*words):
    """Run the command line in this process; its last resort would be a status 70."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            arguments = main._parse(["ge_harness", *map(str, words)])
            status = main._guarded(arguments)
        except SystemExit as stop:
            status = stop.code
    return SimpleNamespace(returncode=status, stdout=out.getvalue(),
                           stderr=err.getvalue())


def document(*words):
    done = call(*words, "--json")
    return done.returncode, json.loads(done.stdout)


def test_the_tree_and_the_passes_are_printed():
    status, text, _ = console("inspect", SERIES)
    assert status == 0
    assert "OptimizeStage1_2: 8 nodes, edges 10/1/0; -2, 1 renamed, 2 casts removed" \
        in text
    assert "VendorStage (stage unknown, placed by its serial)" in text
    assert "AutoFusePass" in text
    assert "\x1b" not in text


def test_the_document_has_the_fields_of_the_contract():
    status, found = document("inspect", SERIES)
    assert status == 0
    assert found["schema"] == "ge_harness/inspect/1"
    (graph,) = found["graphs"]
    assert {"name", "session", "subgraphs", "stages", "active_passes",
            "precision_affecting"} <= set(graph)
    stage = graph["stages"][8]
    assert {"order", "name", "file", "format", "nodes", "edges", "ops",
            "changes"} <= set(stage)
    assert stage["edges"] == {"data": 10, "control": 1, "empty": 0}
    assert {"added", "removed", "renamed", "fused", "casts_added", "casts_removed",
            "dtype_changed", "format_changed", "shape_changed",
            "attributes_changed"} <= set(stage["changes"])
    assert stage["changes"]["casts_removed"] == 2
    assert {"family", "name", "match_times", "effect_times", "evidence", "level",
            "precision_class", "certainty", "switch_off"} <= set(
                graph["active_passes"][0])
    assert found["warnings"] == []


def test_long_work_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr("ge_harness.cli.inspect_output._PROGRESS_EVERY_S", 0.0)
    assert "11 stages read" in call("inspect", SERIES).stderr


def test_one_stage_in_detail():
    done = call("inspect", SERIES, "--stage=Build", "--diff")
    assert "attribute _no_task: - -> True" in done.stdout


def test_a_misspelt_stage_is_refused_with_the_nearest():
    done = call("inspect", SERIES, "--stage=Biuld")
    assert done.returncode == 2
    assert "'Build'" in done.stderr


def test_nodes_are_found_by_expression_with_their_history():
    status, found = document("inspect", SERIES, "--node=^scale$")
    assert status == 0
    (card,) = found["nodes"]
    assert [state["stage"] for state in card["history"]] == [
        "PreRunBegin", "OptimizeOriginalGraph_FeOpDtypeJudgeAfter", "OptimizeStage1_2"]
    assert card["history"][1]["output_descs"][0]["dtype"] == "float16"


@pytest.mark.parametrize("expression", ["(", "*", "a" * 2000, "(?P<"])
def test_a_broken_expression_is_bad_usage(expression):
    done = call("inspect", SERIES, f"--node={expression}")
    assert done.returncode == 2
    assert len(done.stderr.strip().split("\n")) == 1


def test_an_expression_without_end_stops(tmp_path, monkeypatch):
    monkeypatch.setattr("ge_harness.catalogue.pattern.TIME_LIMIT_S", 0.2)
    text = make_series.model("g", [node("a" * 3000, "Abs")])
    (tmp_path / "ge_proto_00000000_graph_1_Build.txt").write_text(text)
    done = call("inspect", tmp_path, "--node=(a+)+!")
    assert done.returncode == 2
    assert "longer than" in done.stderr


def test_a_dump_agrees_with_itself_and_differs_from_another(tmp_path):
    assert call("inspect", SERIES, f"--against={SERIES}").returncode == 0
    shutil.copytree(str(SERIES), str(tmp_path / "s"))
    path = next((tmp_path / "s").rglob("*_Build.txt"))
    path.write_text(path.read_text().replace('type: "Mul"', 'type: "Muls"'))
    status, found = document("inspect", SERIES, f"--against={tmp_path / 's'}")
    assert status == 1
    differing = [stage["name"] for stage in found["against"]["graphs"][0]["stages"]
                 if not stage["equal"]]
    assert differing == ["Build"]


def test_a_damaged_file_is_shown_with_a_warning_and_strict_makes_it_one(tmp_path):
    good = SERIES / "pid_41_deviceid_0" / "ge_proto_00000102_graph_1_Build.txt"
    path = tmp_path / good.name
    path.write_bytes(good.read_bytes()[:-700])
    done = call("inspect", path)
    assert done.returncode == 0
    assert path.name in done.stderr
    assert call("inspect", path, "--strict").returncode == 1


def test_nothing_readable_is_bad_usage_in_one_line(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\0" * 64)
    for path in (tmp_path, tmp_path / "x.bin", tmp_path / "missing"):
        done = call("inspect", path)
        assert done.returncode == 2
        assert len(done.stderr.strip().split("\n")) == 1


def test_a_viewer_that_is_not_there_is_unavailable():
    done = call("inspect", SERIES, "--open")
    assert done.returncode == 3
    assert "netron" in done.stderr


def test_an_overlay_colors_the_nodes_that_changed(tmp_path):
    path = tmp_path / "overlay.json"
    assert call("inspect", SERIES, "--stage=AutoFuser_AfterLowering",
                f"--overlay={path}").returncode == 0
    (graph,) = json.loads(path.read_text()).values()
    assert graph["results"] == {"autofuse_pointwise_0_Add_Relu": {"value": 4}}
    assert [item["value"] for item in graph["thresholds"]] == [1, 2, 3, 4]


def test_a_file_that_cannot_be_written_is_bad_usage(tmp_path):
    done = call("inspect", SERIES, f"--html={tmp_path / 'no' / 'page.html'}")
    assert done.returncode == 2


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    names = list(HOSTILE)
    nodes = [node(names[0], "Data")]
    for number, name in enumerate(names[1:]):
        nodes.append(make_series.node(name, HOSTILE[number], [f"{names[number]}:0"],
                                      "DT_FLOAT16", attrs={
                                          "pass_name": [HOSTILE[number][:3000]]}))
    later = [*nodes[:-1], dict(nodes[-1], name="z")]
    for serial, each in enumerate((nodes, later)):
        text = make_series.model(HOSTILE[2], each)
        name = f"ge_proto_0000000{serial}_graph_1_<b>\x1b[31mS{serial}.txt"
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "fusion_result.json").write_text(json.dumps({
        "session_and_graph_id_0_1": {"graph_fusion": {
            "<script>\x1b[2J\n": {"match_times": "1", "effect_times": "1"}}}}))
    return folder


@pytest.mark.parametrize("words", [(), ("--diff",), ("--node=.",)],
                         ids=["tree", "diff", "nodes"])
def test_hostile_names_reach_the_terminal_harmlessly(hostile, words):
    done = call("inspect", hostile, *words)
    assert done.returncode == 0
    for text in (done.stdout, done.stderr):
        assert all(c.isprintable() or c == "\n" for c in text)
        assert max(len(line) for line in text.split("\n")) < 5000


def test_hostile_names_stay_exact_in_the_document(hostile):
    status, found = document("inspect", hostile, "--node=.")
    assert status == 0
    names = {card["name"] for card in found["nodes"]}
    assert {"line\nbreak", "\x1b[31mred\x1b[0m", "a" * 100000,
            "</script><script>alert(1)</script>", "../../etc/passwd"} <= names


class _Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []
        self.scripts = []
        self.attributes = []
        self._inside = None

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self._inside = dict(attrs).get("type", "script") if tag == "script" else None

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside:
            self.scripts.append((self._inside, data))


def _page(path, *words):
    done = call("inspect", path, *words)
    assert done.returncode == 0
    found = _Tags()
    target = Path(words[-1].partition("=")[2])
    text = target.read_text(encoding="utf-8")
    found.feed(text)
    return text, found


def test_hostile_names_reach_the_page_harmlessly(hostile, tmp_path):
    text, found = _page(hostile, f"--html={tmp_path / 'page.html'}")
    assert "img" not in found.tags
    assert found.tags.count("script") == 2
    assert not any(name.startswith("on") for name in found.attributes)
    assert "alert(1)</script>" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", text)
    data = json.loads(dict(found.scripts)["application/json"])
    assert len(data["graphs"][0]["tables"]) == 2


def test_the_page_needs_no_network_and_lets_only_its_own_script_run(tmp_path):
    text, _ = _page(SERIES, f"--html={tmp_path / 'page.html'}")
    assert not re.search(r"https?:|//[a-z]", text.split("<body>")[0])
    assert re.search(r"script-src 'sha256-[\w+/=]+'", text)
    assert "innerHTML" not in text
    assert "src=" not in text


def test_the_rows_of_the_page_rebuild_every_stage(tmp_path):
    _, found = _page(SERIES, f"--html={tmp_path / 'page.html'}")
    data = json.loads(dict(found.scripts)["application/json"])
    rows, counts = {}, []
    for table in data["graphs"][0]["tables"]:
        for key in table["del"]:
            del rows[key]
        rows.update(table["set"])
        counts.append(len(rows))
    assert counts == [11, 11, 11, 11, 11, 10, 10, 10, 8, 8, 8]
    scale = next(row for row in rows.values() if row[1] == "scale")
    assert scale[2:5] == ["Mul", "x:0, x:0", "float16 8x16 ND"]


def test_one_pass_is_explained():
    done = call("passes", "RealDiv2MulsFusionPass")
    assert "reciprocal" in done.stdout
    assert "switch off" in done.stdout


def test_passes_are_filtered_by_class_and_level():
    status, found = document("passes", "--class=instruction", "--class=upcast",
                             "--level=O1")
    assert status == 0
    assert found["passes"]
    assert {each["precision_class"] for each in found["passes"]} <= {"instruction",
                                                                     "upcast"}
    assert {each["level"] for each in found["passes"]} <= {"O0", "O1"}


def test_an_unknown_pass_is_bad_usage_with_the_nearest_name():
    done = call("passes", "CastRemvePass")
    assert done.returncode == 2
    assert "'CastRemovePass'" in done.stderr


def test_strict_looks_inside_the_operators(tmp_path):
    name = "ge_proto_00000007_graph_3_Build.txt"
    data = (DATA / "graphs" / name).read_text()
    (tmp_path / name).write_text(data.replace(" i: 2\n", " i: x2\n", 1))
    plain = call("inspect", tmp_path)
    strict = call("inspect", tmp_path, "--strict")
    assert (plain.returncode, strict.returncode) == (0, 1)
    assert "'x2'" in strict.stderr
    assert "expected an integer" in strict.stderr


def test_modules_of_xla_have_their_nodes_on_the_page(tmp_path):
    _, found = _page(DATA / "hlo" / "tf_2_21", f"--html={tmp_path / 'page.html'}")
    data = json.loads(dict(found.scripts)["application/json"])
    graph = data["graphs"][0]
    assert len(graph["tables"]) == len(graph["stages"])
    rows, types = {}, []
    for table in graph["tables"]:
        for key in table["del"]:
            del rows[key]
        rows.update(table["set"])
        types.append({row[2] for row in rows.values()})
    assert "reshape" in types[0]
    assert "fusion" not in types[0]
    assert "fusion" in types[-1]
    changed = [stage["said"] != "no change" for stage in graph["stages"][1:]]
    assert [bool(table["set"] or table["del"])
            for table in graph["tables"][1:]] == changed


def test_a_change_of_attributes_alone_is_seen_side_by_side(tmp_path):
    _, found = _page(SERIES, f"--html={tmp_path / 'page.html'}")
    data = json.loads(dict(found.scripts)["application/json"])
    before, last = data["graphs"][0]["tables"][-2:]
    assert before == {"set": {}, "del": []}
    ((_, row),) = last["set"].items()
    assert (row[1], row[2], row[6]) == ("join", "ConcatD", 10)
