"""From the last graph of a compilation to the plan of kernels."""

from __future__ import annotations

import dataclasses
from typing import Mapping

from ge_harness.backends.emulator.ir import (
    DATA_TYPE,
    AscGraph,
    AscRegion,
    Desc,
    Graph,
    Kernel,
    KernelPlan,
    Node,
    Port,
)

Renaming = Mapping[Port, Port]


def make_plan(graph: Graph, regions: Mapping[str, AscRegion], chip: str) -> KernelPlan:
    """Return the kernels of a graph in order.

    Args:
        graph: the last one; its fused nodes are those of `regions`.
        regions: name of a fused node -> its kernel.
        chip: "910b" or "950".
    """
    where: dict[Port, Port] = {}
    for name, region in regions.items():
        for index, port in enumerate(region.outputs):
            where[Port(name, index)] = port
    constants: dict[str, Node] = {}
    kernels: list[Kernel] = []
    descs: dict[Port, Desc] = {}
    for node in graph:
        for index, desc in enumerate(node.outputs):
            port = Port(node.name, index)
            descs[where.get(port, port)] = desc
        moved = tuple(where.get(port, port) for port in node.inputs)
        if node.is_const:
            constants[node.name] = node
        elif node.name in regions:
            kernels.append(_rewired(regions[node.name], moved))
        elif node.type != DATA_TYPE:
            kernels.append(dataclasses.replace(node, inputs=moved))
    for region in regions.values():
        for asc_graph in region.graphs:
            for node in asc_graph.nodes:
                for index, desc in enumerate(node.outputs):
                    descs.setdefault(Port(node.name, index), desc)
    _add_arguments(constants, regions, descs)
    inputs = tuple((name, Port(node), graph.nodes[node].outputs[0])
                   for name, node in graph.inputs)
    outputs = tuple((name, where.get(port, port)) for name, port in graph.outputs)
    return KernelPlan(chip, inputs, tuple(constants.values()), tuple(kernels), outputs,
                      tuple(sorted(descs.items())))


def _rewired(region: AscRegion, inputs: tuple[Port, ...]) -> AscRegion:
    """Return a kernel that reads what its node reads now."""
    names = {old: new for old, new in zip(region.inputs, inputs) if old != new}
    if not names:
        return region
    return dataclasses.replace(
        region, inputs=inputs,
        graphs=tuple(_renamed(graph, names) for graph in region.graphs))


def _renamed(graph: AscGraph, names: Renaming) -> AscGraph:
    nodes = tuple(dataclasses.replace(
        node, inputs=tuple(names.get(port, port) for port in node.inputs))
        for node in graph.nodes)
    loads = tuple(dict.fromkeys(names.get(port, port) for port in graph.loads))
    return dataclasses.replace(graph, nodes=nodes, loads=loads)


def _add_arguments(constants: dict[str, Node], regions: Mapping[str, AscRegion],
                   descs: dict[Port, Desc]) -> None:
    """Add the constants that only fused kernels know, as literals and arguments."""
    for region in regions.values():
        for node in region.constants:
            constants.setdefault(node.name, node)
            descs.setdefault(node.port, node.outputs[0])
