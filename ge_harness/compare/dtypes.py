"""The floating-point formats that comparison works on, bfloat16 included.

NumPy has no bfloat16 of its own and ml_dtypes does not install beside the NumPy of two
supported stacks, so inside ge_harness a bfloat16 array is a uint16 array of its bits
plus the dtype name "bfloat16". This module converts at the border and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Tuple

import numpy as np


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format.

    Attributes:
        name: NumPy's name, or "bfloat16".
        bits: width in bits.
        precision: significand bits, the hidden one included (p).
        emin: exponent of the smallest normal number, 2^emin.
        emax: exponent of the largest finite number's binade.
        storage: NumPy dtype that holds the bits.
    """

    name: str
    bits: int
    precision: int
    emin: int
    emax: int
    storage: str


FLOAT_FORMATS = {
    "float16": FloatFormat("float16", 16, 11, -14, 15, "uint16"),
    "bfloat16": FloatFormat("bfloat16", 16, 8, -126, 127, "uint16"),
    "float32": FloatFormat("float32", 32, 24, -126, 127, "uint32"),
    "float64": FloatFormat("float64", 64, 53, -1022, 1023, "uint64"),
}


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
Storage = Tuple[np.ndarray, str]
"""Storage of a tensor and the dtype name it stands for."""

SUPPORTED = (*FLOAT_FORMATS, *INTEGERS, "bool")


def as_storage(array: Any, dtype: str | None = None) -> Storage:
    """Return an array that comparison can read, and the dtype name it stands for.

    Args:
        array: [...] anything NumPy takes; bfloat16 of any package.
        dtype: what raw bits stand for ("bfloat16" for uint16 or two-byte void); None
            takes the array's own dtype.

    Returns:
        [...] storage (uint16 bits for bfloat16) and a name of `SUPPORTED`.

    Raises:
        ValueError: a dtype that cannot be compared, or `dtype` is not what the array
            can hold.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise ValueError("a masked array has no value under its mask: fill it first")
    storage, name = to_storage(array)
    if dtype is not None and dtype not in SUPPORTED:
        raise ValueError(
            f"no dtype named {dtype!r} to compare; known: {', '.join(SUPPORTED)}")
    if dtype is not None and name != dtype:
        storage, name = _reinterpret(storage, name, dtype), dtype
    if storage.dtype == np.dtype("V2"):
        raise ValueError(
            "two raw bytes an element can be bfloat16 or float16: say dtype='bfloat16'")
    if name not in SUPPORTED:
        raise ValueError(
            f"dtype {name} cannot be compared; known: {', '.join(SUPPORTED)}")
    return storage, name


def _reinterpret(storage: np.ndarray, name: str, dtype: str) -> np.ndarray:
    """View raw bits, given as unsigned integers or void, as what they stand for."""
    target = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    raw = storage.dtype.kind in "uV" and storage.dtype.names is None
    if not raw or storage.dtype.itemsize != target.itemsize:
        raise ValueError(
            f"the array holds {name}, which cannot be read as {dtype}; only raw bits "
            f"can: uint{8 * target.itemsize} or {target.itemsize}-byte void")
    if storage.dtype.kind == "u":
        target = target.newbyteorder(storage.dtype.byteorder)
    return storage.view(target)


def dtype_name(array: Any) -> str:
    """Return the dtype's name as ge_harness spells it.

    ml_dtypes' and TensorFlow's bfloat16 are both called "bfloat16".
    """
    return str(array.dtype.name if array.dtype.name != "void" else array.dtype.str)


def to_storage(array: Any) -> tuple[np.ndarray, str]:
    """Return an array that plain NumPy can hold, and the dtype name it stands for.

    Args:
        array: [...] any NumPy array; bfloat16 of any package is viewed as uint16.

    Returns:
        [...] the same bytes, and "bfloat16" or NumPy's name.
    """
    array = np.asarray(array)
    name = dtype_name(array)
    if name == "bfloat16":
        return array.view(np.uint16), name
    return array, name


def widen(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return the values as float64, exactly.

    Args:
        array: [...] storage of `dtype` (uint16 bits for bfloat16).
        dtype: a name of `FLOAT_FORMATS`, or any NumPy dtype name.

    Returns:
        [...] float64.
    """
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(array, dtype=np.uint16).astype(np.uint32)
        wide = (bits << np.uint32(16)).view(np.float32)
        array = wide.reshape(np.shape(array))
    with np.errstate(invalid="ignore"):  # a signaling NaN is widened to a quiet one
        return np.asarray(array).astype(np.float64)


def round_to(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round float64 values to `dtype`, to nearest, ties to even, in one rounding.

    Args:
        values: [...] float64 (anything narrower is widened first, exactly).
        dtype: a name of `FLOAT_FORMATS`, or any NumPy dtype name.

    Returns:
        [...] storage of `dtype`; overflow gives infinity, NaN stays NaN.
    """
    if dtype != "bfloat16":
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(values).astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        wide = np.asarray(values, dtype=np.float64)
        single = wide.astype(np.float32)
    # Round to odd first: a plain second rounding could turn a near-tie into a tie.
    bits = np.ascontiguousarray(single).view(np.uint32).reshape(wide.shape).copy()
    back = single.astype(np.float64)
    inexact = (back != wide) & np.isfinite(wide)
    with np.errstate(invalid="ignore"):
        away = np.abs(back) > np.abs(wide)
    bits = np.where(inexact & away, bits - np.uint32(1), bits)
    bits = np.where(inexact, bits | np.uint32(1), bits)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    out = (rounded >> np.uint32(16)).astype(np.uint16)
    nan = ((bits >> np.uint32(16)) | np.uint32(0x40)).astype(np.uint16)
    return np.where(np.isnan(wide), nan, out).astype(np.uint16)
