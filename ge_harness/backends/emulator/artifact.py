"""A text for each kernel that says all that can change its result, and its hash.

Names of operators are left out (a kernel is what it computes), so the same computation
in two graphs has the same text; nothing in it depends on hash seeds or versions.
"""

from __future__ import annotations

import hashlib
from typing import Iterable

from dumps.graphdef import AttrValue, TensorValue
from ge_harness.backends.emulator import values
from ge_harness.backends.emulator.ir import (
    AscGraph,
    AscRegion,
    Kernel,
    KernelPlan,
    Node,
    Port,
)

_FORMAT = "ge_harness emulated kernel 1"


def hashes(plan: KernelPlan, params: str) -> tuple[tuple[str, str], ...]:
    """Return (kernel, sha256 of its text) of every fused kernel, sorted, and the plan.

    Args:
        plan: the kernels.
        params: canonical text of the parameters that execution goes by.
    """
    found = [(region.name, digest(region_text(region, plan.chip, params)))
             for region in plan.regions]
    whole = "\n".join(kernel_text(each, plan.chip, params) for each in plan.kernels)
    return tuple(sorted([*found, ("plan", digest(whole))]))


def digest(text: str) -> str:
    """Return the sha256 of a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def kernel_text(kernel: Kernel, chip: str, params: str) -> str:
    """Return the text of a fused kernel or an original operator."""
    if isinstance(kernel, AscRegion):
        return region_text(kernel, chip, params)
    ends = " ".join(f"{desc.dtype}{list(desc.shape)}" for desc in kernel.outputs)
    return "\n".join((_FORMAT, f"chip {chip}", f"eager {kernel.type} {ends}",
                      *_attributes(kernel), params))


def region_text(region: AscRegion, chip: str, params: str) -> str:
    """Return the canonical text of a fused kernel."""
    names: dict[Port, str] = {port: f"in{place}"
                              for place, port in enumerate(region.inputs)}
    constants = {node.name: node for node in region.constants}
    lines = [_FORMAT, f"chip {chip}", f"type {region.type}",
             "kinds " + ",".join(region.fuse_types)]
    for graph in region.graphs:
        lines += _graph(graph, names, constants)
    lines.append("outputs " + " ".join(names[port] for port in region.outputs))
    return "\n".join([*lines, params])


def _graph(graph: AscGraph, names: dict[Port, str],
           constants: dict[str, Node]) -> Iterable[str]:
    yield f"graph loop={list(graph.loop)} low_precision={graph.low_precision}"
    for op in graph.ops:
        inputs = " ".join(op.inputs)
        line = f"  {op.name} = {op.type}({inputs}) {op.dtype}{list(op.shape)}"
        yield f"{line} {op.value}".rstrip()
    for node in graph.nodes:
        for index in range(len(node.outputs)):
            names.setdefault(Port(node.name, index), f"t{len(names)}")
        inputs = " ".join(_operand(port, names, constants) for port in node.inputs)
        yield f"  {names[node.port]} <- {node.type}({inputs})"
        yield from _attributes(node)
    yield "  stores " + " ".join(names[port] for port in graph.stores)


def _operand(port: Port, names: dict[Port, str], constants: dict[str, Node]) -> str:
    node = constants.get(port.node)
    if node is None:
        return names.get(port, "?")
    array, dtype = values.constant(node)
    return f"{dtype}{list(array.shape)}:{hashlib.sha256(array.tobytes()).hexdigest()}"


def _attributes(node: Node) -> list[str]:
    return [f"    {key}={_value(value)}" for key, value in node.attrs
            if not key.startswith("_")]


def _value(value: AttrValue) -> str:
    if value.kind == "f":
        return float(value.value).hex()
    if value.kind == "list":
        return "[" + ",".join(_value(item) for item in value.value) + "]"
    if isinstance(value.value, TensorValue):
        tensor = value.value
        content = hashlib.sha256(tensor.content).hexdigest()
        return f"{tensor.dtype}{list(tensor.shape)}:{content}"
    if isinstance(value.value, bytes):
        return value.value.hex()
    return f"{value.kind}:{value.value}"
