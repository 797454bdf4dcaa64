"""Tensor dumps of a run: tf_adapter.md section 7.4, tensor_dumps.md sections 3 to 5."""

from __future__ import annotations

import os
import re
import struct
import time

import numpy as np

from standin_adapter import state
from standin_adapter.graph import NAMES

# dtype -> (number in the dump, number inside GE)
_TYPES = {
    "float32": (1, 0), "float16": (2, 1), "int8": (3, 2), "uint8": (4, 4),
    "int16": (5, 6), "uint16": (6, 7), "int32": (7, 3), "int64": (8, 9),
    "uint32": (9, 8), "uint64": (10, 10), "bool": (11, 12), "float64": (12, 11),
    "bfloat16": (27, 27),
}
_ND = 2
_STARTED = time.strftime("%Y%m%d%H%M%S")


def wanted(options, step):
    """Return whether a session dumps a step."""
    if options.get("ge.exec.enableDump") != "1":
        return False
    parts = options.get("ge.exec.dumpStep", "")
    for part in parts.split("|") if parts else []:
        low, _, high = part.partition("-")
        if int(low) <= step <= int(high or low):
            return True
    return not parts


def write(options, model, step, items):
    """Write one file an operator: tensors, or their statistics.

    Args:
        options: of the session, and GE's init options for `dump_data`.
        model: name of the graph, as in its Build dump.
        step: counts from 0.
        items: (type, name, input arrays, output arrays, origin) of each operator;
            origin is the original node whose output it gives, "" for its own.
    """
    folder = os.path.join(
        options["ge.exec.dumpPath"], _STARTED,
        state.snapshot().get("ASCEND_DEVICE_ID") or "0", _plain(model), "1", str(step))
    os.makedirs(folder, exist_ok=True)
    mode = options.get("ge.exec.dumpMode", "output")
    layers = options.get("ge.exec.dumpLayer", "").split()
    for number, (kind, name, inputs, outputs, origin) in enumerate(items):
        if layers and name not in layers and origin not in layers:
            continue
        stamp = int(time.time() * 1000000)
        path = os.path.join(
            folder, f"{_plain(kind)}.{_plain(name)}.{number + 1}.1.{stamp}")
        chosen = (inputs if mode != "output" else [],
                  outputs if mode != "input" else [])
        if options.get("ge.exec.dumpData") == "stats":
            with open(path + ".csv", "w") as out:
                out.write(_statistics(*chosen))
            continue
        with open(path, "wb") as out:
            out.write(_file(name, origin, *chosen))


def _statistics(inputs, outputs):
    lines = ["Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,"
             "Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count"]
    for side, arrays in (("Input", inputs), ("Output", outputs)):
        for index, array in enumerate(arrays):
            shape = "x".join(str(axis) for axis in array.shape) or "-"
            cells = [side, index, array.nbytes, NAMES[array.dtype.name], "ND", shape]
            lines.append(",".join(str(cell) for cell in cells + _figures(array)))
    return "\n".join(lines) + "\n"


def _figures(array):
    if array.dtype.name == "bfloat16" or not array.size:
        return [""] * 7
    wide = array.astype(np.float64).reshape(-1)
    return [f"{float(value):g}" for value in (wide.max(), wide.min(), wide.mean())] + [
        wide.size, int(np.isnan(wide).sum()), int(np.isneginf(wide).sum()),
        int(np.isposinf(wide).sum())]


def _plain(text):
    return re.sub(r"[ ./\\]", "_", text)


def _file(name, origin, inputs, outputs):
    head = _text(1, "2.0") + _number(2, int(time.time() * 1000000))
    for index, array in enumerate(outputs):
        head += _block(3, _output(array, origin or name, index))
    for array in inputs:
        head += _block(4, _input(array))
    head += _text(6, name)
    body = b"".join(np.ascontiguousarray(array).tobytes()
                    for array in list(inputs) + list(outputs))
    return struct.pack("<Q", len(head)) + head + body


def _output(array, origin, index):
    outer, inner = _TYPES[array.dtype.name]
    shape = _shape(array)
    source = _text(1, origin) + _number(2, index) + _number(3, inner) + _number(4, _ND)
    return (_number(1, outer) + _number(2, _ND) + _block(3, shape) + _block(4, source)
            + _number(6, array.nbytes) + _block(7, shape) + _number(9, 4096))


def _input(array):
    shape = _shape(array)
    return (_number(1, _TYPES[array.dtype.name][0]) + _number(2, _ND) + _block(3, shape)
            + _number(5, array.nbytes) + _block(6, shape) + _number(8, 4096))


def _shape(array):
    return _block(1, b"".join(_varint(axis) for axis in array.shape))


def _varint(value):
    out = b""
    while True:
        out += bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
        value >>= 7
        if not value:
            return out


def _number(field, value):
    return _varint(field << 3) + _varint(value) if value else b""


def _block(field, data):
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field, text):
    return _block(field, text.encode("utf-8"))
