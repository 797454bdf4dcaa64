"""Executes a plan op by op with every result rounded: no numerics of any chip."""

from __future__ import annotations

import numpy as np

from ge_harness.backends.emulator import values
from ge_harness.backends.emulator.ir import AscRegion, Port
from ge_harness.interpreter.value import Tensor, rounded
from ge_harness.interpreter.value import values as as_float


def run(plan, inputs):
    """Return output name -> array; GE-only types are not known but Muls."""
    table = {port: Tensor(inputs[name], desc.dtype) for name, port, desc in plan.inputs}
    for node in plan.constants:
        table[node.port] = Tensor(*values.constant(node))
    for kernel in plan.kernels:
        nodes = [node for graph in kernel.graphs for node in graph.nodes] if isinstance(
            kernel, AscRegion) else [kernel]
        for node in nodes:
            found = _muls(node, table) if node.type == "Muls" else values.run(
                node.definition(), [table[port] for port in node.inputs])
            table.update((Port(node.name, index), tensor)
                         for index, tensor in enumerate(found))
    return {name: np.asarray(table[port].array) for name, port in plan.outputs}


def _muls(node, table):
    x = table[node.inputs[0]]
    product = as_float(x, "float32") * np.float32(node.attr("value"))
    return [Tensor(rounded(product, x.dtype), x.dtype)]
