"""Prints dumps: ge_proto, ge_onnx and readable text.

Source: reference: graph_dumps.md sections 3.1, 4.1 and 4.3.
"""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from ge_harness.backends.emulator import dump_tree
from ge_harness.backends.emulator.dump_tree import Enum, Quoted, Tree, quoted
from ge_harness.backends.emulator.ge_types import IR_DTYPES
from ge_harness.backends.emulator.ir import Desc, Graph, Node, Port

_ESCAPES = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x27: "\\'",
            0x5C: "\\\\"}


def ge_proto(graph: Graph, options: Mapping[str, str]) -> str:
    """Return the text of a ge_proto dump."""
    return text(dump_tree.model(graph, options))


def text(tree: Tree, depth: int = 0) -> str:
    """Return a tree as protobuf's TextFormat prints it."""
    lead = "  " * depth
    parts = []
    for key, value in tree:
        if isinstance(value, list):
            parts.append(f"{lead}{key} {{\n{text(value, depth + 1)}{lead}}}\n")
        else:
            parts.append(f"{lead}{key}: {scalar(value)}\n")
    return "".join(parts)


def scalar(value: Any) -> str:
    """Return a scalar as TextFormat prints it."""
    if isinstance(value, Quoted):
        return '"' + "".join(_escaped(byte) for byte in value) + '"'
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    return str(int(value))


def _escaped(byte: int) -> str:
    printable = chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
    return _ESCAPES.get(byte, printable)


def _float(value: float) -> str:
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    shown = str(np.float32(value))
    return shown[:-2] if shown.endswith(".0") else shown


def ge_onnx(graph: Graph) -> str:
    """Return the text of a ge_onnx dump (level 2: without strings of operators)."""
    read: dict[str, set[int]] = {}
    for node in graph:
        for port in node.inputs:
            read.setdefault(port.node, set()).add(port.index)
        for name in node.controls:
            read.setdefault(name, set()).add(-1)
    for _, port in graph.outputs:
        read.setdefault(port.node, set()).add(port.index)
    nodes: Tree = [("node", _onnx_node(node, place, graph, read))
                   for place, node in enumerate(graph)]
    nodes.append(("node", _onnx_output(graph)))
    return text([("ir_version", 6), ("producer_name", quoted("GE")),
                 ("graph", [*nodes, ("name", quoted(graph.name))])])


def _onnx_node(node: Node, place: int, graph: Graph,
               read: Mapping[str, set[int]]) -> Tree:
    found: Tree = [("input", quoted(f"{port.node}:{port.index}"))
                   for port in node.inputs]
    found += [("input", quoted(f"{name}:-1")) for name in node.controls]
    outputs = sorted(read.get(node.name, ()), key=lambda index: (index < 0, index))
    found += [("output", quoted(f"{node.name}:{index}")) for index in outputs]
    found += [("name", quoted(node.name)), ("op_type", quoted(f"ge:{node.type}"))]
    attributes: dict[str, Tree] = {"id": [("i", place)]}
    for key, value in dump_tree.attributes(node, graph).items():
        converted = _onnx_value(value)
        if converted is not None:
            attributes[key] = converted
    for side, descs in (("input", [graph.desc(port) for port in node.inputs]),
                        ("output", list(node.outputs))):
        for number, desc in enumerate(descs):
            attributes.update(_onnx_desc(side, number, desc))
    return found + _onnx_attributes(attributes)


def _onnx_output(graph: Graph) -> Tree:
    found: Tree = [("input", quoted(f"{port.node}:{port.index}"))
                   for _, port in graph.outputs]
    found += [("name", quoted(dump_tree.OUTPUT_NAME)),
              ("op_type", quoted("ge:NetOutput"))]
    attributes: dict[str, Tree] = {"id": [("i", len(graph.nodes))]}
    for number, (_, port) in enumerate(graph.outputs):
        attributes.update(_onnx_desc("input", number, graph.desc(port)))
    return found + _onnx_attributes(attributes)


def _onnx_attributes(attributes: Mapping[str, Tree]) -> Tree:
    kinds = {"i": "INT", "ints": "INTS", "f": "FLOAT", "floats": "FLOATS",
             "s": "STRING", "strings": "STRINGS"}
    found: Tree = []
    for name in sorted(attributes):
        value = attributes[name]
        kind = kinds[value[0][0]]
        shown = [(key, each) for key, each in value
                 if each is not None and not (key == "i" and each == 0)]
        found.append(("attribute", [("name", quoted(name)), *shown,
                                    ("type", Enum(kind))]))
    return found


def _onnx_desc(side: str, number: int, desc: Desc) -> dict[str, Tree]:
    shape: Tree = [("ints", length) for length in desc.shape] or [("ints", None)]
    dtype = IR_DTYPES.get(desc.dtype, "DT_UNDEFINED")
    return {f"{side}_desc_dtype:{number}": [("s", quoted(dtype))],
            f"{side}_desc_shape:{number}": shape,
            f"{side}_desc_layout:{number}": [("s", quoted("ND"))]}


def _onnx_value(value: Tree) -> Tree | None:
    """Return an AttrDef as an ONNX attribute; strings and dtypes are not written."""
    key, content = value[0]
    if key == "i":
        return [("i", content)]
    if key == "b":
        return [("i", int(content))]
    if key == "f":
        return [("f", content)]
    if key == "list":
        items = [(each, item) for each, item in content if each in ("i", "f", "b")]
        if not items:
            return None
        name = "floats" if items[0][0] == "f" else "ints"
        return [(name, float(item) if name == "floats" else int(item))
                for _, item in items]
    return None


def readable(graph: Graph) -> str:
    """Return the text of a readable dump."""
    names: dict[Port, str] = {}
    lines = [f'graph("{graph.name}"):']
    readers = graph.readers()
    results = 0
    for node in graph:
        parts = []
        if node.inputs:
            inputs = ", ".join(f"_input_{slot}=%{names[port]}"
                               for slot, port in enumerate(node.inputs))
            parts.append(f"inputs = ({inputs})")
        attrs = _readable_attrs(node, graph)
        if attrs:
            parts.append(f"attrs = {{{attrs}}}")
        lines.append(f"  %{node.name} : [#users={len(node.outputs)}] = "
                     f"Node[type={node.type}] ({', '.join(parts)})")
        for index in range(len(node.outputs)):
            port = Port(node.name, index)
            names[port] = node.name
            if len(node.outputs) > 1:
                names[port] = "ret" if not results else f"ret_{results}"
                results += 1
                lines.append(
                    f"  %{names[port]} : [#users={len(readers.get(port, ()))}] = "
                    f"get_element[node=%{node.name}]({index})")
    ends = [f"%{names[port]}" for _, port in graph.outputs]
    if len(ends) > 1:
        ends = [f"output_{place}={end}" for place, end in enumerate(ends)]
    return "\n".join([*lines, "", f"  return ({', '.join(ends)})", ""])


def _readable_attrs(node: Node, graph: Graph) -> str:
    found = []
    for key, value in sorted(dump_tree.attributes(node, graph).items()):
        if key.startswith("_"):
            continue
        kind, content = value[0]
        if kind == "list":
            items = [scalar(item) for each, item in content if each != "val_type"]
            found.append(f"{key}: {{{', '.join(items)}}}")
        else:
            found.append(f"{key}: {scalar(content)}")
    return ", ".join(found)
