"""The HTML report of one or several runs: one file, no network, every text escaped."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ge_harness.report import explain_text, page, plain, run_text

_LONGEST_TEXT = 600


def render(runs: Sequence[Mapping[str, Any]], title: str) -> str:
    """Return the report.

    Args:
        runs: `run` documents as plain data, side by side in this order.
        title: heading of the page.

    Raises:
        UnavailableError: the extra `report` is not installed.
    """
    environment = page.environment(_LONGEST_TEXT)
    environment.filters.update(
        share=run_text.share, number=plain.number, ulp_words=run_text.ulp_words,
        pair_words=run_text.pair_words, percent=_percent)
    environment.globals.update(
        words=run_text.VERDICT_WORDS, backend_line=run_text.backend_line,
        explain=explain_text)
    return str(environment.get_template("run.html").render(runs=runs, title=title))


def _percent(value: float | None) -> str:
    return f"{100.0 * (value or 0.0):.4f}"
