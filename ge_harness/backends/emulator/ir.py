"""Graphs under GE's names, and the plan of kernels that execution works from.

A plan speaks of tensors by the port of the original operator that gives them, also
where a fused kernel computes them, so values are kept in one table of ports. A node may
stand in several AscGraphs (AutoFuse recomputes it in each); inside one AscGraph a port
means that graph's own, unrounded value where a node of it gives the port, and the
loaded tensor otherwise.

Source: reference: autofuse_fusion_rules.md sections 4, 7; numerics_model.md sections 1
to 3.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, NamedTuple, Union

from dumps.graphdef import AttrValue, NodeDef

CONST_TYPES = ("Const", "Constant")
DATA_TYPE = "Data"


class Port(NamedTuple):
    """One output of a node.

    Attributes:
        node: name of the node.
        index: which of its outputs, from 0.
    """

    node: str
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, unused


class Origin(NamedTuple):
    """The framework's tensor that an output is.

    Attributes:
        node: name of the original operator, "" where no operator gave it.
        index: which of its outputs.
    """

    node: str
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, unused


NO_ORIGIN = Origin("")


@dataclass(frozen=True)
class Desc:
    """Dtype and shape of one output.

    Attributes:
        dtype: NumPy's name, or "bfloat16".
        shape: static axis lengths.
        origin: the framework's tensor.
    """

    dtype: str
    shape: tuple[int, ...]
    origin: Origin = NO_ORIGIN

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True)
class Node:
    """One operator under GE's type.

    Attributes:
        name: unique in its graph.
        type: GE's type: "ReduceSum", "RealDiv", "Muls", "AscBackend".
        op: TensorFlow's op that means the same on the same inputs and `attrs`, "" where
            there is none (the types of `GE_ONLY`).
        inputs: data inputs in order.
        controls: names of the nodes that must run before.
        attrs: (name, value) as TensorFlow's, sorted; GE-only types have their own.
        outputs: one for each output.
        origins: (name, type) of the framework's operators it stands for, oldest first.
        marks: (key, value) of attributes that passes leave, sorted; plain Python values
            (str, bool, int, float, tuple of one of them).
    """

    name: str
    type: str
    op: str
    inputs: tuple[Port, ...] = ()
    controls: tuple[str, ...] = ()
    attrs: tuple[tuple[str, AttrValue], ...] = ()
    outputs: tuple[Desc, ...] = ()
    origins: tuple[tuple[str, str], ...] = ()
    marks: tuple[tuple[str, Any], ...] = ()

    def attr(self, name: str, default: Any = None) -> Any:
        """Return the plain value of an attribute, or `default` where it is absent."""
        return next((v.value for key, v in self.attrs if key == name), default)

    def mark(self, key: str, default: Any = None) -> Any:
        """Return an attribute that a pass left, or `default` where it is absent."""
        return next((value for name, value in self.marks if name == key), default)

    @property
    def is_const(self) -> bool:
        """Whether it is a constant."""
        return self.type in CONST_TYPES

    @property
    def port(self) -> Port:
        """Its first output."""
        return Port(self.name)

    def definition(self) -> NodeDef:
        """Return the node as TensorFlow's, for `interpreter.table.OPS`.

        Only for nodes with an `op`.
        """
        inputs = tuple(f"{port.node}:{port.index}" for port in self.inputs)
        return NodeDef(self.name, self.op, inputs, "", self.attrs)


GE_ONLY = {
    "Muls": "x * value; attr value (float)",
    "Adds": "x + value; attr value (float)",
    "MatMul": "with a third input: a @ b + bias [n]; attrs as TensorFlow's MatMul",
    "Gelu": "x -> tanh form of GELU",
    "LayerNorm": "x, gamma, beta -> y, mean, variance over the axes from attr "
                 "begin_norm_axis (int) on; attr epsilon (float)",
    "SoftmaxV2": "x -> softmax over attr axes (list of int)",
}
"""Nodes without a TensorFlow op: what they compute. SoftmaxV2 that comes from
TensorFlow's Softmax keeps op "Softmax" and has no axes; so does MatMul with two
inputs."""


def with_marks(node: Node, **marks: Any) -> Node:
    """Return the node with attributes set that a pass leaves."""
    merged = {**dict(node.marks), **marks}
    return dataclasses.replace(node, marks=tuple(sorted(merged.items())))


class Graph:
    """A graph while passes work on it.

    Attributes:
        name: GE's name of it.
        nodes: name -> node, in the order GE would hold them; topological.
        inputs: (name of the case's input, name of its Data node), in the case's order.
        outputs: (name of the case's output, port).
    """

    def __init__(self, name: str, nodes: Iterable[Node],
                 inputs: Iterable[tuple[str, str]],
                 outputs: Iterable[tuple[str, Port]]) -> None:
        self.name = name
        self.nodes: dict[str, Node] = {node.name: node for node in nodes}
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)

    def copy(self) -> Graph:
        """Return a graph that can be changed on its own; nodes are shared records."""
        return Graph(self.name, self.nodes.values(), self.inputs, self.outputs)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def desc(self, port: Port) -> Desc:
        """Return dtype and shape of a tensor."""
        return self.nodes[port.node].outputs[port.index]

    def readers(self) -> dict[Port, list[tuple[str, int]]]:
        """Return who reads each port: (node, number of its input)."""
        found: dict[Port, list[tuple[str, int]]] = {}
        for node in self.nodes.values():
            for slot, port in enumerate(node.inputs):
                found.setdefault(port, []).append((node.name, slot))
        return found

    def output_ports(self) -> set[Port]:
        """Return the ports that leave the graph."""
        return {port for _, port in self.outputs}

    def put(self, node: Node) -> None:
        """Replace the node of that name, or add it at the end."""
        self.nodes[node.name] = node

    def put_before(self, node: Node, name: str) -> None:
        """Add a node in front of another."""
        kept = list(self.nodes.values())
        self.nodes = {}
        for each in kept:
            if each.name == name:
                self.nodes[node.name] = node
            self.nodes[each.name] = each

    def redirect(self, old: Port, new: Port) -> None:
        """Let every reader of a port, the graph's outputs too, read another one."""
        for node in list(self.nodes.values()):
            if old in node.inputs:
                self.put(dataclasses.replace(node, inputs=tuple(
                    new if port == old else port for port in node.inputs)))
        self.outputs = tuple((name, new if port == old else port)
                             for name, port in self.outputs)

    def remove(self, name: str) -> None:
        """Take a node out; nothing may read it any more."""
        gone = self.nodes.pop(name)
        for node in list(self.nodes.values()):
            if name in node.controls:
                kept = [each for each in node.controls if each != name]
                kept += [each for each in gone.controls if each not in kept]
                self.put(dataclasses.replace(node, controls=tuple(kept)))

    def sort(self) -> None:
        """Bring the nodes into topological order, keeping their order otherwise."""
        done: dict[str, Node] = {}
        for start in list(self.nodes):
            stack = [(start, False)]
            while stack:
                name, ready = stack.pop()
                if name in done:
                    continue
                node = self.nodes[name]
                if ready:
                    done[name] = node
                    continue
                stack.append((name, True))
                before = [port.node for port in node.inputs] + list(node.controls)
                stack += [(each, False) for each in reversed(before)
                          if each not in done]
        self.nodes = done


@dataclass(frozen=True)
class AscOp:
    """One operator of an AscGraph in AscIR, as it would be printed.

    Attributes:
        name: unique in its AscGraph.
        type: AscIR's type: "Data", "Load", "Scalar", "Broadcast", "Cast", "Mul", "Sum",
            "Store", "Output", ...
        inputs: names of AscOps.
        dtype: of its output.
        shape: of its output.
        value: literal of a Scalar, index of a Data or Output, "" otherwise.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    dtype: str
    shape: tuple[int, ...]
    value: str = ""


@dataclass(frozen=True)
class AscGraph:
    """One loop nest: loads, original operators in order, stores.

    With `low_precision` false (the rule) everything between load and store is float32:
    loads widen, Cast nodes between floats are deleted, each store rounds once; a value
    that is stored and read inside too is read unrounded.

    Attributes:
        name: unique in its region.
        fuse_types: sorted part of "pointwise", "reduce", "reshape", "concat", "slice",
            "split", "gather", "transpose", "cube".
        nodes: original operators in execution order, views (Reshape) included.
        loads: ports read from memory, in order; none of them is given by `nodes`.
        scalars: ports of 0-d float32 constants that are literals, exact.
        static: ports of constants that are compile-time arguments (axes, shapes).
        stores: ports written to memory, in order.
        attr_scalars: (node, attribute, value) of scalars printed with seven decimals.
        low_precision: an effective precision blacklist keeps storage dtypes: every
            operator rounds.
        loop: sizes of the loop axes.
        ops: the AscIR of it.
    """

    name: str
    fuse_types: tuple[str, ...]
    nodes: tuple[Node, ...]
    loads: tuple[Port, ...]
    scalars: tuple[Port, ...]
    static: tuple[Port, ...]
    stores: tuple[Port, ...]
    attr_scalars: tuple[tuple[str, str, float], ...] = ()
    low_precision: bool = False
    loop: tuple[int, ...] = ()
    ops: tuple[AscOp, ...] = ()

    @property
    def internal(self) -> frozenset[Port]:
        """Ports that a node gives and a node of the same AscGraph reads."""
        given = {Port(node.name, index) for node in self.nodes
                 for index in range(len(node.outputs))}
        return frozenset(port for node in self.nodes for port in node.inputs
                         if port in given)


@dataclass(frozen=True)
class AscRegion:
    """One fused kernel.

    Attributes:
        name: "autofuse_pointwise_0_Abs_Add".
        type: "AscBackend" (one AscGraph) or "FusedAscBackend" (several; between them
            tensors are stored, hence rounded).
        fuse_types: of all its AscGraphs, sorted.
        graphs: in execution order.
        inputs: ports read from memory, in order, loaded constants included.
        outputs: ports that leave the kernel, in order.
        constants: the Const nodes behind literals and compile-time arguments.
    """

    name: str
    type: str
    fuse_types: tuple[str, ...]
    graphs: tuple[AscGraph, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    constants: tuple[Node, ...] = ()


Kernel = Union[Node, AscRegion]
"""An original operator with the eager kernel of the chip, or a fused kernel."""


@dataclass(frozen=True)
class KernelPlan:
    """What a compilation comes to.

    Attributes:
        chip: "910b" (v1) or "950" (v2).
        inputs: (name of the case's input, port of the Data node, its desc).
        constants: Const nodes; attr "value" holds dumps.graphdef's TensorValue.
        kernels: in execution order; none is a Data or Const node.
        outputs: (name of the case's output, port).
        descs: (port, desc) of every tensor of the plan, sorted.
    """

    chip: str
    inputs: tuple[tuple[str, Port, Desc], ...]
    constants: tuple[Node, ...]
    kernels: tuple[Kernel, ...]
    outputs: tuple[tuple[str, Port], ...]
    descs: tuple[tuple[Port, Desc], ...]

    @property
    def regions(self) -> tuple[AscRegion, ...]:
        """The fused kernels."""
        return tuple(k for k in self.kernels if isinstance(k, AscRegion))


