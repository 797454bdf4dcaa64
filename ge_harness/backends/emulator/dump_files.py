"""Writes what GE would write of a compilation: stages, fusion_result.json, trace.

Names and formats are GE's; the folder has no process id, so that equal runs write equal
files. A graph trace is written too, which GE does only in a diagnostic run.

Source: reference: graph_dumps.md sections 1.4 and 7; fusion_result.md sections 1 and 7.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Mapping

from ge_harness.backends.emulator import dump_text
from ge_harness.backends.emulator.ir import Graph
from ge_harness.backends.emulator.pipeline import Compilation

_GRAPH_ID = 1
_SESSION = 0


def write(compilation: Compilation, folder: Path, options: Mapping[str, str]) -> None:
    """Write every dump of a compilation.

    Args:
        compilation: what was compiled.
        folder: is made; its files are overwritten.
        options: what GE would hold, for the graph's attribute GraphOptions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shown: Graph | None = None
    texts: tuple[str, ...] = ()
    for serial, (stage, graph) in enumerate(compilation.stages):
        if shown is None or not _same(shown, graph):
            shown = graph
            texts = (dump_text.ge_proto(graph, options), dump_text.ge_onnx(graph),
                     dump_text.readable(graph))
        tail = f"_{serial:08d}_graph_{_GRAPH_ID}_{stage}"
        names = (f"ge_proto{tail}.txt", f"ge_onnx{tail}.pbtxt",
                 f"ge_readable{tail}.txt")
        for name, text in zip(names, texts):
            (folder / name).write_text(text, encoding="utf-8")
    counts = fusion_counts(compilation)
    if counts:
        (folder / "fusion_result.json").write_text(fusion_result(counts),
                                                   encoding="utf-8")
    if compilation.edits:
        trace = folder / "extra-info" / "graph_trace" / "0"
        trace.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{edit.line()}\r\n" for edit in compilation.edits)
        (trace / "trace_20000101000000_000.txt").write_bytes(lines.encode("utf-8"))


def _same(one: Graph, other: Graph) -> bool:
    """Say whether two stages show the same; most passes change nothing."""
    return (one.outputs == other.outputs
            and list(one.nodes.values()) == list(other.nodes.values()))


def fusion_counts(compilation: Compilation) -> dict[str, int]:
    """Return how often each pass of the fusion engine changed something."""
    found: dict[str, int] = {}
    for each in compilation.ran:
        if each.family == "graph_fusion" and each.effects:
            found[each.name] = found.get(each.name, 0) + each.effects
    return found


def fusion_result(counts: Mapping[str, int]) -> str:
    """Return the text of fusion_result.json: strings, sorted, no newline at the end."""
    passes = {name: {"effect_times": str(count), "match_times": str(count)}
              for name, count in counts.items()}
    return json.dumps({f"session_and_graph_id_{_SESSION}_{_GRAPH_ID}": {
        "graph_fusion": passes}}, indent=4, sort_keys=True)
