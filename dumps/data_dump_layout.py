"""Device layouts turned into the framework's, where that is documented and exact.

Padding is cut off, because only some writers fill it. What is not sure (two original
layouts fit the shape) is refused with the reason, never guessed.

Source: reference: tensor_dumps.md section 5, "Layout to plain".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import numpy as np

from dumps.data_dump_items import count

LARGEST_BYTES = 2 << 30
"""Larger tensors are not converted: that takes a copy in memory."""

PLAIN = ("NCHW", "NHWC", "HWCN")
_UNTOUCHED = frozenset((*PLAIN, "ND", "NCDHW", "NDHWC", "DHWCN", "NC", "NCL", ""))
_DUMPED = {
    "NC1HWC0": ("N", "C1", "H", "W", "C0"),
    "NDC1HWC0": ("N", "D", "C1", "H", "W", "C0"),
    "FRACTAL_Z": ("C1", "H", "W", "N1", "N0", "C0"),
}
_TARGETS = {"NC1HWC0": ("NCHW", "NHWC"), "NDC1HWC0": ("NCDHW", "NDHWC"),
            "FRACTAL_Z": ("NCHW", "HWCN")}


@dataclass(frozen=True)
class Plain:
    """A tensor in the framework's layout.

    Attributes:
        array: [...] its elements.
        format: the layout it has now; the dumped one where it was not converted.
        refused: why it was not converted, "" where it was or needed no conversion.
    """

    array: np.ndarray
    format: str
    refused: str = ""


def to_plain(array: np.ndarray, format: str, origin_shape: Sequence[int] | None,
             origin_format: str = "", groups: int = 0) -> Plain:
    """Return a tensor in its original layout and shape.

    Args:
        array: [...] as dumped.
        format: the dumped layout.
        origin_shape: shape in the original layout, None where it is not known.
        origin_format: the original layout, "" where it is not known.
        groups: of a convolution's filter; several lie in another order.

    Returns:
        A copy in the original layout; the array itself where it has it already, or
        where `refused` says why not.
    """
    if format in _UNTOUCHED:
        return Plain(array, format)
    if format != "FRACTAL_NZ" and format not in _DUMPED:
        return Plain(array, format, f"no exact conversion of {format} is documented")
    if origin_shape is None:
        return Plain(array, format, f"{format} without its original shape")
    if array.nbytes > LARGEST_BYTES:
        return Plain(array, format, f"{array.nbytes} bytes of {format} take a copy")
    if format == "FRACTAL_Z" and groups > 1:
        return Plain(array, format, f"no exact conversion of {format} of {groups} "
                     "groups is documented")
    try:
        return _turned(array, format, tuple(origin_shape), origin_format)
    except ValueError as error:  # more axes or elements than NumPy holds
        return Plain(array, format, f"original shape {list(origin_shape)}: {error}")


def between(array: np.ndarray, format: str, wanted: str) -> np.ndarray | None:
    """Return a view of a tensor in another plain layout; None where that is unknown.

    Args:
        array: [four axes] in `format`.
        format: one of `PLAIN`.
        wanted: one of `PLAIN`.
    """
    if format == wanted:
        return array
    if format not in PLAIN or wanted not in PLAIN or array.ndim != 4:
        return None
    return array.transpose([format.index(axis) for axis in wanted])


def _turned(array: np.ndarray, format: str, shape: tuple[int, ...],
            origin_format: str) -> Plain:
    """Turn a layout back where exactly one original layout fits."""
    if format == "FRACTAL_NZ":
        return _from_nz(array, shape, origin_format)
    fits = [each for each in _TARGETS[format]
            if _fits(array.shape, format, each, shape)]
    if origin_format in fits:
        fits = [origin_format]
    if len(fits) != 1:
        several = f"{' and '.join(fits)} both fit" if fits else "does not fit"
        return Plain(array, format, f"original shape {list(shape)} {several}, {format} "
                     f"is {list(array.shape)}")
    return Plain(_convert(array, format, fits[0], shape), fits[0])


def _from_nz(array: np.ndarray, shape: tuple[int, ...], origin_format: str) -> Plain:
    dumped = array.shape
    sound = len(dumped) >= 4 and len(shape) >= 2 and count(dumped[:-4]) == count(
        shape[:-2])
    if sound:
        outer_c, outer_n, inner_n, inner_c = dumped[-4:]
        sound = (_covers(outer_n, inner_n, shape[-2])
                 and _covers(outer_c, inner_c, shape[-1]))
    if not sound:
        return Plain(array, "FRACTAL_NZ", f"original shape {list(shape)} does not fit, "
                     f"FRACTAL_NZ is {list(dumped)}")
    blocks = array.reshape((count(dumped[:-4]), *dumped[-4:])).transpose(0, 2, 3, 1, 4)
    rows = blocks.reshape(blocks.shape[0], outer_n * inner_n, outer_c * inner_c)
    found = rows[:, :shape[-2], :shape[-1]].reshape(shape)
    known = bool(origin_format) and origin_format in _UNTOUCHED
    return Plain(found, origin_format if known else "ND")


def _fits(dumped: tuple[int, ...], format: str, target: str, shape: tuple[int, ...]
          ) -> bool:
    """Say whether an original shape in a layout gives the dumped shape."""
    if len(shape) != len(target):
        return False
    length = dict(zip(target, shape))
    if format == "FRACTAL_Z":
        if len(dumped) != 4 or not length["H"] * length["W"]:
            return False
        outer, left = divmod(dumped[0], length["H"] * length["W"])
        return (not left and _covers(dumped[1], dumped[2], length["N"])
                and _covers(outer, dumped[3], length["C"]))
    if len(dumped) != len(_DUMPED[format]):
        return False
    found = dict(zip(_DUMPED[format], dumped))
    return (_covers(found["C1"], found["C0"], length["C"])
            and all(found[axis] == length[axis] for axis in target if axis != "C"))


def _covers(outer: int, inner: int, length: int) -> bool:
    """Say whether `length` elements are padded to `outer` blocks of `inner`."""
    return inner > 0 and outer == -(-length // inner)


def _convert(array: np.ndarray, format: str, target: str, shape: tuple[int, ...]
             ) -> np.ndarray:
    axes = _DUMPED[format]
    if format == "FRACTAL_Z":
        length = dict(zip(target, shape))
        area = length["H"] * length["W"]
        array = array.reshape((array.shape[0] // area, length["H"], length["W"],
                               *array.shape[1:]))
    order, lengths = [], []
    for axis in target:
        parts = [axis] if axis in axes else [f"{axis}1", f"{axis}0"]
        places = [axes.index(part) for part in parts]
        order += places
        lengths.append(count([array.shape[place] for place in places]))
    whole = array.transpose(order).reshape(lengths)
    return whole[tuple(slice(0, length) for length in shape)]
