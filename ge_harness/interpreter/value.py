"""Tensors inside the interpreter, and rounding between formats.

A tensor is an array plus the dtype it stands for. The array may be wider than the dtype
(float64 under the reference policy, float32 inside a fused region): the dtype says what
TensorFlow would hold there, the array what the policy keeps. bfloat16 that is really
rounded is uint16 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ge_harness.compare.dtypes import round_to

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = FLOATS + INTEGERS + ("bool",)


class Tensor(NamedTuple):
    """What an edge of the graph carries.

    Attributes:
        array: [...] values; uint16 bits where `dtype` is bfloat16 and it is rounded.
        dtype: TensorFlow's dtype of the edge, a name of `DTYPES`.
    """

    array: np.ndarray
    dtype: str

    @property
    def is_bits(self) -> bool:
        """Whether the array holds bfloat16 bits."""
        return bool(self.dtype == "bfloat16" and self.array.dtype == np.uint16)

    @property
    def is_wide(self) -> bool:
        """Whether the array keeps more than `dtype` could."""
        return bool(self.dtype in FLOATS and not self.is_bits
                    and self.array.dtype.name != self.dtype)


def is_float(dtype: str) -> bool:
    """Return whether a dtype is one of the four floating-point formats."""
    return dtype in FLOATS


def values(tensor: Tensor, dtype: str) -> np.ndarray:
    """Return the values of a float tensor as float32 or float64.

    Args:
        tensor: of a float dtype.
        dtype: "float32" or "float64"; narrowing rounds.
    """
    array = tensor.array
    if tensor.is_bits:
        bits = np.asarray(array, dtype=np.uint32) << np.uint32(16)
        array = np.ascontiguousarray(bits).view(np.float32).reshape(array.shape)
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype, copy=False)


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """Round float values to `dtype`, to nearest even, in one rounding.

    Args:
        array: [...] float32 or float64.
        dtype: of `FLOATS`.

    Returns:
        [...] storage of `dtype`; uint16 bits for bfloat16.
    """
    if dtype != "bfloat16":
        with np.errstate(all="ignore"):
            return np.asarray(array).astype(dtype, copy=False)
    if array.dtype != np.float32:
        return round_to(array, dtype)
    bits = np.ascontiguousarray(array).view(np.uint32).reshape(array.shape)
    up = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    half = ((bits + up) >> np.uint32(16)).astype(np.uint16)
    quiet = ((bits >> np.uint32(16)) | np.uint32(0x40)).astype(np.uint16)
    return np.where(np.isnan(array), quiet, half)


def flushed(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return values with the subnormals of their arithmetic as signed zeros.

    Args:
        array: [...] float32 or float64.
        dtype: dtype of the tensor. Only float64's own arithmetic has float64's
            subnormals; all others are done in float32.
    """
    smallest = 2.0 ** (-1022 if dtype == "float64" else -126)
    with np.errstate(invalid="ignore"):
        tiny = np.abs(array) < array.dtype.type(smallest)
    return np.where(tiny, np.copysign(array.dtype.type(0), array), array)


def storage_dtype(dtype: str) -> np.dtype:
    """Return the NumPy dtype of rounded storage."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)
