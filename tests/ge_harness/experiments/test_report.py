"""The page of the experiments: labels on every figure, hostile names harmless."""

from __future__ import annotations

import base64

import pytest

from ge_harness.records import serialize
from ge_harness.records.experiment import (
    CounterexampleRecord,
    ExperimentReport,
    ExperimentTable,
    ExperimentVerdict,
    FigureRecord,
    MechanismEvidence,
)
from ge_harness.records.report import BackendLine
from ge_harness.report import experiment_html, experiment_text

HOSTILE = "<script>alert(1)</script>\x1b[31m"


def report(**changes):
    """Return a report in which every part occurs."""
    fields = {
        "id": "B", "title": "t", "claim": "c", "verdict": ExperimentVerdict.REFUTED,
        "why": HOSTILE, "method": "m", "limits": ("l",),
        "evidence": (MechanismEvidence("w", HOSTILE, "dumps", False),),
        "table": ExperimentTable("one", ("a", "b"), ((1.5, (0.5, 2.0)), (HOSTILE, None))
                                 ),
        "backend": BackendLine("emulator", "a model", "asked", True),
        "counterexamples": (CounterexampleRecord("x", "Mul", "i", "r", {"n": 1.0}, "p",
                                                 "python -m"),),
        "figures": (FigureRecord("f $x", "lines", "x", "y", (1.0, 2.0),
                                 {"fused $": (0.0, 1.0)}, True),
                    FigureRecord("g", "bars", "x", "y", (0.0,), {"a": (3.0,)})),
        "switches": {"sets": 2}, "versions": {"python": "3"},
        "artifacts": {"eager": ["y.npy"]}, "command": "python -m ge_harness"}
    return ExperimentReport(**{**fields, **changes})


def test_the_page_escapes_what_it_is_given_and_labels_figures():
    pytest.importorskip("jinja2")
    page = experiment_html.render([serialize.to_plain(report())], [HOSTILE])
    assert "<script" not in page
    assert "\x1b" not in page
    assert page.count("EMULATED") >= 3
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_figures_are_drawn_where_matplotlib_is(monkeypatch):
    pytest.importorskip("jinja2")
    plain = [serialize.to_plain(report())]
    monkeypatch.setattr(experiment_html, "_can_plot", lambda: False)
    page = experiment_html.render(plain)
    assert "<img" not in page
    assert "No figures" in page
    assert "refuted" in page
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    assert experiment_html.render(plain).count("data:image/svg+xml;base64,") == 2


def test_the_image_of_a_model_says_so_itself_wherever_it_is_copied_to():
    pytest.importorskip("matplotlib")
    item = serialize.to_plain(report())["figures"][0]
    head = "data:image/svg+xml;base64,"
    drawn = {emulated: base64.b64decode(experiment_html.figure(
        item, emulated=emulated)[len(head):]) for emulated in (True, False)}
    assert b"EMULATED: f" in drawn[True]
    assert b"EMULATED" not in drawn[False]


def test_the_text_has_verdict_evidence_and_no_control_characters():
    text = experiment_text.text([serialize.to_plain(report())] * 2)
    assert "REFUTED (EMULATED)" in text
    assert "NOT shown" in text
    assert "\x1b" not in text
    assert "counter-example x" in text


def test_without_anything_there_is_still_a_page():
    pytest.importorskip("jinja2")
    assert "Test report" in experiment_html.render([], ["E: not built yet"])


def test_the_command_line_says_what_paper_size_takes_and_waits_for_yes(capsys):
    from ge_harness.cli import main

    words = ["ge_harness", "experiment", "B", "--backend=emulator", "--size=paper"]
    assert main._guarded(main._parse(words)) == 2
    said = capsys.readouterr().err
    assert "GiB of memory" in said
    assert "--yes" in said


def test_ge_and_its_emulator_are_made_to_fuse_unless_switches_are_given():
    from ge_harness.cli import experiment_arguments, main

    plain = main._parse(["ge_harness", "experiment", "B"])
    assert experiment_arguments._fusing(plain, "xla") is plain
    assert experiment_arguments._fusing(plain, "emulator").opt_level == "O3"
    asked = main._parse(["ge_harness", "experiment", "B", "--opt-level=O1"])
    assert experiment_arguments._fusing(asked, "emulator").opt_level == "O1"
    sent = experiment_arguments.options(plain, "B", "emulator")
    assert dict(sent.asked)["opt_level"] == "O3"
