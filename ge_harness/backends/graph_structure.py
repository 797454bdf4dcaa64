"""Two TensorFlow graphs compared by what they compute, not by their names.

Grappler renames nodes freely, so a node is known by its op, its attributes and what
its inputs compute.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any, Iterable, NamedTuple

from ge_harness.backends.node_walk import parse

# Attributes that say nothing about what a node computes.
_SILENT = frozenset(("shape", "container", "shared_name"))
_PORTS = frozenset(("_Arg", "_Retval", "Placeholder"))
# TensorFlow's numbers of floating dtypes and the names they go by.
# Source: tensorflow/core/framework/types.proto.
_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8",
    7: "string", 8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16",
    17: "uint16", 18: "complex128", 19: "float16", 20: "resource", 22: "uint32",
    23: "uint64",
}


class Structure(NamedTuple):
    """A graph without its names.

    Attributes:
        nodes: how often each computation occurs, by digest.
        what: digest -> (op, dtype) of the node.
    """

    nodes: Counter[str]
    what: dict[str, tuple[str, str]]


class Change(NamedTuple):
    """What differs between two graphs.

    Attributes:
        gone: (op, dtype) -> how many are only in the first.
        new: (op, dtype) -> how many are only in the second.
    """

    gone: Counter[tuple[str, str]]
    new: Counter[tuple[str, str]]

    @property
    def ops(self) -> tuple[str, ...]:
        """Op types on either side, sorted."""
        return tuple(sorted({op for op, _ in list(self.gone) + list(self.new)}))

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Dtypes on either side, sorted."""
        found = {dtype for _, dtype in list(self.gone) + list(self.new)}
        return tuple(sorted(found - {""}))


def of(nodes: Iterable[Any]) -> Structure:
    """Return the structure of NodeDefs."""
    by_name = {node.name: node for node in nodes}
    digests: dict[str, str] = {}
    for root in by_name:
        _digest(root, by_name, digests)
    what = {digests[name]: (node.op, dtype(node)) for name, node in by_name.items()
            if node.op not in _PORTS}
    counted = Counter(digests[name] for name, node in by_name.items()
                      if node.op not in _PORTS)
    # What is returned matters too: two graphs of equal nodes may return others.
    for name, node in by_name.items():
        if node.op == "_Retval":
            counted[digests[name]] += 1
            what[digests[name]] = ("", "")
    return Structure(counted, what)


def difference(first: Structure, second: Structure) -> Change | None:
    """Return what differs, None where the graphs compute the same in the same way."""
    gone, new = first.nodes - second.nodes, second.nodes - first.nodes
    if not gone and not new:
        return None
    return Change(_named(gone, first), _named(new, second))


def describe(change: Change) -> str:
    """Return a change as "Mul x2, Const -> Square", ops sorted."""
    own_gone, own_new = change.gone - change.new, change.new - change.gone
    if not own_gone and not own_new:
        return "same op types, connected otherwise"
    return f"{_listed(own_gone)} -> {_listed(own_new)}"


def dtype(node: Any) -> str:
    """Return the dtype a node is about, "" where it names none."""
    for key in ("T", "dtype", "DstT", "out_type", "output_type"):
        if key in node.attr and node.attr[key].type:
            return _DTYPES.get(int(node.attr[key].type), "other")
    return ""


def _listed(counts: Counter[tuple[str, str]]) -> str:
    by_op: Counter[str] = Counter()
    for (op, _), count in counts.items():
        by_op[op] += count
    parts = [f"{op} x{count}" if count > 1 else op
             for op, count in sorted(by_op.items())]
    return ", ".join(parts) or "nothing"


def _named(counts: Counter[str], structure: Structure) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for digest, count in counts.items():
        if structure.what[digest][0]:
            found[structure.what[digest]] += count
    return found


def _digest(root: str, nodes: dict[str, Any], digests: dict[str, str]) -> None:
    """Fill in the digests of a node and its ancestors; a loop ends at its back edge."""
    stack = [root]
    open_names: set[str] = set()
    while stack:
        name = stack[-1]
        if name in digests or name not in nodes:
            digests.setdefault(name, "outside")
            stack.pop()
            continue
        sources = [parse(text)[0] for text in nodes[name].input]
        waiting = [source for source in sources
                   if source not in digests and source not in open_names]
        if waiting and name not in open_names:
            open_names.add(name)
            stack += waiting
            continue
        digests[name] = _own(nodes[name], digests)
        stack.pop()


def _own(node: Any, digests: dict[str, str]) -> str:
    data: list[str] = []
    control: list[str] = []
    for text in node.input:
        name, index, is_control = parse(text)
        (control if is_control else data).append(
            f"{digests.get(name, 'loop')}:{index}")
    attributes = [
        (key, node.attr[key].SerializeToString()) for key in sorted(node.attr)
        if not key.startswith("_") and key not in _SILENT]
    hashed = hashlib.sha256(repr(
        (node.op, attributes, data, sorted(control))).encode("utf-8"))
    return hashed.hexdigest()
