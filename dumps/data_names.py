r"""What the names of data-dump files say: operator, task, stream, time, item.

Names are lossy: blank, ".", "/" and "\" of an operator's name are "_" in them, and a
name that is too long is a number that `mapping.csv` of the same folder explains.

Source: reference: tensor_dumps.md sections 3 and 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dumps.errors import DumpError
from dumps.source import shown

MAPPING = "mapping.csv"
OVERFLOW_TYPE = "Opdebug"
IO_WORDS = ("input", "output")
_ESCAPED = str.maketrans(dict.fromkeys(" ./\\", "_"))
# <op type>.<op name>.<task>.<stream>.<time>[.<task type>.<context>.<thread>.<device>]
_DUMP = re.compile(
    r"(?P<type>[^.]+)\.(?P<op>.+)\.(?P<task>\d{1,10})\.(?P<stream>\d{1,10})\."
    r"(?P<time>\d{10,20})(?:\.(?P<kind>\d{1,10})\.(?P<context>\d{1,10})\."
    r"(?P<thread>\d{1,10})\.(?P<device>\d{1,10}))?", re.DOTALL)
_EXCEPTION = re.compile(r"exception_info\.(?P<stream>\d{1,10})\.(?P<task>\d{1,10})\."
                        r"(?P<time>\d{10,20})")
# The vendor's converter: <dump>.<io>.<index>[.<AxBxC> or .<FORMAT>].npy
_ITEM = re.compile(r"(?P<owner>.+)\.(?P<io>input|output)\.(?P<index>\d{1,6})"
                   r"(?:\.(?:\d+(?:x\d+)*|[A-Z][A-Z0-9_]*))?", re.DOTALL)
# What the golden side of a TensorFlow comparison is called.
_GOLDEN = re.compile(r"(?P<op>.+)\.(?P<index>\d{1,6})\.(?P<time>\d{10,20})", re.DOTALL)
_HASHED = re.compile(r"\d{5,20}")
_LARGEST_MAPPING = 16 << 20


@dataclass(frozen=True)
class DataName:
    """The name of a data-dump file taken apart.

    Attributes:
        op_type: type of the operator as escaped; "" where the name has none.
        op_name: name of the operator as escaped; "" where only the header has it.
        task_id: task that wrote it, -1 where the name has none.
        stream_id: stream of the task, -1 likewise.
        time_us: microseconds since the epoch, 0 where the name has none.
        context_id: of a task that was cut into threads, -1 for others.
        thread_id: which thread, -1 for others.
        io: "input" or "output" of a converted file, "" for a whole dump.
        index: number of the input or output, 0 for a whole dump.
    """

    op_type: str
    op_name: str
    task_id: int = -1
    stream_id: int = -1
    time_us: int = 0
    context_id: int = -1
    thread_id: int = -1
    io: str = ""
    index: int = 0

    @property
    def order(self) -> tuple[int, int, int]:
        """Sort key of dumps of one operator: thread, time, context.

        Threads run beside each other, so their times tell nothing of which is which.
        """
        return self.thread_id, self.time_us, self.context_id


def escape(name: str) -> str:
    """Return an operator's name as the names of dump files spell it."""
    return name.translate(_ESCAPED)


def parse(name: str) -> DataName | None:
    """Take the name of a dump file apart.

    Args:
        name: without its folder.

    Returns:
        What it says; None where it is no such name.
    """
    match = _DUMP.fullmatch(name)
    if match:
        return DataName(
            match["type"], escape(match["op"]), int(match["task"]),
            int(match["stream"]), int(match["time"]), _number(match["context"]),
            _number(match["thread"]))
    match = _EXCEPTION.fullmatch(name)
    if match:
        return DataName("", "", int(match["task"]), int(match["stream"]),
                        int(match["time"]))
    return None


def parse_converted(stem: str) -> DataName | None:
    """Take the name of a converted dump apart, or that of a golden tensor.

    Args:
        stem: name of a .npy without folder and ".npy".

    Returns:
        What it says, with `io` and `index`; None where it says no operator.
    """
    match = _ITEM.fullmatch(stem)
    if match:
        owner = parse(match["owner"]) or _msnpy(match["owner"])
        found = owner or DataName("", escape(match["owner"]))
        return DataName(
            found.op_type, found.op_name, found.task_id, found.stream_id,
            found.time_us, found.context_id, found.thread_id, match["io"],
            int(match["index"]))
    match = _GOLDEN.fullmatch(stem)
    if match and parse(stem) is None:
        return DataName("", escape(match["op"]), time_us=int(match["time"]),
                        io="output", index=int(match["index"]))
    return None


def is_hashed(name: str) -> bool:
    """Say whether a name can be the number that stands for a long one."""
    return _HASHED.fullmatch(name) is not None


def read_mapping(folder: str | Path) -> dict[str, str]:
    """Return new name -> original name from a folder's mapping.csv.

    Returns:
        Nothing where there is no such file. Lines that are no pair are passed over.

    Raises:
        DumpError: the file cannot be read, or is too large.
    """
    path = Path(folder) / MAPPING
    try:
        if not path.is_file():
            return {}
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_MAPPING + 1)
    except OSError as error:
        raise DumpError(path, 0, shown(error.strerror or str(error)),
                        "a readable file") from error
    if len(data) > _LARGEST_MAPPING:
        raise DumpError(path, 0, f"more than {_LARGEST_MAPPING:,} bytes",
                        "a list of file names")
    found: dict[str, str] = {}
    for line in data.decode("utf-8", "surrogateescape").splitlines():
        new, comma, original = line.partition(",")
        if comma and new.strip() and original.strip():
            found[new.strip()] = original.strip()
    return found


def _msnpy(owner: str) -> DataName | None:
    """Take the converter's other spelling apart: a part of the name is inserted."""
    head, _, _ = owner.rpartition(".")
    return parse(head) if head else None


def _number(text: str | None) -> int:
    return -1 if text is None else int(text)
