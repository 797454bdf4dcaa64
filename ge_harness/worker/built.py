"""Between the graphs package and the records: build options in, built graphs out."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Sequence

from ge_harness.records import serialize
from ge_harness.records.job import BuiltCase
from ge_harness.records.run import Environment
from ge_harness.records.tensor import Port, TensorSpec
from graphs.built import BuildOptions, BuiltGraph, Feed, Fetch
from graphs.distribution import KINDS


def options_to(options: BuildOptions) -> tuple[tuple[str, Any], ...]:
    """Return build options as sorted pairs of plain data."""
    return tuple(sorted((field.name, getattr(options, field.name))
                        for field in dataclasses.fields(options)))


def options_from(pairs: Sequence[tuple[str, Any]]) -> BuildOptions:
    """Return the build options that `options_to` took apart, after a trip by JSON."""
    return BuildOptions(**{name: _tuples(value) for name, value in pairs})


def record(graph: BuiltGraph, source: str, graph_path: str,
           environment: Environment) -> BuiltCase:
    """Return the record of a built graph whose bytes are in `graph_path`."""
    return BuiltCase(
        source=source, graph_path=graph_path,
        inputs=tuple(_port(feed) for feed in graph.inputs),
        outputs=tuple(_port(fetch) for fetch in graph.outputs),
        environment=environment, variant=graph.variant, doc=graph.doc,
        claims=graph.claims, targets=graph.targets,
        feeds=tuple(_feed_text(feed) for feed in graph.inputs))


def feeds(case: BuiltCase) -> tuple[Feed, ...]:
    """Return the fed ends of a built case with their distributions.

    `graphs.inputs.draw` draws their numbers.
    """
    found = []
    for port, text in zip(case.inputs, case.feeds):
        data = json.loads(text)
        kind = _KINDS[data["kind"]]
        fields = {name: _numbers(value) for name, value in data["fields"].items()}
        found.append(Feed(
            port.spec.name, port.tensor, tuple(size or 0 for size in port.spec.shape),
            port.spec.dtype, kind(**fields), data["role"]))
    return tuple(found)


_KINDS: dict[str, Any] = {kind.__name__: kind for kind in KINDS}


def _feed_text(feed: Feed) -> str:
    plain = {"kind": type(feed.distribution).__name__, "role": feed.role,
             "fields": serialize.to_plain(feed.distribution)}
    return json.dumps(plain, sort_keys=True)


def _port(end: Feed | Fetch) -> Port:
    return Port(TensorSpec(end.name, tuple(end.shape), end.dtype), end.tensor)


def _tuples(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_tuples(item) for item in value)
    return value


def _numbers(value: Any) -> Any:
    """Return numbers as they were before `serialize` spelled NaN and infinities."""
    if isinstance(value, list):
        return tuple(_numbers(item) for item in value)
    return float(value) if isinstance(value, str) else value
