"""Arrays in chunks, so that mapped files larger than memory can be read."""

from __future__ import annotations

from typing import Iterator, Sequence

import numpy as np

BLOCK = 4096
"""Elements summed in one go; chunks are whole blocks, so sums do not depend on them."""

CHUNK = 32 * BLOCK
"""Elements taken at a time: 1 MiB of float64 an intermediate array."""


def chunks(arrays: Sequence[np.ndarray], *, keep_order: bool = True
           ) -> Iterator[tuple[int, tuple[np.ndarray, ...]]]:
    """Walk arrays of one shape side by side.

    Args:
        arrays: arrays of one shape and any layout or byte order.
        keep_order: arrays that are all Fortran-ordered are walked in their own order,
            as `walks_transposed` tells; False walks in C order always.

    Yields:
        (flat index of the first element, [n] part of each array).
    """
    if keep_order and walks_transposed(arrays):
        arrays = [array.T for array in arrays]
    flat = [_flat(array) for array in arrays]
    for start in range(0, arrays[0].size, CHUNK):
        stop = min(start + CHUNK, arrays[0].size)
        yield start, tuple(np.asarray(array[start:stop]) for array in flat)


def walks_transposed(arrays: Sequence[np.ndarray]) -> bool:
    """Tell whether `chunks` walks the arrays in Fortran order."""
    return all(array.flags.f_contiguous and not array.flags.c_contiguous
               for array in arrays)


def index_of(flat: int, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
    """Return the index of an element from its place in the walk of `chunks`."""
    shape = arrays[0].shape
    if walks_transposed(arrays):
        place = np.unravel_index(flat, shape[::-1])[::-1]
    else:
        place = np.unravel_index(flat, shape)
    return tuple(int(axis) for axis in place)


def _flat(array: np.ndarray) -> np.ndarray | np.flatiter:
    """Return a flat view, or an iterator whose slices copy no more than themselves."""
    if array.flags.c_contiguous:
        return np.asarray(array).reshape(-1)
    return array.flat
