"""What is asked of a build, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphs.distribution import Distribution


@dataclass(frozen=True)
class BuildOptions:
    """What the user asked for; every field has the default of the command line.

    Attributes:
        dtype: dtype of the inputs that follow it; "" for the subgraph's first choice.
        size: "desk" or "paper".
        shapes: (input, axis lengths) pairs that override the declared ones.
        variants: (name, value) pairs; values as text or as declared.
        fetch: outputs instead of the declared ones.
        feed: tensors that become inputs.
        signature: of a SavedModel; "" for its default.
        check_kernels: refuse nodes without CPU kernel (False for a device's backend).
        allow_random: let operators through that draw random numbers, which give other
            bits in every run.
    """

    dtype: str = ""
    size: str = "desk"
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    variants: tuple[tuple[str, Any], ...] = ()
    fetch: tuple[str, ...] = ()
    feed: tuple[str, ...] = ()
    signature: str = ""
    check_kernels: bool = True
    allow_random: bool = False


@dataclass(frozen=True)
class Feed:
    """A fed end of a built graph: always the output of a Placeholder.

    Attributes:
        name: unique among inputs and outputs, safe as a file name.
        tensor: "node:0".
        shape: axis lengths, all known.
        dtype: NumPy's name, or "bfloat16".
        distribution: what its numbers look like.
        role: "data", "weight" or "scalar".
    """

    name: str
    tensor: str
    shape: tuple[int, ...]
    dtype: str
    distribution: Distribution
    role: str = "data"


@dataclass(frozen=True)
class Fetch:
    """A fetched end of a built graph.

    Attributes:
        name: unique among inputs and outputs, safe as a file name.
        tensor: "node:index".
        shape: axis lengths; None where only a run can tell.
        dtype: NumPy's name, or "bfloat16".
    """

    name: str
    tensor: str
    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True)
class BuiltGraph:
    """A frozen, flat, pruned graph.

    Attributes:
        graph_def: serialized GraphDef, nodes in an order in which they can be run.
        inputs: the fed ends that an output depends on.
        outputs: the fetched ends, in the user's order.
        variant: tells builds of one subgraph apart, e.g. "float16/desk/gelu=tanh".
        doc: docstring of the graph file, "" for the other kinds.
        claims: experiments it serves.
        targets: passes that it should provoke.
    """

    graph_def: bytes
    inputs: tuple[Feed, ...]
    outputs: tuple[Fetch, ...]
    variant: str = ""
    doc: str = ""
    claims: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
