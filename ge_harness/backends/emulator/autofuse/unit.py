"""What stages B and C work on: kernels-to-be among the operators that stay.

Source: reference: autofuse_fusion_rules.md sections 5 and 7.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Iterable, Mapping, Sequence

from ge_harness.backends.emulator.autofuse import asc, names, support, table
from ge_harness.backends.emulator.autofuse.lower import Box, Lowered
from ge_harness.backends.emulator.ir import Desc, Graph, Node, Port


@dataclass(frozen=True)
class Part:
    """One AscGraph of a unit.

    Attributes:
        nodes: original operators in order.
        kinds: kinds of fusion inside.
        loop: sizes of its loop axes.
    """

    nodes: tuple[Node, ...]
    kinds: frozenset[str]
    loop: tuple[int, ...]


@dataclass(frozen=True)
class Unit:
    """A fused node on its way, or an original operator.

    Attributes:
        name: AutoFuse's name, or the operator's.
        number: rank in the topological order of the graph stage B began with.
        parts: its AscGraphs; none for an original operator.
        node: the original operator where `parts` is empty.
        outputs: ports it writes to memory.
        merges: fused nodes of stage A in it.
        after_reduce: AscIR nodes that follow its reduce.
        keep: it may not be turned back.
    """

    name: str
    number: int
    parts: tuple[Part, ...] = ()
    node: Node | None = None
    outputs: tuple[Port, ...] = ()
    merges: int = 1
    after_reduce: int = 0
    keep: bool = False

    @property
    def is_fused(self) -> bool:
        """Whether it is a fused node."""
        return self.node is None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Its original operators."""
        if self.node is not None:
            return (self.node,)
        return tuple(node for part in self.parts for node in part.nodes)

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of fusion inside."""
        return frozenset(kind for part in self.parts for kind in part.kinds)

    @property
    def type(self) -> str:
        """GE's type of it."""
        if self.node is not None:
            return self.node.type
        return "AscBackend" if len(self.parts) == 1 else "FusedAscBackend"


class Units:
    """The units of a graph in topological order, and who reads what.

    Attributes:
        graph: the graph before lowering; its descriptors hold throughout.
        units: name -> unit, in order.
    """

    def __init__(self, graph: Graph, units: Iterable[Unit]) -> None:
        self.graph = graph
        self.units: dict[str, Unit] = {unit.name: unit for unit in units}
        self._inputs: dict[str, tuple[Port, ...]] = {}
        self._edges: dict[str, set[str]] | None = None

    def copy(self) -> Units:
        """Return a copy that can be changed on its own."""
        return Units(self.graph, self.units.values())

    def inputs(self, unit: Unit) -> tuple[Port, ...]:
        """Return the ports a unit reads from memory, compile-time arguments left out.

        A port that one AscGraph of a unit gives to another of it is none.
        """
        found = self._inputs.get(unit.name)
        if found is None:
            found = self._read(unit)
            self._inputs[unit.name] = found
        return found

    def _read(self, unit: Unit) -> tuple[Port, ...]:
        if unit.node is not None:
            return tuple(dict.fromkeys(unit.node.inputs))
        own = {Port(node.name, index) for node in unit.nodes
               for index in range(len(node.outputs))}
        loads: dict[Port, None] = {}
        for part in unit.parts:
            for port in asc.ends(self.graph, part.nodes).loads:
                if port not in own:
                    loads[port] = None
        return tuple(loads)

    def givers(self) -> dict[Port, str]:
        """Return the unit that writes each port."""
        return {port: unit.name for unit in self.units.values()
                for port in unit.outputs}

    def read_outside(self, unit: Unit, ports: Iterable[Port]) -> tuple[Port, ...]:
        """Return the ports that the graph's outputs or other units read."""
        read = set(self.graph.output_ports())
        for name in self.edges()[unit.name]:
            read.update(self.inputs(self.units[name]))
        return tuple(port for port in ports if port in read)

    def free_name(self, name: str) -> str:
        """Return the name, with a number behind it where a node has it already."""
        found, number = name, 1
        while found in self.graph.nodes or found in self.units:
            found, number = f"{name}_{number}", number + 1
        return found

    def edges(self) -> dict[str, set[str]]:
        """Return, for each unit, the units that read it or wait for it."""
        if self._edges is None:
            self._edges = self._find_edges()
        return self._edges

    def _find_edges(self) -> dict[str, set[str]]:
        givers = self.givers()
        found: dict[str, set[str]] = {name: set() for name in self.units}
        for unit in self.units.values():
            for port in self.inputs(unit):
                if port in givers and givers[port] != unit.name:
                    found[givers[port]].add(unit.name)
        owner = {node.name: unit.name for unit in self.units.values()
                 for node in unit.nodes}
        for unit in self.units.values():
            for node in unit.nodes:
                for before in node.controls:
                    if owner.get(before, unit.name) != unit.name:
                        found[owner[before]].add(unit.name)
        return found

    def merge(self, gone: Sequence[str], unit: Unit) -> None:
        """Put one unit, which does what others did, in their place.

        Edges are carried over, so that thousands of merges stay quick.
        """
        edges = self.edges()
        after = {name for each in gone for name in edges.pop(each)}.difference(gone)
        for targets in edges.values():
            if not targets.isdisjoint(gone):
                targets.difference_update(gone)
                targets.add(unit.name)
        edges[unit.name] = after
        for name in gone:
            self._inputs.pop(name, None)
            del self.units[name]
        self.units[unit.name] = unit
        self.sort()

    def trim(self, unit: Unit) -> None:
        """Put a unit with fewer outputs in its own place; nobody reads the others."""
        self.units[unit.name] = unit

    def reset(self, units: Mapping[str, Unit]) -> None:
        """Hold other units from now on, in topological order."""
        self.units = dict(units)
        self._inputs, self._edges = {}, None
        self.sort()

    def sort(self) -> None:
        """Bring the units into topological order, by number where there is a choice."""
        edges = self.edges()
        waits = dict.fromkeys(self.units, 0)
        for targets in edges.values():
            for target in targets:
                waits[target] += 1
        ready = [(self.units[name].number, name)
                 for name, count in waits.items() if not count]
        heapq.heapify(ready)
        done: dict[str, Unit] = {}
        while ready:
            _, name = heapq.heappop(ready)
            done[name] = self.units[name]
            for target in edges[name]:
                waits[target] -= 1
                if not waits[target]:
                    heapq.heappush(ready, (self.units[target].number, target))
        self.units = done


def units_of(graph: Graph, lowered: Lowered) -> Units:
    """Return the units after stage A, with AutoFuse's names."""
    originals = {name for name, _ in lowered.fallbacks}
    found = Units(graph, ())
    by_node: dict[str, list[Box]] = {}
    for box in lowered.boxes:
        by_node.setdefault(box.port.node, []).append(box)
    units: list[Unit] = []
    number = 0
    for place, node in enumerate(graph):
        if node.name in originals:
            ports = tuple(Port(node.name, i) for i in range(len(node.outputs)))
            units.append(Unit(node.name, place, node=node, outputs=ports))
        for group in _joined(by_node.get(node.name, [])):
            ports = tuple(each.port for each in group)
            first = group[0]
            part = Part(first.nodes, first.kinds, loop_of(graph, first.nodes))
            name = found.free_name(names.stage_a(first.nodes, number, first.kinds))
            number += 1
            keep = any(each.mark("_disable_lifting") for each in first.nodes)
            units.append(Unit(name, place, (part,), None, ports, 1, 0, keep))
    return Units(graph, units)


def _joined(boxes: Sequence[Box]) -> list[list[Box]]:
    """A true split is one node with all its outputs; other boxes stand alone."""
    if boxes and table.SPLIT in boxes[0].kinds:
        return [list(boxes)]
    return [[box] for box in boxes]



def loop_of(graph: Graph, nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return the loop axes of a loop nest: those of a reduce's input, or its result."""
    for node in nodes:
        if table.KINDS[node.type] == table.REDUCE:
            slot = table.data_inputs(node.type, len(node.inputs))[0]
            return _desc(graph, nodes, node.inputs[slot]).shape
    return nodes[-1].outputs[0].shape


def _desc(graph: Graph, nodes: Sequence[Node], port: Port) -> Desc:
    for node in nodes:
        if node.name == port.node:
            return node.outputs[port.index]
    return graph.desc(port)


def reduced_of(graph: Graph, nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return the reduced axes of a loop nest, () without a reduce."""
    for node in nodes:
        if table.KINDS[node.type] == table.REDUCE:
            return support.reduced_axes(graph, node)
    return ()


def data_shape(graph: Graph, nodes: Sequence[Node], port: Port) -> tuple[int, ...]:
    """Return the shape under which a loop nest reads a loaded port (views applied)."""
    current = port
    by_input = {each.inputs[0]: each for each in nodes if each.type in table.VIEWS}
    while current in by_input:
        current = by_input[current].port
    return _desc(graph, nodes, current).shape
