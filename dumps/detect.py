"""Which format a dump has: by its file name, or by how its content begins."""

from __future__ import annotations

import re
from pathlib import Path

from dumps import names

# Format and module have one name.
FORMATS = ("ascgraph", "atc_json", "ge_onnx", "ge_proto", "hlo", "readable",
           "tf_pbtxt")
_LOOKED_AT = 4096
# Tried in this order on the beginning of the file, comments and blanks gone.
_CONTENT = (
    ("hlo", rb"HloModule "),
    ("readable", rb"graph\(\""),
    ("ascgraph", rb"={20,}\s*\n\s*Graph:|asc_graph_attr\s*[:{<]|asc_node\s*[:{<]"),
    ("ascgraph", rb"(?:AscGraph|ascgraph|Graph)\s*[:(]?\s*[\w./-]+\s*\n(?s:.)*"
                 rb"(?:^\s*Sizes:|^\s*Axis:|^\s*z0\(0\))"),
    ("atc_json", rb"[{]\s*\""),
    ("ge_onnx", rb"ir_version\s*:|producer_name\s*:|graph\s*:?\s*[{<]\s*node\s*[:{<]"),
    ("ge_proto", rb"graph\s*:?\s*[{<]|op\s*:?\s*[{<]|(?:name|version)\s*:(?s:.)*?"
                 rb"^\s*(?:graph|op)\s*:?\s*[{<]"),
    ("tf_pbtxt", rb"node\s*:?\s*[{<]|library\s*:?\s*[{<]|versions\s*:?\s*[{<]"),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.MULTILINE))
                  for kind, pattern in _CONTENT)
_LEAD = re.compile(rb"(?:\s+|#[^\n]*\n)*")


def by_name(path: str | Path) -> str | None:
    """Return the format that the file's name tells, None where it tells none."""
    found = names.parse(path)
    return None if found is None else found.format


def by_content(data: bytes, name: str = "") -> str | None:
    """Return the format that the first bytes tell, None where they tell none.

    Args:
        data: the file, or its beginning.
        name: its name, for what is only half clear.
    """
    head = data[:_LOOKED_AT]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16-le" if head.startswith(b"\xff") else "utf-16-be"
        head = head[2:].decode(encoding, "replace").encode("utf-8")
    if head.startswith(b"\xef\xbb\xbf"):
        head = head[3:]
    lead = _LEAD.match(head)
    start = lead.end() if lead else 0
    for kind, pattern in _PATTERNS:
        if pattern.match(head, start):
            return kind
    return "atc_json" if name.endswith(".json") and head.lstrip()[:1] == b"{" else None
