"""One pass of the catalogue, explained in lines.

The entry comes as a mapping, because `report` and `catalogue` do not import each other.
"""

from __future__ import annotations

from typing import Any, Mapping

from ge_harness.report.plain import printable

_CLASS = {
    "upcast": "where values are promoted to a wider type and rounded back",
    "instruction": "another instruction for the same arithmetic",
    "accumulation": "another order of a sum",
    "algorithm": "another algorithm for the same function",
    "mixed": "several of the four sources at once",
    "none": "cannot change a value",
}
_CERTAINTY = {
    "certain": "code read or measured",
    "likely": "described by its authors, or judged from the rewrite",
    "guess": "judged from its name or its neighbors",
}


def explain(info: Mapping[str, Any]) -> str:
    """Return what is known of one pass.

    Args:
        info: the fields of a catalogue entry, as the JSON document has them.
    """
    kind, sure = info["precision_class"], info["certainty"]
    rows = [
        ("what it does", info["why"]),
        ("kind", info["effect"]),
        ("precision class", f"{kind}: {_CLASS.get(kind, '')}"),
        ("certainty", f"{sure}: {_CERTAINTY.get(sure, '')}"),
        ("bit-safe because", info["bit_safe_reason"]),
        ("runs from level", info["level"]),
        ("stage", info["stage"]),
        ("switch off", info["switch_off"]),
        ("also called", ", ".join(info["aliases"])),
        ("source", info["source"]),
    ]
    lines = [f"{info['name']}  ({info['family']})"]
    lines += [f"  {label:<17} {printable(str(text))}" for label, text in rows if text]
    return "\n".join(lines) + "\n"
