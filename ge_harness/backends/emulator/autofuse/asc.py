"""The AscIR of one loop nest, from its original operators.

`build` prints what lowering would make: loads, scalars, broadcasts, one operation for
each step of a recipe, stores. Node counts, the reduce budget and the blacklist are
decided on it; `improve_precision` makes of it what the precision pass leaves.

Source: reference: autofuse_fusion_rules.md sections 4, 5.2, 5.3; numerics_model.md
section 2.1.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

from ge_harness.backends.emulator import values
from ge_harness.backends.emulator.autofuse import table
from ge_harness.backends.emulator.ir import AscOp, Desc, Graph, Node, Port

NOT_COUNTED_AFTER_REDUCE = ("Data", "Load", "Store", "Output")
_BOOL_RESULT = frozenset(("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "Isnan", "IsFinite",
                          "LogicalAnd", "LogicalOr", "LogicalNot"))
_FLOATS = ("float16", "bfloat16", "float32")


@dataclass(frozen=True)
class Ends:
    """What a loop nest reads.

    Attributes:
        loads: ports read from memory.
        scalars: ports of constants that are literals.
        static: ports of compile-time arguments.
    """

    loads: tuple[Port, ...]
    scalars: tuple[Port, ...]
    static: tuple[Port, ...]


def is_scalar(graph: Graph, port: Port) -> bool:
    """Say whether a constant becomes a literal: 0-d float32 only."""
    node = graph.nodes[port.node]
    desc = graph.desc(port)
    return node.is_const and desc.dtype == "float32" and desc.shape == ()


def ends(graph: Graph, nodes: Sequence[Node]) -> Ends:
    """Return what the nodes of one loop nest read, in order of first use."""
    given = {Port(node.name, index) for node in nodes
             for index in range(len(node.outputs))}
    loads: dict[Port, None] = {}
    scalars: dict[Port, None] = {}
    static: dict[Port, None] = {}
    for node in nodes:
        data = table.data_inputs(node.type, len(node.inputs))
        for slot, port in enumerate(node.inputs):
            if slot not in data:
                static[port] = None
            elif port not in given:
                (scalars if is_scalar(graph, port) else loads)[port] = None
    return Ends(tuple(loads), tuple(scalars), tuple(static))


def operations(graph: Graph, nodes: Sequence[Node]) -> int:
    """Return the loop operations of nodes: all but loads, gathers and stores.

    Literals and broadcasts count, one for each operand that needs them.
    """
    known = {Port(node.name, index): desc for node in nodes
             for index, desc in enumerate(node.outputs)}
    count = 0
    for node in nodes:
        slots = table.data_inputs(node.type, len(node.inputs))
        ports = [node.inputs[slot] for slot in slots]
        for step in table.recipe(node.type, len(ports)):
            kind, *operands = step.split()
            count += kind != "Gather"
            count += sum(_extra(graph, node, ports, known, text) for text in operands)
    return count


def _extra(graph: Graph, node: Node, ports: Sequence[Port], known: Mapping[Port, Desc],
           text: str) -> int:
    if text[0] == "t":
        return 0
    if text[0] in "#@":
        return 1
    port = ports[int(text[1:])]
    if is_scalar(graph, port):
        return 1
    desc = known.get(port) or graph.desc(port)
    return int(table.KINDS[node.type] == table.POINTWISE
               and node.type not in table.BROADCASTS
               and desc.shape != node.outputs[0].shape)


def load_count(graph: Graph, nodes: Sequence[Node]) -> int:
    """Return the loads of a box: one for each operand that is read from memory.

    Source: ge, autofuse/lowering/asc_lowerer/kernel_box.h (a load is an edge).
    """
    names = {node.name for node in nodes}
    return sum(node.inputs[slot].node not in names
               and not is_scalar(graph, node.inputs[slot])
               for node in nodes
               for slot in table.data_inputs(node.type, len(node.inputs)))


def build(graph: Graph, nodes: Sequence[Node], stores: Sequence[Port]
          ) -> tuple[AscOp, ...]:
    """Return the AscIR of a loop nest before the precision pass.

    Args:
        graph: where the descriptors of loads come from.
        nodes: original operators in order.
        stores: ports written to memory.
    """
    return _Builder(graph, nodes).finish(stores)


class _Builder:
    def __init__(self, graph: Graph, nodes: Sequence[Node]) -> None:
        self.graph = graph
        self.ops: dict[str, AscOp] = {}
        self._numbers: dict[str, int] = {}
        self._values: dict[Port, str] = {}
        self._wide: dict[tuple[str, tuple[int, ...]], str] = {}
        self._literals: dict[tuple[str, str], str] = {}
        self._descs: dict[Port, Desc] = {
            Port(node.name, index): desc for node in nodes
            for index, desc in enumerate(node.outputs)}
        found = ends(graph, nodes)
        for number, port in enumerate(found.loads):
            desc = graph.desc(port)
            data = self._add("Data", (), desc, str(number))
            self._values[port] = self._add("Load", (data,), desc)
        self._scalars = set(found.scalars)
        for node in nodes:
            self._node(node)

    def finish(self, stores: Sequence[Port]) -> tuple[AscOp, ...]:
        for number, port in enumerate(stores):
            desc = self._descs[port]
            store = self._add("Store", (self._values[port],), desc)
            self._add("Output", (store,), desc, str(number))
        return tuple(self.ops.values())

    def _add(self, kind: str, inputs: tuple[str, ...], desc: Desc,
             value: str = "") -> str:
        number = self._numbers.get(kind, 0)
        self._numbers[kind] = number + 1
        name = f"{kind}_{number}"
        self.ops[name] = AscOp(name, kind, inputs, desc.dtype, desc.shape, value)
        return name

    def _literal(self, dtype: str, text: str) -> str:
        key = (dtype, text)
        if key not in self._literals:
            self._literals[key] = self._add("Scalar", (), Desc(dtype, ()), text)
        return self._literals[key]

    def _node(self, node: Node) -> None:
        slots = table.data_inputs(node.type, len(node.inputs))
        ports = [node.inputs[slot] for slot in slots]
        steps = table.recipe(node.type, len(ports))
        if not steps:  # a view: the value under another shape
            self._values[node.port] = self._values[ports[0]]
            return
        results: list[str] = []
        for step in steps:
            results.append(self._step(node, ports, results, step))
        for index in range(len(node.outputs)):
            self._values[Port(node.name, index)] = results[-1]

    def _step(self, node: Node, ports: Sequence[Port], results: Sequence[str],
              step: str) -> str:
        kind, *operands = step.split()
        shape, dtype = self._result(node, ports, kind)
        loop = None if kind in ("Concat", "Gather", "MatMul") else self._loop(
            node, ports, shape)
        names = tuple(self._operand(node, ports, results, text, loop)
                      for text in operands)
        if kind == "Broadcast" and names and self.ops[names[0]].type == "Broadcast":
            return names[0]
        return self._add(kind, names, Desc(dtype, shape))

    def _result(self, node: Node, ports: Sequence[Port], kind: str
                ) -> tuple[tuple[int, ...], str]:
        out = node.outputs[0]
        reduces = table.KINDS.get(node.type) == table.REDUCE
        if reduces and kind == "Mul":
            return self._desc(ports[0]).shape, out.dtype
        if kind in _BOOL_RESULT and not reduces:
            return out.shape, "bool"
        return out.shape, out.dtype

    def _loop(self, node: Node, ports: Sequence[Port], shape: tuple[int, ...]
              ) -> tuple[int, ...] | None:
        kind = table.KINDS.get(node.type)
        return shape if kind == table.POINTWISE else None

    def _desc(self, port: Port) -> Desc:
        return self._descs.get(port) or self.graph.desc(port)

    def _operand(self, node: Node, ports: Sequence[Port], results: Sequence[str],
                 text: str, loop: tuple[int, ...] | None) -> str:
        if text[0] == "t":
            return results[int(text[1:])]
        if text[0] == "#":
            return self._literal(node.outputs[0].dtype, text[1:])
        if text[0] == "@":
            value = float(node.attr(text[1:], 0.2 if text == "@alpha" else 0.0))
            return self._literal(node.outputs[0].dtype, f"{value:.7f}")
        port = ports[int(text[1:])]
        if port in self._scalars:
            return self._literal("float32", _exact(self.graph.nodes[port.node]))
        name = self._values[port]
        shape = self._desc(port).shape
        if loop is None or shape == loop:
            return name
        key = (name, loop)
        if key not in self._wide:
            self._wide[key] = self._add("Broadcast", (name,),
                                        Desc(self._desc(port).dtype, loop))
        return self._wide[key]


def _exact(node: Node) -> str:
    array, _ = values.constant(node)
    return f"{float(array.reshape(-1)[0]):.20e}"


def after_reduce(ops: Sequence[AscOp]) -> int:
    """Return how many of the operations count against the budget after a reduce."""
    return sum(op.type not in NOT_COUNTED_AFTER_REDUCE for op in ops)


def improve_precision(ops: Sequence[AscOp]) -> tuple[AscOp, ...]:
    """Return what the precision pass makes of a loop nest that is widened.

    Every float16 or bfloat16 load is followed by one Cast to float32, casts between
    floats are deleted, results are relabeled float32, and a Cast stands before each
    store of a narrower dtype. A load that only a store reads stays as it is.
    """
    return _Widening(ops).run()


class _Widening:
    def __init__(self, ops: Sequence[AscOp]) -> None:
        self._ops = {op.name: op for op in ops}
        self._found: list[AscOp] = []
        self._renamed: dict[str, str] = {}
        self._count = 0
        readers: dict[str, list[str]] = {}
        for op in ops:
            for name in op.inputs:
                readers.setdefault(name, []).append(op.type)
        self._readers: Mapping[str, list[str]] = readers

    def run(self) -> tuple[AscOp, ...]:
        handlers: dict[str, Callable[[AscOp], None]] = {
            "Load": self._load, "Gather": self._load, "Cast": self._cast,
            "Store": self._store, "Data": self._found.append,
            "Output": self._found.append}
        for op in self._ops.values():
            handlers.get(op.type, self._other)(op)
        return tuple(self._found)

    def _new_cast(self, source: str, dtype: str, shape: tuple[int, ...]) -> str:
        name = f"Cast_p{self._count}"
        self._count += 1
        self._found.append(AscOp(name, "Cast", (source,), dtype, shape))
        return name

    def _inputs(self, op: AscOp) -> tuple[str, ...]:
        return tuple(self._renamed.get(name, name) for name in op.inputs)

    def _load(self, op: AscOp) -> None:
        self._found.append(dataclasses.replace(op, inputs=self._inputs(op)))
        only_stores = set(self._readers.get(op.name, ())) <= {"Store"}
        if op.dtype in ("float16", "bfloat16") and not only_stores:
            self._renamed[op.name] = self._new_cast(op.name, "float32", op.shape)

    def _cast(self, op: AscOp) -> None:
        source = self._ops[op.inputs[0]].dtype
        if source in _FLOATS and op.dtype in _FLOATS:
            self._renamed[op.name] = self._inputs(op)[0]
        else:
            self._other(op)

    def _other(self, op: AscOp) -> None:
        dtype = "float32" if op.dtype in ("float16", "bfloat16") else op.dtype
        self._found.append(dataclasses.replace(
            op, inputs=self._inputs(op), dtype=dtype))

    def _store(self, op: AscOp) -> None:
        source = self._inputs(op)[0]
        held = next(each for each in self._found if each.name == source)
        if held.dtype != op.dtype and op.dtype in _FLOATS and held.dtype in _FLOATS:
            source = self._new_cast(source, op.dtype, op.shape)
        self._found.append(dataclasses.replace(op, inputs=(source,)))
