"""docs/json.md describes every field of every document, and cli.md's fields are there.

The page itself is read, not what it is made from: what a user looks up is what is held
against real documents, types included.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_harness.cli import main
from ge_harness.cli.list_command import _KINDS as LISTS
from ge_harness.experiment.judge import judge
from ge_harness.records import documents, serialize
from ge_harness.records.doctor import BackendHealth, Check, DoctorReport
from ge_harness.records.pack import LeftOut, PackedFile, PackReport
from ge_harness.records.report import BackendLine, RunReport, Side
from ge_harness.records.run import (
    Environment,
    FailureKind,
    RunFailure,
    RunRequest,
    RunSuccess,
)
from ge_harness.records.switch import ActivePass, Switch, SwitchEffect
from ge_harness.records.tensor import Case, Port, TensorSpec
from tests.shared import SAMPLES, needs_shared

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "json.md"
SCRIPT = ROOT / "scripts" / "update_json_docs.py"
DUMPS = ROOT / "tests" / "data" / "dumps"
_LINK = re.compile(r"\[(\w+)\]\(#\w+\)")
_ROW = re.compile(r"\| `(?P<name>\w+)` \| (?P<kind>.+?) \| (?P<words>.+) \|")

# Fields that the contract of the command line (cli.md) names, kind by kind.
CONTRACT = {
    "run": """backend.name backend.label backend.reason switches.asked switches.sent
        passes.family passes.name passes.stage passes.precision_class passes.certainty
        passes.evidence passes.switch_off outputs.name outputs.shape outputs.dtype
        outputs.bit_equal outputs.ulp.max outputs.ulp.p50 outputs.ulp.p99
        outputs.ulp.share_0 outputs.ulp.share_1 outputs.ulp.share_2plus
        outputs.vs_baseline.eager outputs.vs_baseline.nodewise
        outputs.vs_reference.eager outputs.vs_reference.nodewise
        outputs.vs_reference.candidate suspects verdict artifacts""",
    "inspect": """source graphs.name graphs.session graphs.subgraphs graphs.stages.order
        graphs.stages.name graphs.stages.file graphs.stages.format graphs.stages.nodes
        graphs.stages.edges.data graphs.stages.edges.control graphs.stages.edges.empty
        graphs.stages.ops graphs.stages.changes.added graphs.stages.changes.removed
        graphs.stages.changes.renamed graphs.stages.changes.fused
        graphs.stages.changes.casts_added graphs.stages.changes.casts_removed
        graphs.stages.changes.dtype_changed graphs.stages.changes.format_changed
        graphs.stages.changes.shape_changed graphs.stages.changes.attributes_changed
        graphs.active_passes.family graphs.active_passes.name
        graphs.active_passes.match_times graphs.active_passes.effect_times
        graphs.active_passes.evidence graphs.active_passes.level
        graphs.active_passes.precision_class graphs.active_passes.certainty
        graphs.active_passes.switch_off graphs.precision_affecting
        warnings.file warnings.line warnings.message""",
    "bisect": """goal runs.switches runs.agrees minimal.kind minimal.name
        minimal.precision_class proof.with_minimal_off proof.each_needed
        files.fusion_switch_cfg files.optimization_switch files.autofuse_flags
        files.skip_node_names_cfg files.session_config""",
    "experiment": """id claim verdict why evidence table.columns table.rows
        counterexamples figures backend.name backend.label""",
    "compare": """pairs.name pairs.a pairs.b pairs.shape pairs.dtype pairs.status
        pairs.bit_equal pairs.ulp pairs.abs pairs.rel pairs.cosine pairs.nonfinite
        pairs.worst.index pairs.worst.a pairs.worst.b pairs.worst.reference
        pairs.standards unmatched.a unmatched.b verdict""",
}


def _tables(text):
    """Return heading -> {field: type} for every table of the page."""
    tables, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        match = _ROW.fullmatch(line)
        if match:
            tables.setdefault(heading, {})[match["name"]] = match["kind"]
    return tables


TABLES = _tables(PAGE.read_text(encoding="utf-8"))


def _split(text, separator):
    """Split where no bracket is open."""
    parts, depth, start, position = [], 0, 0, 0
    while position < len(text):
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(text[position], 0)
        if not depth and text.startswith(separator, position):
            parts.append(text[start:position])
            position += len(separator)
            start = position
        else:
            position += 1
    return [*parts, text[start:]]


def _problems(value, kind, place):
    """Return what in a value is not as the page says."""
    kind = kind.replace("true or false", "boolean")
    parts = _split(kind, " or ")
    if len(parts) > 1:
        found = [_problems(value, part, place) for part in parts]
        return [] if [] in found else max(found, key=len)
    for word, holder in (("list of ", list), ("map of ", dict)):
        if not kind.startswith(word):
            continue
        if not isinstance(value, holder):
            return [f"{place}: {value!r} is not {kind}"]
        inner = kind[len(word):]
        inner = inner[1:-1] if inner.startswith("(") else inner
        items = value.values() if holder is dict else value
        return [each for item in items for each in _problems(item, inner, place)]
    link = _LINK.fullmatch(kind)
    if link:
        return _fields(value, link[1], place)
    if kind.startswith("["):
        kinds = _split(kind[1:-1], ", ")
        if not isinstance(value, list) or len(value) != len(kinds):
            return [f"{place}: {value!r} is not {kind}"]
        return [each for item, part in zip(value, kinds)
                for each in _problems(item, part, place)]
    return [] if _is(value, kind) else [f"{place}: {value!r} is not {kind}"]


def _is(value, kind):
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    if kind == "number" and value in ("nan", "inf", "-inf"):
        return True
    if kind == "any":
        return not isinstance(value, dict)
    known = {"text": str, "integer": int, "number": (int, float), "boolean": bool,
             "null": type(None)}
    return isinstance(value, known[kind])


def _fields(value, heading, place):
    if not isinstance(value, dict):
        return [f"{place}: {value!r} is no {heading}"]
    table = TABLES[heading]
    found = [f"{place}.{name}: not on the page under {heading}"
             for name in value if name not in table]
    for name in value:
        if name in table:
            found += _problems(value[name], table[name], f"{place}.{name}")
    return found


def _has(value, path):
    """Return whether a path occurs anywhere; lists are looked through."""
    if not path:
        return True
    if isinstance(value, list):
        return any(_has(item, path) for item in value)
    return isinstance(value, dict) and path[0] in value and _has(
        value[path[0]], path[1:])


def _described(text, kind):
    """Return a document after holding it against the page."""
    assert text.startswith('{\n "schema": "ge_harness/' + kind + '/1"')
    document = json.loads(text, parse_constant=pytest.fail)
    assert list(document)[1:] == sorted(list(document)[1:])
    assert _fields(document, kind, kind) == []
    return document


def _told(*words):
    """Return the exit status and the document that a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        arguments = main._parse(["ge_harness", *map(str, words), "--json"])
        status = main._guarded(arguments)
    return status, _described(out.getvalue(), words[0])


@pytest.fixture
def arrays(tmp_path):
    """Folders a, b and r with what makes every field of a pair occur."""
    base = np.linspace(0.1, 2.0, 12).astype(np.float32).reshape(3, 4)
    off = base.copy()
    off[0, 1:4] = np.nan, np.inf, 0.0
    sides = {
        "a": {"y": off, "same": base, "cut": base[:2], "half": base.astype("f2"),
              "count": np.arange(6), "flag": np.array([True, False]),
              "empty": base[:0], "scalar": np.float32(2), "extra_a": base,
              "nans": np.full(3, np.nan, np.float32)},
        "b": {"y": base, "same": base, "cut": base, "half": base,
              "count": np.arange(6)[::-1].copy(), "flag": np.array([True, True]),
              "empty": base[:0], "scalar": np.float32(1), "extra_b": base,
              "nans": np.zeros(3, np.float32)},
        "r": {"y": base.astype("f8"), "same": base.astype("f8")},
    }
    for side, tensors in sides.items():
        (tmp_path / side).mkdir()
        for name, array in tensors.items():
            np.save(str(tmp_path / side / f"{name}.npy"), array)
    (tmp_path / "a" / "broken.npy").write_bytes(b"no tensor")
    (tmp_path / "b" / "broken.npy").write_bytes(b"no tensor")
    (tmp_path / "a" / "notes.txt").write_text("no tensor either")
    return tmp_path


FUSION = ActivePass("hlo_pass", "fusion", "", "mixed", "certain", "text changed",
                    "flag", ("float32",), ("add",), 3, 1, "")
PLACE = Environment("3", "1", "2", platform="here", cpu_flags=("fma",),
                    variables=(("A", "b"),), removed=(("C", "d"),),
                    threads=(("inter", 2),), route="tf.function", onednn="on")
VALUES = {
    "one": np.array([1, 2, 3, 0], np.float32),
    "next": np.array([1, 2, np.nextafter(np.float32(3), np.float32(4)), np.inf],
                     np.float32),
    "truth": np.array([1, 2, 3.0000001, 0], np.float64),
}


def _report(candidate_path):
    """Return the record of a run as `run` makes it, of outcomes that nobody ran."""
    case = Case("g", "v", 0, "g.pb", (), (Port(TensorSpec("y", (4,), "float32"),
                                               "y:0"),), ())
    request = RunRequest(case, "xla")

    def success(path):
        return RunSuccess(request, (path,), (), True, "dumps", (FUSION,), (),
                          (("a", "b"),), (("k", "00"),), 0.1, PLACE)

    sides = {"candidate": success(candidate_path), "eager": success("one"),
             "nodewise": success("one"), "reference": success("truth")}
    ruling = judge(sides, "eager", "bits", VALUES.__getitem__)
    failure = RunFailure(request, FailureKind.TIMEOUT, "too long", None, "log.txt")
    shown = (
        Side("candidate", "xla", "whole", "ok", "", True, 2, 0.1,
             (SwitchEffect(Switch("hlo_pass", "dce"), "off", "proved", "dump"),),
             (("k", "00"),), PLACE, ("a note",), "jobs/0"),
        Side("nodewise", "xla", "nodewise", failure.kind.value, failure.message))
    return RunReport(
        "g", "v", BackendLine("xla", "real compiler, not Ascend", "asked for"),
        {"asked": {"disable_pass": ["dce"], "threads": 2}, "sent": {"a": "b"}},
        (FUSION,), ruling.outputs, ruling.suspects, ruling.explanation, ruling.verdict,
        ruling.why, "bits", "eager", shown, 0, 1, "python -m ge_harness run g",
        {"python": "3"}, {"folder": "here", "inputs": ["x.npy"]})


def test_the_page_is_up_to_date():
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], text=True,
                          stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr


def test_every_kind_has_a_section():
    assert {kind.name for kind in documents.KINDS} <= set(TABLES)
    printed = set()
    for path in (ROOT / "ge_harness" / "cli").glob("*.py"):
        printed |= set(re.findall(r'(?:document|dumps)\("(\w+)"',
                                  path.read_text(encoding="utf-8")))
    assert printed == {kind.name for kind in documents.KINDS}


def test_every_link_of_the_page_leads_to_a_table():
    for fields in TABLES.values():
        for kind in fields.values():
            for name in _LINK.findall(kind):
                assert name in TABLES


def test_the_check_notices_what_is_missing_or_of_another_type():
    assert _fields({"what": "x", "items": []}, "list", "list") == []
    assert _fields({"what": "x", "more": 1}, "list", "list")
    assert _fields({"what": 1, "items": []}, "list", "list")
    assert _fields({"what": "x", "items": [{"a": {"b": 1}}]}, "list", "list")
    assert not _has({"a": [{"b": 1}]}, ["a", "c"])


@pytest.mark.parametrize("what", sorted(LISTS))
def test_lists_are_described(what):
    status, document = _told("list", what)
    assert status == 0
    words = re.findall(rf"{what}: ([\w, ]+)\.", PAGE.read_text(encoding="utf-8"))
    assert document["items"]
    for item in document["items"]:
        assert list(item) == words[0].split(", ")


def test_comparisons_are_described_and_keep_the_contract(arrays):
    status, document = _told(
        "compare", arrays / "a", arrays / "b", f"--reference={arrays / 'r'}",
        "--standard=bits", "--standard=ulp:2", "--standard=stat", "--standard=mixed",
        "--standard=dual:L1", "--standard=close", "--standard=binary")
    assert status == 1
    for path in CONTRACT["compare"].split():
        assert _has(document, path.split(".")), path
    pairs = {pair["name"]: pair for pair in document["pairs"]}
    assert {pair["status"] for pair in pairs.values()} == {
        "equal", "differs", "kind_mismatch", "shape_mismatch", "dtype_mismatch",
        "unreadable"}
    assert document["unmatched"] == {"a": ["extra_a"], "b": ["extra_b"], "reasons": []}


def test_comparisons_of_operators_are_described_and_keep_the_contract(tmp_path):
    from tests.ge_harness.compare.operator_folders import fused_pair

    a, b, graph_a, graph_b = fused_pair(tmp_path, off=1e-3)
    status, document = _told("compare", a, b, f"--map={graph_a}",
                             f"--against-map={graph_b}")
    assert status == 1
    for path in CONTRACT["compare"].split():
        assert _has(document, path.split(".")), path
    assert document["unmatched"]["reasons"]
    assert document["first_difference"]["operator"] == "autofuse_4"


def test_a_nan_is_a_string_and_its_distance_is_null(arrays):
    _, document = _told("compare", arrays / "a" / "nans.npy",
                        arrays / "b" / "nans.npy")
    worst = document["pairs"][0]["worst"]
    assert (worst["a"], worst["b"], worst["ulp"]) == ("nan", 0.0, None)


def test_an_infinity_is_a_string(arrays):
    _, document = _told("compare", arrays / "a" / "y.npy", arrays / "b" / "y.npy")
    assert "inf" in [element["a"] for element in document["pairs"][0]["top"]]


def test_values_of_other_dtypes_compared_on_request_are_described(arrays):
    _, document = _told("compare", arrays / "a" / "half.npy",
                        arrays / "b" / "half.npy", "--values")
    assert document["pairs"][0]["count"] == 12


@pytest.mark.parametrize("candidate", ["next", "one"])
def test_a_run_is_described_and_keeps_the_contract(candidate):
    report = _report(candidate)
    document = _described(serialize.dumps("run", report), "run")
    for path in CONTRACT["run"].split():
        assert _has(document, path.split(".")), path
    assert set(document) == {"schema", *TABLES["run"]}
    runs = _described(serialize.dumps("runs", {"runs": [report], "skipped": ["g: no"]}),
                      "runs")
    assert runs["runs"][0]["verdict"] == report.verdict.value


@pytest.mark.parametrize("options", [
    (), ("--node=.*",), (f"--against={DUMPS / 'series'}",)],
    ids=["plain", "node", "against"])
def test_inspections_are_described(options):
    _, document = _told("inspect", DUMPS, *options)
    assert document["graphs"]


def test_inspections_keep_the_contract(tmp_path):
    (tmp_path / "ge_proto_00000001_graph_1_Build.txt").write_text("graph { name: \x01")
    for path in (DUMPS / "series").rglob("*"):
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    _, document = _told("inspect", tmp_path)
    for path in CONTRACT["inspect"].split():
        assert _has(document, path.split(".")), path
    assert isinstance(document["graphs"][0]["stages"][0]["nodes"], int)


@needs_shared
@pytest.mark.parametrize("folder", ["run_20230713", "train_2020", "ascgraph",
                                    "atc_json", "kernel_meta", "fusion_result"])
def test_inspections_of_real_dumps_are_described(folder):
    status, _ = _told("inspect", SAMPLES / folder)
    assert status == 0


def test_the_catalogue_is_described():
    _, document = _told("passes")
    assert len(document["passes"]) > 100


@pytest.mark.parametrize(("words", "status"), [
    (("--enable_autofuse=true;--autofuse_enable_pass=reduce,concat",), 0),
    (("--enable_autofuse=true;--autofuse_enable_pas=reduce",), 2),
    (("--enable_autofuse =true;;x;--max_fusion_size=1,000", "--chip=910b"), 2),
    (("--dfx", "--codegen_compile_debug=true;--debug_dir=/data/debug"), 0),
    (("--dfx", "--debug_dirr=/data"), 2)])
def test_flags_are_described(words, status):
    found, document = _told("flags", *words)
    assert found == status
    assert document["works"] is (status == 0)


def test_doctor_is_described():
    report = DoctorReport(True, "", "3.9", "here", (BackendHealth(
        "xla", "real compiler", True, True, "found", (
            Check("TensorFlow", "2.21", "ok"), Check("x", "none", "fail", "mend"))),))
    _described(serialize.dumps("doctor", report), "doctor")


def test_packs_are_described():
    report = PackReport("a.zip", 1, 2, (PackedFile("x", 1, 2, True),),
                        (LeftOut("y", 3, "too large"),), 2, "0.1")
    _described(serialize.dumps("pack", report), "pack")


def test_experiments_are_described_and_keep_the_contract():
    from tests.ge_harness.experiments.test_report import report

    document = _described(serialize.dumps("experiment", report()), "experiment")
    for path in CONTRACT["experiment"].split():
        assert _has(document, path.split(".")), path
    several = {"experiments": [report()], "skipped": ["E: not built yet"]}
    _described(serialize.dumps("experiments", several), "experiments")


def test_bisections_are_described_and_keep_the_contract(tmp_path):
    check = tmp_path / "check.py"
    check.write_text("import os, sys\nneeded = {'ge:AddNPass', 'node:Add'}\n"
                     "off = os.environ['GE_HARNESS_OFF'].split(',')\n"
                     "sys.exit(0 if needed <= set(off) else 1)\n")
    status, document = _told(
        "bisect", f"--command={sys.executable} {check}", "--pass=ge:AddNPass",
        "--pass=ge:PrunePass", "--pass=node:Add", f"--out={tmp_path / 'out'}",
        "--autofuse-flags=--enable_autofuse=true")
    assert status == 0
    for path in CONTRACT["bisect"].split():
        assert _has(document, path.split(".")), path
    assert {each["name"] for each in document["minimal"]} == {"AddNPass", "Add"}


def test_a_bisection_with_alternatives_and_breaking_switches_is_described(tmp_path):
    check = tmp_path / "check.py"
    check.write_text("import os, sys\noff = os.environ['GE_HARNESS_OFF']\n"
                     "sys.exit(5 if 'SavePass' in off else 0 if 'AddN' in off or "
                     "'Prune' in off else 1)\n")
    status, document = _told(
        "bisect", f"--command={sys.executable} {check}", "--pass=ge:SavePass",
        "--pass=ge:AddNPass", "--pass=ge:PrunePass", f"--out={tmp_path / 'out'}")
    assert status == 0
    assert [[each["name"] for each in one] for one in document["alternatives"]] == [
        ["PrunePass"]]
    assert document["set_aside"] == ["ge:SavePass"]


def test_reports_are_described(tmp_path):
    pytest.importorskip("jinja2")
    (tmp_path / "run.json").write_text(serialize.dumps("run", _report("next")))
    status, document = _told("report", tmp_path)
    assert (status, document["runs"]) == (0, 1)
