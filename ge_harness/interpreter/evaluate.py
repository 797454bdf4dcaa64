"""Evaluates a GraphDef op by op under a rounding policy."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from dumps import graphdef
from dumps.errors import DumpError
from dumps.graphdef import NodeDef
from ge_harness.compare.dtypes import round_to, to_storage
from ge_harness.errors import nearest_name
from ge_harness.interpreter.call import Call
from ge_harness.interpreter.errors import EvaluationError, UnknownOpError
from ge_harness.interpreter.graph import (
    Graph,
    PortName,
    Source,
    check_supported,
    data_inputs,
    load,
    parse_port,
)
from ge_harness.interpreter.policy import FP64, Policy
from ge_harness.interpreter.table import FEEDS, OPS
from ge_harness.interpreter.value import DTYPES, Tensor, is_float, storage_dtype


def evaluate(graph: Source | Graph, inputs: Mapping[str, Any],
             outputs: Sequence[str] | None = None,
             policy: Policy = FP64) -> dict[str, np.ndarray]:
    """Evaluate a graph.

    Args:
        graph: a GraphDef file (.pb, .pbtxt), a GraphDef record, or a loaded graph.
        inputs: tensor name ("x" or "x:0") -> array. A placeholder's dtype says what
            the array is: uint16 (bits), or ml_dtypes' or TensorFlow's bfloat16, where
            it is bfloat16. Other tensors than placeholders may be fed too.
        outputs: tensor names; by default every output of the nodes nobody consumes.
        policy: what rounds; the fp64 reference by default.

    Returns:
        name as in `outputs` -> array as the policy stores it: float64 for every float
        under `FP64`; the dtype itself, bfloat16 as uint16 bits, under `EAGER`.

    Raises:
        EvaluationError: something is missing, inconsistent or not supported.
        UnknownOpError: the interpreter lacks an op.
        GraphRaisedError: a CheckNumerics, Assert or division in the graph failed.
        dumps.DumpError: the file is no GraphDef.
    """
    tensors = evaluate_tensors(graph, inputs, outputs, policy)
    return {name: tensor.array for name, tensor in tensors.items()}


def fp64_reference(graph: Source | Graph, inputs: Mapping[str, Any],
                   outputs: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Evaluate a graph in float64, the truth that sides are compared with.

    Arguments, results and errors are those of `evaluate`.
    """
    return evaluate(graph, inputs, outputs, FP64)


def evaluate_tensors(graph: Source | Graph, inputs: Mapping[str, Any],
                     outputs: Sequence[str] | None = None,
                     policy: Policy = FP64) -> dict[str, Tensor]:
    """Evaluate a graph and return arrays together with their TensorFlow dtype."""
    loaded = graph if isinstance(graph, Graph) else load(graph)
    run = _Run(loaded, inputs, policy)
    with np.errstate(all="ignore"):
        return run.results(outputs)


class _Run:
    """One evaluation: the values that are still needed and who needs them."""

    def __init__(self, graph: Graph, inputs: Mapping[str, Any],
                 policy: Policy) -> None:
        self.graph = graph
        self.policy = policy
        self.fed = {}
        for name, array in inputs.items():
            port = parse_port(name)
            self.fed[port] = _feed(graph, port, array)
        self.live: dict[PortName, Tensor] = {}

    def results(self, outputs: Sequence[str] | None) -> dict[str, Tensor]:
        names = list(outputs) if outputs is not None else self.graph.sinks()
        ports = [parse_port(name) for name in names]
        for port in ports:
            self.graph.node(port.node)
        wanted = [port.node for port in ports if port not in self.fed]
        order = self.graph.order(wanted, self.fed)
        _check_ops(order)
        readers = _readers(order)
        keep = set(ports) if outputs is not None else None
        sinks = set(wanted)
        for node in order:
            results = self._execute(node)
            for index, tensor in enumerate(results):
                port = PortName(node.name, index)
                kept = port in keep if keep is not None else node.name in sinks
                if kept or readers.get(port):
                    self.live[port] = tensor
            self._release(node, readers, keep)
        if outputs is None:
            return {f"{port.node}:{port.output}": tensor
                    for port, tensor in self.live.items() if port.node in sinks}
        return {name: self._output(name, port) for name, port in zip(names, ports)}

    def _execute(self, node: NodeDef) -> list[Tensor]:
        own = self.fed.get(PortName(node.name, 0))
        if own is not None and node.op in FEEDS:
            return [self.policy.keep(node, own)]
        if node.op == "Const":
            return [self.policy.keep(node, _constant(node))]
        tensors = [self._value(port, node) for port in data_inputs(node)]
        try:
            return OPS[node.op](Call(node, tensors, self.policy))
        except (ValueError, IndexError, TypeError, OverflowError) as error:
            shapes = ", ".join(f"{t.dtype}{list(t.array.shape)}" for t in tensors)
            reason = str(error).split("\n")[0]
            raise EvaluationError(
                f"cannot evaluate {node.op} node {node.name!r} on ({shapes}): {reason}",
                node.name) from error
        except MemoryError as error:
            raise EvaluationError(
                f"out of memory at {node.op} node {node.name!r}; use a smaller shape",
                node.name) from error

    def _value(self, port: PortName, reader: NodeDef) -> Tensor:
        if port in self.live:
            return self.live[port]
        if port in self.fed:
            return self.policy.keep(self.graph.nodes[port.node], self.fed[port])
        raise EvaluationError(
            f"node {reader.name!r} reads '{port.node}:{port.output}', which that node "
            "does not give", reader.name)

    def _output(self, name: str, port: PortName) -> Tensor:
        if port in self.fed and port not in self.live:
            return self.policy.keep(self.graph.nodes[port.node], self.fed[port])
        if port not in self.live:
            raise EvaluationError(f"node {port.node!r} has no output {port.output} "
                                  f"(asked for as {name!r})", port.node)
        return self.live[port]

    def _release(self, node: NodeDef, readers: dict[PortName, int],
                 keep: set[PortName] | None) -> None:
        """Drop what this node was the last to read."""
        for port in data_inputs(node):
            readers[port] -= 1
            if not readers[port] and (keep is None or port not in keep):
                self.live.pop(port, None)


def _readers(order: Sequence[NodeDef]) -> dict[PortName, int]:
    count: dict[PortName, int] = {}
    for node in order:
        for port in data_inputs(node):
            count[port] = count.get(port, 0) + 1
    return count


def _check_ops(order: Sequence[NodeDef]) -> None:
    """Refuse what cannot be evaluated before anything is."""
    for node in order:
        check_supported(node)
        if node.op not in OPS and node.op not in FEEDS and node.op != "Const":
            raise UnknownOpError(node.op, node.name, nearest_name(node.op, OPS))


def _constant(node: NodeDef) -> Tensor:
    value = node.attr("value")
    if value is None:
        raise EvaluationError(f"Const node {node.name!r} has no value", node.name)
    try:
        return Tensor(graphdef.tensor_array(value, f"node {node.name}"), value.dtype)
    except DumpError as error:
        raise EvaluationError(str(error), node.name) from error


def _feed(graph: Graph, port: PortName, given: Any) -> Tensor:
    """Return a fed array with the dtype of its port, checked."""
    node = graph.node(port.node)
    dtype = node.attr("dtype") if node.op in FEEDS else None
    array, found = to_storage(np.asarray(given))
    if dtype is None:
        dtype = found
    if dtype not in DTYPES:
        raise EvaluationError(f"cannot feed {node.name!r}: dtype {dtype} is not "
                              "supported; numbers and booleans are", node.name)
    if found != dtype and not (dtype == "bfloat16" and found == "uint16"):
        if hasattr(given, "dtype"):
            raise EvaluationError(
                f"cannot feed {node.name!r}: found dtype {found}, expected {dtype}"
                + (" (or its bits as uint16)" if dtype == "bfloat16" else ""),
                node.name)
        array = _converted(array, dtype)
    _check_shape(node, array)
    return Tensor(np.asarray(array, dtype=storage_dtype(dtype)), dtype)


def _converted(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return plain Python numbers in the dtype of their placeholder."""
    if is_float(dtype):
        return round_to(array.astype(np.float64), dtype)
    return array.astype(storage_dtype(dtype))


def _check_shape(node: NodeDef, array: np.ndarray) -> None:
    shape = node.attr("shape") if node.op in FEEDS else None
    # A graph of old has shape [] where nothing was said, so rank 0 forbids nothing.
    if not shape:
        return
    fits = len(shape) == array.ndim and all(
        axis is None or axis == size for axis, size in zip(shape, array.shape))
    if not fits:
        wanted = [("?" if axis is None else axis) for axis in shape]
        raise EvaluationError(
            f"cannot feed {node.name!r}: found shape {list(array.shape)}, expected "
            f"[{', '.join(str(axis) for axis in wanted)}]", node.name)
