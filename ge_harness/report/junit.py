"""Comparisons as JUnit XML, which continuous integration shows as tests."""

from __future__ import annotations

from typing import Sequence
from xml.sax.saxutils import escape, quoteattr

from ge_harness.records.comparison import Status, TensorComparison
from ge_harness.report.describe import describe
from ge_harness.report.plain import printable


def junit_xml(pairs: Sequence[TensorComparison], missing: Sequence[str]) -> str:
    """Return one test case for each pair and standard.

    Args:
        pairs: the compared pairs.
        missing: what one side lacks, a failure each.
    """
    cases, failures, errors = [], 0, 0
    for pair in pairs:
        for rule, outcome, reason in _outcomes(pair):
            failures += outcome == "failure"
            errors += outcome == "error"
            cases.append(_case(pair.name, rule, outcome, reason))
    for name in missing:
        failures += 1
        cases.append(_case(name, "unmatched", "failure", "only one side has it"))
    head = (f'<testsuite name="ge_harness compare" tests="{len(cases)}" '
            f'failures="{failures}" errors="{errors}" skipped="0">')
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *cases,
                      "</testsuite>", ""])


def _outcomes(pair: TensorComparison) -> list[tuple[str, str, str]]:
    """Return (rule, "" or "failure" or "error", reason) of each standard."""
    if pair.status is Status.UNREADABLE:
        return [("readable", "error", "; ".join(pair.notes))]
    words = {True: "", False: "failure", None: "error"}
    return [(one.name, words[one.passed],
             f"{describe(pair, against='base line')}; {one.reason}")
            for one in pair.standards]


def _case(name: str, rule: str, outcome: str, reason: str) -> str:
    start = (f"  <testcase classname={quoteattr(printable(name))} "
             f"name={quoteattr(rule)}")
    if not outcome:
        return start + "/>"
    text = printable(reason)
    return (f"{start}>\n    <{outcome} message={quoteattr(text)}>{escape(text)}"
            f"</{outcome}>\n  </testcase>")
