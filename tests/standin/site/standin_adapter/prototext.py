"""Writes ge_proto and ge_onnx text: reference graph_dumps.md sections 3 and 4.1."""

from __future__ import annotations


class Writer:
    """Lines of protobuf text, two blanks a level."""

    def __init__(self):
        self._lines = []
        self._depth = 0

    def scalar(self, key, value):
        """Write `key: value`; a string is quoted and escaped."""
        if isinstance(value, bool):
            shown = "true" if value else "false"
        elif isinstance(value, (str, bytes)):
            shown = f'"{escaped(value)}"'
        else:
            shown = str(value)
        self._lines.append("{}{}: {}".format("  " * self._depth, key, shown))

    def word(self, key, name):
        """Write an enum."""
        self._lines.append("{}{}: {}".format("  " * self._depth, key, name))

    def open(self, key):
        """Begin a message."""
        self._lines.append("{}{} {{".format("  " * self._depth, key))
        self._depth += 1

    def close(self, count=1):
        """End messages."""
        for _ in range(count):
            self._depth -= 1
            self._lines.append("  " * self._depth + "}")

    def text(self):
        """Return everything, ended by a newline."""
        return "\n".join(self._lines) + "\n"


def escaped(value):
    """Return a string or bytes C-escaped, ASCII only."""
    data = value.encode("utf-8") if isinstance(value, str) else value
    plain = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
    return "".join(plain.get(byte) or (chr(byte) if 32 <= byte < 127
                                       else f"\\{byte:03o}") for byte in data)


def ge_proto(name, nodes, options, values):
    """Return a graph as ge_proto text.

    Args:
        name: of the graph.
        nodes: in order.
        options: {"GlobalOptions": {name: text}, ...}; empty for none.
        values: whether constants keep their data (DUMP_GE_GRAPH=1).
    """
    out = Writer()
    out.open("graph")
    out.scalar("name", name)
    for number, node in enumerate(nodes):
        _op(out, number, node, values)
    for block in sorted(options):
        out.open("attr")
        out.scalar("key", block)
        out.open("value")
        out.open("func")
        out.scalar("name", block)
        for key in sorted(options[block]):
            _text_attr(out, key, options[block][key])
        out.close(3)
    out.close()
    return out.text()


def _op(out, number, node, values):
    out.open("op")
    out.scalar("name", node.name)
    out.scalar("type", node.type)
    for edge in node.inputs:
        out.scalar("input", edge)
    if node.type not in ("Data", "NetOutput"):
        _list_attr(out, "_datadump_original_op_names", node.origins)
    if node.value is not None and values:
        _constant(out, node)
    if number:
        out.scalar("id", number)
    for dtype, shape in node.ports:
        out.open("output_desc")
        _desc(out, dtype, shape)
        out.close()
    out.close()


def _constant(out, node):
    out.open("attr")
    out.scalar("key", "value")
    out.open("value")
    out.open("t")
    out.open("desc")
    dtype, _ = node.ports[0] if node.ports else ("", None)
    _desc(out, dtype, list(node.value.shape))
    out.close()
    out.scalar("data", node.value.tobytes())
    out.close(3)


def _desc(out, dtype, shape):
    if dtype:
        out.word("dtype", dtype)
    out.open("shape")
    for axis in ([-2] if shape is None else shape):
        out.scalar("dim", axis)
    out.close()
    out.scalar("layout", "ND")


def _text_attr(out, key, value):
    out.open("attr")
    out.scalar("key", key)
    out.open("value")
    out.scalar("s", value)
    out.close(2)


def _list_attr(out, key, values):
    out.open("attr")
    out.scalar("key", key)
    out.open("value")
    out.open("list")
    for value in values:
        out.scalar("s", value)
    if values:
        out.word("val_type", "VT_LIST_STRING")
    out.close(3)


def ge_onnx(name, nodes):
    """Return a graph as ge_onnx text: names, types and edges."""
    out = Writer()
    out.scalar("ir_version", 6)
    out.scalar("producer_name", "GE")
    out.open("graph")
    used = {edge for node in nodes for edge in node.inputs}
    for number, node in enumerate(nodes):
        out.open("node")
        for edge in node.inputs:
            out.scalar("input", edge)
        for index in range(len(node.ports)):
            if f"{node.name}:{index}" in used:
                out.scalar("output", f"{node.name}:{index}")
        out.scalar("name", node.name)
        out.scalar("op_type", "ge:" + node.type)
        out.open("attribute")
        out.scalar("name", "id")
        if number:
            out.scalar("i", number)
        out.word("type", "INT")
        out.close(2)
    out.scalar("name", name)
    out.close()
    return out.text()
