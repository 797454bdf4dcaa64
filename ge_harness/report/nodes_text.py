"""Cards of single nodes as text."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from ge_harness.report.plain import printable


def nodes_text(cards: Iterable[Mapping[str, Any]]) -> str:
    """Return what is known of each node, a block each."""
    return "\n".join(_card(card) for card in cards)


def _card(card: Mapping[str, Any]) -> str:
    lines = [f"{_name(card['name'])}  in graph {_name(card['graph'])}"]
    for state in card["history"]:
        lines.append(f"  from stage {_name(state['stage'])} on  "
                     f"({_name(state['file'].rpartition('/')[2])}:{state['line']})")
        lines.append(f"    type      {_name(state['type'])}")
        descs = [*state["input_descs"], *[None] * len(state["inputs"])]
        for place, edge in enumerate(state["inputs"]):
            lines.append(f"    input  {place}  {_name(edge or '-')}  "
                         f"{_desc(descs[place])}")
        for place, desc in enumerate(state["output_descs"]):
            lines.append(f"    output {place}  {_desc(desc)}")
        for label, words in (("controls", state["controls"]),
                             ("stands for", state["original_names"]),
                             ("passes", state["passes"])):
            if words:
                lines.append(f"    {label}: " + ", ".join(map(_name, words)))
    return "\n".join(lines) + "\n"


def _desc(desc: Mapping[str, Any] | None) -> str:
    if desc is None:
        return ""
    shape = "" if desc["shape"] is None else str(desc["shape"])
    return _name(" ".join(part for part in (desc["dtype"], shape, desc["format"])
                          if part))


def _name(text: str) -> str:
    return printable(str(text), 300)
