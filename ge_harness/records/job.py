"""What comes of the jobs of a worker that are not runs."""

from __future__ import annotations

from dataclasses import dataclass

from ge_harness.records.run import Environment, FailureKind
from ge_harness.records.tensor import Port


@dataclass(frozen=True)
class BuiltCase:
    """A subgraph as a frozen GraphDef on disk, ready to be made into a `Case`.

    Attributes:
        source: what the user asked for.
        graph_path: binary GraphDef.
        inputs: the fed ports, with shapes and dtypes.
        outputs: the fetched ports, with shapes and dtypes.
        environment: what it was built with.
        variant: tells builds of one subgraph apart, e.g. "float16/desk".
        doc: docstring of the graph file, "" where there is none.
        claims: experiments it serves.
        targets: passes that it should provoke.
        feeds: an input a text, JSON: how its numbers are drawn; `worker.built.feeds`
            turns it into what `graphs.inputs.draw` takes.
    """

    source: str
    graph_path: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    environment: Environment
    variant: str = ""
    doc: str = ""
    claims: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()


@dataclass(frozen=True)
class JobFailure:
    """A job, other than a run, that gave no result.

    Attributes:
        kind: the named way in which it failed.
        message: one line: what was attempted, what happened, the way out.
        exit_code: exit status of the worker (negative: signal), None if it never began.
        log_path: the worker's log, "" where there is none.
        duration_s: wall time until the failure, in seconds.
    """

    kind: FailureKind
    message: str
    exit_code: int | None
    log_path: str
    duration_s: float = 0.0
