"""Walks a GraphDef node by node in the order that data and control inputs ask for.

What a node's execution means is handed in, so the eager backend and the node-by-node
base lines of the compilers share the walk: the same order, the same feeds, the same
names in failures.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ge_harness.backends.base import BackendFailure
from ge_harness.records.run import FailureKind

RunNode = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""(NodeDef, its data inputs, flat) -> its outputs, flat."""


class Step(NamedTuple):
    """One node in the order of execution.

    Attributes:
        node: the NodeDef.
        sources: "node:index" of each data input.
        released: values that no later step and no fetch needs.
    """

    node: Any
    sources: tuple[str, ...]
    released: tuple[str, ...]


def parse(reference: str) -> tuple[str, int, bool]:
    """Return (node, output index, whether it is a control input) of an input text."""
    if reference.startswith("^"):
        return reference[1:], -1, True
    name, colon, index = reference.rpartition(":")
    if colon and index.isdigit():
        return name, int(index), False
    return reference, 0, False


def plan(graph_def: Any, fetches: Sequence[str], feeds: Sequence[str]) -> list[Step]:
    """Return the steps that lead to the fetches, nothing else.

    Args:
        graph_def: a GraphDef without functions, loops or branches.
        fetches: tensors wanted, "node:index".
        feeds: tensors given, "node:index"; their nodes are not executed.

    Raises:
        BackendFailure: a node is missing, a placeholder is not fed, or there is a
            cycle.
    """
    nodes = {node.name: node for node in graph_def.node}
    fed = {canonical(feed) for feed in feeds}
    order = _order(nodes, [parse(fetch)[0] for fetch in fetches], fed)
    kept = {canonical(fetch) for fetch in fetches}
    last_use: dict[str, int] = {}
    sources = [tuple(canonical(text) for text in node.input if text[:1] != "^")
               for node in order]
    for position, names in enumerate(sources):
        last_use.update((name, position) for name in names)
    released: list[list[str]] = [[] for _ in order]
    for name, position in last_use.items():
        if name not in kept:
            released[position].append(name)
    return [Step(node, names, tuple(gone))
            for node, names, gone in zip(order, sources, released)]


def canonical(reference: str) -> str:
    """Return a data input or fetch as "node:index"."""
    name, index, _ = parse(reference)
    return f"{name}:{index}"


def walk(steps: Sequence[Step], feeds: Mapping[str, Any], fetches: Sequence[str],
         run_node: RunNode) -> list[Any]:
    """Execute the steps and return the fetched values, in order.

    Args:
        steps: what `plan` returned for the same feeds and fetches.
        feeds: "node:index" -> value.
        fetches: "node:index".
        run_node: executes one node.

    Raises:
        BackendFailure: a node has no such output.
    """
    values = {canonical(name): value for name, value in feeds.items()}
    for step in steps:
        outputs = run_node(step.node, [_take(values, name) for name in step.sources])
        for index, output in enumerate(outputs):
            values[f"{step.node.name}:{index}"] = output
        for name in step.released:
            values.pop(name, None)
    return [_take(values, canonical(fetch)) for fetch in fetches]


def _take(values: Mapping[str, Any], name: str) -> Any:
    if name not in values:
        raise BackendFailure(FailureKind.BUILD, f"the graph has no tensor {name!r}")
    return values[name]


def _order(nodes: Mapping[str, Any], roots: Sequence[str], fed: set[str]) -> list[Any]:
    """Return the ancestors of the roots, each after all its inputs; no recursion."""
    done: dict[str, bool] = {}
    order = []
    stack = [(root, "a fetch") for root in reversed(roots)]
    while stack:
        name, asked_by = stack[-1]
        if done.get(name):
            stack.pop()
            continue
        if f"{name}:0" in fed:
            done[name] = True
            stack.pop()
            continue
        node = _node(nodes, name, asked_by)
        waiting = [parse(text)[0] for text in node.input
                   if not done.get(parse(text)[0])]
        if name not in done:
            done[name] = False
            stack += [(other, name) for other in reversed(waiting)]
        elif waiting:
            raise BackendFailure(FailureKind.BUILD, f"node {name!r} waits for itself")
        else:
            done[name] = True
            order.append(node)
            stack.pop()
    return order


def _node(nodes: Mapping[str, Any], name: str, asked_by: str) -> Any:
    node = nodes.get(name)
    if node is None:
        raise BackendFailure(
            FailureKind.BUILD, f"the graph has no node {name!r}, input of {asked_by}")
    if node.op == "Placeholder":
        raise BackendFailure(FailureKind.BUILD, f"placeholder {name!r} is not fed")
    return node
