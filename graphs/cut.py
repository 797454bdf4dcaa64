"""Feeds and fetches of a graph: where it starts, where it ends, what lies between.

Works on a `Sketch`: a GraphDef with labels for the tensors that are fed and fetched.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from graphs.errors import GraphError
from graphs.function import op_def, output_count
from graphs.graph_def import by_name, prune, split, tensor_name
from graphs.port_name import of_tensor, safe

_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
_DEFAULTED = "PlaceholderWithDefault"


@dataclass(frozen=True)
class Sketch:
    """A graph with labeled ends, on its way to be built.

    Attributes:
        graph_def: TensorFlow's protobuf object.
        feeds: label -> "node:index" of what is fed.
        fetches: label -> "node:index" of what is fetched.
    """

    graph_def: Any
    feeds: Mapping[str, str]
    fetches: Mapping[str, str]


def find(sketch: Sketch, text: str, option: str) -> str:
    """Return the tensor that a user's word means.

    Args:
        sketch: the graph.
        text: a label, a node or "node:index".
        option: "--fetch", "--feed" or "--shape", for the message.

    Returns:
        "node:index" of a node that is there.

    Raises:
        GraphError: nothing is called so; names the nearest.
    """
    for ends in (sketch.fetches, sketch.feeds):
        if option == "--shape" and ends is sketch.fetches:
            continue
        if text in ends:
            return ends[text]
    nodes = by_name(sketch.graph_def)
    if split(text)[0] in nodes and not text.startswith("^"):
        return tensor_name(text)
    if fed(sketch, text):
        return fed(sketch, text)
    known = tuple(sorted({*nodes, *sketch.feeds, *sketch.fetches}))
    near = difflib.get_close_matches(text, known, n=1, cutoff=0.6)
    shown = ", ".join(known) if len(known) <= 40 else f"{len(known)} names"
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise GraphError(f"{option}={text}: no tensor of that name; known: {shown}.{hint}",
                     subject=text, known=known)


def fed(sketch: Sketch, text: str) -> str:
    """Return the fed tensor that a user's word means, "" where it means none."""
    for label, tensor in sketch.feeds.items():
        if text in (label, safe(label), tensor, split(tensor)[0]):
            return tensor
    return ""


def not_placeholders(sketch: Sketch, tensors: Iterable[str]) -> list[str]:
    """Return the tensors that come from no placeholder, each once, in order."""
    nodes = by_name(sketch.graph_def)
    inner = [t for t in tensors if nodes[split(t)[0]].op not in _PLACEHOLDERS]
    return list(dict.fromkeys(inner))


def from_graph_def(tf: Any, graph_def: Any, *, with_outputs: bool) -> Sketch:
    """Return a foreign GraphDef with its placeholders fed and its last nodes fetched.

    Args:
        tf: tensorflow.compat.v1.
        graph_def: functions inlined.
        with_outputs: False leaves the outputs to the user's --fetch.
    """
    read = {split(ref)[0] for node in graph_def.node for ref in node.input
            if not ref.startswith("^")}
    feeds = {node.name: f"{node.name}:0" for node in graph_def.node
             if node.op in _PLACEHOLDERS}
    last = [node for node in graph_def.node if node.name not in read
            and node.name not in feeds and node.op not in ("NoOp", "Assert", "Const")]
    tensors = [f"{node.name}:{index}" for node in (last if with_outputs else ())
               for index in range(output_count(tf, node))]
    return Sketch(graph_def, feeds, {of_tensor(tensor): tensor for tensor in tensors})


def with_fetches(sketch: Sketch, wanted: tuple[str, ...]) -> Sketch:
    """Return the sketch with the outputs that the user asked for, in that order."""
    if not wanted:
        return sketch
    labels = {tensor: label for label, tensor in sketch.fetches.items()}
    fetches = {}
    for text in wanted:
        tensor = find(sketch, text, "--fetch")
        fetches[labels.get(tensor, of_tensor(tensor))] = tensor
    return Sketch(sketch.graph_def, sketch.feeds, fetches)


def add_feeds(sketch: Sketch, wanted: Mapping[str, tuple[int, Any]]
              ) -> tuple[Sketch, dict[str, str]]:
    """Replace tensors by placeholders.

    Args:
        sketch: the graph.
        wanted: "node:index" -> (dtype as an enum number, TensorShapeProto).

    Returns:
        The new sketch, and a dict from each tensor to its placeholder's.
    """
    graph_def = type(sketch.graph_def)()
    graph_def.CopyFrom(sketch.graph_def)
    taken = set(by_name(graph_def))
    fed_by = {}
    for tensor, (dtype, shape) in wanted.items():
        node = graph_def.node.add()
        node.name, node.op = _free(tensor, "fed", taken), "Placeholder"
        node.attr["dtype"].type = dtype
        node.attr["shape"].shape.CopyFrom(shape)
        fed_by[tensor] = f"{node.name}:0"
    for node in graph_def.node:
        for index, reference in enumerate(node.input):
            if not reference.startswith("^") and tensor_name(reference) in fed_by:
                node.input[index] = split(fed_by[tensor_name(reference)])[0]
    feeds = {label: fed_by.get(tensor, tensor)
             for label, tensor in sketch.feeds.items()}
    feeds.update({of_tensor(tensor): placeholder for tensor, placeholder in
                  fed_by.items() if placeholder not in feeds.values()})
    fetches = {label: fed_by.get(tensor, tensor)
               for label, tensor in sketch.fetches.items()}
    return Sketch(graph_def, feeds, fetches), fed_by


def settle(sketch: Sketch, asked: tuple[str, ...]) -> Sketch:
    """Drop what no output needs, and give every output a node of its own.

    Args:
        sketch: the graph.
        asked: tensors that the user asked to feed.

    Raises:
        GraphError: there is no output, or one asked to be fed reaches none.
    """
    if not sketch.fetches:
        raise GraphError("found no output; name one with --fetch")
    graph_def = type(sketch.graph_def)()
    graph_def.CopyFrom(sketch.graph_def)
    fetches = _own_nodes(graph_def, sketch)
    pruned = prune(graph_def, [split(tensor)[0] for tensor in fetches.values()])
    for node in pruned.node:
        if node.op == _DEFAULTED:
            node.op = "Identity"
            dtype = node.attr["dtype"].type
            node.attr.clear()
            node.attr["T"].type = dtype
        elif node.op in _PLACEHOLDERS:
            node.op = "Placeholder"
    kept = {node.name: node for node in pruned.node}
    feeds = {label: tensor for label, tensor in sketch.feeds.items()
             if split(tensor)[0] in kept}
    for node in pruned.node:
        if node.op in _PLACEHOLDERS and f"{node.name}:0" not in feeds.values():
            feeds[node.name] = f"{node.name}:0"
    lost = [label for label, tensor in sketch.feeds.items()
            if tensor in asked and label not in feeds]
    if lost:
        raise GraphError(f"--feed={lost[0]}: no output depends on it; drop it or fetch "
                         "something behind it", subject=lost[0])
    return Sketch(pruned, feeds, fetches)


def quiet(tf: Any, sketch: Sketch) -> Sketch:
    """Drop control edges from nodes behind which nothing acts.

    SavedModels are full of them, to order reads of variables that are constants by now.
    An edge stays where an Assert or another stateful op stands behind it.

    Args:
        tf: tensorflow.compat.v1.
        sketch: settled, so that each node stands after what it reads.
    """
    stateful: dict[str, bool] = {}
    acting: set[str] = set()
    for node in sketch.graph_def.node:
        if node.op not in stateful:
            stateful[node.op] = bool(op_def(tf, node.op).is_stateful)
        idle = [ref for ref in node.input
                if ref.startswith("^") and ref[1:] not in acting]
        kept = [ref for ref in node.input if ref not in idle]
        if idle:
            del node.input[:]
            node.input.extend(kept)
        if (stateful[node.op] and node.op not in _PLACEHOLDERS) or any(
                split(ref)[0] in acting for ref in kept):
            acting.add(node.name)
    return settle(sketch, ())


def _own_nodes(graph_def: Any, sketch: Sketch) -> dict[str, str]:
    """Put an Identity behind an output that is an input or a constant itself."""
    nodes = by_name(graph_def)
    taken = set(nodes)
    fetches = {}
    for label, tensor in sketch.fetches.items():
        source = nodes[split(tensor)[0]]
        if source.op in (*_PLACEHOLDERS, "Const"):
            node = graph_def.node.add()
            node.name, node.op = _free(tensor, "fetched", taken), "Identity"
            node.input.append(tensor)
            node.attr["T"].type = source.attr["dtype"].type
            tensor = f"{node.name}:0"
        fetches[label] = tensor
    return fetches


def _free(tensor: str, suffix: str, taken: set[str]) -> str:
    """Return a node name made of a tensor's that no node has, and take it."""
    wish = f"{safe(of_tensor(tensor)).replace('-', '_')}_{suffix}"
    name, number = wish, 1
    while name in taken:
        name, number = f"{wish}_{number}", number + 1
    taken.add(name)
    return name
