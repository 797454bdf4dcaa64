"""What every HTML page shares: its templates, escaping, and texts made harmless."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ge_harness.errors import UnavailableError
from ge_harness.report import plain

EXTRA = "pip install 'ge-harness[report]'"
_TEMPLATES = Path(__file__).resolve().parent / "templates"


def environment(longest_text: int) -> Any:
    """Return a jinja2 environment that escapes everything a template did not write.

    Args:
        longest_text: characters of a text; longer ones are shortened in their middle.

    Raises:
        UnavailableError: the extra `report` is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise UnavailableError(
            f"the HTML report needs the extra report: {EXTRA}") from error

    def harmless(value: Any) -> Any:
        if isinstance(value, str) and not hasattr(value, "__html__"):
            return plain.printable(value, longest_text)
        return value

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(_TEMPLATES)), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=harmless)


def markup(text: str) -> Any:
    """Return text that the product wrote itself, to stand in a page as it is."""
    from markupsafe import Markup

    return Markup(text)
