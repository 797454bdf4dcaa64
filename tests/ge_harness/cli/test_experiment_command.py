from __future__ import annotations

import argparse

import pytest

from ge_harness.cli import (
    exit_codes,
    experiment_command,
    experiment_options,
    experiment_output,
)
from ge_harness.errors import UsageError
from ge_harness.experiment.store import RunFolder
from ge_harness.records import serialize
from tests.ge_harness.experiments.test_report import report


def _args(*words):
    parser = argparse.ArgumentParser()
    experiment_command.add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize("words", [
    ("A", "--shape=x:2,3"), ("A", "--inputs=x.npz"), ("B", "--standard=ulp:1"),
    ("B", "--variant=gelu=erf"), ("C1", "--subgraph=softmax"), ("D", "--corpus=a.txt"),
    ("B", "--steps=5"), ("C2", "--baseline=eager"), ("A", "--fetch=y:0"),
    ("A", "--explain"), ("A", "--collect"), ("A", "--feed=x:0"),
    ("A", "--subgraph=softmax", "--subgraph=layernorm"),
    ("B", "--subgraph=a/same.py", "--subgraph=b/same.py")], ids=" ".join)
def test_an_option_that_nothing_asked_for_takes_is_refused(words):
    args = _args(*words)
    with pytest.raises(UsageError, match=words[1].split("=")[0]):
        experiment_options.check(args, (args.source,))


@pytest.mark.parametrize("words", [
    ("A", "--subgraph=softmax", "--sets=2", "--repeat=3"),
    ("B", "--budget=2", "--subgraph=softmax", "--subgraph=layernorm"),
    ("E", "--variant=layers=1", "--steps=3", "--corpus=a.txt"),
    ("D", "--baseline=both")], ids=" ".join)
def test_an_option_that_is_taken_passes_in_silence(words, capsys):
    args = _args(*words)
    experiment_options.check(args, (args.source,))
    assert capsys.readouterr().err == ""


def test_all_takes_what_one_of_its_experiments_takes():
    experiment_options.check(_args("all", "--budget=2", "--steps=3"), ("A", "B", "E"))


def test_a_count_that_does_nothing_is_said_to_be_left_out(capsys):
    experiment_options.check(_args("D", "--sets=3"), ("D",))
    assert "--sets is left out" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("B", "--budget=0"), ("B", "--budget=-5"),
                                   ("E", "--steps=-1"), ("E", "--steps=0")])
def test_counts_below_one_are_refused(words, capsys):
    with pytest.raises(SystemExit):
        _args(*words)
    assert "not 1 or more" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("A", "--plan=p"), ("--plan=p", "--backend=xla")])
def test_what_the_cells_of_a_plan_would_not_get_is_refused(words):
    with pytest.raises(UsageError, match="beside --plan=p"):
        experiment_options.check_plan(_args(*words), words)


@pytest.mark.parametrize(("source", "verdicts", "missed", "status"), [
    ("A", ["holds"], [], exit_codes.OK),
    ("A", ["holds", "refuted"], [], exit_codes.DIFFERS),
    ("A", ["refuted", "inconclusive"], [], exit_codes.UNDECIDED),
    ("A", ["holds"], [exit_codes.UNAVAILABLE], exit_codes.UNAVAILABLE),
    ("A", [], [exit_codes.USAGE, exit_codes.USAGE], exit_codes.USAGE),
    ("all", ["refuted", "inconclusive"], [exit_codes.UNAVAILABLE], exit_codes.OK),
    ("all", [], [exit_codes.UNAVAILABLE], exit_codes.UNAVAILABLE),
    ("all", ["holds"], [exit_codes.USAGE], exit_codes.USAGE)])
def test_the_exit_status_tells_the_worst_of_what_ran_and_what_did_not(
        tmp_path, monkeypatch, source, verdicts, missed, status):
    monkeypatch.setattr(experiment_output, "page", lambda *rest: "")
    monkeypatch.setattr(experiment_output.experiment_text, "text", lambda reports: "")
    args = argparse.Namespace(source=source, json=False)
    assert experiment_output.answer(
        args, RunFolder(tmp_path), [{"verdict": each} for each in verdicts],
        [("a part", each) for each in missed]) == status


def test_the_page_of_a_resumed_call_shows_the_other_backends_too(
        tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(experiment_output.experiment_html, "render",
                        lambda reports, skipped: seen.extend(reports) or "page")
    folder = RunFolder(tmp_path)
    for name in ("xla", "emulator"):
        folder.write(f"experiment-{name}.json", serialize.dumps(
            "experiment", {"backend": {"name": name}}))
    assert "report.html" in experiment_output.page(folder, [])
    assert [each["backend"]["name"] for each in seen] == ["emulator", "xla"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError])
def test_a_call_cut_short_keeps_a_page_of_what_is_finished(
        tmp_path, monkeypatch, capsys, fault):
    pytest.importorskip("jinja2")

    def load(name):
        if name == "C1":
            raise fault
        return lambda bench: report(id=name)

    monkeypatch.setattr(experiment_command.EXPERIMENTS, "load", load)
    monkeypatch.setattr(experiment_command, "_ALL", ("A", "C1", "C2"))
    monkeypatch.setattr(experiment_command.Bench, "probe", lambda bench: None)
    with pytest.raises(fault):
        experiment_command.run(_args(
            "all", "--backend=emulator", f"--out={tmp_path / 'run'}"))
    assert "report.html" in capsys.readouterr().err
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "A: t, on emulator" in page
