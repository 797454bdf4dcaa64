"""The HTML report of one or several runs: one file, no network, every text escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, Sequence

from ge_harness.errors import UnavailableError
from ge_harness.report import explain_text, plain, run_text

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_EXTRA = "pip install 'ge-harness[report]'"
_LONGEST_TEXT = 600


def render(runs: Sequence[Mapping[str, Any]], title: str) -> str:
    """Return the report.

    Args:
        runs: `run` documents as plain data, side by side in this order.
        title: heading of the page.

    Raises:
        UnavailableError: the extra `report` is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise UnavailableError(
            f"the HTML report needs the extra report: {_EXTRA}") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(_TEMPLATES)), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_safe)
    environment.filters.update(
        share=run_text.share, number=plain.number, ulp_words=run_text.ulp_words,
        pair_words=run_text.pair_words, percent=_percent)
    environment.globals.update(
        words=run_text.VERDICT_WORDS, backend_line=run_text.backend_line,
        explain=explain_text)
    return str(environment.get_template("run.html").render(runs=runs, title=title))


def _safe(value: Any) -> Any:
    """Make a text printable and bounded; markup made by the template stays as it is."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return plain.printable(value, _LONGEST_TEXT)
    return value


def _percent(value: float | None) -> str:
    return f"{100.0 * (value or 0.0):.4f}"
