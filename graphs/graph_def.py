"""GraphDefs as data: read from a file, sorted, pruned, scrubbed, written.

A GraphDef here is TensorFlow's protobuf object; nothing in this module runs a graph.
"""

from __future__ import annotations

import heapq
from pathlib import Path
from typing import Any, Iterable

from graphs.errors import GraphError
from graphs.source import first_line

# Attributes that speak of another placement or of shapes that --shape may change.
_SCRUBBED = ("_class", "_output_shapes")
_LOOPS = ("NextIteration", "RefNextIteration")


def read(tf: Any, path: Path) -> Any:
    """Read a GraphDef, binary or text by the file's ending.

    Raises:
        GraphError: it is none, or it has no nodes; a text file's fault names its line.
    """
    from google.protobuf import (  # type: ignore[import-untyped] # no stubs
        message,
        text_format,
    )

    graph_def = tf.GraphDef()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GraphError(f"{path}: cannot be read: {error.strerror}",
                         subject=str(path)) from error
    try:
        if path.suffix.lower() == ".pbtxt":
            text_format.Parse(data.decode("utf-8"), graph_def)
        else:
            graph_def.ParseFromString(data)
    except text_format.ParseError as error:
        place = f"{path}:{error.GetLine()}" if error.GetLine() else str(path)
        text = first_line(error).split(" : ", 1)[-1]
        raise GraphError(f"{place}: not a GraphDef in text form: {text}",
                         subject=str(path)) from error
    except (message.DecodeError, UnicodeDecodeError, RuntimeError, RecursionError
            ) as error:
        raise GraphError(f"{path}: not a GraphDef: {first_line(error)}",
                         subject=str(path)) from error
    if not graph_def.node:
        raise GraphError(f"{path}: found no nodes, expected a GraphDef (a frozen "
                         "graph, not a checkpoint or a SavedModel)", subject=str(path))
    return graph_def


def split(reference: str) -> tuple[str, int]:
    """Return node and output index of an input string; index -1 for a control edge."""
    if reference.startswith("^"):
        return reference[1:], -1
    node, colon, index = reference.rpartition(":")
    return (node, int(index)) if colon and index.isdigit() else (reference, 0)


def tensor_name(reference: str) -> str:
    """Return "node:index" of a data edge's input string."""
    node, index = split(reference)
    return f"{node}:{index}"


def by_name(graph_def: Any) -> dict[str, Any]:
    """Return the nodes by name.

    Raises:
        GraphError: two nodes have one name.
    """
    nodes: dict[str, Any] = {}
    for node in graph_def.node:
        if node.name in nodes:
            raise GraphError(f"two nodes are called {node.name!r}", subject=node.name)
        nodes[node.name] = node
    return nodes


def reached(graph_def: Any, roots: Iterable[str]) -> set[str]:
    """Return the names of the nodes that `roots` need, control edges included.

    Raises:
        GraphError: an edge comes from a node that is not there.
    """
    nodes, seen, stack = by_name(graph_def), set(), list(roots)
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        for reference in nodes[name].input:
            source = split(reference)[0]
            if source not in nodes:
                raise GraphError(f"node {name!r} reads {source!r}, which is not there",
                                 subject=name)
            stack.append(source)
    return seen


def prune(graph_def: Any, roots: Iterable[str]) -> Any:
    """Return a GraphDef of the nodes that `roots` need, each after what it reads.

    Device placements and colocations are dropped; the order is the old one where that
    is possible.

    Raises:
        GraphError: an edge leads nowhere, or nodes read one another in a circle.
    """
    keep = reached(graph_def, roots)
    kept = [node for node in graph_def.node if node.name in keep]
    pruned = type(graph_def)()
    pruned.versions.CopyFrom(graph_def.versions)
    pruned.library.CopyFrom(graph_def.library)
    for index in _order(kept):
        node = pruned.node.add()
        node.CopyFrom(kept[index])
        node.device = ""
        for name in _SCRUBBED:
            if name in node.attr:
                del node.attr[name]
    return pruned


def serialize(graph_def: Any) -> bytes:
    """Return bytes that are the same whenever the GraphDef is.

    Raises:
        GraphError: it passes 2 GB, protobuf's limit.
    """
    if graph_def.ByteSize() >= 2**31 - 1:
        raise GraphError("the frozen graph passes 2 GB, the limit of a GraphDef; cut a "
                         "part out with --fetch and --feed")
    return bytes(graph_def.SerializeToString(deterministic=True))


def _order(kept: list[Any]) -> list[int]:
    position = {node.name: index for index, node in enumerate(kept)}
    waits = [len({split(ref)[0] for ref in node.input}) for node in kept]
    readers: list[list[int]] = [[] for _ in kept]
    for index, node in enumerate(kept):
        for source in sorted({split(ref)[0] for ref in node.input}):
            readers[position[source]].append(index)
    ready = [index for index, count in enumerate(waits) if not count]
    heapq.heapify(ready)
    order = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers[index]:
            waits[reader] -= 1
            if not waits[reader]:
                heapq.heappush(ready, reader)
    if any(node.op in _LOOPS for node in kept):
        return list(range(len(kept)))  # refused as control flow later, by name
    if len(order) < len(kept):
        stuck = min(index for index, count in enumerate(waits) if count)
        raise GraphError(f"nodes read one another in a circle, at {kept[stuck].name!r}",
                         subject=kept[stuck].name)
    return order
