"""The items of a data dump: descriptions of inputs, outputs, buffers and spaces.

Source: reference: tensor_dumps.md sections 4 (messages) and 5 (numbers of dtypes and
formats); graph_dumps.md section 3.4 for the other numbering of dtypes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Sequence

from dumps import dtypes
from dumps.errors import DumpError
from dumps.wire import Message

MOST_AXES = 64
_FORMAT_WORDS = (
    "NCHW NHWC ND NC1HWC0 FRACTAL_Z NC1C0HWPAD NHWC1C0 FSR_NCHW FRACTAL_DECONV C1HWNC0 "
    "FRACTAL_DECONV_TRANSPOSE FRACTAL_DECONV_SP_STRIDE_TRANS NC1HWC0_C04 FRACTAL_Z_C04 "
    "CHWN FRACTAL_DECONV_SP_STRIDE8_TRANS HWCN NC1KHKWHWC0 BN_WEIGHT FILTER_HWCK "
    "HASHTABLE_LOOKUP_LOOKUPS HASHTABLE_LOOKUP_KEYS HASHTABLE_LOOKUP_VALUE "
    "HASHTABLE_LOOKUP_OUTPUT HASHTABLE_LOOKUP_HITS C1HWNCoC0 MD NDHWC FRACTAL_ZZ "
    "FRACTAL_NZ NCDHW DHWCN NDC1HWC0 FRACTAL_Z_3D CN NC DHWNC FRACTAL_Z_3D_TRANSPOSE "
    "FRACTAL_ZN_LSTM FRACTAL_Z_G RESERVED ALL NULL ND_RNN_BIAS FRACTAL_ZN_RNN NYUV "
    "NYUV_A NCL FRACTAL_Z_WINO C1HWC0 FRACTAL_NZ_C0_16 FRACTAL_NZ_C0_32 "
    "FRACTAL_NZ_C0_2 FRACTAL_NZ_C0_4 FRACTAL_NZ_C0_8")
FORMATS = tuple(_FORMAT_WORDS.split())
# The fields that inputs and outputs share; buffers and spaces have 1 type, 3 size.
_INPUT = {"size": 5, "origin_shape": 6, "sub_format": 7, "address": 8}
_OUTPUT = {"size": 6, "origin_shape": 7, "sub_format": 8, "address": 9, "original": 4}
_BUFFER = {"size": 3}


@dataclass(frozen=True)
class OriginalOp:
    """The framework's operator that an output belongs to.

    Attributes:
        name: its name, "" where it is not given.
        index: which of its outputs.
        dtype: of that output, NumPy's word.
        format: of that output, e.g. "NHWC".
    """

    name: str
    index: int = 0
    dtype: str = ""
    format: str = ""


@dataclass(frozen=True)
class DataItem:
    """One input, output, buffer or space of a data dump.

    Attributes:
        kind: "input", "output", "buffer" or "space".
        index: number among its kind, from 0.
        dtype: NumPy's word, "bfloat16", or the compiler's own in lower case.
        raw_dtype: the dtype as the compiler spells it ("FLOAT16").
        format: the layout ("ND", "NC1HWC0"); a number where it is not known.
        shape: as dumped.
        origin_shape: in the original layout; () where it is not given, see
            `has_origin_shape`.
        has_origin_shape: whether the file gives the original shape.
        size: bytes.
        offset: first byte in the file.
        sub_format: groups of FRACTAL_Z_G and the like.
        address: on the device; 0 where there was none.
        original: the framework's operator, None where it is not given.
        problem: why the bytes cannot be read, "" where they can.
    """

    kind: str
    index: int
    dtype: str = "undefined"
    raw_dtype: str = "UNDEFINED"
    format: str = "NCHW"
    shape: tuple[int, ...] = ()
    origin_shape: tuple[int, ...] = ()
    has_origin_shape: bool = False
    size: int = 0
    offset: int = 0
    sub_format: int = 0
    address: int = 0
    original: OriginalOp | None = None
    problem: str = field(default="")


def count(shape: Sequence[int]) -> int:
    """Return the number of elements of a shape, exact for any claim."""
    total = 1
    for length in shape:
        total *= length
    return total


def format_name(number: int) -> str:
    """Return the layout of a number; its low byte is the layout proper."""
    primary = number & 0xFF
    return FORMATS[primary] if primary < len(FORMATS) else f"format_{primary}"


def read_item(message: Message, kind: str, index: int) -> DataItem:
    """Read OpInput, OpOutput, OpBuffer or Workspace.

    Raises:
        DumpError: malformed, or a size or shape that no tensor has.
    """
    places = {"input": _INPUT, "output": _OUTPUT}.get(kind, _BUFFER)
    values: dict[str, int] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    original: OriginalOp | None = None
    names = {number: name for name, number in places.items()}
    if kind in ("input", "output"):
        names.update({1: "data_type", 2: "format", 3: "shape"})
    for number, _, value, at in message.fields():
        name = names.get(number, "")
        if name in ("shape", "origin_shape"):
            shapes[name] = _shape(message.child(value, at))
        elif name == "original":
            original = _original(message.child(value, at))
        elif name:
            values[name] = message.number(value, at)
    size = values.get("size", 0)
    if size >= 1 << 63:
        raise DumpError(message.path, message.offset, f"a size of {size} bytes",
                        "less than 2^63")
    if kind not in ("input", "output"):
        return DataItem(kind, index, "uint8", "UINT8", "ND", (size,), size=size)
    number = values.get("data_type", 0)
    known = 0 <= number < len(dtypes.IR_NAMES)
    return DataItem(
        kind, index, dtypes.from_ir(number),
        dtypes.IR_NAMES[number] if known else f"number {number}",
        format_name(values.get("format", 0)), shapes.get("shape", ()),
        shapes.get("origin_shape", ()), "origin_shape" in shapes, size,
        sub_format=values.get("sub_format") or values.get("format", 0) >> 8 & 0xFFFF,
        address=values.get("address", 0),
        original=original)


def _shape(message: Message) -> tuple[int, ...]:
    dims: list[int] = []
    for number, _, value, at in message.fields():
        if number != 1:
            continue
        if not isinstance(value, int) and len(value) > 10 * MOST_AXES:
            raise DumpError(message.path, at, f"{len(value)} bytes of dimensions",
                            f"at most {MOST_AXES} dimensions")
        dims += message.varints(value, at)
        if len(dims) > MOST_AXES:
            raise DumpError(message.path, at, f"more than {MOST_AXES} dimensions",
                            f"at most {MOST_AXES}")
    large = [length for length in dims if length >= 1 << 62]
    if large:
        raise DumpError(message.path, message.offset, f"a dimension of {large[0]}",
                        "less than 2^62 (no negative one)")
    return tuple(dims)


def _original(message: Message) -> OriginalOp:
    name, index, dtype, layout = "", 0, 0, 0
    for number, _, value, at in message.fields():
        if number == 1:
            name = message.text(value, at)
        elif number == 2:
            index = message.number(value, at)
        elif number == 3:
            dtype = message.number(value, at)
        elif number == 4:
            layout = message.number(value, at)
    return OriginalOp(name, index, dtypes.from_internal(dtype), format_name(layout))
