"""Writes what GE's data dump would write of a run: every kernel's inputs and outputs.

Names, folders and bytes are GE's; times count kernels from the year 2000, so that equal
runs write equal files.

Source: reference: tensor_dumps.md sections 2 to 4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Iterable

import numpy as np

from dumps.data_dump_items import DataItem
from dumps.data_dump_write import Part, file_name, pack, raw_dtype
from dumps.data_names import escape
from ge_harness.backends.emulator.execute import Values
from ge_harness.backends.emulator.ir import AscRegion, Kernel, Port
from ge_harness.compare.operator_files import LABEL
from ge_harness.interpreter.value import Tensor

_STARTED = "20000101000000"
_STARTED_US = 946684800 * 1000000
_ADDRESS = 4096
_DEVICE, _MODEL, _STEP = "0", "1", "0"


class KernelDump:
    """Writes a file for each kernel that it is told of.

    Attributes:
        folder: where the files go.
    """

    def __init__(self, root: Path, graph: str, label: str) -> None:
        """Prepare the folders of the first step of a graph.

        Args:
            root: the dump path, as GE is told it.
            graph: name of the graph.
            label: stands in every file, so that none is taken for a device's.
        """
        self.folder = (root / _STARTED / _DEVICE / escape(graph) / _MODEL / _STEP)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._count = 0
        self._label = label

    def __call__(self, kernel: Kernel, read: Values, given: Values) -> None:
        """Write the tensors of one kernel.

        Args:
            kernel: an operator or a fused kernel.
            read: port -> tensor, of its inputs at least.
            given: port -> tensor, its outputs.
        """
        if isinstance(kernel, AscRegion):
            outputs = kernel.outputs
        else:
            outputs = tuple(Port(kernel.name, index)
                            for index in range(len(kernel.outputs)))
        self._count += 1
        time_us = _STARTED_US + self._count
        parts = [*_parts("input", (read.get(port) for port in kernel.inputs)),
                 *_parts("output", (given.get(port) for port in outputs))]
        name = file_name(kernel.type, kernel.name, (self._count, 1, time_us))
        (self.folder / name).write_bytes(pack(
            parts, kernel.name, time_us, [(LABEL, self._label)]))


def _parts(kind: str, tensors: Iterable[Tensor | None]) -> list[Part]:
    """Return an item for each tensor; one of no bytes for what is not in memory."""
    found = []
    for index, tensor in enumerate(tensors):
        if tensor is None:
            found.append((DataItem(kind, index), b""))
            continue
        array = np.ascontiguousarray(tensor.array)
        shape = tuple(np.shape(tensor.array))
        dtype = array.dtype.name if tensor.is_wide else tensor.dtype
        found.append((DataItem(
            kind, index, dtype, raw_dtype(dtype), "ND", shape, shape, True,
            array.nbytes, address=_ADDRESS), array.tobytes()))
    return found
