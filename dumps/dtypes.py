"""dtype names: GE's two numberings and spellings, and TensorFlow's, in NumPy's words.

Source: reference graph_dumps.md section 3.4 (internal numbering) and tensor_dumps.md
section 5 (IR numbering, layouts).
"""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# GE's names in the order of the internal ge::DataType; number 5 is not used.
_INTERNAL = _words(
    "FLOAT FLOAT16 INT8 INT32 UINT8 - INT16 UINT16 UINT32 INT64 UINT64 DOUBLE BOOL "
    "STRING DUAL_SUB_INT8 DUAL_SUB_UINT8 COMPLEX64 COMPLEX128 QINT8 QINT16 QINT32 "
    "QUINT8 QUINT16 RESOURCE STRING_REF DUAL VARIANT BF16 UNDEFINED INT4 UINT1 INT2 "
    "UINT2 COMPLEX32 HIFLOAT8 FLOAT8_E5M2 FLOAT8_E4M3FN FLOAT8_E8M0 FLOAT6_E3M2 "
    "FLOAT6_E2M3 FLOAT4_E2M1 FLOAT4_E1M2 HIFLOAT4")
# The same names in the order of the enum in ge_ir.proto.
IR_NAMES = _words(
    "UNDEFINED FLOAT FLOAT16 INT8 UINT8 INT16 UINT16 INT32 INT64 UINT32 UINT64 BOOL "
    "DOUBLE STRING DUAL_SUB_INT8 DUAL_SUB_UINT8 COMPLEX64 COMPLEX128 QINT8 QINT16 "
    "QINT32 QUINT8 QUINT16 RESOURCE STRING_REF DUAL VARIANT BF16 INT4 UINT1 INT2 UINT2 "
    "COMPLEX32 HIFLOAT8 FLOAT8_E5M2 FLOAT8_E4M3FN FLOAT8_E8M0 FLOAT6_E3M2 FLOAT6_E2M3 "
    "FLOAT4_E2M1 FLOAT4_E1M2 HIFLOAT4 HIFLOAT4_SCALE")
_NUMPY = {"FLOAT": "float32", "DOUBLE": "float64", "BF16": "bfloat16",
          "BFLOAT16": "bfloat16", "HALF": "float16", "FLOAT8_E8M0": "float8_e8m0fnu"}
_SHORT = {name: _NUMPY.get(name, name.lower()) for name in IR_NAMES}


def from_name(name: str) -> str:
    """Return NumPy's word for "DT_FLOAT16", "DT_HALF", "float16" or "FLOAT16"."""
    upper = name.upper()
    if upper.startswith("DT_"):
        upper = upper[3:]
    if upper.endswith("_REF") and upper != "STRING_REF":
        upper = upper[:-4]
    return _SHORT.get(upper) or _NUMPY.get(upper) or upper.lower() or "undefined"


def is_known(name: str) -> bool:
    """Say whether a dtype's name is one of the tables above."""
    upper = name.upper()
    upper = upper[3:] if upper.startswith("DT_") else upper
    return upper in _SHORT or upper in _NUMPY


def from_ir(number: int) -> str:
    """Return the dtype of a number in the numbering of ge_ir.proto."""
    known = 0 <= number < len(IR_NAMES)
    return from_name(IR_NAMES[number]) if known else f"dtype_{number}"


def from_internal(number: int) -> str:
    """Return the dtype of a number in GE's internal numbering."""
    known = 0 <= number < len(_INTERNAL) and _INTERNAL[number] != "-"
    return from_name(_INTERNAL[number]) if known else f"dtype_{number}"
