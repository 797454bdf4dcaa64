#!/usr/bin/env python3
"""Writes docs/json.md from the docstrings of the records, where its words are kept.

Usage: python scripts/update_json_docs.py [--check]
--check writes nothing and exits 1 where the page is out of date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ge_harness.records import documents  # noqa: E402 - the checkout comes first
from ge_harness.records.serialize import schema  # noqa: E402
from ge_harness.records.switch import FAMILIES  # noqa: E402

PAGE = ROOT / "docs" / "json.md"
HEAD = """# JSON documents

Made by scripts/update_json_docs.py from the docstrings of the records; edit those.

With `--json` a command prints one document on standard output and nothing else there;
progress, warnings and errors go to standard error. A command that fails before it has
an answer prints no document: the exit status and standard error say why.

- `schema` comes first and is "ge_harness/<kind>/1"; the other keys of the document
  follow sorted. A reader should refuse a schema that it does not know, and pass over
  keys that it does not know.
- Numbers are numbers. NaN and the infinities are the strings "nan", "inf" and "-inf";
  a field of type "number" can hold them too.
- What has no meaning is null: the ULP distance of NaN and a number, the greatest error
  of no elements.
- "map of X" is an object whose keys are names (operator types, sides, options) and no
  fields. "[text, text]" is a list of exactly these.

A type that is a link has a table of its own, under the first kind that holds it.
"""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    written: set[type] = set()
    for kind in documents.KINDS:
        parts.append(f"\n## {kind.name}\n\n{documents.summary(kind.record)} Printed by "
                     f"{kind.printed_by}.\n\n"
                     f"{_table(kind.record, schema(kind.name))}")
        written.add(kind.record)
        _inner(kind.record, written, parts)
    return "".join(parts)


def _inner(record: type, written: set[type], parts: list[str]) -> None:
    """Add the parts of a record that have no table yet, in the order of its fields."""
    for field in documents.fields_of(record):
        if field.record is None or field.record in written:
            continue
        written.add(field.record)
        parts.append(f"\n### {field.record.__name__}\n\n"
                     f"{documents.summary(field.record)}\n\n{_table(field.record)}")
        _inner(field.record, written, parts)


def _table(record: type, schema: str = "") -> str:
    headings = {kind.record: kind.name for kind in documents.KINDS}
    lines = ["| field | type | meaning |", "|---|---|---|"]
    if schema:
        lines.append(f'| `schema` | text | "{schema}", always first. |')
    for field in documents.fields_of(record):
        kind = field.kind
        if field.record is not None:
            name = field.record.__name__
            heading = headings.get(field.record, name)
            kind = re.sub(rf"\b{name}\b", f"[{heading}](#{heading.lower()})", kind)
        words = _json_words(field.words)
        if field.choices:
            words += f" One of {', '.join(field.choices)}."
        lines.append(f"| `{field.name}` | {kind} | {words} |")
    return "\n".join(lines) + "\n"


def _json_words(words: str) -> str:
    """Return the words of a docstring, which speak of Python, as words of JSON."""
    families = ", ".join(f'"{name}"' for name in FAMILIES)
    return (re.sub(r"\bNone\b", "null", words).replace("|", "\\|")
            .replace(" () ", " [] ").replace("`FAMILIES`", families))


def main() -> int:
    """Write or check the page."""
    text = page()
    if "--check" in sys.argv[1:]:
        same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        if not same:
            sys.stderr.write("docs/json.md is out of date: run "
                             "'python scripts/update_json_docs.py'\n")
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
