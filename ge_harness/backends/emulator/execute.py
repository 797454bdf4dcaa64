"""Runs a plan of kernels by the public rounding rules.

Single operators read and write storage dtypes. An AscGraph widens what it loads, keeps
float32 inside and rounds what it stores; a value that is stored and read inside too is
read unrounded.

Source: reference: numerics_model.md sections 1 and 2.
"""

from __future__ import annotations

import dataclasses
from typing import Callable, Mapping, Sequence

import numpy as np

from dumps.graphdef import AttrValue, NodeDef
from ge_harness.backends.emulator import values as host
from ge_harness.backends.emulator.ge_types import byte_size
from ge_harness.backends.emulator.ir import (
    AscGraph,
    AscRegion,
    Desc,
    Kernel,
    KernelPlan,
    Node,
    Port,
)
from ge_harness.backends.emulator.numerics import reduction, rows
from ge_harness.backends.emulator.numerics.eager import EagerPolicy
from ge_harness.backends.emulator.numerics.fused import FusedPolicy
from ge_harness.backends.emulator.numerics.kernel import KernelPolicy
from ge_harness.backends.emulator.numerics.operators import OPERATORS
from ge_harness.backends.emulator.params import EmulatorParams
from ge_harness.compare.dtypes import to_storage
from ge_harness.interpreter.call import Call
from ge_harness.interpreter.errors import EvaluationError
from ge_harness.interpreter.value import Tensor, is_float, storage_dtype, values

Values = Mapping[Port, Tensor]
Watch = Callable[[Kernel, Values, Values], None]
"""Is handed each kernel with what it read and what it gave."""
_FLOAT_ATTRIBUTES = frozenset(("LeakyRelu", "Axpy"))
"""Operators whose attribute reaches the kernel as a float, not as printed digits."""


def execute_plan(plan: KernelPlan, inputs: Mapping[str, np.ndarray],
                 params: EmulatorParams, watch: Watch | None = None
                 ) -> dict[str, np.ndarray]:
    """Run every kernel of a plan once.

    Args:
        plan: of the compilation.
        inputs: name of the case's input -> array; bfloat16 as bits or any package's.
        params: of the model.
        watch: is told of every kernel, None where nobody asks.

    Returns:
        name of the case's output -> array of its dtype; uint16 bits for bfloat16.

    Raises:
        EvaluationError: an operator is unknown or a node inconsistent.
        GraphRaisedError: a check in the graph failed.
    """
    return _Execution(plan, params, watch).run(inputs)


class _Execution:
    """One run: the tensors that are still needed, and how many kernels read each."""

    def __init__(self, plan: KernelPlan, params: EmulatorParams,
                 watch: Watch | None = None) -> None:
        self.plan = plan
        self.watch = watch
        self.params = params
        self.chip = plan.chip if params.chip == "auto" else params.chip
        self.live: dict[Port, Tensor] = {}
        self.descs = dict(plan.descs)
        self.base = EagerPolicy(chip=self.chip, params=params)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with np.errstate(all="ignore"):
            self._feed(inputs)
            last = self._last_readers()
            kept = {port for _, port in self.plan.outputs}
            for number, kernel in enumerate(self.plan.kernels):
                found = self._region(kernel) if isinstance(
                    kernel, AscRegion) else self._node(kernel)
                if self.watch is not None:
                    self.watch(kernel, self.live, found)
                self.live.update(found)
                for port in last.get(number, ()):
                    if port not in kept:
                        self.live.pop(port, None)
            return {name: self._output(port) for name, port in self.plan.outputs}

    def _feed(self, inputs: Mapping[str, np.ndarray]) -> None:
        for name, port, desc in self.plan.inputs:
            if name not in inputs:
                raise EvaluationError(f"no array for input {name!r}", port.node)
            array = to_storage(np.asarray(inputs[name]))[0]
            if array.dtype != storage_dtype(desc.dtype) or array.shape != desc.shape:
                raise EvaluationError(
                    f"input {name!r} is {array.dtype}{list(array.shape)}, expected "
                    f"{desc.dtype}{list(desc.shape)}", port.node)
            self.live[port] = self._held(Tensor(array, desc.dtype))
        for node in self.plan.constants:
            self.live[node.port] = self._held(Tensor(*host.constant(node)))

    def _held(self, tensor: Tensor) -> Tensor:
        """Return a tensor from outside as the device stores it."""
        dtype = self.base.held(tensor.dtype)
        if dtype == tensor.dtype:
            return tensor
        return Tensor(self.base.round(tensor.array, dtype), dtype)

    def _output(self, port: Port) -> np.ndarray:
        tensor = self._value(port, "an output")
        wanted = self.descs[port].dtype if port in self.descs else tensor.dtype
        array = tensor.array
        if wanted != tensor.dtype and is_float(wanted) and is_float(tensor.dtype):
            array = self.base.round(values(tensor, "float32"), wanted)
        return np.ascontiguousarray(array).reshape(np.shape(array))

    def _value(self, port: Port, reader: str) -> Tensor:
        if port not in self.live:
            raise EvaluationError(f"{reader} reads '{port.node}:{port.index}', which "
                                  "no kernel before it gives", port.node)
        return self.live[port]

    def _last_readers(self) -> dict[int, list[Port]]:
        last: dict[Port, int] = {}
        for number, kernel in enumerate(self.plan.kernels):
            for port in _reads(kernel):
                last[port] = number
        found: dict[int, list[Port]] = {}
        for port, number in last.items():
            found.setdefault(number, []).append(port)
        return found

    def _node(self, node: Node) -> dict[Port, Tensor]:
        """Run a single operator with the chip's own kernel."""
        loads = {port: self._value(port, repr(node.name)) for port in node.inputs}
        first = loads[node.inputs[0]].dtype if node.inputs else "float32"
        policy = dataclasses.replace(
            self.base, element_bytes=reduction.bytes_per_element(
                [byte_size(first)], [], computes=False))
        if node.outputs and rows.fits([node], loads):
            return rows.run(node.outputs[0].shape, loads,
                            lambda part: _run_node(node, part, policy))
        return _run_node(node, loads, policy)

    def _region(self, region: AscRegion) -> dict[Port, Tensor]:
        """Run a fused kernel; between its AscGraphs tensors are stored."""
        outer = dict(self.live)
        for node in region.constants:
            outer.setdefault(node.port, self._held(Tensor(*host.constant(node))))
        found: dict[Port, Tensor] = {}
        for graph in region.graphs:
            stored = self._graph(graph, outer)
            outer.update(stored)
            found.update(stored)
        wanted = set(region.outputs)
        return {port: tensor for port, tensor in found.items() if port in wanted}

    def _graph(self, graph: AscGraph, outer: Values) -> dict[Port, Tensor]:
        loads: dict[Port, Tensor] = {}
        for port in (*graph.loads, *graph.scalars, *graph.static):
            if port not in outer:
                raise EvaluationError(
                    f"kernel {graph.name!r} reads '{port.node}:{port.index}', which no "
                    "kernel before it gives", port.node)
            loads[port] = outer[port]
        for port in graph.loads:
            loads[port] = self._as_tensor(loads[port])
        nodes = [_printed(node, graph, self.params) for node in graph.nodes]
        policy = FusedPolicy(
            chip=self.chip, params=self.params, low_precision=graph.low_precision,
            element_bytes=self._element_bytes(graph))

        def body(part: Values) -> dict[Port, Tensor]:
            return _run_graph(nodes, graph.stores, part, policy)

        if nodes and rows.fits(nodes, loads):
            return rows.run(nodes[0].outputs[0].shape, loads, body)
        return body(loads)

    def _as_tensor(self, tensor: Tensor) -> Tensor:
        """Return a loaded 0-d tensor so that it is no scalar operand.

        Only float32 constants become literals; what is loaded is a vector of one.
        """
        if self.params.muls_equals_mul or tensor.array.ndim:
            return tensor
        return Tensor(tensor.array.reshape(1), tensor.dtype)

    def _element_bytes(self, graph: AscGraph) -> int:
        sizes = [self.descs[port] for port in graph.loads if port in self.descs]
        most = max([desc.size for desc in sizes], default=1)
        outs = [self.descs[port] for port in graph.stores if port in self.descs]
        return reduction.bytes_per_element(
            _full(sizes, most), _full(outs, most), computes=len(graph.nodes) > 1)


def _full(descs: Sequence[Desc], most: int) -> list[int]:
    return [byte_size(desc.dtype) for desc in descs if desc.size == most]


def _reads(kernel: Node | AscRegion) -> tuple[Port, ...]:
    """Return the ports that a kernel reads, its AscGraphs' too."""
    if isinstance(kernel, Node):
        return kernel.inputs
    inner = [port for graph in kernel.graphs
             for port in (*graph.loads, *graph.scalars, *graph.static)]
    return (*kernel.inputs, *inner)


def _printed(node: Node, graph: AscGraph, params: EmulatorParams) -> Node:
    """Return a node whose attribute scalars have the digits that were printed."""
    if params.attr_scalar_decimals == "exact" or node.type in _FLOAT_ATTRIBUTES:
        return node
    names = {name: value for owner, name, value in graph.attr_scalars
             if owner == node.name}
    if not names:
        return node
    attrs = tuple((key, AttrValue("f", float(f"{names[key]:.7f}")))
                  if key in names else (key, value) for key, value in node.attrs)
    return dataclasses.replace(node, attrs=attrs)


def _run_graph(nodes: Sequence[Node], stores: Sequence[Port], loads: Values,
               policy: FusedPolicy) -> dict[Port, Tensor]:
    """Run a loop nest and round what it stores."""
    local = dict(loads)
    last = {port: number for number, node in enumerate(nodes) for port in node.inputs}
    keep = set(stores)
    for number, node in enumerate(nodes):
        local.update(_run_node(node, local, policy))
        for port in node.inputs:
            if last[port] == number and port not in keep:
                local.pop(port, None)
    policy.products.clear()
    return {port: _stored(local[port], policy) for port in stores}


def _stored(tensor: Tensor, policy: KernelPolicy) -> Tensor:
    if not tensor.is_wide:
        return tensor
    return Tensor(policy.round(tensor.array, tensor.dtype), tensor.dtype)


def _run_node(node: Node, inputs: Values, policy: KernelPolicy) -> dict[Port, Tensor]:
    """Run one operator under a policy."""
    kind = node.op or node.type
    if kind not in OPERATORS:
        raise EvaluationError(f"node {node.name!r}: the emulator has no op {kind!r}",
                              node.name)
    ports = tuple(f"{port.node}:{port.index}" for port in node.inputs)
    definition = NodeDef(node.name, kind, ports, "", node.attrs)
    tensors = [inputs[port] for port in node.inputs]
    try:
        results = OPERATORS[kind](Call(definition, tensors, policy))
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise EvaluationError(f"cannot evaluate {kind} node {node.name!r}: {error}",
                              node.name) from error
    except MemoryError as error:
        raise EvaluationError(f"out of memory at {kind} node {node.name!r}; use a "
                              "smaller shape", node.name) from error
    return {Port(node.name, index): tensor for index, tensor in enumerate(results)}
