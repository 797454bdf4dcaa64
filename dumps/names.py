"""What the name of a dump file says: format, serial number, graph id, stage, process.

Source: reference graph_dumps.md sections 1.3 (folders), 1.4 (files of GE), 1.5 (files
of the TensorFlow adapter), 6.3 (AscGraph files).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dumps import stages

_GE = re.compile(
    r"ge_(?P<format>proto|onnx|readable)_(?P<serial>\d{1,18})(?P<aclop>_aclop)?"
    r"(?:_graph_(?P<graph>\d{1,18}))?_(?P<suffix>.+)\.(?:txt|pbtxt)", re.DOTALL)
_ASC = re.compile(r"ascgraph_(?P<serial>\d{1,18})_(?P<suffix>.+?)"
                  r"(?:_(?P<graph>\d{1,18}))?\.txt", re.DOTALL)
# <graph>.<counter>.<stage>.pbtxt of the 2.x adapter.
_TF2 = re.compile(r"(?P<owner>.+)\.(?P<serial>\d{1,18})\.(?P<suffix>[^.]+)\.pbtxt",
                  re.DOTALL)
# <stage>_<n>.pbtxt of the 1.x adapter.
_TF1 = re.compile(
    r"(?P<suffix>(?:TF_)?(?:Before|After)[A-Za-z]\w*?|[A-Za-z]\w*?_(?:dp|Add_Input))"
    r"_(?P<serial>\d{1,18})\.pbtxt", re.DOTALL)
_TF_OTHER = re.compile(
    r"(?P<suffix>TF_.+|dp_provider_.+|dp_init_.+|.+_subgraph_.+|.+_graph)\.pbtxt",
    re.DOTALL)
_PROCESS = re.compile(r"(?:pid_)?(\d{1,18})_(?:deviceid_)?(\d{1,9})")
_ASC_PROCESS = re.compile(r"ascgen_dump_pid_(\d{1,18})")
_PARTITION = re.compile(r"(?P<owner>.*?partition(?P<partition>\d+)_rank(?P<rank>\d+)_"
                        r"(?:new_sub_graph\d+|inputNodeGraph))_(?P<mode>.+)", re.DOTALL)
_FORMATS = {"proto": "ge_proto", "onnx": "ge_onnx", "readable": "readable"}


@dataclass(frozen=True)
class DumpName:
    """A file name taken apart.

    Attributes:
        format: "ge_proto", "ge_onnx", "readable", "ascgraph" or "tf_pbtxt".
        serial: the file's number; counted per format, so it pairs nothing across them.
        suffix: the stage as the file name spells it.
        graph_id: id of the graph, None where the name has none.
        owner: name of the graph where the file name carries it, else "".
        is_aclop: written by a single-operator call.
        pid: process that wrote it, None where no folder says so.
        device: device of that process, None likewise.
    """

    format: str
    serial: int
    suffix: str
    graph_id: int | None = None
    owner: str = ""
    is_aclop: bool = False
    pid: int | None = None
    device: int | None = None

    @property
    def stage(self) -> str:
        """The stage in one spelling: old and new names of one slot are the same."""
        return stages.find(self.suffix).name

    @property
    def is_subgraph(self) -> bool:
        """Whether the stage was written for a subgraph."""
        return stages.find(self.suffix).is_subgraph or bool(self.owner)

    @property
    def order(self) -> tuple[str, int, int, int, int]:
        """Sort key: format, process, device, serial number, graph id."""
        return (self.format, -1 if self.pid is None else self.pid,
                -1 if self.device is None else self.device, self.serial,
                -1 if self.graph_id is None else self.graph_id)


def parse(path: str | Path) -> DumpName | None:
    """Take a dump's file name and folders apart.

    Args:
        path: the file; it need not exist. A ".gz" at the end is passed over.

    Returns:
        What the name says, None where it is no name of a graph dump.
    """
    path = Path(path)
    name = path.name[:-3] if path.name.endswith(".gz") else path.name
    pid, device = process_of(path)
    match = _GE.fullmatch(name)
    if match:
        suffix = match["suffix"]
        owner = _PARTITION.fullmatch(suffix)
        return DumpName(
            _FORMATS[match["format"]], int(match["serial"]), suffix,
            _number(match["graph"]), owner["owner"] if owner else "",
            match["aclop"] is not None or suffix.startswith("aclop_graph_"),
            pid, device)
    match = _ASC.fullmatch(name)
    if match:
        return DumpName("ascgraph", int(match["serial"]), match["suffix"],
                        _number(match["graph"]), pid=pid, device=device)
    match = _TF2.fullmatch(name) or _TF1.fullmatch(name)
    if match:
        owner_name = match.groupdict().get("owner") or ""
        return DumpName("tf_pbtxt", int(match["serial"]), match["suffix"],
                        owner=owner_name, pid=pid, device=device)
    match = _TF_OTHER.fullmatch(name)
    if match:
        return DumpName("tf_pbtxt", 0, match["suffix"], pid=pid, device=device)
    return None


def process_of(path: str | Path) -> tuple[int | None, int | None]:
    """Return process and device from the nearest folder that names them."""
    for folder in reversed(Path(path).parts[:-1]):
        match = _PROCESS.fullmatch(folder)
        if match:
            return int(match.group(1)), int(match.group(2))
        match = _ASC_PROCESS.fullmatch(folder)
        if match:
            return int(match.group(1)), None
    return None, None


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
