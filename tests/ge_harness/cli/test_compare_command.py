from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


def ge_harness(*words, cwd=None):
    environment = dict(os.environ, PYTHONPATH=str(ROOT), PYTHONIOENCODING="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "ge_harness", "compare", *map(str, words)],
        capture_output=True, text=True,
        env=environment, cwd=None if cwd is None else str(cwd))


@pytest.fixture
def files(tmp_path):
    base = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    off = base.copy()
    off[1, 2] = np.nextafter(off[1, 2], np.float32(99))
    for name, array in (("a", off), ("b", base), ("r", base.astype(np.float64))):
        np.save(str(tmp_path / (name + ".npy")), array)
    return tmp_path


def test_equal_files_exit_0_and_differing_ones_1(files):
    assert ge_harness(files / "b.npy", files / "b.npy").returncode == 0
    found = ge_harness(files / "a.npy", files / "b.npy")
    assert found.returncode == 1
    assert ("a: 1 of 12 elements differ; worst at [1, 2]: 7.00000048, base line 7 "
            "(1 ULP)") in found.stdout
    assert found.stdout.endswith("verdict: differs (bits)\n")
    assert found.stderr == ""


def test_the_standard_decides(files):
    words = (files / "a.npy", files / "b.npy")
    assert ge_harness(*words, "--standard=ulp:1").returncode == 0
    assert ge_harness(*words, "--standard=ulp:1", "--standard=ulp:0").returncode == 1
    assert ge_harness(*words, "--standard=dual:L1",
                      "--reference", files / "r.npy").returncode == 1


def test_json_is_one_document_alone_on_stdout(files):
    found = ge_harness(files / "a.npy", files / "b.npy", "--json",
                       f"--reference={files / 'r.npy'}", "--standard=mixed")
    document = json.loads(found.stdout)
    assert document["schema"] == "ge_harness/compare/1"
    assert document["verdict"] == "agrees"
    assert document["unmatched"] == {"a": [], "b": [], "reasons": []}
    pair = document["pairs"][0]
    assert (pair["status"], pair["shape"], pair["dtype"]) == ("differs", [3, 4],
                                                               "float32")
    assert pair["worst"]["index"] == [1, 2]
    assert pair["worst"]["reference"] == 7.0
    assert pair["vs_reference"]["a"]["ulp"]["max"] == 1.0
    assert pair["standards"]["mixed"]["passed"] is True


@pytest.mark.parametrize(("words", "status", "text"), [
    (["a.npy", "gone.npy"], 2, "no such file"),
    (["a.npy", "cut.npy"], 2, "truncated"),
    (["a.npy", "a.npy", "--standard=bit"], 2, "Did you mean 'bits'?"),
    (["a.npy", "a.npy", "--standard=dual:L1"], 2, "no reference"),
    (["a.npy", "a.npy", "--dtype=bfloat"], 2, "bfloat16"),
    (["a.npy", "a.npy", "--dtype=bfloat16"], 2, "float32"),
    (["a.npy"], 2, "B"),
    (["a.npy", "a.npy", "--refrence=x"], 2, "--reference"),
    (["a.npy", "a.npy", "--map=g.txt"], 2, "g.txt: found 'No such file"),
    (["a.npy", "a.npy", "--against-map=a.npy"], 2, "cannot read the graph"),
    (["a.npy", "a.npy", "--junit=no/such/folder.xml"], 2, "cannot write"),
])
def test_a_wrong_request_is_one_line_with_its_status(files, words, status, text):
    (files / "cut.npy").write_bytes((files / "a.npy").read_bytes()[:-5])
    found = ge_harness(*words, cwd=files)
    assert found.returncode == status
    assert text in found.stderr
    assert found.stderr.count("\n") == 1
    assert "Traceback" not in found.stderr


def test_an_undecided_standard_exits_4(files):
    found = ge_harness(files / "r.npy", files / "r.npy", "--standard=mixed")
    assert found.returncode == 4
    assert "no thresholds for float64" in found.stdout


def test_values_are_compared_on_request(tmp_path):
    np.save(str(tmp_path / "a.npy"), np.float32(2))
    np.save(str(tmp_path / "b.npy"), np.float32([2]))
    plain = ge_harness(tmp_path / "a.npy", tmp_path / "b.npy", "--json")
    asked = ge_harness(tmp_path / "a.npy", tmp_path / "b.npy", "--json", "--values")
    for found, count in ((plain, 0), (asked, 1)):
        assert found.returncode == 1
        pair = json.loads(found.stdout)["pairs"][0]
        assert (pair["status"], pair["count"]) == ("shape_mismatch", count)


def test_folders_keep_going_past_a_file_that_cannot_be_read(files):
    for side in ("p", "q"):
        (files / side).mkdir()
        for name in ("x", "y"):
            np.save(str(files / side / (name + ".npy")), np.zeros(3))
    assert ge_harness(files / "p", files / "q").returncode == 0
    (files / "q" / "x.npy").write_bytes(b"junk")
    found = ge_harness(files / "p", files / "q", "--json")
    assert found.returncode == 2
    document = json.loads(found.stdout)
    assert [pair["status"] for pair in document["pairs"]] == ["unreadable", "equal"]
    assert document["verdict"] == "undecided"
    np.save(str(files / "q" / "more.npy"), np.zeros(3))
    found = ge_harness(files / "p", files / "q")
    assert found.returncode == 1
    assert "only in B: 1\n  more\n" in found.stdout


def test_hostile_names_reach_neither_terminal_nor_xml(tmp_path):
    name = "x\x1b[31m\u202e<&>\"'"
    for side, value in (("p", 0.0), ("q", 1.0)):
        (tmp_path / side).mkdir()
        np.save(str(tmp_path / side / (name + ".npy")), np.float32([value]))
    junit = tmp_path / "out.xml"
    found = ge_harness(tmp_path / "p", tmp_path / "q", f"--junit={junit}")
    assert found.returncode == 1
    assert "\x1b" not in found.stdout
    assert "\u202e" not in found.stdout
    suite = ElementTree.parse(str(junit)).getroot()
    assert suite.get("failures") == "1"
    case = suite.find("testcase")
    assert case.get("classname") == "x\\x1b[31m\\u202e<&>\"'"
    assert "1 of 1 elements" in case.find("failure").get("message")


def test_it_answers_quickly_and_loads_nothing_heavy(files):
    code = ("import sys; sys.argv = ['x', 'compare', 'a.npy', 'b.npy', '--json']\n"
            "from ge_harness.cli import main\n"
            "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
            "heavy = {'tensorflow', 'numba', 'matplotlib', 'rich', 'jinja2'}\n"
            "sys.stderr.write(','.join(sorted(heavy & set(sys.modules))))")
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    times = []
    for _ in range(3):
        start = time.perf_counter()
        found = subprocess.run([sys.executable, "-c", code], capture_output=True,
                               env=environment, cwd=str(files))
        times.append(time.perf_counter() - start)
        assert found.stderr == b""
        assert b"ge_harness/compare/1" in found.stdout
    # The promise is 0.5 s on a quiet machine; tests share theirs with others.
    assert min(times) < 1.5
