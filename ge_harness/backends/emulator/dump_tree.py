"""GE's messages of one graph as a tree, from which both text formats are printed.

A tree is a list of (field, value); a value is a tree, a quoted string, a number or the
name of an enum. DUMP_GE_GRAPH=2 is followed: constants have no value.

Source: reference: graph_dumps.md sections 3 and 5.
"""

from __future__ import annotations

from typing import Any, Iterable, List, Mapping, Tuple

from dumps.graphdef import AttrValue
from ge_harness.backends.emulator.ge_types import INTERNAL_DTYPES, IR_DTYPES
from ge_harness.backends.emulator.ir import DATA_TYPE, Desc, Graph, Node, Port

Field = Tuple[str, Any]
Tree = List[Field]
OUTPUT_NAME = "Node_Output"
_KINDS = {"s": "VT_LIST_STRING", "i": "VT_LIST_INT", "f": "VT_LIST_FLOAT",
          "b": "VT_LIST_BOOL", "dt": "VT_LIST_DATA_TYPE"}


class Enum(str):
    """A name that is printed without quotes."""


class Quoted(bytes):
    """Bytes that are printed in quotes, escaped."""


def quoted(text: str | bytes) -> Quoted:
    """Return text as it will stand in quotes."""
    return Quoted(text.encode("utf-8") if isinstance(text, str) else text)


def model(graph: Graph, options: Mapping[str, str]) -> Tree:
    """Return the ModelDef of a graph.

    Args:
        graph: under GE's names.
        options: what GE would hold; stands in the graph's attribute GraphOptions.
    """
    nodes: Tree = [("op", op(node, place, graph)) for place, node in enumerate(graph)]
    nodes.append(("op", net_output(graph)))
    held: Tree = [("name", quoted("GraphOptions"))]
    held += [("attr", _entry(key, [("s", quoted(text))]))
             for key, text in sorted(options.items())]
    body: Tree = [("name", quoted(graph.name)), *nodes]
    if options:
        body.append(("attr", _entry("GraphOptions", [("func", held)])))
    return [("name", quoted(graph.name)), ("version", 1), ("graph", body)]


def op(node: Node, place: int, graph: Graph) -> Tree:
    """Return the OpDef of a node."""
    found: Tree = [("name", quoted(node.name)), ("type", quoted(node.type))]
    found += [("input", quoted(_edge(port))) for port in node.inputs]
    found += [("input", quoted(f"{name}:-1")) for name in node.controls]
    found += [("attr", _entry(key, value))
              for key, value in sorted(attributes(node, graph).items())]
    if place:
        found.append(("id", place))
    found += [("input_desc", desc(graph.desc(port), origin=False))
              for port in node.inputs]
    found += [("output_desc", desc(each)) for each in node.outputs]
    return found


def net_output(graph: Graph) -> Tree:
    """Return the operator that stands for the graph's outputs."""
    found: Tree = [("name", quoted(OUTPUT_NAME)), ("type", quoted("NetOutput"))]
    found += [("input", quoted(_edge(port))) for _, port in graph.outputs]
    found.append(("id", len(graph.nodes)))
    found += [("input_desc", desc(graph.desc(port), origin=False))
              for _, port in graph.outputs]
    return found


def _edge(port: Port) -> str:
    return f"{port.node}:{port.index}"


def _entry(key: str, value: Tree) -> Tree:
    return [("key", quoted(key)), ("value", value)]


def desc(each: Desc, *, origin: bool = True) -> Tree:
    """Return the TensorDescriptor of a tensor."""
    found: Tree = [("dtype", Enum(IR_DTYPES.get(each.dtype, "DT_UNDEFINED"))),
                   ("shape", [("dim", length) for length in each.shape]),
                   ("layout", quoted("ND"))]
    if origin and each.origin.node:
        found += [
            ("attr", _entry("_datadump_origin_name",
                            [("s", quoted(each.origin.node))])),
            ("attr", _entry("_datadump_origin_output_index",
                            [("i", each.origin.index)]))]
    return found


def attributes(node: Node, graph: Graph) -> dict[str, Tree]:
    """Return the attributes of a node as AttrDefs by key."""
    found: dict[str, Tree] = {}
    for key, value in node.attrs:
        tree = None if key == "value" and node.is_const else _attribute(value)
        if tree is not None:
            found[key] = tree
    for key, plain in node.marks:
        found[key] = _plain(plain)
    if node.origins:
        found["_datadump_original_op_names"] = _plain(
            tuple(name for name, _ in node.origins))
        found["_datadump_original_op_types"] = _plain(
            tuple(kind for _, kind in node.origins))
    if node.type == DATA_TYPE:
        places = {data: place for place, (_, data) in enumerate(graph.inputs)}
        found["index"] = [("i", places.get(node.name, 0))]
    return found


def _attribute(value: AttrValue) -> Tree | None:
    if value.kind == "s":
        return [("s", quoted(value.value))]
    if value.kind == "type":
        return [("dt", INTERNAL_DTYPES.get(value.value, 28))]
    if value.kind in ("i", "f", "b"):
        return [(value.kind, value.value)]
    if value.kind == "shape":
        return _list("i", [-1 if n is None else n for n in value.value or ()])
    if value.kind == "list":
        kinds = {item.kind for item in value.value}
        if not kinds:
            return [("list", [])]
        kind = kinds.pop()
        if kinds or kind not in ("s", "i", "f", "b", "type"):
            return None
        items = [item.value for item in value.value]
        if kind == "type":
            return _list("dt", [INTERNAL_DTYPES.get(name, 28) for name in items])
        return _list(kind, items)
    return None


def _list(kind: str, items: Iterable[Any]) -> Tree:
    return [("list", [*((kind, quoted(item) if kind == "s" else item)
                        for item in items), ("val_type", Enum(_KINDS[kind]))])]


def _plain(value: str | bool | int | float | tuple[Any, ...]) -> Tree:
    if isinstance(value, tuple):
        kind = "s" if all(isinstance(item, str) for item in value) else "i"
        return _list(kind, value)
    if isinstance(value, bool):
        return [("b", value)]
    if isinstance(value, str):
        return [("s", quoted(value))]
    return [("i" if isinstance(value, int) else "f", value)]
