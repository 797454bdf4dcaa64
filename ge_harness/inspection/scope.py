"""Which graph or process a piece of evidence concerns, where several were dumped.

Evidence that no graph is named for counts for its process; evidence of an unknown
process counts for all ("").
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable, Sequence

from dumps.series import GraphStages
from dumps.sides import STAMP

_RUN = re.compile(r"pid \d+")
_ENGINE_FOLDER = "FE"


class Scopes:
    """The graphs of a series, asked for by what evidence says of them."""

    def __init__(self, graphs: Sequence[GraphStages]) -> None:
        self._graphs = graphs
        self._has_processes = any(process_of(graph.run) for graph in graphs)

    def process(self, pids: Iterable[str]) -> str:
        """Return the scope of evidence from these processes, "" for all graphs."""
        found = set(pids)
        if len(found) != 1 or not self._has_processes:
            return ""
        return f"pid {found.pop()}"

    def of_id(self, graph_id: str, process: str) -> str:
        """Return the mark of the one graph with an id, its process where none is."""
        found = [graph.mark for graph in self._graphs
                 if graph.format == "ge" and graph_id
                 and (not process or process_of(graph.run) == process)
                 and graph_id == (graph.name.rpartition("_")[2] if graph.graph_id
                                  is None else str(graph.graph_id))]
        return found[0] if len(found) == 1 else process

    def of_name(self, name: str) -> str:
        """Return the mark of the one graph with a name, "" where it is not told."""
        for plain in (str, _without_time):
            found = [graph.mark for graph in self._graphs
                     if plain(graph.name) == plain(name)]
            if found:
                return found[0] if len(found) == 1 else ""
        return ""


def process_of(run: str) -> str:
    """Return the process of a run ("pid 41"), "" where it is only a folder."""
    match = _RUN.match(run)
    return match.group(0) if match else ""


def engine_process(path: str) -> list[str]:
    """Return the process that wrote a fusion_result.json, by its folder FE/<pid>.

    Source: reference: fusion_result.md section 4.
    """
    parts = Path(path).parts
    if len(parts) >= 3 and parts[-3] == _ENGINE_FOLDER and parts[-2].isdigit():
        return [parts[-2]]
    return []


def _without_time(name: str) -> str:
    return STAMP.sub("", name)
