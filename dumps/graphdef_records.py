"""TensorFlow's GraphDef as frozen records; `graphdef` reads and writes them.

Nothing of a node is interpreted here: attributes keep their kind, tensors their stored
elements (one element may stand for a whole tensor), fields this package does not know
keep their bytes, so a graph that is read and written again means the same.

Source: TensorFlow, core/framework/{graph,node_def,attr_value,tensor,types,
function}.proto (v1.15 to v2.21).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8",
    7: "string", 8: "complex64", 9: "int64", 10: "bool", 11: "qint8", 12: "quint8",
    13: "qint32", 14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16",
    18: "complex128", 19: "float16", 20: "resource", 21: "variant", 22: "uint32",
    23: "uint64", 24: "float8_e5m2", 25: "float8_e4m3fn", 26: "float8_e4m3fnuz",
    27: "float8_e4m3b11fnuz", 28: "float8_e5m2fnuz", 29: "int4", 30: "uint4",
    31: "int2", 32: "uint2",
}
DTYPE_NUMBERS = {name: number for number, name in DTYPES.items()}

DTYPE_LABELS = {
    "float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF",
}
"""Spellings in text files that are not "DT_" and the upper-case name."""


@dataclass(frozen=True)
class TensorValue:
    """A constant as it is stored.

    Attributes:
        dtype: a name of `DTYPES`, "ref_" in front for reference types.
        shape: axis lengths.
        content: little-endian bytes of the stored elements. Fewer elements than the
            shape holds: the last one is repeated; none: all zero.
        strings: the stored elements of a string tensor.
    """

    dtype: str
    shape: tuple[int, ...]
    content: bytes = b""
    strings: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class AttrValue:
    """One attribute.

    Attributes:
        kind: "s" (bytes), "i" (int), "f" (float), "b" (bool), "type" (dtype name),
            "shape" (tuple of int, None for an unknown axis; None: unknown rank),
            "tensor" (TensorValue), "list" (tuple of AttrValue of one kind), "func"
            (FunctionName), "placeholder" (str) or "none".
        value: as `kind` says.
    """

    kind: str
    value: Any = None


@dataclass(frozen=True)
class FunctionName:
    """A library function and the attributes it is instantiated with."""

    name: str
    attrs: tuple[tuple[str, AttrValue], ...] = ()


@dataclass(frozen=True)
class NodeDef:
    """One operation.

    Attributes:
        name: unique in its graph.
        op: type of the operation.
        inputs: "node", "node:index" or "^node"; control inputs last.
        device: as requested, "" for any.
        attrs: (name, value), sorted by name (the order in a file is not defined).
        extra: encoded fields that this package does not know.
    """

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    device: str = ""
    attrs: tuple[tuple[str, AttrValue], ...] = ()
    extra: bytes = b""

    def attr(self, name: str, default: Any = None) -> Any:
        """Return the plain value of an attribute, or `default` where it is absent."""
        return next((v.value for key, v in self.attrs if key == name), default)


@dataclass(frozen=True)
class ArgDef:
    """An argument of a library function.

    Attributes:
        name: of the argument.
        dtype: "" where an attribute decides it.
        type_attr: name of the attribute that holds its dtype.
        number_attr: name of the attribute that holds how many tensors it stands for.
        type_list_attr: name of the attribute that lists its dtypes.
        extra: encoded fields that this package does not know.
    """

    name: str
    dtype: str = ""
    type_attr: str = ""
    number_attr: str = ""
    type_list_attr: str = ""
    extra: bytes = b""


@dataclass(frozen=True)
class FunctionDef:
    """A library function.

    Attributes:
        name: of the function.
        inputs: its arguments.
        outputs: its results.
        nodes: the body; inputs are written "argument", "node:result:index" or "^node".
        returns: (result, where it comes from).
        control_returns: (result, node).
        attrs: (name, value), sorted by name (the order in a file is not defined).
        extra: encoded fields that this package does not know.
        signature_extra: such fields of the signature.
    """

    name: str
    inputs: tuple[ArgDef, ...] = ()
    outputs: tuple[ArgDef, ...] = ()
    nodes: tuple[NodeDef, ...] = ()
    returns: tuple[tuple[str, str], ...] = ()
    control_returns: tuple[tuple[str, str], ...] = ()
    attrs: tuple[tuple[str, AttrValue], ...] = ()
    extra: bytes = b""
    signature_extra: bytes = b""


@dataclass(frozen=True)
class GraphDef:
    """A whole graph.

    Attributes:
        nodes: in file order.
        functions: the library.
        extra: encoded fields that this package does not know (versions, gradients).
        library_extra: such fields of the library.
    """

    nodes: tuple[NodeDef, ...]
    functions: tuple[FunctionDef, ...] = ()
    extra: bytes = b""
    library_extra: bytes = b""


def dtype_name(number: int) -> str:
    """Return the name of a DataType number; "dtype_<n>" for one nobody knows."""
    if number - 100 in DTYPES:
        return f"ref_{DTYPES[number - 100]}"
    return DTYPES.get(number, f"dtype_{number}")


def dtype_number(name: str) -> int:
    """Return the DataType number of a name of this package."""
    if name.startswith("ref_"):
        return 100 + dtype_number(name[4:])
    if name.startswith("dtype_"):
        return int(name[6:])
    return DTYPE_NUMBERS[name]
