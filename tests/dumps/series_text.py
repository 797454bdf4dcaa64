"""Texts of small ge_proto dumps, from the script that writes the test series."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from dumps import ge_proto

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_series.py"
_SPEC = importlib.util.spec_from_file_location("make_series", str(_SCRIPT))
make_series = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(make_series)
GRAPH = make_series.GRAPH


def node(name, kind, inputs=(), dtype="DT_FLOAT16", **kept):
    """Return one node; `originals` stands for the attribute of that meaning."""
    attrs = dict(kept.pop("attrs", {}))
    if "originals" in kept:
        attrs["_datadump_original_op_names"] = list(kept.pop("originals"))
    return make_series.node(name, kind, [edge if ":" in edge else f"{edge}:0"
                                         for edge in inputs], dtype, attrs=attrs,
                            **kept)


def graph(nodes, path="a.txt", name=GRAPH, first_id=0):
    """Return the dump of some nodes."""
    text = make_series.model(name, list(nodes), first_id)
    return ge_proto.parse(text.encode(), path)
