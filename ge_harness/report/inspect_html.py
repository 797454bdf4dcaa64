"""An inspection as one HTML page that works offline.

Names in it are untrusted: what Python writes is escaped, what the script writes goes
through textContent, the data stand in a JSON block that no name can end, and a content
policy lets nothing but the page's own script and style run. Nodes are drawn as they
come into view, so that thousands stay usable.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from pathlib import Path
from typing import Any, Mapping, Sequence

from ge_harness.report.inspect_text import changes_line, changes_text
from ge_harness.report.plain import printable

Doc = Mapping[str, Any]
_TEMPLATES = Path(__file__).with_name("templates")
_VERDICT_CLASS = {"precision-affecting": "risk", "undetermined": "open",
                  "bit-safe": "safe"}
_LONGEST = 300
_MOST_PASSES = 1000


def inspection_html(doc: Doc, tables: Sequence[Sequence[Doc]]) -> str:
    """Return the page.

    Args:
        doc: the document of `inspect`.
        tables: for each graph of it, the rows of its stages as differences.
    """
    style = (_TEMPLATES / "inspect.css").read_text(encoding="utf-8")
    script = (_TEMPLATES / "inspect.js").read_text(encoding="utf-8")
    policy = (f"default-src 'none'; style-src '{_hash(style)}'; "
              f"script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'")
    title = _text(f"compiler dumps: {doc['source']}")
    return "\n".join((
        "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        f"<title>{title}</title>", f"<style>{style}</style></head><body>",
        _navigation(doc), "<main>", f"<h1>{title}</h1>", _passes(doc),
        _unattributed(doc), _STAGE, _warnings(doc), "</main>",
        f'<script type="application/json" id="data">{_data(doc, tables)}</script>',
        f"<script>{script}</script>", "</body></html>", ""))


_STAGE = """<h2 id="title"></h2><p class="count mono" id="file"></p>
<div id="changes" class="mono listing" tabindex="0"></div>
<h2>Nodes of this stage</h2>
<div class="bar"><label>search <input id="search" type="search"></label>
<span class="count" id="found"></span></div>
<div class="heads"><span class="tiny">line</span><span>name</span>
<span class="narrow">type</span><span>inputs</span><span>outputs</span></div>
<div class="rows" id="nodes" tabindex="0"></div>
<h2>Two stages side by side</h2>
<div class="bar"><select id="left" aria-label="left stage"></select>
<select id="right" aria-label="right stage"></select>
<span class="count" id="differing"></span></div>
<div class="heads"><span class="short">differs in</span><span>left: name</span>
<span class="narrow">type</span><span>inputs \u2192 outputs</span>
<span>right: name</span><span class="narrow">type</span>
<span>inputs \u2192 outputs</span></div>
<div class="rows" id="diff" tabindex="0"></div>
<noscript><p>The tables of nodes need scripts; the passes above do not.</p></noscript>
"""


def _navigation(doc: Doc) -> str:
    parts = ["<nav>"]
    for number, graph in enumerate(doc["graphs"]):
        run = f'<span class="count">{_text(graph["run"])}</span>'
        parts.append(f"<h2>{_text(graph['name'])} {run}</h2>")
        for stage in graph["stages"]:
            said = changes_line(stage["changes"]) if stage["order"] else "first"
            quiet = " quiet" if said == "no change" else ""
            label = stage["name"] or stage["file"].rpartition("/")[2]
            if stage["serial"] is not None:
                label = f"{stage['serial']} {label}"
            parts.append(
                f'<button data-graph="{number}" data-stage="{stage["order"]}" '
                f'class="stage{quiet}">{_text(label)} <span class="count">'
                f"{stage['nodes']} nodes; {_text(said)}</span></button>")
    parts.append("</nav>")
    return "\n".join(parts)


def _passes(doc: Doc) -> str:
    rows = []
    for each in doc["active_passes"][:_MOST_PASSES]:
        counts = "" if each["effect_times"] is None else (
            f"{each['effect_times']} effects of {each['match_times']} matches")
        certainty = f"{each['certainty']} class"
        cells = ((each["name"], each["family"]),
                 (each["verdict"], f"{each['precision_class']} ({certainty})"),
                 (each["reason"],),
                 (", ".join(each["dtypes"]), ", ".join(each["ops"]), counts),
                 (f"{each['strength']} ({each['standing']})", each["evidence"]),
                 (each["switch_off"] or "no switch known").split(", or "))
        kind = _VERDICT_CLASS.get(each["verdict"], "open")
        rows.append(f'<tr class="{kind}">' + "".join(map(_cell, cells)) + "</tr>")
    more = len(doc["active_passes"]) - _MOST_PASSES
    note = f"<p>{more} more passes are in the JSON document.</p>" if more > 0 else ""
    if not rows:
        return "<h2>Active passes</h2><p>None is shown by what was read.</p>"
    heads = ("pass", "verdict", "why", "touched", "evidence", "switch off")
    head = "".join(f"<th>{_text(each)}</th>" for each in heads)
    return (f"<h2>Active passes</h2><table><thead><tr>{head}</tr></thead><tbody>"
            + "\n".join(rows) + f"</tbody></table>{note}")


def _cell(lines: Sequence[str]) -> str:
    first, *rest = [_text(line) for line in lines if line] or [""]
    return f"<td>{first}" + "".join(
        f'<div class="count">{line}</div>' for line in rest) + "</td>"


def _unattributed(doc: Doc) -> str:
    items = []
    for each in doc["unattributed"][:_MOST_PASSES]:
        counts = ", ".join(f"{count} {kind}" for kind, count
                           in sorted(each["changes"].items()))
        items.append(f"<li>{_text(each['stage'])}: {_text(counts)}; "
                     f"{_text(', '.join(each['ops']))}; "
                     f"{_text(', '.join(each['dtypes']))}</li>")
    if not items:
        return ""
    return ("<h2>Changes that no evidence gives to a pass</h2><ul>"
            + "\n".join(items) + "</ul>")


def _warnings(doc: Doc) -> str:
    if not doc["warnings"]:
        return ""
    items = [f"<li>{_text(each['file'])}:{each['line']}: {_text(each['message'])}</li>"
             for each in doc["warnings"][:_MOST_PASSES]]
    return "<h2>Warnings</h2><ul>" + "\n".join(items) + "</ul>"


def _data(doc: Doc, tables: Sequence[Sequence[Doc]]) -> str:
    graphs = []
    for number, graph in enumerate(doc["graphs"]):
        stages = [{"name": printable(stage["name"], _LONGEST),
                   "file": printable(stage["file"], _LONGEST),
                   "said": "first" if not stage["order"]
                   else changes_line(stage["changes"]),
                   "changes": _changes(stage)}
                  for stage in graph["stages"]]
        rows = list(tables[number]) if number < len(tables) else []
        graphs.append({"stages": stages, "tables": rows})
    text = json.dumps({"graphs": graphs}, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _changes(stage: Doc) -> list[str]:
    if not stage["order"]:
        return ["the first stage: nothing to compare it with"]
    return changes_text(stage).rstrip("\n").split("\n")[1:]


def _text(value: object) -> str:
    """Return text for a page: printable, shortened, escaped."""
    return html.escape(printable(str(value), _LONGEST), quote=True)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
