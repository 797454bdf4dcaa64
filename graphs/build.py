"""Builds a subgraph of any source into a frozen GraphDef with named ends.

Runs in a worker: it runs the user's graph file and needs TensorFlow, which is handed
in. No graph optimizer runs here.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Mapping

from graphs import cut, graph_def, refuse, saved_model
from graphs.built import BuildOptions, BuiltGraph, Feed, Fetch
from graphs.cut import Sketch
from graphs.distribution import default_for
from graphs.errors import GraphError, GraphUnsupportedError
from graphs.function import inline
from graphs.port_name import unique
from graphs.portable import drop_new_defaults
from graphs.source import (
    FILE,
    GRAPH_DEF,
    RAISED,
    SHIPPED,
    Source,
    failed,
    first_line,
    load_subgraph,
)
from graphs.subgraph import DTYPES, Input, Subgraph

__all__ = ["BuildOptions", "BuiltGraph", "Feed", "Fetch", "build_graph"]


@dataclass(frozen=True)
class _Draft:
    """A sketch and what its graph file said of it."""

    sketch: Sketch
    declared: Mapping[str, Input] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    subgraph: Subgraph | None = None


def build_graph(tf: Any, source: Source, options: BuildOptions) -> BuiltGraph:
    """Build a subgraph.

    The same source and options give the same bytes under the same TensorFlow.

    Args:
        tf: tensorflow.compat.v1.
        source: from `graphs.source.resolve`.
        options: what the user asked for.

    Raises:
        GraphUnsupportedError: this TensorFlow lacks an op, a dtype or a kernel.
        GraphError: anything else that is wrong with the subgraph or the options.
    """
    _check(options)
    if source.kind in (SHIPPED, FILE):
        draft = _from_file(tf, load_subgraph(source), options)
    else:
        draft = _from_model(tf, source, options)
    sketch = cut.with_fetches(draft.sketch, options.fetch)
    sketch, asked = _with_feeds(tf, sketch, options, draft.shapes)
    sketch = cut.quiet(tf, cut.settle(sketch, asked))
    sketch = _shaped(sketch, _overrides(sketch, options, draft.shapes))
    refuse.check_ops(tf, sketch.graph_def, allow_random=options.allow_random)
    graph = _import(tf, sketch.graph_def)
    refuse.check_tensors(graph.get_operations())
    if options.check_kernels:
        refuse.check_kernels(tf, sketch.graph_def)
    return _finish(graph, sketch, draft, options)


def _check(options: BuildOptions) -> None:
    if options.size not in ("desk", "paper"):
        raise GraphError(f"found size {options.size!r}, expected desk or paper",
                         subject=options.size, known=("desk", "paper"))
    for option, pairs in (("--shape", options.shapes), ("--variant", options.variants)):
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise GraphError(f"{option}: {name} is given twice", subject=name)
    for name, shape in options.shapes:
        if not all(isinstance(axis, int) and axis >= 0 for axis in shape):
            raise GraphError(f"--shape={name}: found {tuple(shape)!r}, expected "
                             "lengths of zero or more", subject=name)


def _from_file(tf: Any, subgraph: Subgraph, options: BuildOptions) -> _Draft:
    if options.signature:
        raise GraphError(f"subgraph {subgraph.name!r} has no signatures; --signature "
                         "goes with a SavedModel folder", subject=options.signature)
    variants = _variants(subgraph, options.variants)
    dtype = options.dtype or subgraph.dtypes[0]
    if dtype not in subgraph.dtypes:
        raise GraphError(f"subgraph {subgraph.name!r} comes in "
                         f"{', '.join(subgraph.dtypes)}, not in {dtype!r}",
                         subject=dtype, known=tuple(sorted(subgraph.dtypes)))
    present = [i for i in subgraph.inputs if not i.when or (
        str(variants[i.when[0]]) == i.when[1])]
    shapes = {i.name: i.paper if options.size == "paper" and i.paper else i.desk
              for i in present}
    shapes.update({n: tuple(s) for n, s in options.shapes if n in shapes})
    graph = tf.Graph()
    with graph.as_default():
        fed = {i.name: tf.placeholder(
            tf.as_dtype(dtype if len(i.choices) > 1 else i.choices[0]),
            shapes[i.name], name=i.name) for i in present}
        outputs = _call(tf, subgraph, {**fed, **variants})
        fetches = {str(name): _tensor(tf, graph, subgraph, name, value)
                   for name, value in outputs.items()}
    flat, moved = inline(tf, graph.as_graph_def())
    fetches = {name: moved.get(t, t) for name, t in fetches.items()}
    labels = (dtype, options.size, *(f"{k}={v}" for k, v in variants.items()))
    return _Draft(Sketch(flat, {n: t.name for n, t in fed.items()}, fetches),
                  {i.name: i for i in present}, shapes, labels, subgraph)


def _call(tf: Any, subgraph: Subgraph, arguments: Mapping[str, Any]
          ) -> Mapping[str, Any]:
    try:
        outputs = subgraph.build(tf, **arguments)
    except GraphError:
        raise
    except RAISED + (tf.errors.OpError,) as error:
        text = first_line(error)
        if "not in list of allowed values" in text:
            raise GraphUnsupportedError(f"TensorFlow {tf.__version__}: {text}",
                                        subject=subgraph.name) from error
        raise failed(subgraph.path, error, "build()") from error
    if not isinstance(outputs, dict) or not outputs:
        raise GraphError(f"{subgraph.path}: build() returned "
                         f"{type(outputs).__name__}, expected a dict of name: tensor",
                         subject=subgraph.name)
    return outputs


def _tensor(tf: Any, graph: Any, subgraph: Subgraph, name: Any, value: Any) -> str:
    if not isinstance(value, tf.Tensor) or value.graph is not graph:
        raise GraphError(f"{subgraph.path}: build() returned {type(value).__name__} "
                         f"for {name!r}, expected a tensor of the graph it was called "
                         "in", subject=str(name))
    return str(value.name)


def _variants(subgraph: Subgraph, asked: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    known = dict(subgraph.variants)
    chosen = {name: values[0] for name, values in known.items()}
    for name, value in asked:
        if name not in known:
            raise _unknown(f"subgraph {subgraph.name!r} has no variant", name, known)
        matches = [v for v in known[name] if str(v) == str(value)]
        if not matches:
            raise _unknown(f"variant {name!r} of {subgraph.name!r} has no value",
                           str(value), map(str, known[name]))
        chosen[name] = matches[0]
    return chosen


def _from_model(tf: Any, source: Source, options: BuildOptions) -> _Draft:
    if options.variants:
        raise _unknown(f"{source.path} has no variants; found", options.variants[0][0],
                       ())
    if source.kind == GRAPH_DEF:
        if options.signature:
            raise GraphError(f"{source.path}: a GraphDef has no signatures; "
                             "--signature goes with a SavedModel folder",
                             subject=options.signature)
        flat, _ = inline(tf, graph_def.read(tf, Path(source.path)))
        sketch = cut.from_graph_def(tf, flat, with_outputs=not options.fetch)
    else:
        sketch = Sketch(*saved_model.read(tf, Path(source.path), options.signature))
    labels = (options.signature,) if options.signature else ()
    return _Draft(sketch, labels=labels)


def _overrides(sketch: Sketch, options: BuildOptions,
               used: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return "node:index" -> shape for every --shape that is not used yet."""
    found = {}
    for name, shape in options.shapes:
        if name in used:
            continue
        tensor = cut.find(sketch, name, "--shape")
        if tensor not in sketch.feeds.values():
            raise _unknown("--shape: no input", name, sketch.feeds)
        if tensor in found:
            raise GraphError(f"--shape: {tensor} is given twice", subject=name)
        found[tensor] = tuple(shape)
    return found


def _with_feeds(tf: Any, sketch: Sketch, options: BuildOptions,
                used: Mapping[str, tuple[int, ...]]) -> tuple[Sketch, tuple[str, ...]]:
    """Return the sketch with every feed a placeholder, and those the user asked for."""
    asked = [cut.find(sketch, text, "--feed") for text in options.feed]
    inner = cut.not_placeholders(sketch, [*sketch.feeds.values(), *asked])
    if not inner:
        return sketch, tuple(asked)
    part = cut.settle(Sketch(sketch.graph_def, sketch.feeds, {t: t for t in inner}), ())
    given = {cut.fed(part, name): shape for name, shape in options.shapes
             if name not in used and cut.fed(part, name)}
    graph = _import(tf, _shaped(part, given).graph_def)
    wanted = {}
    for tensor in inner:
        found = _fetched(graph, part.fetches[tensor])
        wanted[tensor] = (found.dtype.base_dtype.as_datatype_enum,
                          found.shape.as_proto())
    sketch, placeholders = cut.add_feeds(sketch, wanted)
    return sketch, tuple(placeholders.get(tensor, tensor) for tensor in asked)


def _shaped(sketch: Sketch, shapes: Mapping[str, tuple[int, ...]]) -> Sketch:
    """Write the shapes asked for into the placeholders, in place."""
    nodes = graph_def.by_name(sketch.graph_def)
    for tensor, shape in shapes.items():
        proto = nodes[graph_def.split(tensor)[0]].attr["shape"].shape
        if not _agrees(proto, shape):
            have = [d.size if d.size >= 0 else "?" for d in proto.dim]
            raise GraphError(f"--shape: {tensor} is {have}, found {list(shape)}",
                             subject=tensor)
        proto.Clear()
        for axis in shape:
            proto.dim.add().size = axis
        if not shape:
            sketch.graph_def.versions.producer = max(
                sketch.graph_def.versions.producer, 24)
    return sketch


def _agrees(proto: Any, shape: tuple[int, ...]) -> bool:
    """Say whether a rank is kept, so that a slip is caught where it is made."""
    return proto.unknown_rank or not proto.dim or len(proto.dim) == len(shape)


def _import(tf: Any, definition: Any) -> Any:
    drop_new_defaults(tf, definition)
    graph = tf.Graph()
    try:
        with graph.as_default():
            tf.import_graph_def(definition, name="")
    except (ValueError, TypeError, RuntimeError, LookupError, tf.errors.OpError
            ) as error:
        raise GraphError(f"TensorFlow {tf.__version__} refuses the graph: "
                         f"{first_line(error)}") from error
    return graph


def _fetched(graph: Any, tensor: str) -> Any:
    try:
        return graph.get_tensor_by_name(tensor)
    except (KeyError, ValueError) as error:
        raise GraphError(f"no tensor {tensor!r}: {first_line(error)}",
                         subject=tensor) from error


def _finish(graph: Any, sketch: Sketch, draft: _Draft, options: BuildOptions
            ) -> BuiltGraph:
    taken: set[str] = set()
    inputs = tuple(_feed(graph, label, tensor, draft, taken)
                   for label, tensor in sketch.feeds.items())
    outputs = []
    for label, tensor in sketch.fetches.items():
        found = _fetched(graph, tensor)
        if found.shape.ndims is None:
            raise GraphError(f"output {label!r} has an unknown rank; fetch another "
                             "tensor, or give more shapes with --shape", subject=label)
        outputs.append(Fetch(unique(label, taken), tensor,
                             tuple(found.shape.as_list()), found.dtype.name))
    floats = {port.dtype for port in inputs if "float" in port.dtype}
    if draft.subgraph is None and options.dtype and floats != {options.dtype}:
        raise GraphError(f"the dtype of a model is its own: "
                         f"{', '.join(sorted(floats))}, not {options.dtype!r}; drop "
                         "--dtype", subject=options.dtype)
    doc = draft.subgraph.doc if draft.subgraph else ""
    labels = draft.labels or (",".join(sorted(floats)) or "model",)
    return BuiltGraph(
        graph_def.serialize(sketch.graph_def), inputs, tuple(outputs),
        variant="/".join(labels), doc=doc,
        claims=draft.subgraph.claims if draft.subgraph else (),
        targets=draft.subgraph.targets if draft.subgraph else ())


def _feed(graph: Any, label: str, tensor: str, draft: _Draft, taken: set[str]) -> Feed:
    found = _fetched(graph, tensor)
    dtype = found.dtype.name
    if dtype not in DTYPES:
        raise GraphError(f"input {label!r} is {dtype}, expected one of "
                         f"{', '.join(DTYPES)}", subject=label)
    name = unique(label, taken)
    axes = found.shape.as_list() if found.shape.ndims is not None else None
    if axes is None or None in axes:
        shown = "unknown rank" if axes is None else "[" + ",".join(
            "?" if axis is None else str(axis) for axis in axes) + "]"
        wish = "8" if axes is None else ",".join(
            "8" if axis is None else str(axis) for axis in axes)
        raise GraphError(f"input {label!r} has {shown}: give its lengths, e.g. "
                         f"--shape={name}:{wish}", subject=label)
    declared = draft.declared.get(label)
    if declared is None:
        return Feed(name, tensor, tuple(axes), dtype, default_for(dtype))
    return Feed(name, tensor, tuple(axes), dtype, declared.distribution, declared.role)


def _unknown(what: str, name: str, known: Iterable[str]) -> GraphError:
    names = tuple(sorted(known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = f"; known: {', '.join(names) or 'none'}.{hint}"
    return GraphError(f"{what} {name!r}{listed}", subject=name, known=names)
