"""Two tensors of operators brought into one layout, where that is documented and exact.

Source: reference: tensor_dumps.md sections 5 ("Layout to plain") and 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dumps.data_dump_layout import PLAIN, Plain, between, to_plain
from ge_harness.compare.dtypes import Storage
from ge_harness.compare.operator_files import DumpTensor, Tensor

_ANY = ("", "ND")
_LAYOUTS = (*PLAIN, "NCDHW", "NDHWC", "DHWCN", "NC", "NCL", *_ANY)


@dataclass(frozen=True)
class Aligned:
    """Two tensors that can be compared element by element, or why they cannot.

    Attributes:
        a: side A.
        b: side B.
        notes: what was converted.
        refused: why they are in no common layout, "" where they are.
        is_raw: what the dtype stands for is not known here: bits only.
    """

    a: Storage
    b: Storage
    notes: tuple[str, ...] = ()
    refused: str = ""
    is_raw: bool = False


@dataclass(frozen=True)
class _Side:
    """One loaded tensor: array, dtype, layout, notes, why it was not converted."""

    array: np.ndarray
    dtype: str
    format: str
    notes: tuple[str, ...] = ()
    refused: str = ""
    is_raw: bool = False


def align(a: Tensor, b: Tensor, dtype: str | None) -> Aligned:
    """Load two tensors and bring them into one layout.

    Args:
        a: side A.
        b: side B.
        dtype: what raw bits of .npy files stand for, None where not told.

    Raises:
        UsageError: one cannot be read.
    """
    left, right = _load(a, dtype), _load(b, dtype)
    notes = (*left.notes, *right.notes)
    left, right, extra = _without_scalar_axis(left, right)
    notes += extra
    one, other = (_layout(side) for side in (left, right))
    refused = ""
    if one == other and left.refused:
        notes += (f"compared as stored, padding included: {left.refused}",)
    elif left.refused or right.refused:
        refused = (f"layout {one or 'not known'} against {other or 'not known'}: "
                   f"{left.refused or right.refused}")
    elif one != other and one not in _ANY and other not in _ANY:
        turned = between(left.array, one, other)
        if turned is not None:
            left = _Side(turned, left.dtype, other, is_raw=left.is_raw)
            notes += (f"side A turned from {one} to {other}",)
        elif left.array.ndim == right.array.ndim:
            refused = f"layout {one} against {other}: no conversion is documented"
    return Aligned((left.array, left.dtype), (right.array, right.dtype),
                   tuple(dict.fromkeys(notes)), refused, left.is_raw or right.is_raw)


def plain(tensor: Tensor, dtype: str | None) -> tuple[Storage, tuple[str, ...]]:
    """Load one tensor in its original layout.

    Raises:
        UsageError: it cannot be read.
    """
    found = _load(tensor, dtype)
    notes = (found.refused,) if found.refused else ()
    return (found.array, found.dtype), (*found.notes, *notes)


def _layout(side: _Side) -> str:
    """Return a tensor's layout; one of four axes means nothing for another number."""
    named = side.format in _LAYOUTS and side.format not in _ANY
    if named and len(side.format) != side.array.ndim:
        return "ND"
    return side.format


def _load(tensor: Tensor, dtype: str | None) -> _Side:
    if not isinstance(tensor, DumpTensor):
        (array, name), notes = tensor.load(dtype)
        return _Side(array, name, "", notes)
    loaded = tensor.loaded()
    item = tensor.item
    shape = tensor.origin_shape
    if item.has_origin_shape:
        shape = item.origin_shape
    origin = tensor.origin_format
    # A format that the file leaves out reads as NCHW: that proves nothing.
    if not origin and item.original is not None and item.original.format != "NCHW":
        origin = item.original.format
    found: Plain = to_plain(loaded.array, item.format, shape, origin, item.sub_format)
    notes = (*loaded.notes, *(f"{Path(tensor.dump.path).name}: {note}"
                              for note in tensor.dump.notes))
    if found.format != item.format:
        notes += (f"{tensor.name}: {item.format} {list(loaded.array.shape)} turned "
                  f"into {found.format} {list(found.array.shape)}",)
    return _Side(found.array, loaded.dtype, found.format, notes, found.refused,
                 loaded.is_raw)


def _without_scalar_axis(a: _Side, b: _Side
                         ) -> tuple[_Side, _Side, tuple[str, ...]]:
    """Take the axis off that converters give to scalars."""
    shapes = (a.array.shape, b.array.shape)
    if shapes == ((), (1,)) and not b.format:
        b = _Side(b.array.reshape(()), b.dtype, "", is_raw=b.is_raw)
    elif shapes == ((1,), ()) and not a.format:
        a = _Side(a.array.reshape(()), a.dtype, "", is_raw=a.is_raw)
    else:
        return a, b, ()
    return a, b, ("a converted scalar has one axis of length 1, taken off",)
