"""AscGraphs: the operators of one AutoFuse kernel, serialized or as debug text.

The serialized form (text of AscGraphDef, alone or in the attribute `ascgraph` of an
AutoFuse node) has dtypes in GE's internal numbering. The debug texts come in three
dialects, which `dumps.asctext` reads. The chain of types with their dtypes shows where
values are widened and rounded back.

Source: reference graph_dumps.md sections 6.1 to 6.3.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dumps import asctext, dtypes, ge_tree, textproto
from dumps.errors import DumpError
from dumps.outline import count_outside_strings
from dumps.records import (
    DumpGraph,
    DumpNode,
    Edge,
    NodeDetail,
    TensorDesc,
    WarningLog,
)
from dumps.source import MAX_BYTES, check_text, load, shown
from dumps.textproto import Message

FORMAT = "ascgraph"
_PROTO = re.compile(rb"(?:^|[\s{}<>;,])asc_(?:graph_attr|node)\s*(?::\s*)?[{<]")
_NODE = re.compile(rb"(?:^|[\s{}<>;,])asc_node\s*(?::\s*)?[{<]")


def read(path: str | Path, *, max_bytes: int = MAX_BYTES) -> DumpGraph:
    """Read an AscGraph.

    Raises:
        DumpError: the file cannot be read, is too large, or holds no AscGraph.
    """
    return parse(load(path, max_bytes), path)


def parse(data: bytes, path: object) -> DumpGraph:
    """Read the text of an AscGraph in any form; `path` is for messages.

    Raises:
        DumpError: the text holds no AscGraph.
    """
    log = WarningLog(path)
    data = check_text(data, path)
    graph: DumpGraph | None
    if _PROTO.search(data):
        graph = _from_proto(data, log)
    else:
        graph = asctext.parse(data.decode("utf-8", "replace"), log)
    if graph is None:
        raise DumpError(path, 1, shown(data.lstrip()[:80].split(b"\n")[0]),
                        "an AscGraph (asc_node {, or a block Nodes:)")
    graph.check_references()
    return graph


def of_node(node: DumpNode, path: object = "") -> DumpGraph | None:
    """Return the AscGraph in a node's attribute `ascgraph`, None where it has none."""
    text = node.attributes.get("ascgraph")
    if isinstance(text, str) and text:
        text = text.encode("utf-8", "surrogateescape")
    if not isinstance(text, bytes) or not text:
        return None
    return _from_proto(text, WarningLog(path))


def _from_proto(data: bytes, log: WarningLog) -> DumpGraph:
    whole = textproto.parse(data, log.path, log)
    pending = whole.messages("asc_node")[::-1]
    nodes = []
    while pending:
        item = pending.pop()
        nodes.append(_node(item, log))
        if item.messages("asc_node"):
            log.add(item.line, "operator not closed")
            pending.extend(item.messages("asc_node")[::-1])
    lost = count_outside_strings(_NODE, data) - len(nodes)
    if lost > 0:
        log.lose(1, lost, "their text is damaged beyond reading")
    for key in whole.names():
        if key not in ("asc_graph_attr", "asc_node", "graph_name"):
            log.unknown[key] += len(whole.all(key))
    about = whole.message("asc_graph_attr") or Message()
    attributes: dict[str, Any] = {key: ge_tree.plain(about.scalar(key) or b'""')
                                  for key in ("tiling_key", "type")
                                  if about.scalar(key) is not None}
    attributes["axis"] = tuple(_axis(axis) for axis in about.messages("axis"))
    attributes["size_var"] = tuple(ge_tree.tree(each)
                                   for each in about.messages("size_var"))
    return DumpGraph(whole.text("graph_name"), log.path, FORMAT, nodes,
                     outputs=_outputs(nodes), log=log, attributes=attributes)


def _axis(axis: Message) -> dict[str, Any]:
    """Return an axis; numbers left out are zero, sizes are text."""
    return {"id": axis.integer("id"), "name": axis.text("name"),
            "axis_type": axis.text("axis_type", "0"), "size": axis.text("size"),
            "align": axis.text("align"), "from": tuple(axis.integers("from"))}


def _outputs(nodes: list[DumpNode]) -> tuple[Edge, ...]:
    return tuple(edge for node in nodes if node.type == "Output"
                 for edge in node.inputs if edge is not None)


def _node(item: Message, log: WarningLog) -> DumpNode:
    about = item.message("attr") or Message(item.line)
    name, kind = about.text("name"), about.text("type")
    if not name or not kind:
        log.add(item.line, "operator without a name or a type")
    inputs: list[Edge | None] = []
    for source in item.messages("input_src"):
        producer = source.text("src_node_name")
        index = source.integer("src_out_index")
        inputs.append(Edge(producer, index) if producer else None)
    return DumpNode(name, kind, tuple(inputs), (), item.line,
                    lambda: _detail(item, about, log))


def _detail(item: Message, about: Message, log: WarningLog) -> NodeDetail:
    values: dict[str, Any] = {}
    sched, api = about.message("sched"), about.message("api")
    if sched is not None:
        values["exec_order"] = sched.integer("exec_order")
        values["axis"] = tuple(sched.integers("axis"))
        values["loop_axis"] = sched.integer("loop_axis")
    if api is not None:
        values["api"] = {key: api.integer(key)
                         for key in ("type", "compute_type", "unit")}
    own = about.message("ir_attr_def")
    if own is not None:
        values["ir_attr"] = dict(ge_tree.attributes(own, log))
    if about.messages("tmp_buffers"):
        values["tmp_buffers"] = tuple(ge_tree.tree(each)
                                      for each in about.messages("tmp_buffers"))
    descs = tuple(_desc(output.message("attr") or output)
                  for output in item.messages("outputs"))
    return NodeDetail(values, (), descs)


def _desc(tensor: Message) -> TensorDesc:
    number = tensor.integer("dtype")
    repeats = tuple(tensor.texts("repeats"))
    more: dict[str, Any] = {
        "axis_ids": tuple(tensor.integers("axis_ids")), "repeats": repeats,
        "strides": tuple(tensor.texts("strides")),
        "vectorized_axis": tuple(tensor.integers("vectorized_axis")),
        "vectorized_strides": tuple(tensor.texts("vectorized_strides"))}
    for key in ("mem", "que", "buf", "opt"):
        place = tensor.message(key)
        if place is not None:
            more[key] = ge_tree.tree(place)
    return TensorDesc(dtypes.from_internal(number), shape=asctext.shape(repeats),
                      raw_dtype=str(number), line=tensor.line, attributes=more)
