"""TensorFlow's ops under GE's type names, and GE's dtype names.

AddV2 keeps its name: whether GE's parser makes it Add is not known (both are registered
for fusion, so only names differ).

Source: reference: autofuse_fusion_rules.md sections 2 and 11; graph_dumps.md section
3.4.
"""

from __future__ import annotations

_RENAMED = {
    "Placeholder": "Data", "PlaceholderV2": "Data", "Sum": "ReduceSum",
    "Mean": "ReduceMean", "Max": "ReduceMax", "Min": "ReduceMin",
    "Prod": "ReduceProd", "All": "ReduceAll", "Any": "ReduceAny",
    "Softmax": "SoftmaxV2", "LogSoftmax": "LogSoftmaxV2", "Inv": "Reciprocal",
    "BiasAddV1": "BiasAdd", "ArgMax": "ArgMaxV2",
}
_TF_OF = {
    "ReduceSum": "Sum", "ReduceMean": "Mean", "ReduceMax": "Max", "ReduceMin": "Min",
    "ReduceProd": "Prod",
}
IR_DTYPES = {
    "float32": "DT_FLOAT", "float16": "DT_FLOAT16", "int8": "DT_INT8",
    "uint8": "DT_UINT8", "int16": "DT_INT16", "uint16": "DT_UINT16",
    "int32": "DT_INT32", "int64": "DT_INT64", "uint32": "DT_UINT32",
    "uint64": "DT_UINT64", "bool": "DT_BOOL", "float64": "DT_DOUBLE",
    "bfloat16": "DT_BF16", "string": "DT_STRING", "complex64": "DT_COMPLEX64",
    "complex128": "DT_COMPLEX128",
}
INTERNAL_DTYPES = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6,
    "uint16": 7, "uint32": 8, "int64": 9, "uint64": 10, "float64": 11, "bool": 12,
    "string": 13, "complex64": 16, "complex128": 17, "bfloat16": 27,
}
SIZES = {
    "float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int8": 1, "uint8": 1,
    "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "bool": 1,
}


def ge_type(op: str) -> str:
    """Return GE's type of a TensorFlow op."""
    return _RENAMED.get(op, op)


def tf_op(kind: str) -> str:
    """Return TensorFlow's op of a GE type that was renamed, else the type itself."""
    return _TF_OF.get(kind, kind)


def byte_size(dtype: str) -> int:
    """Return the bytes of one element."""
    return SIZES.get(dtype, 8)
