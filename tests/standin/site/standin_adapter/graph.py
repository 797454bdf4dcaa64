"""A graph as the dumps show it, taken from what TensorFlow really executes."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

# ports: (DT_ name or "", shape list or None) an output. value: array of a constant.
# origins: names of the original nodes.
Node = namedtuple("Node", "name type inputs ports value origins")

# Internal to executing, never offloaded: reference tf_adapter.md section 3.
HOST = ("_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv", "StringJoin",
        "NoOp")
SOURCES = ("_Arg", "_Recv", "Placeholder")
# NumPy's name -> GE's
NAMES = {
    "float16": "DT_FLOAT16", "float32": "DT_FLOAT", "bfloat16": "DT_BF16",
    "float64": "DT_DOUBLE", "int32": "DT_INT32", "int64": "DT_INT64",
    "int8": "DT_INT8", "uint8": "DT_UINT8", "int16": "DT_INT16",
    "uint16": "DT_UINT16", "bool": "DT_BOOL", "uint32": "DT_UINT32",
    "uint64": "DT_UINT64",
}


def dtype_name(dtype):
    """Return GE's name of a TensorFlow dtype, "" where it has none."""
    return NAMES.get(dtype.base_dtype.name, "")


def nodes_of(graph_def, tf, graph, fetches=()):
    """Return the nodes of an executed GraphDef, sources first as Data.

    Args:
        graph_def: what TensorFlow executes.
        tf: the TensorFlow module.
        graph: the user's tf.Graph, for shapes of nodes that kept their names.
        fetches: names of output tensors where the graph has no _Retval.
    """
    renamed = {}
    found = []
    results = list(fetches)
    for node in graph_def.node:
        if node.op in ("_Retval", "_Send", "_HostSend"):
            results.append(node.input[0])
        elif node.op in SOURCES:
            renamed[node.name] = _source_name(node)
        elif node.op == "NoOp":
            continue
    for node in graph_def.node:
        if node.op in ("_Retval", "_Send", "_HostSend", "NoOp"):
            continue
        name = renamed.get(node.name, node.name)
        kind = "Data" if node.op in SOURCES else node.op
        inputs = [_edge(text, renamed) for text in node.input]
        value = tf.make_ndarray(node.attr["value"].tensor) if (
            node.op == "Const") else None
        found.append(Node(name, kind, inputs, _ports(node, name, tf, graph, value),
                          value, [name] if kind not in ("Data", "Const") else []))
    found.append(Node("Node_Output", "NetOutput",
                      [_edge(text, renamed) for text in results], [], None, []))
    return found


def _source_name(node):
    """Return the name of the fed node: "_arg_x_0_0" and "_recv_x_0" stand for x."""
    name = node.name
    for start, count in (("_arg_", 2), ("_recv_", 1)):
        if name.startswith(start):
            return name[len(start):].rsplit("_", count)[0]
    return name


def _edge(text, renamed):
    if text.startswith("^"):
        return f"{renamed.get(text[1:], text[1:])}:-1"
    name, _, port = text.partition(":")
    return "{}:{}".format(renamed.get(name, name), port or "0")


def _ports(node, name, tf, graph, value):
    try:
        outputs = graph.get_operation_by_name(name).outputs
    except (KeyError, ValueError):
        outputs = []
    if outputs:
        return [(dtype_name(tensor.dtype), _shape(tensor.shape)) for tensor in outputs]
    for attr in ("dtype", "T", "DstT"):
        if attr in node.attr and node.attr[attr].type:
            kind = tf.as_dtype(node.attr[attr].type)
            shape = list(np.shape(value)) if value is not None else None
            return [(dtype_name(kind), shape)]
    return [("", None)]


def _shape(shape):
    if shape.dims is None:
        return None
    return [-1 if dim is None else int(dim) for dim in shape.as_list()]


def compute(nodes):
    """Return the nodes that are work, not data."""
    return [node for node in nodes
            if node.type not in ("Data", "Const", "NetOutput") + HOST]


def fused(nodes):
    """Return the nodes with element-wise chains fused as AutoFuse names them.

    A picture for readers of dumps only: the numbers come from the unfused graph.
    """
    easy = ("Abs", "Relu", "Exp", "Mul", "Add", "AddV2", "Sub", "RealDiv", "Tanh",
            "Neg", "Sqrt", "Rsqrt",
            "Cast", "Maximum", "Minimum", "Erf", "Sigmoid", "Square")
    chain = [node for node in nodes if node.type in easy]
    if len(chain) < 2:
        return nodes
    inside = {node.name for node in chain}
    used = [edge for node in nodes if node.name not in inside for edge in node.inputs]
    ports = [(node, index) for node in chain for index in range(len(node.ports))
             if f"{node.name}:{index}" in used]
    name = "autofuse_pointwise_0_" + "_".join(node.type for node in chain)
    names = {f"{node.name}:{index}": f"{name[:140]}:{number}"
             for number, (node, index) in enumerate(ports)}
    outer = []
    for node in chain:
        outer += [edge for edge in node.inputs
                  if edge.rpartition(":")[0] not in inside and edge not in outer]
    one = Node(name[:140], "AscBackend", outer,
               [node.ports[index] for node, index in ports], None,
               [node.name for node in chain])
    found = []
    for node in nodes:
        if node is chain[0]:
            found.append(one)
        if node.name not in inside:
            found.append(node._replace(
                inputs=[names.get(edge, edge) for edge in node.inputs]))
    return found
