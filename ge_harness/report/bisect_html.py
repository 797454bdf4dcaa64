"""The page of bisections: one file, no network, every text escaped."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ge_harness.report import bisect_text, page, plain

_LONGEST_TEXT = 2000


def render(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return the page, one bisection below the other.

    Args:
        documents: Bisections as plain data.

    Raises:
        UnavailableError: the extra `report` is not installed.
    """
    environment = page.environment(_LONGEST_TEXT)
    return str(environment.get_template("bisect.html").render(
        parts=[_part(each) for each in documents], states=bisect_text.STATES,
        only=bisect_text.ONLY, lines=_lines))


def _part(document: Mapping[str, Any]) -> dict[str, Any]:
    subject = document["subgraph"] or "a command"
    return {
        "doc": document, "headline": bisect_text.headline(document),
        "title": f"ge_harness bisect: {subject} on {document['backend']['name']}",
        "files": [(what, document["files"][name]) for name, what in bisect_text.FILES
                  if document["files"][name]],
    }


def _lines(text: str) -> Any:
    """Return text escaped line by line: a page's texts are of one line otherwise."""
    from markupsafe import escape

    return page.markup("\n".join(
        str(escape(plain.printable(line))) for line in text.splitlines()))
