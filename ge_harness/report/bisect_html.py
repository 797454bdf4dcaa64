"""The page of a bisection: one file, no network, every text escaped."""

from __future__ import annotations

from typing import Any, Mapping

from ge_harness.report import bisect_text, page, plain

_LONGEST_TEXT = 2000


def render(document: Mapping[str, Any]) -> str:
    """Return the page.

    Args:
        document: a Bisection as plain data.

    Raises:
        UnavailableError: the extra `report` is not installed.
    """
    environment = page.environment(_LONGEST_TEXT)
    subject = document["subgraph"] or "a command"
    found = [(what, document["files"][name]) for name, what in bisect_text.FILES
             if document["files"][name]]
    return str(environment.get_template("bisect.html").render(
        doc=document, files=found, states=bisect_text.STATES, lines=_lines,
        headline=bisect_text.headline(document),
        title=f"ge_harness bisect: {subject} on {document['backend']['name']}"))


def _lines(text: str) -> Any:
    """Return text escaped line by line: a page's texts are of one line otherwise."""
    from markupsafe import escape

    return page.markup("\n".join(
        str(escape(plain.printable(line))) for line in text.splitlines()))
