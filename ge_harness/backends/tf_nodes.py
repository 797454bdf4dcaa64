"""Single NodeDefs on every TensorFlow: executed eagerly, or put into a graph.

A node is executed through `execute.execute`, the entry that TensorFlow's own generated
op functions use, so every op of every stack is reached by its name and its attributes.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ge_harness.backends.base import BackendFailure
from ge_harness.records.run import FailureKind

# Kinds of attribute that the eager entry takes as they are in the NodeDef.
_PLAIN = {"s": bytes, "i": int, "f": float, "b": bool, "type": int}


def op_definition(op_type: str) -> Any:
    """Return the OpDef of an op.

    Raises:
        BackendFailure: this TensorFlow has no such op.
    """
    from tensorflow.python.framework import op_def_registry

    if hasattr(op_def_registry, "get"):
        found = op_def_registry.get(op_type)
    else:
        found = op_def_registry.get_registered_ops().get(op_type)
    if found is None:
        raise BackendFailure(FailureKind.UNAVAILABLE,
                             f"this TensorFlow has no op {op_type!r}")
    return found


def execute_node(tf: Any, node: Any, inputs: Sequence[Any]) -> list[Any]:
    """Execute one NodeDef eagerly on the CPU.

    Args:
        tf: what `tf_loader.load` returned, after `tf_loader.start`.
        node: a NodeDef; attributes it leaves out take the op's defaults.
        inputs: its data inputs in order, flat. A `Const` has none and gives its value
            from the proto, as an array.

    Returns:
        Its outputs in order, flat.

    Raises:
        BackendFailure: this TensorFlow has no such op.
        tf.errors.OpError: whatever the kernel reports.
    """
    from tensorflow.python.eager import context, execute

    if node.op == "Const":
        return [constant(tf, node)]
    definition = op_definition(node.op)
    attributes = node_attributes(node, definition)
    flat: list[Any] = []
    for name in sorted(attributes):
        flat += [name, attributes[name]]
    count = _output_count(definition, attributes)
    with context.eager_mode(), tf.device("/cpu:0"):
        outputs = execute.execute(node.op, count, list(inputs), tuple(flat),
                                  context.context())
    return list(outputs) if isinstance(outputs, (list, tuple)) else []


def trace_node(tf: Any, node: Any, inputs: Sequence[Any]) -> list[Any]:
    """Put one NodeDef into the graph or function being traced.

    The node-by-node base lines of the graph compilers wrap this in a function each.

    Args:
        tf: what `tf_loader.load` returned.
        node: a NodeDef; its control inputs are left to the caller's order.
        inputs: its data inputs in order, flat, tensors of the graph being traced.

    Returns:
        Its outputs in order, flat.
    """
    graph_def = tf.compat.v1.GraphDef()
    graph_def.node.add().CopyFrom(node)
    copy = graph_def.node[0]
    del copy.input[:]
    copy.input.extend(f"given{index}:0" for index in range(len(inputs)))
    definition = op_definition(node.op)
    count = _output_count(definition, node_attributes(node, definition))
    for name in [name for name in copy.attr if name.startswith("_")]:
        del copy.attr[name]
    return list(tf.graph_util.import_graph_def(
        graph_def, name="", input_map={
            f"given{index}:0": tensor for index, tensor in enumerate(inputs)},
        return_elements=[f"{node.name}:{index}" for index in range(count)]))


def constant(tf: Any, node: Any) -> Any:
    """Return the value of a `Const` node as an eager tensor made from an array."""
    from tensorflow.python.eager import context

    with context.eager_mode(), tf.device("/cpu:0"):
        return tf.constant(constant_array(tf, node))


def constant_array(tf: Any, node: Any) -> np.ndarray:
    """Return the value of a `Const` node as an array of TensorFlow's NumPy dtype."""
    return np.asarray(tf.make_ndarray(node.attr["value"].tensor))


def node_attributes(node: Any, definition: Any) -> dict[str, Any]:
    """Return the attributes of a node as the eager entry takes them.

    Dtypes become their numbers, shapes lists with None for unknown lengths. What the
    OpDef does not declare ("_output_shapes", "_class") is left out.

    Args:
        node: a NodeDef.
        definition: the OpDef of its op.
    """
    attributes = {}
    for declared in definition.attr:
        if declared.name in node.attr:
            value = node.attr[declared.name]
        elif declared.HasField("default_value"):
            value = declared.default_value
        else:
            continue
        attributes[declared.name] = _plain(value)
    return attributes


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind in _PLAIN:
        return _PLAIN[kind](getattr(value, kind))
    if kind == "shape":
        return _shape(value.shape)
    if kind == "tensor":
        return value.tensor
    if kind == "func":
        raise BackendFailure(
            FailureKind.BUILD, f"function {value.func.name!r} in an attribute: inline "
            "functions before the graph is run op by op")
    if kind == "list":
        return _plain_list(value.list)
    return []


def _plain_list(value: Any) -> list[Any]:
    for field in ("s", "i", "f", "b", "type"):
        items = getattr(value, field)
        if len(items):
            return [_PLAIN[field](item) for item in items]
    return [_shape(shape) for shape in value.shape]


def _shape(proto: Any) -> list[int | None] | None:
    if proto.unknown_rank:
        return None
    return [None if dim.size < 0 else int(dim.size) for dim in proto.dim]


def _output_count(definition: Any, attributes: dict[str, Any]) -> int:
    count = 0
    for output in definition.output_arg:
        if output.number_attr:
            count += int(attributes[output.number_attr])
        elif output.type_list_attr:
            count += len(attributes[output.type_list_attr])
        else:
            count += 1
    return count
