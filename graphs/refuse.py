"""What a subgraph may not hold, each refused by the names of its op and node."""

from __future__ import annotations

from typing import Any, Iterable

from graphs.errors import GraphError, GraphUnsupportedError
from graphs.function import CALLS, op_def
from graphs.subgraph import DTYPES

_CONTROL_FLOW = frozenset((
    "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "ControlTrigger",
    "RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration", "RefSelect",
    "If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase", "For",
    "SymbolicGradient", "RemoteCall", "BatchFunction", "MapDefun"))
_LISTS = ("TensorList", "TensorArray", "TensorMap", "EmptyTensorList", "Stack", "Queue")
_FOREIGN = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "NumpyFunction")
_VARIABLES = ("VariableV2", "Variable", "VarHandleOp", "TemporaryVariable",
              "AutoReloadVariable")
_RANDOM = ("Random", "TruncatedNormal", "ParameterizedTruncatedNormal", "Multinomial",
           "StatefulStandardNormal", "StatefulUniform", "StatefulRandom", "Rng",
           "StatefulTruncatedNormal", "StatefulBinomial", "AnonymousRandom")
# Stateful by their definition, yet the same answer every time.
_HARMLESS = frozenset(("Assert", "CheckNumerics", "CheckNumericsV2", "Placeholder"))
# (op, dtype, start of TensorFlow's version): a kernel is registered and gives nothing.
_BROKEN = (("FusedBatchNormV3", "bfloat16", "2.6."),)
_TEXT_READERS = ("Assert",)


def check_ops(tf: Any, graph_def: Any, *, allow_random: bool = False) -> None:
    """Refuse ops that a subgraph may not hold.

    Args:
        tf: tensorflow.compat.v1.
        graph_def: pruned, functions inlined, variables frozen.
        allow_random: let ops through that draw random numbers.

    Raises:
        GraphUnsupportedError: this TensorFlow does not know an op.
        GraphError: control flow, a dynamic list, Python code, a variable without
            value, randomness or state.
    """
    definitions: dict[str, Any] = {}
    for node in graph_def.node:
        kind = _forbidden(node.op)
        if not kind:
            if node.op not in definitions:
                definitions[node.op] = op_def(tf, node.op)
            if definitions[node.op].is_stateful and node.op not in _HARMLESS:
                kind = "random" if node.op.startswith(_RANDOM) else "stateful"
        if kind and not (allow_random and kind == "random"):
            raise GraphError(_message(kind, node, graph_def), subject=node.name)


def check_tensors(operations: Iterable[Any]) -> None:
    """Refuse strings, resources and other tensors that are no arrays of numbers.

    Args:
        operations: the ops of the graph as TensorFlow imported it. A string that only
            an Assert reads, its message, is let through.

    Raises:
        GraphError: names op, node and dtype.
    """
    for operation in operations:
        for tensor in operation.outputs:
            name = tensor.dtype.base_dtype.name
            if name in DTYPES:
                continue
            readers = tensor.consumers()
            if name == "string" and operation.type == "Const" and all(
                    reader.type in _TEXT_READERS for reader in readers):
                continue
            raise GraphError(
                f"{name} tensors are not supported: op {operation.type!r} at node "
                f"{operation.name!r}; cut it away with --feed or --fetch",
                subject=operation.name)


def check_kernels(tf: Any, graph_def: Any) -> None:
    """Refuse a node for which this TensorFlow has no CPU kernel of its dtypes.

    Raises:
        GraphUnsupportedError: names op, dtypes, node and TensorFlow's version.
    """
    from tensorflow.python.framework import kernels

    known: dict[str, Any] = {}
    for node in graph_def.node:
        if node.op not in known:
            listed = kernels.get_registered_kernels_for_op(node.op).kernel
            known[node.op] = [k for k in listed
                              if k.device_type in ("CPU", "DEFAULT") and not k.label]
        types = sorted({tf.as_dtype(t).name for a in node.attr.values()
                        for t in [a.type, *a.list.type] if t})
        if any(_fits(kernel, node) for kernel in known[node.op]) and not any(
                op == node.op and dtype in types and tf.__version__.startswith(version)
                for op, dtype, version in _BROKEN):
            continue
        raise GraphUnsupportedError(
            f"TensorFlow {tf.__version__} has no CPU kernel for op {node.op!r} of "
            f"{', '.join(types) or 'any dtype'} (node {node.name!r})", subject=node.op)


def _fits(kernel: Any, node: Any) -> bool:
    for constraint in kernel.constraint:
        if constraint.name not in node.attr:
            continue
        value = node.attr[constraint.name]
        types = [value.type] if value.type else list(value.list.type)
        allowed = constraint.allowed_values.list.type
        if allowed and not all(kind in allowed for kind in types):
            return False
    return True


def _forbidden(op: str) -> str:
    if op in _CONTROL_FLOW:
        return "control-flow"
    if op in CALLS:
        return "function-call"
    if op.startswith(_LISTS):
        return "dynamic-list"
    if op in _FOREIGN:
        return "Python-function"
    return "variable" if op in _VARIABLES else ""


_WAY_OUT = {
    "control-flow": "cut the part around it out with --feed and --fetch",
    "function-call": "its function is not in the graph's library",
    "dynamic-list": "cut the part around it out with --feed and --fetch",
    "Python-function": "replace it by TensorFlow ops, or cut it away with --feed",
    "variable": "a GraphDef holds no values: freeze it, or give the SavedModel folder",
    "random": "cut it away with --feed and give its numbers as an input",
    "stateful": "cut it away with --feed and --fetch",
}


def _message(kind: str, node: Any, graph_def: Any) -> str:
    if kind == "control-flow" and "/Assert" in node.name:
        return (f"{kind} ops are not supported: op {node.op!r} at node {node.name!r}, "
                "as tf.debugging.Assert makes it; tf.raw_ops.Assert is let through")
    same = sum(other.op == node.op for other in graph_def.node) - 1
    more = f" and {same} more" if same else ""
    return (f"{kind} ops are not supported: op {node.op!r} at node {node.name!r}{more};"
            f" {_WAY_OUT[kind]}")
