"""Readers of what graph compilers write. No TensorFlow, no protobuf.

`read` gives the graph in any file that holds one. Counts of passes, kernels, traces and
logs have readers of their own: fusion_result, kernel_meta, trace, plog.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Callable

from dumps import detect, source
from dumps.errors import DumpError
from dumps.records import (
    DumpGraph,
    DumpNode,
    DumpWarning,
    Edge,
    EdgeCounts,
    NodeDetail,
    TensorDesc,
    TensorValue,
)

__all__ = [
    "DumpError", "DumpGraph", "DumpNode", "DumpWarning", "Edge", "EdgeCounts",
    "NodeDetail", "TensorDesc", "TensorValue", "read",
]


def read(path: str | Path) -> DumpGraph:
    """Read the graph of a dump file, gzip or not.

    The reader is chosen by the file's name; where the name says nothing, or its reader
    finds nothing, by the first bytes of the content.

    Returns:
        The main graph; further graphs of the file are its subgraphs. What could not be
        read is in its `warnings`.

    Raises:
        DumpError: the file cannot be read or holds no graph.
    """
    data = source.load(path)
    by_name = detect.by_name(path)
    by_content = detect.by_content(data, source.base_name(path))
    if by_name is None and by_content is None:
        raise DumpError(path, 1, source.shown(data[:60]), "a dump of a graph ("
                        + ", ".join(detect.FORMATS) + ")")
    tried = [kind for kind in (by_name, by_content) if kind is not None]
    try:
        return _parser(tried[0])(data, path)
    except DumpError:
        if tried[0] == tried[-1]:
            raise
    graph = _parser(tried[-1])(data, path)
    graph.warn(1, f"named like {tried[0]}, read as {tried[-1]}")
    return graph


def _parser(kind: str) -> Callable[[bytes, object], DumpGraph]:
    module = importlib.import_module(f"dumps.{kind}")
    if kind != "hlo":
        found: Callable[[bytes, object], DumpGraph] = module.parse
        return found

    def parse_hlo(data: bytes, path: object) -> DumpGraph:
        text = data.decode("utf-8", "replace")
        graph: DumpGraph = module.to_graph(module.parse_module(text, path))
        return graph

    return parse_hlo
