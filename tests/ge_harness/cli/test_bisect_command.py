"""`bisect` as a user types it."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from pathlib import Path

import pytest

from ge_harness.cli import main
from tests.ge_harness.cli.console_run import console

CASES = Path(__file__).resolve().parents[2] / "data" / "cases"
GATE = "--autofuse-flags=--enable_autofuse=true"


def _names(document):
    return {f"{each['kind']}:{each['name']}" for each in document["minimal"]}


def _json(*words):
    status, out, err = console("bisect", *words, "--json")
    assert "Traceback" not in err
    return status, json.loads(out), err


def _version():
    from ge_harness.backends import tf_loader

    version = tf_loader.installed()
    if not version:
        pytest.skip("TensorFlow is not installed")
    return tuple(int(part) for part in version.split(".")[:2])


@pytest.mark.parametrize(("words", "status", "text"), [
    ((), 2, "a subgraph, or --command=CMD"),
    (("softmax", "--command=true"), 2, "one of the two"),
    (("all",), 2, "go with run"),
    (("softmax", "--explain"), 2, "go with run"),
    (("softmax", "--max-runs=-1"), 2, "0 or more"),
    (("softmax", "--error-rate=0.5"), 2, "less than 0.5"),
    (("softmax", "--backend=xla,grappler"), 2, "one backend"),
    (("softmax", "--backend=eager"), 2, "no switches to search"),
    (("softmax", "--backend=xla", "--granularity=op"), 3, "no switch for single"),
    (("softmax", "--backend=grappler", "--granularity=op"), 3, "no switch for single"),
    (("softmax", "--backend=emulator", "--goal=better"), 2, "expected bits, ulp:N"),
    (("softmax", "--backend=emulator", "--goal=standard:nosuch"), 2, "nosuch"),
    (("softmxa", "--backend=emulator"), 2, "softmax"),
    (("--command=true", "--goal=ulp:1"), 2, "--goal goes with a subgraph"),
    (("--command=true", "--dtype=float16"), 2, "--dtype goes with a subgraph"),
    (("--command=true", "--ensemble"), 2, "--ensemble goes with a subgraph"),
    (("--command=false", "--backend=ge", "--granularity=op"), 2, "--pass=node:NAME"),
    (("--command=/nosuch",), 2, "cannot start"),
])
def test_bad_usage_has_its_status_and_one_line(words, status, text, tmp_path, capsys):
    arguments = main._parse(["ge_harness", "bisect", *words,
                             f"--out={tmp_path / 'out'}"])
    assert main._guarded(arguments) == status
    out, err = capsys.readouterr()
    assert text in err
    assert "Traceback" not in err + out
    assert len(err.strip().splitlines()) <= 3


@pytest.mark.parametrize(("words", "text"), [
    (("--pass=NoSuchPass",), "no pass of GE named 'NoSuchPass'"),
    (("--pass=AddNPas",), "Did you mean 'AddNPass'?"),
    (("--pass=CastRemovePass",), "autofuse:CastRemovePass, ge:CastRemovePass"),
    (("--pass=InferShapePass",), "a compile needs it"),
    (("--pass=AddNPass", "--disable-pass=AddNPass"), "off already"),
    (("--pass=autofuse:--max_fusion_sise", GATE), "Did you mean '--max_fusion_size'?"),
    (("--pass=autofuse:--max_fusion_size",), "AutoFuse, which is off"),
    (("--pass=node:Add",), "AutoFuse, which is off"),
    (("--pass=node:", GATE), "a name is one line"),
    (("--pass=autofuse:--max_fusion_size", f"{GATE};--max_fusion_size=0"),
     "0 already"),
    (("--pass=autofuse:--autofuse_enable_pass=reduce", GATE), "nothing to take out"),
    (("--backend=xla", "--pass=xla_flag:xla_cpu_enable_fast_math",
      "--xla-flags=--xla_cpu_enable_fast_math=true"), "given a value already"),
])
def test_a_switch_that_would_do_nothing_is_refused_before_anything_runs(
        words, text, tmp_path, capsys):
    ran = tmp_path / "ran"
    arguments = main._parse(["ge_harness", "bisect", f"--command=touch {ran}", *words,
                             f"--out={tmp_path / 'out'}"])
    assert main._guarded(arguments) == 2
    out, err = capsys.readouterr()
    assert text in err
    assert not out
    assert not ran.exists()
    assert not (tmp_path / "out").exists()


def test_a_pass_of_xla_that_may_be_misspelt_is_named(tmp_path, capsys):
    arguments = main._parse(["ge_harness", "bisect", "--command=false", "--backend=xla",
                             "--pass=fuson", f"--out={tmp_path / 'out'}"])
    assert main._guarded(arguments) == 1
    assert "did you mean 'fusion'?" in capsys.readouterr()[0]


def test_a_command_is_searched_and_the_answer_can_be_typed(tmp_path, capsys):
    check = tmp_path / "check.py"
    check.write_text("import os, sys\nsys.exit(0 if 'AddNPass' in "
                     "os.environ['GE_HARNESS_OFF'] else 1)\n")
    command = f"{shlex.quote(sys.executable)} {check}"
    status, out, err = console(
        "bisect", f"--command={command}", "--pass=AddNPass", "--pass=PrunePass",
        f"--out={tmp_path / 'out'}")
    assert status == 0
    assert out.splitlines()[0].startswith("PROVED: ge:AddNPass off restores agreement")
    assert "AddNPass:off" in out
    assert "run 0: off: nothing: differs" in err
    assert (tmp_path / "out" / "bisect.json").is_file()
    if importlib.util.find_spec("jinja2"):
        page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
        assert "ge:AddNPass off restores agreement" in page
        assert "AddNPass:off\n" in page or "AddNPass:off</pre>" in page
    arguments = main._parse([
        "ge_harness", "bisect", f"--command={command}", "--pass=AddNPass",
        "--pass=PrunePass", f"--resume={tmp_path / 'out'}"])
    assert main._guarded(arguments) == 0
    assert capsys.readouterr()[0] == out


@pytest.mark.tf
def test_xla_of_tensorflow_1_differs_by_fusion_and_newer_ones_agree(tmp_path):
    version = _version()
    status, document, _ = _json("elementwise_chain", "--backend=xla",
                                "--dtype=float16", f"--out={tmp_path / 'out'}")
    if version < (2, 0):
        assert document["verdict"] == "proved"
        assert _names(document) == {"hlo_pass:fusion"}
        assert document["proof"]["runs"] <= 8
    elif version >= (2, 21):
        assert document["verdict"] == "agrees_already"
    assert status == 0


@pytest.mark.tf
def test_an_overflow_needs_the_simplifier_off_and_fast_math_where_that_is_on(tmp_path):
    version = _version()
    status, document, _ = _json(CASES / "f01_log_exp.py", "--backend=xla",
                                f"--out={tmp_path / 'out'}")
    assert (status, document["verdict"]) == (0, "proved")
    names = {"hlo_pass:algsimp"}
    if version < (2, 21):
        names.add("xla_flag:xla_cpu_enable_fast_math")
    assert _names(document) == names
    assert "algsimp" in document["files"]["xla_flags"]["content"]
    assert [each["agrees_with_it_on"] for each in document["proof"]["each_needed"]] == [
        False] * len(names)
    assert [each["agrees"] for each in document["reproduce"]] == (
        [True] + [False] * len(names))
    words = shlex.split(document["reproduce"][0]["command"])[3:]
    found, _, err = console(*words, f"--out={tmp_path / 'run'}")
    assert found == 0, err


@pytest.mark.tf
def test_a_division_that_grappler_rewrites_is_restored_by_its_optimizer(tmp_path):
    status, document, _ = _json(CASES / "f02_reciprocal.py", "--backend=grappler",
                                f"--out={tmp_path / 'out'}")
    if document["verdict"] == "agrees_already":
        pytest.skip("this TensorFlow does not rewrite the division")
    assert (status, document["verdict"]) == (0, "proved")
    assert {each["kind"] for each in document["minimal"]} == {"grappler"}
    assert "OFF" in document["files"]["session_config"]["content"]


@pytest.mark.tf
def test_the_emulator_is_labelled_and_its_fusion_is_the_culprit(tmp_path):
    words = ("elementwise_chain", "--backend=emulator", "--dtype=float16", GATE,
             f"--out={tmp_path / 'out'}")
    status, out, _ = console("bisect", *words)
    assert status == 0
    assert out.startswith("EMULATED: PROVED: autofuse:--max_fusion_size off")
    assert "instead: ge:AutoFusePass" in out


@pytest.mark.tf
def test_a_difference_of_kernels_is_not_blamed_on_a_pass(tmp_path):
    """Eager adds fp16 numbers in fp16, the compiler in fp32: no switch changes it."""
    version = _version()
    status, document, _ = _json("softmax", "--backend=xla", "--dtype=float16",
                                "--pass=fusion", "--pass=algsimp",
                                f"--out={tmp_path / 'out'}")
    assert (status, document["verdict"]) == (1, "nothing_restores")
    assert not document["minimal"]
    if version >= (2, 21):
        assert "kernels for single operators" in document["notes"][-1]
