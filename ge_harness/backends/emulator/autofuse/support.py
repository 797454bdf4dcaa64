"""Whether a listed operator may be lowered: dtypes, axes, shapes.

Integers and booleans are not spelled out in the reference; int32, and booleans where
the operator is logical, are taken to be supported.

Source: reference: autofuse_fusion_rules.md sections 2.1 and 3.
"""

from __future__ import annotations

from ge_harness.backends.emulator.autofuse import table
from ge_harness.backends.emulator.autofuse.specs import AutoFuseOptions, ChipSpec
from ge_harness.backends.emulator.ge_types import byte_size
from ge_harness.backends.emulator.ir import Graph, Node
from ge_harness.backends.emulator.passes.base import const_values

_FLOATS = ("float16", "float32")
_MOVED = ("float16", "float32", "bfloat16", "int32", "int8", "uint8", "int16", "int64")
_LOGICAL = ("LogicalAnd", "LogicalOr", "LogicalNot")
_COMPARE = ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual",
            "IsNan", "IsFinite")
_INTEGER = ("Abs", "Add", "AddV2", "Sub", "Mul", "Neg", "Maximum", "Minimum", "Relu",
            "Square", "SquaredDifference", "AddN", "BiasAdd", "BroadcastTo",
            "Tile", "ZerosLike", "FloorDiv", "BitwiseAnd", "ClipByValue")
_NO_BF16_V2 = ("Div", "DivNoNan", "Relu", "BroadcastTo", "Tile", "ZerosLike", "Acos",
               "Asin")
_V1_LACKS = ("Acos", "Asin")
_V1_PERMUTATIONS_3D = ((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


def refusal(graph: Graph, node: Node, options: AutoFuseOptions) -> str:
    """Return why a node is left to its original kernel, "" where it is lowered."""
    kind = table.KINDS.get(node.type, "")
    if not kind:
        return "no lowering registered"
    for mark in ("_disable_autofuse_scope", "_super_kernel_scope"):
        if node.mark(mark):
            return f"attribute {mark}"
    if node.type in options.skip_types or node.name in options.skip_names:
        return "named by skip_node_names_cfg"
    flag = table.flag_of(kind, is_v1=options.spec.is_v1)
    if flag and flag not in options.passes:
        return f"needs autofuse_enable_pass={flag}"
    if any(desc.size == 0 for desc in node.outputs):
        return "no elements"
    return (_static(graph, node) or _dtypes(graph, node, options)
            or _shapes(graph, node, kind, options.spec))


def _static(graph: Graph, node: Node) -> str:
    data = table.data_inputs(node.type, len(node.inputs))
    for slot, port in enumerate(node.inputs):
        if slot not in data and not graph.nodes[port.node].is_const:
            return "an axis or size that is not constant"
    return ""


def _dtypes(graph: Graph, node: Node, options: AutoFuseOptions) -> str:
    data = table.data_inputs(node.type, len(node.inputs))
    inputs = [graph.desc(node.inputs[slot]).dtype for slot in data]
    outputs = [desc.dtype for desc in node.outputs]
    bad = _unsupported(graph, node, inputs, outputs, options)
    return f"dtype unsupported: {bad}" if bad else ""


def _unsupported(graph: Graph, node: Node, inputs: list[str], outputs: list[str],
                 options: AutoFuseOptions) -> str:
    spec = options.spec
    kind = table.KINDS[node.type]
    found = set(inputs) | set(outputs)
    if node.type == "Cast":
        return _cast(inputs[0], outputs[0], spec)
    if kind in (table.CONCAT, table.GATHER, table.SLICE, table.SPLIT, table.RESHAPE):
        return _first(found - set(_MOVED))
    if kind == table.TRANSPOSE:
        return _first(found - set(_FLOATS))
    if kind == table.CUBE:
        return _first(found - {"float16", "float32", "bfloat16"})
    if spec.is_v1 and node.type in _V1_LACKS:
        return f"{node.type} on 910B"
    allowed = set(_FLOATS)
    has_bf16 = options.bf16_pointwise
    if has_bf16 is None:
        has_bf16 = not spec.is_v1 and node.type not in _NO_BF16_V2 and not (
            "bfloat16" in found and _broadcasts(graph, node))
    if has_bf16:
        allowed.add("bfloat16")
    if node.type in _INTEGER or node.type in _COMPARE or kind == table.REDUCE:
        allowed.add("int32")
    if node.type in _LOGICAL or node.type in _COMPARE or node.type.startswith("Select"):
        allowed.add("bool")
    if node.type == "ReduceMean":
        allowed.discard("int32")
    if kind == table.REDUCE and spec.is_v1:
        allowed.add("bfloat16")  # accepted, since it will be widened
    return _first(found - allowed)


def _first(names: set[str]) -> str:
    return min(names) if names else ""


def _broadcasts(graph: Graph, node: Node) -> bool:
    """Say whether an input is broadcast (AscIR Broadcast has no bfloat16)."""
    shape = node.outputs[0].shape
    return table.KINDS[node.type] == table.POINTWISE and any(
        graph.desc(port).shape != shape for port in node.inputs)


def _cast(source: str, target: str, spec: ChipSpec) -> str:
    if target == "bool":
        return "Cast to bool"
    known = {"float16", "float32", "int32", "int64", "uint8", "int8", "int16",
             "bfloat16"}
    bad = {source, target} - known
    if bad:
        return _first(bad)
    if spec.is_v1 and target == "bfloat16":
        return "Cast to bfloat16 on 910B"
    if spec.is_v1 and source == "bfloat16" and target not in ("float32", "int32"):
        return f"Cast from bfloat16 to {target} on 910B"
    return ""


def _shapes(graph: Graph, node: Node, kind: str, spec: ChipSpec) -> str:
    shape = node.outputs[0].shape
    source = graph.desc(node.inputs[table.data_inputs(
        node.type, len(node.inputs))[0]]) if node.inputs else node.outputs[0]
    if kind in (table.POINTWISE, table.REDUCE, table.SLICE) and (
            all(length == 1 for length in source.shape) and
            all(length == 1 for length in shape)):
        return "scalar only"
    if node.type == "AddN" and len(node.inputs) < 2:
        return "an AddN of one"
    if node.type == "Tile" and any(
            length not in (1, full) for length, full in zip(source.shape, shape)):
        return "a Tile that is no broadcast"
    if kind == table.REDUCE:
        return _reduce(graph, node, source.shape, source.dtype)
    if kind == table.TRANSPOSE:
        return _transpose(graph, node, spec)
    if kind in (table.SLICE, table.SPLIT):
        return _slice(graph, node, spec)
    if kind == table.GATHER:
        return _gather(graph, node, spec)
    if kind == table.CONCAT and node.type == "Pack" and len(node.inputs) > 16 and (
            int(node.attr("axis", 0)) % len(shape) == len(shape) - 1):
        return "more than 16 inputs packed along the last axis"
    if kind == table.CUBE and spec.is_v1:
        return "cube lowering is off on 910B"
    return ""


def reduced_axes(graph: Graph, node: Node) -> tuple[int, ...]:
    """Return the axes a reduction works on, each in 0..rank-1, sorted."""
    slot = table.data_inputs(node.type, len(node.inputs))[0]
    rank = len(graph.desc(node.inputs[slot]).shape)
    if node.type == "L2Loss":
        return tuple(range(rank))
    if node.type == "BiasAddGrad":
        return tuple(range(rank - 1))
    found = const_values(graph, node.inputs[1])
    if found is None:
        return ()
    return tuple(sorted({int(axis) % max(rank, 1) for axis in found.reshape(-1)}))


def _reduce(graph: Graph, node: Node, shape: tuple[int, ...], dtype: str) -> str:
    axes = reduced_axes(graph, node)
    last = {len(shape) - 1, len(shape) - 2}
    if len(shape) > 1 and len(last & set(axes)) == 1 and (
            shape[-1] * byte_size(dtype) < 64):
        return "a last axis of less than 64 bytes"
    return ""


def _transpose(graph: Graph, node: Node, spec: ChipSpec) -> str:
    order = const_values(graph, node.inputs[1])
    found = () if order is None else tuple(int(i) for i in order.reshape(-1))
    if not spec.is_v1:
        return "rank above 5" if len(found) > 5 else ""
    if len(found) == 2 or len(found) == 4:
        return ""
    if len(found) == 3 and found in _V1_PERMUTATIONS_3D:
        return ""
    return "a permutation that 910B does not list"


def _slice(graph: Graph, node: Node, spec: ChipSpec) -> str:
    if spec.is_v1 and node.outputs[0].shape[-1:] == (1,):
        return "a last output dimension of 1 on 910B"
    if node.type == "StridedSlice":
        strides = const_values(graph, node.inputs[3])
        if strides is None or (strides.size and (
                strides.min() < 0 or strides.reshape(-1)[-1] != 1)):
            return "a last stride other than 1, or a negative one"
    return ""


def _gather(graph: Graph, node: Node, spec: ChipSpec) -> str:
    if int(node.attr("batch_dims", 0) or 0):
        return "batch_dims"
    rank = len(graph.desc(node.inputs[0]).shape)
    axis = 0
    if node.type == "GatherV2":
        found = const_values(graph, node.inputs[2])
        axis = int(found.reshape(-1)[0]) % max(rank, 1) if found is not None else 0
    if spec.is_v1 and axis != rank - 1:
        return "an axis other than the last on 910B"
    return ""
