"""The three stages of AutoFuse in a row, and the graph after each.

The graph after a stage has AscBackend nodes in the place of fused operators; the fused
kernels themselves are `AscRegion` records, by the name of their node.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Iterable

from ge_harness.backends.emulator.autofuse import (
    asc,
    decide,
    lift,
    lower,
    names,
    precision,
    solve,
    table,
    unit,
)
from ge_harness.backends.emulator.autofuse.specs import AutoFuseOptions
from ge_harness.backends.emulator.autofuse.unit import Part, Unit, Units
from ge_harness.backends.emulator.ir import (
    DATA_TYPE,
    AscGraph,
    AscRegion,
    Graph,
    Node,
    Port,
    with_marks,
)

CONTROL_FLOW = ("Enter", "Exit", "StreamSwitch", "StreamMerge", "NextIteration",
                "Switch", "Merge")


@dataclass(frozen=True)
class Fused:
    """What AutoFuse made of a graph.

    Attributes:
        stages: (stage of the dumps, graph) in order.
        regions: name of an AscBackend node -> its kernel.
        fallbacks: (node, why it was not lowered).
        rejections: pairs that stage B refused.
        lifted: fused nodes turned back.
        merges: pairs merged by stage B.
        boxes: fused nodes of stage A.
    """

    stages: tuple[tuple[str, Graph], ...]
    regions: dict[str, AscRegion]
    fallbacks: tuple[tuple[str, str], ...] = ()
    rejections: tuple[solve.Rejection, ...] = ()
    lifted: tuple[str, ...] = ()
    merges: int = 0
    boxes: tuple[str, ...] = ()


def fuse(graph: Graph, options: AutoFuseOptions) -> Fused:
    """Run lowering, CanFuse and lifting.

    Raises:
        precision.BlacklistError: a blacklist that the chip cannot follow.
    """
    lowered = lower.lower(graph, options)
    start = unit.units_of(graph, lowered)
    boxes = tuple(each.name for each in start.units.values() if each.is_fused)
    if any(node.type in CONTROL_FLOW for node in graph):
        solved = solve.Solved(start, (), 0)
    else:
        solved = solve.solve(start, options)
    kept, lifted = lift.lift(solved.units, options)
    final = _renamed(kept)
    stages = (
        ("AutoFuser_AfterLowering", as_graph(start)),
        ("AutoFuser_AfterFusionStrategySolve", as_graph(solved.units)),
        ("AutoFuser_AfterLifting", as_graph(kept)),
        ("AutoFuser_AscBackendPostProcess", as_graph(final)),
        ("AutoFuser_AfterAllFuse", as_graph(final)))
    regions = {each.name: region(final, each, options)
               for each in final.units.values() if each.is_fused}
    return Fused(stages, regions, lowered.fallbacks, solved.rejections, lifted,
                 solved.merges, boxes)


def _renamed(units: Units) -> Units:
    """Shorten names; a name that would stand twice keeps its long form."""
    found: list[Unit] = []
    taken: set[str] = set(units.graph.nodes)
    for each in units.units.values():
        if each.is_fused:
            short = names.shortened(each.name)
            name = each.name if short in taken else short
            each = dataclasses.replace(each, name=name)
        taken.add(each.name)
        found.append(each)
    return Units(units.graph, found)


def as_graph(units: Units) -> Graph:
    """Return the graph that a dump after this stage shows."""
    source = units.graph
    where: dict[Port, Port] = {}
    for each in units.units.values():
        for index, port in enumerate(each.outputs):
            where[port] = port if each.node is not None else Port(each.name, index)

    def moved(ports: Iterable[Port]) -> tuple[Port, ...]:
        return tuple(where.get(port, port) for port in ports)

    nodes = [node for node in source if node.is_const or node.type == DATA_TYPE]
    for each in units.units.values():
        if each.node is not None:
            nodes.append(_with_inputs(each.node, moved(each.node.inputs)))
        else:
            nodes.append(_fused_node(units, each, moved(units.inputs(each))))
    owner = {node.name: each.name for each in units.units.values()
             for node in each.nodes}
    nodes = [_with_controls(node, owner) for node in nodes]
    graph = Graph(source.name, nodes, source.inputs,
                  [(name, where.get(port, port)) for name, port in source.outputs])
    _drop_unread(graph)
    graph.sort()
    return graph


def _with_inputs(node: Node, inputs: tuple[Port, ...]) -> Node:
    return node if inputs == node.inputs else dataclasses.replace(node, inputs=inputs)


def _with_controls(node: Node, owner: dict[str, str]) -> Node:
    controls = tuple(dict.fromkeys(owner.get(name, name) for name in node.controls))
    controls = tuple(name for name in controls if name != node.name)
    return node if controls == node.controls else dataclasses.replace(
        node, controls=controls)


def _drop_unread(graph: Graph) -> None:
    used = {port.node for node in graph for port in node.inputs}
    used |= {port.node for port in graph.output_ports()}
    used |= {name for node in graph for name in node.controls}
    for node in list(graph):
        if node.is_const and node.name not in used:
            graph.remove(node.name)


def _fused_node(units: Units, each: Unit, inputs: tuple[Port, ...]) -> Node:
    given = {node.name: node for node in each.nodes}
    outputs = tuple(given[port.node].outputs[port.index] for port in each.outputs)
    origins = tuple(dict.fromkeys(origin for node in each.nodes
                                  for origin in node.origins))
    controls = tuple(dict.fromkeys(name for node in each.nodes
                                   for name in node.controls))
    node = Node(each.name, each.type, "", inputs, controls, (), outputs, origins)
    return with_marks(node, _ge_attr_lowering_func="kAutoFuseLoweringFunc",
                      imply_type=1)


def region(units: Units, each: Unit, options: AutoFuseOptions) -> AscRegion:
    """Return the kernel of a fused node.

    Raises:
        precision.BlacklistError: see `fuse`.
    """
    graphs = tuple(_asc_graph(units, each, part, options)
                   for part in _part_order(units, each))
    kinds = tuple(sorted(each.kinds))
    hidden = dict.fromkeys(port.node for graph in graphs
                           for port in (*graph.scalars, *graph.static))
    constants = tuple(units.graph.nodes[name] for name in hidden)
    return AscRegion(each.name, each.type, kinds, graphs, units.inputs(each),
                     each.outputs, constants)


def _part_order(units: Units, each: Unit) -> list[Part]:
    """Return the AscGraphs so that each stands behind what it reads."""
    left = list(each.parts)
    done: set[str] = set()
    found: list[Part] = []
    inside = {node.name for node in each.nodes}
    while left:
        for part in left:
            own = {node.name for node in part.nodes}
            loads = asc.ends(units.graph, part.nodes).loads
            if all(port.node in done or port.node in own or port.node not in inside
                   for port in loads):
                break
        else:
            part = left[0]
        left.remove(part)
        done.update(node.name for node in part.nodes)
        found.append(part)
    return found


def _asc_graph(units: Units, each: Unit, part: Part,
               options: AutoFuseOptions) -> AscGraph:
    ends = asc.ends(units.graph, part.nodes)
    stores = decide.part_stores(units, each, part)
    ops = asc.build(units.graph, part.nodes, stores)
    low = precision.keeps_low_precision(ops, part.kinds, options.blacklist,
                                        options.spec)
    scalars = tuple((node.name, name, float(node.attr(name, 0.2)))
                    for node in part.nodes
                    for name in table.ATTR_SCALARS.get(node.type, ()))
    suffix = each.parts.index(part)
    return AscGraph(
        f"{each.name}_{suffix}" if len(each.parts) > 1 else each.name,
        tuple(sorted(part.kinds)), part.nodes, ends.loads, ends.scalars, ends.static,
        stores, scalars, low, part.loop,
        tuple(ops) if low else asc.improve_precision(ops))
