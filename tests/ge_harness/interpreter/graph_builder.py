"""GraphDefs for tests, made without TensorFlow."""

from __future__ import annotations

import numpy as np

from dumps.graphdef import AttrValue, GraphDef, NodeDef, tensor_value


def attr(value):
    """Return a Python value as an attribute of its natural kind."""
    if isinstance(value, AttrValue):
        return value
    if isinstance(value, bool):
        return AttrValue("b", value)
    if isinstance(value, int):
        return AttrValue("i", value)
    if isinstance(value, float):
        return AttrValue("f", value)
    if isinstance(value, bytes):
        return AttrValue("s", value)
    if isinstance(value, str):
        return AttrValue("type", value)
    return AttrValue("list", tuple(attr(item) for item in value))


def node(name, op, *inputs, **attrs):
    """Return a node; a string attribute is a dtype, bytes are text."""
    return NodeDef(name, op, tuple(inputs), "", tuple(
        (key, attr(value)) for key, value in sorted(attrs.items())))


def const(name, values, dtype):
    """Return a Const of numbers; bfloat16 is given as bits."""
    stored = "uint16" if dtype == "bfloat16" else dtype
    value = tensor_value(np.asarray(values, dtype=stored), dtype)
    return node(name, "Const", dtype=dtype, value=AttrValue("tensor", value))


def placeholder(name, dtype, shape=None):
    """Return a Placeholder."""
    return node(name, "Placeholder", dtype=dtype, shape=AttrValue("shape", shape))


def graph(*nodes):
    """Return a graph of nodes."""
    return GraphDef(tuple(nodes))


def single(op, arrays, dtypes, **attrs):
    """Return a graph of one op called "y" on placeholders "x0", "x1" ..."""
    names = [f"x{i}" for i in range(len(arrays))]
    ends = [placeholder(name, dtype, tuple(np.shape(array)))
            for name, dtype, array in zip(names, dtypes, arrays)]
    return graph(*ends, node("y", op, *names, **attrs))
