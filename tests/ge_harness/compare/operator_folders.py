"""Dump folders and graphs for tests of operators side by side."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dumps.data_dump import DataItem, OriginalOp
from dumps.data_dump_write import file_name, pack, raw_dtype
from ge_harness.compare.folder import Plan, compare_places

TIME = 1767681027598365
FOLDERS = "20260106120000/0/ge_default_20260106120000_1/1/0"
_TOKEN = re.compile(r'\}|\w+ \{|\w+: (?:"[^"]*"|[^\s}]+)')


def item(array, kind="output", index=0, **more):
    """Return an item of a dump and its bytes; bfloat16 as (uint16 bits, name)."""
    array, dtype = array if isinstance(array, tuple) else (array, array.dtype.name)
    values = {"dtype": dtype, "raw_dtype": raw_dtype(dtype), "format": "ND",
              "shape": array.shape, "size": array.nbytes, "address": 4096, **more}
    return DataItem(kind, index, **values), array.tobytes()


def dump(folder, kind, name, outputs=(), inputs=(), *, time=TIME, exact=True,
         origin=None, tail=()):
    """Write a dump of one operator; arrays or ready items."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for io, arrays in (("input", inputs), ("output", outputs)):
        for index, array in enumerate(arrays):
            ready = isinstance(array, tuple) and isinstance(array[0], DataItem)
            more = {}
            if origin and io == "output":
                more["original"] = OriginalOp(*origin)
            parts.append(array if ready else item(array, io, index, **more))
    path = folder / file_name(kind, name, (1, 2, time, *tail))
    path.write_bytes(pack(parts, name if exact else "", time))
    return path


def _entry(key, value):
    return f'attr {{ key: "{key}" value {{ {value} }} }}'


def _texts(names):
    items = " ".join(f's: "{name}"' for name in names)
    return f"list {{ {items} val_type: VT_LIST_STRING }}"


def op(name, kind, inputs=(), outputs=1, *, originals=None, origins=(), passes=(),
       types=(), subgraphs=(), attrs="", layout=""):
    """Return an operator's text.

    Args:
        name: of the operator.
        kind: its type.
        inputs: "producer:index" each.
        outputs: how many.
        originals: names of original operators; None leaves the attribute out.
        origins: (name, index) of each output's original tensor.
        passes: names for `pass_name`.
        types: types of the original operators.
        subgraphs: names of graphs it runs.
        attrs: more text.
        layout: (origin format, origin shape) of its outputs, "" for none.
    """
    lines = [f'name: "{name}"', f'type: "{kind}"']
    lines += [f'input: "{each}"' for each in inputs]
    if originals is not None:
        lines.append(_entry("_datadump_original_op_names", _texts(originals)))
    if types:
        lines.append(_entry("_datadump_original_op_types", _texts(types)))
    if passes:
        lines.append(_entry("pass_name", _texts(passes)))
    lines.append(attrs)
    for index in range(outputs):
        more = ""
        if index < len(origins):
            more += _entry("_datadump_origin_name", f's: "{origins[index][0]}"')
            more += _entry("_datadump_origin_output_index", f"i: {origins[index][1]}")
        if layout:
            more += _entry("origin_format", f's: "{layout}"')
        lines.append(f'output_desc {{ dtype: DT_FLOAT layout: "ND" {more} }}')
    lines += [f'subgraph_name: "{each}"' for each in subgraphs]
    return "op { " + "\n".join(line for line in lines if line) + " }"


def graph(path, ops, **subgraphs):
    """Write a ge_proto dump; further graphs by name."""
    text = 'name: "model"\n' + _graph("root", ops)
    text += "".join(_graph(name, each) for name, each in subgraphs.items())
    path.write_text(_indented(text))
    return path


def _indented(text):
    """Return the text as GE prints it: one field a line, two blanks a level."""
    lines, depth = [], 0
    for token in _TOKEN.findall(text):
        depth -= token == "}"
        lines.append("  " * depth + token)
        depth += token.endswith("{")
    return "\n".join(lines) + "\n"


def _graph(name, ops):
    return f'graph {{\nname: "{name}"\n' + "\n".join(ops) + "\n}\n"


def fused_pair(root, *, off=0.0):
    """Write A (fused: sub, exp and sum in one) and B (operator by operator).

    Returns:
        (A's folder, B's folder, A's graph, B's graph)
    """
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    top, low = x.max(1, keepdims=True), x - x.max(1, keepdims=True)
    e = np.exp(low)
    total = e.sum(1, keepdims=True)
    y = e / total
    a, b = root / "a", root / "b"
    here, there = a / FOLDERS, b / "20270106120000" / "3" / "other" / "7" / "0"
    dump(here, "ReduceMax", "max", [top], [x], time=TIME)
    dump(here, "AscBackend", "autofuse_4", [e + np.float32(off), total], [x, top],
         time=TIME + 5)
    dump(here, "RealDiv", "y", [y], [e, total], time=TIME + 9)
    dump(there, "ReduceMax", "max", [top], [x])
    dump(there, "Sub", "sub", [low], [x, top])
    dump(there, "Exp", "exp", [e], [low])
    dump(there, "ReduceSum", "sum", [total], [e])
    dump(there, "RealDiv", "y", [y], [e, total])
    graph_a = graph(root / "ge_proto_00000001_graph_1_Build.txt", [
        op("y", "RealDiv", ["autofuse_4:0", "autofuse_4:1"], originals=["y"],
           origins=[("y", 0)]),
        op("x", "Data"),
        op("max", "ReduceMax", ["x:0"], originals=["max"], origins=[("max", 0)]),
        op("autofuse_4", "AscBackend", ["x:0", "max:0"], 2,
           originals=["sub", "exp", "sum"], types=["Sub", "Exp", "Sum"],
           origins=[("exp", 0), ("sum", 0)], passes=["AutoFusePass"]),
        op("Node_Output", "NetOutput", ["y:0"], 0)])
    graph_b = graph(root / "ge_proto_00000002_graph_1_Build.txt", [
        op("x", "Data"),
        op("max", "ReduceMax", ["x:0"], originals=["max"], origins=[("max", 0)]),
        op("sub", "Sub", ["x:0", "max:0"], originals=["sub"], origins=[("sub", 0)]),
        op("exp", "Exp", ["sub:0"], originals=["exp"], origins=[("exp", 0)]),
        op("sum", "ReduceSum", ["exp:0"], originals=["sum"], origins=[("sum", 0)]),
        op("y", "RealDiv", ["exp:0", "sum:0"], originals=["y"], origins=[("y", 0)]),
        op("Node_Output", "NetOutput", ["y:0"], 0)])
    return a, b, graph_a, graph_b


def compare(a, b, **more):
    return compare_places(Plan(Path(a), Path(b), **more))


def names(found):
    return [pair.name for pair in found.pairs]


def statuses(found):
    return [pair.status.value for pair in found.pairs]


def reasons(found, side):
    return {each.name: each.reason for each in found.reasons if each.side == side}
