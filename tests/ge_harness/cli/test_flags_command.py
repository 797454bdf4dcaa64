from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ge_harness.records import serialize

GOOD = "--enable_autofuse=true;--autofuse_enable_pass=concat"


def _run(*words, code="from ge_harness.cli.main import main; main()"):
    done = subprocess.run([sys.executable, "-c", code, *words], timeout=60,
                          capture_output=True)
    return (done.returncode, done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"))


def test_a_misspelt_key_exits_2_and_its_good_twin_0():
    status, out, _ = _run(
        "flags", "--enable_autofuse=true;--autofuse_enable_pas=concat")
    assert status == 2
    assert "autofuse_enable_pass" in out
    assert "did you mean --autofuse_enable_pass?" in out
    status, out, _ = _run("flags", GOOD)
    assert status == 0
    assert out.splitlines()[-1] == f"canonical: {GOOD}"


def test_a_blank_in_a_list_is_said_to_lose_the_name():
    status, out, _ = _run(
        "flags", "--enable_autofuse=true;--autofuse_enable_pass=reduce, concat")
    assert status == 2
    assert "' concat' (with its blank) is lost" in out


@pytest.mark.parametrize(("words", "status"), [
    (("flags", ""), 0), (("flags", ";;;"), 0),
    (("flags", "--dfx", "--disable_lifting=true"), 0),
    (("flags", "--disable_lifting=true", "--dfx"), 0),
    (("flags", "--disable_lifting=true"), 2),
    (("flags", "--chip=910b", "--enable_autofuse=true;--autofuse_enable_pass=conv"), 2),
    (("flags", "--chip=950", "--enable_autofuse=true;--autofuse_enable_pass=conv"), 0),
    (("flags", "--chip=310", "--enable_autofuse=true"), 2),
    (("flags",), 2),
], ids=str)
def test_the_status_says_whether_the_string_does_what_it_says(words, status):
    assert _run(*words)[0] == status


def test_a_skip_file_is_read_and_a_missing_one_warned_of(tmp_path):
    path = tmp_path / "skip.ini"
    path.write_text("[ByNodeType]\nSum\n[ByNodeNames]\nx\n", encoding="utf-8")
    status, out, _ = _run("flags", "--dfx", f"--skip_node_names_cfg={path}")
    assert status == 0
    assert "leaves out 1 operator types: Sum" in out
    assert "GE's is ReduceSum" in out
    assert "did you mean [ByNodeName]" in out
    status, out, _ = _run("flags", "--dfx", f"--skip_node_names_cfg={tmp_path}/no")
    assert status == 0
    assert "would skip nothing" in out


def test_json_is_one_document_of_the_kind_flags():
    status, out, _ = _run("flags", "--json", GOOD)
    assert status == 0
    body = serialize.loads("flags", out, "stdout")
    assert body["canonical"] == GOOD
    assert [item["key"] for item in body["items"]] == [
        "--enable_autofuse", "--autofuse_enable_pass"]
    assert json.loads(out)["schema"] == "ge_harness/flags/1"
    assert _run("flags", "--json", "nonsense")[0] == 2


def test_control_characters_never_reach_the_terminal():
    status, out, _ = _run("flags", "\x1b[31m--enable_autofuse=true;\u202ex=\x07")
    assert status == 2
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\u202e" not in out


def test_a_string_of_100_kilobytes_is_answered_shortly():
    status, out, _ = _run("flags", "--enable_autofuse=true;" + "x=y;" * 25000)
    assert status == 2
    assert len(out) < 60000


def test_explaining_flags_imports_neither_tensorflow_nor_numpy():
    code = ("import sys\nfrom ge_harness.cli import flags_command\n"
            "from ge_harness.switches import ge_plan, autofuse_config\n"
            "from ge_harness.report import flags_text\n"
            "sys.exit(1 if {'tensorflow', 'numpy'} & set(sys.modules) else 0)")
    assert _run(code=code)[0] == 0
