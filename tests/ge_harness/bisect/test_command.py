"""A user's own command as the oracle: what it is told and what its answers mean."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from ge_harness.bisect import driver
from ge_harness.errors import UsageError
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.records.bisection import BisectVerdict
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue

GATE = "--enable_autofuse=true;--autofuse_enable_pass=reduce"
OPEN = SwitchSetting(values=(SwitchValue(Switch("autofuse", "AUTOFUSE_FLAGS"), GATE),))
THREE = ("ge:CastRemovePass", "ge:ConstantFoldingPass", "ge:AddNPass")


@pytest.fixture
def script(tmp_path):
    """Return a command that runs Python code which sees `off`."""
    def make(code):
        path = tmp_path / "check it.py"
        path.write_text("import os, sys, time\n"
                        "off = set(filter(None, os.environ['GE_HARNESS_OFF']"
                        ".split(',')))\n"
                        f"with open({str(tmp_path / 'calls')!r}, 'a') as calls:\n"
                        "    calls.write(','.join(sorted(off)) + '\\n')\n" + code)
        return f"{shlex.quote(sys.executable)} -ESs {shlex.quote(str(path))}"
    return make


def bisect(command, folder, passes=(), backend="ge", setting=OPEN, resume=False,
           environ=None, timeout_s=20.0, **more):
    options = RunOptions("", backend, timeout_s=timeout_s, setting=setting)
    where = RunFolder.resume(str(folder)) if resume else RunFolder.create(
        str(folder), "bisect", "command")
    told = []
    found = driver.bisect(driver.Asked(options, command=command, passes=passes,
                                       environ=environ or {}, **more), where,
                          told.append)
    assert [run.number for run in told] == [run.number for run in found.runs]
    return found


def names(bisection):
    return {f"{each.kind}:{each.name}" for each in bisection.minimal}


def test_exit_statuses_decide_and_the_set_is_proved(script, tmp_path):
    command = script("sys.exit(0 if {'ge:CastRemovePass', 'ge:AddNPass'} <= off "
                     "else 1)")
    found = bisect(command, tmp_path / "out", THREE)
    assert found.verdict is BisectVerdict.PROVED
    assert names(found) == {"ge:CastRemovePass", "ge:AddNPass"}
    assert found.goal == "command"
    assert found.proof.with_minimal_off is True
    assert [each.agrees_with_it_on for each in found.proof.each_needed] == [
        False, False]
    assert found.files.optimization_switch.content == (
        "AddNPass:off;CastRemovePass:off\n")


def test_a_trial_can_be_repeated_by_the_script_it_leaves(script, tmp_path):
    command = script("sys.exit(0 if 'ge:AddNPass' in off else 1)")
    found = bisect(command, tmp_path / "out", THREE)
    for each in found.reproduce:
        words = shlex.split(each.command)
        status = subprocess.run(words, cwd=str(tmp_path / "out")).returncode
        assert status == (0 if each.agrees else 1)
    assert {each.agrees for each in found.reproduce} == {True, False}


def test_the_script_of_a_trial_runs_where_the_command_ran(tmp_path, monkeypatch):
    here = tmp_path / "a place"
    here.mkdir()
    (here / "check.sh").write_text('case "$GE_HARNESS_OFF" in *AddN*) exit 0; esac\n'
                                   "exit 1\n")
    monkeypatch.chdir(here)
    found = bisect("sh check.sh", tmp_path / "out", ("ge:AddNPass",),
                   environ={"PATH": "/usr/bin:/bin"})
    assert found.verdict is BisectVerdict.PROVED
    for each in found.reproduce:
        status = subprocess.run(each.command, shell=True, cwd="/").returncode
        assert status == (0 if each.agrees else 1)


def test_the_command_is_told_where_its_files_are(script, tmp_path):
    command = script(
        "place = os.environ['GE_HARNESS_TRIAL_DIR']\n"
        "flags = os.environ['AUTOFUSE_FLAGS']\n"
        "assert 'XLA_FLAGS' not in os.environ and os.environ['MINE'] == 'kept'\n"
        "path = os.environ['GE_HARNESS_OPTIMIZATION_SWITCH']\n"
        "text = open(path).read() if path else ''\n"
        "assert not path or path.startswith(place)\n"
        "sys.exit(0 if 'reduce' not in flags and 'AddNPass:off' in text else 1)\n")
    found = bisect(command, tmp_path / "out",
                   ("AddNPass", "autofuse:--autofuse_enable_pass=reduce"),
                   environ={"MINE": "kept", "XLA_FLAGS": "--x", "PATH": "/bin",
                            "AUTOFUSE_FLAGS": "other"})
    assert found.verdict is BisectVerdict.PROVED
    assert len(found.minimal) == 2


def test_operators_can_be_named_and_are_written_to_the_skip_file(script, tmp_path):
    command = script(
        "path = os.environ['GE_HARNESS_SKIP_NODE_NAMES_CFG']\n"
        "assert not path or path in os.environ['AUTOFUSE_DFX_FLAGS']\n"
        "sys.exit(0 if path and 'Add_1' in open(path).read() else 1)\n")
    found = bisect(command, tmp_path / "out", ("node:Mul", "node:Add_1"),
                   granularity="op")
    assert names(found) == {"node:Add_1"}
    with pytest.raises(UsageError, match="--pass=node:NAME"):
        bisect(command, tmp_path / "again", granularity="op")


@pytest.mark.parametrize("bad", ["sys.exit(7)", "os.kill(os.getpid(), 9)",
                                 "time.sleep(60)"],
                         ids=["status", "killed", "too long"])
def test_any_other_end_is_undecided_and_does_not_end_the_search(script, tmp_path, bad):
    command = script(f"if 'ge:ConstantFoldingPass' in off:\n    {bad}\n"
                     "sys.exit(0 if 'ge:AddNPass' in off else 1)")
    found = bisect(command, tmp_path / "out", THREE, timeout_s=0.6)
    assert found.verdict is BisectVerdict.PROVED
    assert names(found) == {"ge:AddNPass"}
    assert found.set_aside == ("ge:ConstantFoldingPass",)
    undecided = [run for run in found.runs if run.agrees is None]
    assert undecided
    assert all("log.txt" in run.message for run in undecided)


def test_nothing_is_run_twice_after_an_interruption(script, tmp_path):
    command = script("sys.exit(0 if 'ge:AddNPass' in off else 1)")
    first = bisect(command, tmp_path / "out", THREE)
    calls = (tmp_path / "calls").read_text()
    (tmp_path / "out" / "trials" / "0001.json").unlink()
    (tmp_path / "out" / "trials" / "0002.json").write_text("{ cut off")
    again = bisect(command, tmp_path / "out", THREE, resume=True)
    assert names(again) == names(first)
    more = (tmp_path / "calls").read_text()[len(calls):].splitlines()
    assert len(more) == 2
    third = bisect(command, tmp_path / "out", THREE, resume=True)
    assert third.runs == again.runs
    assert (tmp_path / "calls").read_text() == calls + "".join(
        f"{line}\n" for line in more)


def test_another_question_is_not_answered_from_kept_trials(script, tmp_path):
    command = script("sys.exit(0 if 'ge:AddNPass' in off else 1)")
    bisect(command, tmp_path / "out", THREE)
    with pytest.raises(UsageError, match="cannot be resumed"):
        bisect(command, tmp_path / "out", THREE[:2], resume=True)


def test_a_limit_ends_the_search_and_the_best_set_is_not_called_minimal(
        script, tmp_path):
    command = script("sys.exit(0 if {'ge:CastRemovePass', 'ge:AddNPass'} <= off "
                     "else 1)")
    found = bisect(command, tmp_path / "out", THREE, max_runs=2)
    assert found.verdict is BisectVerdict.NOT_PROVED
    assert len(found.runs) == 2
    assert names(found) == set(THREE)
    assert "not proved" in found.why
    none = bisect(command, tmp_path / "none", THREE, max_runs=1)
    assert none.verdict is BisectVerdict.UNDECIDED
    assert "limit" in none.why


def test_the_catalogue_is_searched_where_no_pass_is_named(script, tmp_path):
    command = script("sys.exit(0 if 'ge:AutoFusePass' in off else 1)")
    found = bisect(command, tmp_path / "out")
    assert found.verdict is BisectVerdict.PROVED
    assert names(found) == {"ge:AutoFusePass"}
    assert found.switch_count > 100
    assert found.proof.runs < 16


def test_a_doubtful_command_is_repeated_until_the_verdict_is_sure(script, tmp_path):
    command = script("sys.exit(0 if 'ge:AddNPass' in off else 1)")
    found = bisect(command, tmp_path / "out", THREE, wrong=0.1)
    assert names(found) == {"ge:AddNPass"}
    sets = [run.switches for run in found.runs]
    assert len(sets) > 2 * len(set(sets))
    assert 0 < found.proof.error_probability < 0.05


@pytest.mark.parametrize(("code", "verdict"), [
    ("sys.exit(0)", BisectVerdict.AGREES_ALREADY),
    ("sys.exit(1)", BisectVerdict.NOTHING_RESTORES),
    ("sys.exit(3)", BisectVerdict.UNDECIDED),
    ("sys.exit(3 if off else 1)", BisectVerdict.UNDECIDED)])
def test_what_cannot_be_found_is_said(script, tmp_path, code, verdict):
    found = bisect(script(code), tmp_path / "out", THREE)
    assert found.verdict is verdict
    assert not found.minimal
    assert found.files.optimization_switch is None


def test_an_answer_that_is_missing_is_not_told_as_a_difference(script, tmp_path):
    """The culprit breaks runs: that no other set helps does not clear it."""
    found = bisect(script("sys.exit(3 if 'ge:AddNPass' in off else 1)"),
                   tmp_path / "out", THREE)
    assert found.verdict is BisectVerdict.NOTHING_RESTORES
    assert found.set_aside == ("ge:AddNPass",)
    assert "4 of 8 gave no answer" in found.why
    assert "among those that spoil a run" in found.why


def test_a_command_without_a_steady_answer_ends_undecided(script, tmp_path):
    command = script("sys.exit(len(open(calls.name).readlines()) % 2)")
    found = bisect(command, tmp_path / "out", THREE, wrong=0.05)
    assert found.verdict is BisectVerdict.UNDECIDED
    assert "contradict one another" in found.why
    assert len(found.runs) < 30


@pytest.mark.parametrize("most", [1, 5, 8])
def test_a_limit_holds_for_a_doubtful_command_too(script, tmp_path, most):
    command = script("sys.exit(0 if 'ge:AddNPass' in off else 1)")
    found = bisect(command, tmp_path / "out", THREE, wrong=0.05, max_runs=most)
    assert len(found.runs) == most
    assert found.verdict in (BisectVerdict.NOT_PROVED, BisectVerdict.UNDECIDED)


def test_a_command_that_cannot_be_started_is_bad_usage(tmp_path):
    with pytest.raises(UsageError, match="cannot start '/nosuch/command'"):
        bisect("/nosuch/command --now", tmp_path / "out", THREE)
    with pytest.raises(UsageError, match="quotation"):
        bisect("echo 'open", tmp_path / "quote", THREE)
    with pytest.raises(UsageError, match="empty"):
        bisect(" ", tmp_path / "empty", THREE)
