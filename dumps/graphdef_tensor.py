"""Elements of a GraphDef's constant tensors as NumPy arrays, and back.

bfloat16 is a uint16 array of its bits; the quantized types are their integers.

Source: TensorFlow, core/framework/tensor.proto and tensor.cc (FromProto: fewer stored
elements than the shape holds repeat the last one, none means zero).
"""

from __future__ import annotations

import numpy as np

from dumps.errors import DumpError
from dumps.graphdef_records import TensorValue

LARGEST_BYTES = 1 << 34
"""Largest tensor that is expanded, in bytes."""

# Field of TensorProto -> (bytes of an element on the wire, 0 for a varint; bytes of an
# element in memory, 0 where the dtype decides it).
VALUE_FIELDS = {
    5: (4, 4), 6: (8, 8), 7: (0, 4), 9: (4, 4), 10: (0, 8), 11: (0, 1), 12: (8, 8),
    13: (0, 2), 16: (0, 4), 17: (0, 8), 18: (0, 1),
}

_NUMPY = {
    "float32": "<f4", "float64": "<f8", "float16": "<f2", "bfloat16": "<u2",
    "int8": "i1", "int16": "<i2", "int32": "<i4", "int64": "<i8",
    "uint8": "u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8",
    "bool": "?", "complex64": "<c8", "complex128": "<c16",
    "qint8": "i1", "quint8": "u1", "qint16": "<i2", "quint16": "<u2", "qint32": "<i4",
}
# TensorProto's field for the elements of a dtype.
FIELD_OF = {
    "float32": 5, "float64": 6, "int32": 7, "int16": 7, "uint16": 7, "int8": 7,
    "uint8": 7, "qint8": 7, "quint8": 7, "qint16": 7, "quint16": 7, "qint32": 7,
    "complex64": 9, "int64": 10, "bool": 11, "complex128": 12, "float16": 13,
    "bfloat16": 13, "uint32": 16, "uint64": 17,
}


def stored_dtype(dtype: str) -> np.dtype | None:
    """Return the NumPy dtype that holds elements of `dtype`, None where none does."""
    return np.dtype(_NUMPY[dtype]) if dtype in _NUMPY else None


def narrow_content(dtype: str, field: int, content: bytes) -> bytes:
    """Cut elements of int_val down to the width of their dtype.

    Args:
        dtype: of the tensor.
        field: TensorProto field that the elements stood in.
        content: its elements, 4 bytes each for int_val.

    Returns:
        the elements in the width of `dtype`.
    """
    stored = stored_dtype(dtype)
    if field != 7 or stored is None or stored.itemsize == 4:
        return content
    wide = np.frombuffer(content, dtype="<u4")
    unsigned = np.dtype(f"<u{stored.itemsize}")
    return bytes(wide.astype(unsigned).tobytes())


def tensor_array(value: TensorValue, where: object = "<tensor>") -> np.ndarray:
    """Return the elements of a constant.

    Args:
        value: the constant.
        where: file or node, for messages.

    Returns:
        [shape] array, read-only; uint16 bits for bfloat16. A tensor stored as one
        element is a view that takes no memory.

    Raises:
        DumpError: a dtype without array (string, resource ...), too many or torn
            elements, or a tensor too large to expand.
    """
    stored = stored_dtype(value.dtype)
    if stored is None:
        raise DumpError(where, 0, f"a constant of dtype {value.dtype!r}",
                        "a number or boolean dtype")
    count = 1
    for axis in value.shape:
        count *= axis
    if count * stored.itemsize > LARGEST_BYTES:
        raise DumpError(where, 0, f"a constant of shape {list(value.shape)}",
                        f"at most {LARGEST_BYTES} bytes")
    if len(value.content) % stored.itemsize:
        raise DumpError(where, 0, f"{len(value.content)} bytes of elements",
                        f"a multiple of {stored.itemsize}")
    elements = np.frombuffer(value.content, dtype=stored)
    if len(elements) > count:
        raise DumpError(where, 0, f"{len(elements)} elements", f"at most {count}")
    if len(elements) == count:
        return elements.reshape(value.shape)
    if len(elements) <= 1:
        last = elements[-1] if len(elements) else stored.type(0)
        return np.broadcast_to(np.asarray(last, dtype=stored), value.shape)
    full = np.empty(count, dtype=stored)
    full[: len(elements)] = elements
    full[len(elements):] = elements[-1]
    return full.reshape(value.shape)


def tensor_value(array: np.ndarray, dtype: str = "") -> TensorValue:
    """Return an array as a constant.

    Args:
        array: [...] the elements; uint16 bits for bfloat16.
        dtype: "bfloat16" where the array is such bits; else the array's own.

    Raises:
        ValueError: GraphDef has no such dtype.
    """
    name = dtype or array.dtype.name
    stored = stored_dtype(name)
    if stored is None:
        raise ValueError(f"no GraphDef constant of dtype {name!r}")
    shape = tuple(int(axis) for axis in array.shape)
    return TensorValue(name, shape, np.asarray(array).astype(stored).tobytes())
