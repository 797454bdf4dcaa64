"""A TensorFlow graph as GE's parser hands it on: GE's names, shapes and dtypes."""

from __future__ import annotations

import dataclasses
from typing import Iterable, Sequence

import numpy as np

from dumps.graphdef import AttrValue, GraphDef, NodeDef
from ge_harness.backends.emulator import shapes, values
from ge_harness.backends.emulator.ge_types import ge_type
from ge_harness.backends.emulator.ir import DATA_TYPE, Desc, Graph, Node, Origin, Port
from ge_harness.interpreter import graph as tf_graph
from ge_harness.interpreter.errors import EvaluationError
from ge_harness.interpreter.graph import PortName, data_inputs, parse_port
from ge_harness.interpreter.table import FEEDS
from ge_harness.records.tensor import Port as CasePort

GRAPH_NAME = "ge_default_20000101000000_1"
"""GE puts the time into this name; a fixed one keeps equal runs equal."""


def build(definition: GraphDef, inputs: Sequence[CasePort],
          outputs: Sequence[CasePort]) -> Graph:
    """Return the graph between a case's inputs and outputs under GE's names.

    Args:
        definition: TensorFlow's graph; library functions are inlined.
        inputs: the fed ports, with full shapes.
        outputs: the fetched ports.

    Raises:
        EvaluationError: control flow, state, an unknown op, or a shape that cannot be
            told.
    """
    source = tf_graph.Graph(definition)
    fed = {parse_port(port.tensor): port for port in inputs}
    wanted = [parse_port(port.tensor) for port in outputs]
    front = _Front(source, fed)
    for node in source.order([port.node for port in wanted if port not in fed], fed):
        front.take(node)
    for port in fed:
        front.data(port)
    nodes = front.ordered()
    return Graph(
        GRAPH_NAME, nodes, [(case.spec.name, port.node) for port, case in fed.items()],
        [(port.spec.name, Port(*name)) for port, name in zip(outputs, wanted)])


class _Front:
    """A graph on its way to GE's names."""

    def __init__(self, source: tf_graph.Graph, fed: dict[PortName, CasePort]) -> None:
        self._source = source
        self._fed = fed
        self._nodes: dict[str, Node] = {}
        self._values: dict[Port, np.ndarray] = {}

    def data(self, port: PortName) -> None:
        """Add the Data node of a fed port."""
        case = self._fed[port]
        if port.output != 0:
            raise EvaluationError(f"cannot feed {case.tensor!r}: only first outputs "
                                  "can be fed", port.node)
        dtype = case.spec.dtype
        shape = tuple(int(n or 0) for n in case.spec.shape)
        self._nodes.setdefault(port.node, Node(
            port.node, DATA_TYPE, "Placeholder",
            attrs=(("dtype", AttrValue("type", dtype)),
                   ("shape", AttrValue("shape", shape))),
            outputs=(Desc(dtype, shape, Origin(port.node)),),
            origins=((port.node, "Placeholder"),)))

    def take(self, node: NodeDef) -> None:
        """Add a node; what it reads is there already."""
        if PortName(node.name, 0) in self._fed:
            self.data(PortName(node.name, 0))
            return
        tf_graph.check_supported(node)
        if node.op in FEEDS and node.op != "PlaceholderWithDefault":
            raise EvaluationError(f"input {node.name!r} is not fed", node.name)
        inputs = [Port(*port) for port in data_inputs(node)]
        for port in inputs:
            if PortName(*port) in self._fed:
                self.data(PortName(*port))
        descs = [self._desc(port, node) for port in inputs]
        known = {number: self._values[port] for number, port in enumerate(inputs)
                 if port in self._values}
        if node.op == "Const":
            array, dtype = values.constant(node)
            found = [Desc(dtype, tuple(array.shape))]
        else:
            found = shapes.infer(node, descs, known)
        self._nodes[node.name] = _node(node, inputs, found)
        self._learn(node, descs, known)

    def _desc(self, port: Port, reader: NodeDef) -> Desc:
        outputs = self._nodes[port.node].outputs
        if port.index >= len(outputs):
            raise EvaluationError(f"node {reader.name!r} reads "
                                  f"'{port.node}:{port.index}', which that node does "
                                  "not give", reader.name)
        return outputs[port.index]

    def _learn(self, node: NodeDef, inputs: Sequence[Desc],
               known: dict[int, np.ndarray]) -> None:
        """Keep the values that later shapes depend on."""
        for index, array in values.static(node, inputs, known).items():
            self._values[Port(node.name, index)] = array

    def ordered(self) -> Iterable[Node]:
        """Return the nodes, Data first."""
        data = [node for node in self._nodes.values() if node.type == DATA_TYPE]
        order = [port.node for port in self._fed]
        data.sort(key=lambda node: order.index(node.name))
        return data + [node for node in self._nodes.values()
                       if node.type != DATA_TYPE]


def _node(node: NodeDef, inputs: Sequence[Port], found: Sequence[Desc]) -> Node:
    outputs = tuple(dataclasses.replace(desc, origin=Origin(node.name, index))
                    for index, desc in enumerate(found))
    controls = tuple(name[1:] for name in node.inputs if name.startswith("^"))
    attrs = tuple((key, value) for key, value in node.attrs)
    return Node(node.name, ge_type(node.op), node.op, tuple(inputs), controls, attrs,
                outputs, ((node.name, node.op),), _marks(node))


def _marks(node: NodeDef) -> tuple[tuple[str, object], ...]:
    """Return the attributes that GE reads on a node whatever its type is."""
    found = []
    for key in ("_disable_autofuse_scope", "_disable_lifting", "_super_kernel_scope"):
        value = node.attr(key)
        if value is not None:
            found.append((key, value.decode("utf-8", "replace")
                          if isinstance(value, bytes) else value))
    return tuple(found)
