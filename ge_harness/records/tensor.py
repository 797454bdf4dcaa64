"""Tensors and the graph under test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TensorSpec:
    """A tensor without its values.

    Attributes:
        name: what the user calls it; unique within its case and safe as a file name.
        shape: axis lengths; None where a length is unknown.
        dtype: NumPy's name, or "bfloat16".
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True)
class Port:
    """A place where a graph is fed or fetched.

    Attributes:
        spec: the tensor there.
        tensor: its name in the GraphDef, "node:index".
    """

    spec: TensorSpec
    tensor: str


@dataclass(frozen=True)
class Case:
    """A frozen graph together with the input sets it is run on.

    Arrays lie on disk as one .npy a port. With `set_count` 1 an array has the shape of
    its spec; otherwise the sets are stacked on a new first axis. bfloat16 is stored as
    uint16 bits, its dtype being in the spec.

    Attributes:
        subgraph: the name or file the user asked for.
        variant: what tells cases of one subgraph apart, e.g. "float16/desk".
        seed: seed of the inputs of set 0; set i uses seed + i.
        graph_path: binary GraphDef, variables frozen and functions inlined.
        inputs: the fed ports; each tensor is a Placeholder of the graph.
        outputs: the fetched ports, in the user's order.
        input_paths: one .npy an input, in the order of `inputs`.
        set_count: how many input sets the arrays hold.
    """

    subgraph: str
    variant: str
    seed: int
    graph_path: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    input_paths: tuple[str, ...]
    set_count: int = 1
