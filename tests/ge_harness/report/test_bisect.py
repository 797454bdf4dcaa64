"""A bisection as text and as a page: complete, labelled, and harmless."""

from __future__ import annotations

import pytest

from ge_harness.records import serialize
from ge_harness.records.bisection import (
    BisectFile,
    BisectFiles,
    Bisection,
    BisectProof,
    BisectRun,
    BisectVerdict,
    Culprit,
    NeededMember,
    Reproduction,
)
from ge_harness.records.report import BackendLine
from ge_harness.report import bisect_html, bisect_text

EVIL = "Add<script>alert(1)</script>\x1b[31m\n\u202e"


def document(emulated=True):
    return serialize.to_plain(Bisection(
        "bits", "op", "graph", "float16/desk", BackendLine(
            "emulator", "emulation: a model", "asked for", emulated), "eager",
        BisectVerdict.PROVED, f"node:{EVIL} off restores agreement",
        (BisectRun(0, (), False, "differs"),
         BisectRun(1, (f"node:{EVIL}",), True, EVIL),
         BisectRun(2, tuple(f"node:{n}" for n in range(9)), None, "timeout: too long")),
        (Culprit("node", EVIL, "mixed", "skip file"),),
        ((Culprit("ge", "AutoFusePass", "mixed", "switch"),
          Culprit("ge", "CastRemovePass", "upcast", "switch")),),
        BisectProof(True, (NeededMember("node", EVIL, False, True),), True, 6, 3, 1, 2,
                    0.003),
        BisectFiles(skip_node_names_cfg=BisectFile("/x/skip.cfg", f"[A]\n{EVIL}\n")),
        (Reproduction(f"run {EVIL}", True, "the set is off"),), ("node:b",), {}, 9,
        ("a note",), 0, "bisect graph"))


def test_the_first_line_is_the_verdict_and_says_that_it_is_emulated():
    text = bisect_text.bisect_text(document())
    assert text.startswith("EMULATED: PROVED: node:Add<script>")
    assert not bisect_text.bisect_text(document(False)).startswith("EMULATED")
    for part in ("with exactly this off: agrees", "left on: differs",
                 "instead: ge:AutoFusePass and ge:CastRemovePass", "/x/skip.cfg",
                 "the set is off: agrees", "note: a note", "at most 0.003",
                 "unless switching a pass off makes a difference itself",
                 "6 runs: 3 to find the set, 1 more to prove it, 2 to look for other",
                 "undecided"):
        assert part in text, part


def test_names_cannot_reach_the_terminal_as_they_are():
    text = bisect_text.bisect_text(document())
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert all(line.isprintable() for line in text.split("\n"))


def test_a_line_of_progress_names_a_few_switches_and_why_a_run_failed():
    runs = document()["runs"]
    assert bisect_text.line(runs[0]) == "run 0: off: nothing: differs"
    assert bisect_text.line(runs[2]) == (
        "run 2: off: node:0, node:1, node:2, node:3, node:4, node:5 and 3 more: "
        "undecided (timeout: too long)")


def test_the_page_escapes_every_text_and_is_labelled():
    pytest.importorskip("jinja2")
    page = bisect_html.render([document()])
    assert "<script" not in page
    assert "\x1b" not in page
    assert "Emulated: every figure" in page
    assert "unless switching a pass off makes a difference itself" in page
    assert "Emulated: every figure" not in bisect_html.render([document(False)])
    assert "http" not in page.replace("http-equiv", "")
