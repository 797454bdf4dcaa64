"""Stage A: lowering. Every output becomes a kernel box; open boxes are inlined.

Source: reference: autofuse_fusion_rules.md sections 2.1 and 4. Points that the
reference leaves open are taken so (docs/emulator.md): a general Reshape closes its
input and is itself an open view, while views of size-1 axes are inlined; a result that
its reader broadcasts is closed (worked example 4 needs that); a box is named after the
kind of its last operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from ge_harness.backends.emulator.autofuse import asc, support, table
from ge_harness.backends.emulator.autofuse.specs import (
    MULTI_OUTPUT_READERS,
    AutoFuseOptions,
)
from ge_harness.backends.emulator.ir import Graph, Node, Port

_REDUCES = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum")
_CLOSING = (table.CONCAT, table.GATHER, table.TRANSPOSE, table.SPLIT, table.CUBE)


@dataclass(frozen=True)
class Box:
    """The expression of one output.

    Attributes:
        port: the output.
        nodes: original operators, inlined ones first; the last gives the output.
        kinds: kinds of fusion inside.
        is_closed: the output is written to memory.
    """

    port: Port
    nodes: tuple[Node, ...]
    kinds: frozenset[str]
    is_closed: bool = False

    @property
    def compute(self) -> tuple[Node, ...]:
        """Its operators without views."""
        return tuple(node for node in self.nodes if node.type not in table.VIEWS)


@dataclass(frozen=True)
class Lowered:
    """What stage A leaves.

    Attributes:
        boxes: closed boxes that become AscBackend nodes, in order.
        fallbacks: (node, why) for each node that keeps its original kernel.
    """

    boxes: tuple[Box, ...]
    fallbacks: tuple[tuple[str, str], ...]


def lower(graph: Graph, options: AutoFuseOptions) -> Lowered:
    """Lower every node of a graph that can be."""
    return _Lowering(graph, options).run()


class _Lowering:
    def __init__(self, graph: Graph, options: AutoFuseOptions) -> None:
        self.graph = graph
        self.options = options
        self.spec = options.spec
        self.boxes: dict[Port, Box] = {}
        self.fallbacks: dict[str, str] = {}
        self.readers: dict[Port, list[str]] = {}
        for node in graph:
            for port in dict.fromkeys(node.inputs):
                self.readers.setdefault(port, []).append(node.name)
        for port in graph.output_ports():
            self.readers.setdefault(port, []).append("NetOutput")
        self.controlled = {name for node in graph for name in node.controls}
        self.controlled |= {node.name for node in graph if node.controls}
        self.order = {name: place for place, name in enumerate(graph.nodes)}

    def run(self) -> Lowered:
        for node in self.graph:
            if node.is_const or node.type == "Data":
                continue
            reason = support.refusal(self.graph, node, self.options)
            if not reason:
                reason = self._take(node)
            if reason:
                self._keep_original(node, reason)
        for port in self.graph.output_ports():
            self._close(port)
        closed = [box for box in self.boxes.values() if box.is_closed]
        closed.sort(key=lambda box: (self.order[box.port.node], box.port.index))
        return Lowered(tuple(closed), tuple(self.fallbacks.items()))

    def _keep_original(self, node: Node, reason: str) -> None:
        self.fallbacks[node.name] = reason
        for index in range(len(node.outputs)):
            self.boxes.pop(Port(node.name, index), None)
        for port in node.inputs:
            self._close(port)

    def _take(self, node: Node) -> str:
        """Make the node's boxes; return why it cannot be."""
        if self._must_close_inputs(node):
            self._close_inputs(node)
        self._close_broadcast_inputs(node)
        nodes = self._inline(node)
        if self._is_over(nodes):
            self._close_inputs(node)
            nodes = self._inline(node)
            if asc.operations(self.graph, nodes) > self.options.max_fusion_size:
                return "more operations than max_fusion_size"
        kinds = frozenset(self._kind(each) for each in nodes)
        if len(kinds) > 1:
            kinds -= {table.RESHAPE}
        for index in range(len(node.outputs)):
            port = Port(node.name, index)
            self.boxes[port] = Box(port, nodes, kinds)
            if self._closes(node, port, nodes):
                self._close(port)
        return ""

    def _kind(self, node: Node) -> str:
        """Return a node's kind of fusion; on 910B a split is slices."""
        kind = table.KINDS[node.type]
        return table.SLICE if kind == table.SPLIT and self.spec.is_v1 else kind

    def _must_close_inputs(self, node: Node) -> bool:
        kind = self._kind(node)
        if kind in _CLOSING:
            return True
        if kind == table.RESHAPE:
            return node.type == "Reshape" and not self._only_ones(node)
        if kind == table.SLICE:
            return "Slice" not in self.graph.nodes[node.inputs[0].node].type
        return False

    def _close_broadcast_inputs(self, node: Node) -> None:
        """Close what is computed on fewer elements than the node has."""
        if table.KINDS[node.type] != table.POINTWISE:
            return
        for port in node.inputs:
            box = self.boxes.get(port)
            if box is not None and box.compute and (
                    self.graph.desc(port).shape != node.outputs[0].shape):
                self._close(port)

    def _only_ones(self, node: Node) -> bool:
        """Say whether a Reshape only adds or drops axes of length 1."""
        def long(shape: tuple[int, ...]) -> list[int]:
            return [length for length in shape if length != 1]

        return long(self.graph.desc(node.inputs[0]).shape) == long(
            node.outputs[0].shape)

    def _inline(self, node: Node) -> tuple[Node, ...]:
        found: dict[str, Node] = {}
        for port in node.inputs:
            box = self.boxes.get(port)
            if box is not None and not box.is_closed:
                found.update((each.name, each) for each in box.nodes)
        ordered = sorted(found.values(), key=lambda each: self.order[each.name])
        return (*ordered, node)

    def _is_over(self, nodes: Sequence[Node]) -> bool:
        if asc.operations(self.graph, nodes) > self.options.max_fusion_size:
            return True
        compute = [each for each in nodes if each.type not in table.VIEWS]
        loads = asc.load_count(self.graph, nodes)
        return len(compute) > 1 and loads > self.spec.max_loads

    def _closes(self, node: Node, port: Port, nodes: Sequence[Node]) -> bool:
        """Apply the conditions of section 4 in their order."""
        kind = self._kind(node)
        readers = self.readers.get(port, [])
        slices = any(self._kind(each) == table.SLICE for each in nodes)
        if kind in _CLOSING or kind == table.REDUCE:
            return True
        if node.name in self.controlled or node.type == "Exp":
            return True
        if slices and any(self._type(name).rstrip("D") in _REDUCES for name in readers):
            return True
        if asc.operations(self.graph, nodes) >= self.options.max_fusion_size > 0:
            return True
        if asc.load_count(self.graph, nodes) >= self.spec.max_loads:
            return True
        if len(node.outputs) > 1:
            return len(readers) > MULTI_OUTPUT_READERS
        only_slices = all(self._kind(each) == table.SLICE for each in nodes)
        return len(readers) > self.options.recomputation_threshold and not only_slices

    def _type(self, name: str) -> str:
        node = self.graph.nodes.get(name)
        return node.type if node is not None else "NetOutput"

    def _close_inputs(self, node: Node) -> None:
        for port in node.inputs:
            self._close(port)

    def _close(self, port: Port) -> None:
        box = self.boxes.get(port)
        if box is None or box.is_closed:
            return
        node = self.graph.nodes[port.node]
        if not box.compute and not self._is_lone_reshape(box):
            self._keep_original(node, "only views")
            return
        self.boxes[port] = Box(box.port, box.nodes, box.kinds, True)

    def _is_lone_reshape(self, box: Box) -> bool:
        node = box.nodes[-1]
        return (len(box.nodes) == 1 and node.type == "Reshape"
                and len(self.readers.get(node.port, ())) == 1
                and node.name not in self.controlled)
