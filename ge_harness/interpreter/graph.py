"""A GraphDef made ready for evaluation: ports, order, and what cannot be evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, NamedTuple, Union

from dumps import graphdef
from dumps.graphdef import GraphDef, NodeDef
from ge_harness.errors import nearest_name
from ge_harness.interpreter.errors import EvaluationError
from ge_harness.interpreter.function import inline_functions

Source = Union[str, Path, GraphDef]

CONTROL_FLOW = frozenset((
    "Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration",
    "Merge", "RefMerge", "Switch", "RefSwitch", "LoopCond", "If", "StatelessIf",
    "While", "StatelessWhile", "Case", "StatelessCase", "For",
))
STATEFUL = frozenset((
    "VarHandleOp", "ReadVariableOp", "AssignVariableOp", "Variable", "VariableV2",
    "Assign", "AssignAdd", "AssignSub", "AssignAddVariableOp", "RestoreV2", "SaveV2",
    "HashTableV2", "LookupTableFindV2", "IteratorGetNext", "ReadFile",
))


class PortName(NamedTuple):
    """An output of a node.

    Attributes:
        node: name of the node.
        output: which of its outputs, from 0.
    """

    node: str
    output: int


class Graph:
    """Nodes by name, library functions inlined.

    Attributes:
        nodes: name -> NodeDef.
    """

    def __init__(self, definition: GraphDef) -> None:
        definition = inline_functions(definition)
        self.nodes: dict[str, NodeDef] = {}
        for node in definition.nodes:
            if node.name in self.nodes:
                raise EvaluationError(f"two nodes are called {node.name!r}", node.name)
            self.nodes[node.name] = node

    def node(self, name: str, wanted_by: str = "") -> NodeDef:
        """Return a node by name.

        Raises:
            EvaluationError: the graph has none of that name.
        """
        if name in self.nodes:
            return self.nodes[name]
        near = nearest_name(name, self.nodes)
        hint = f" Did you mean {near!r}?" if near else ""
        by = f", an input of {wanted_by!r}" if wanted_by else ""
        raise EvaluationError(f"no node named {name!r} in the graph{by}.{hint}", name)

    def sinks(self) -> list[str]:
        """Return the nodes that no node consumes, in file order."""
        used = {parse_port(name)[0] for node in self.nodes.values()
                for name in node.inputs}
        return [name for name in self.nodes if name not in used]

    def order(self, wanted: Iterable[str], fed: Iterable[PortName]) -> list[NodeDef]:
        """Return the nodes that `wanted` needs, each after what it reads.

        Args:
            wanted: names of nodes to be evaluated.
            fed: ports whose values are given; what is only behind them is left out.

        Raises:
            EvaluationError: an input is missing, or the nodes form a cycle.
        """
        given, done, order = set(fed), set(), []
        for start in wanted:
            stack = [(start, False)]
            open_nodes: set[str] = set()
            while stack:
                name, finished = stack.pop()
                if finished:
                    open_nodes.discard(name)
                    done.add(name)
                    order.append(self.nodes[name])
                    continue
                if name in done:
                    continue
                if name in open_nodes:
                    raise EvaluationError(
                        f"the graph has a cycle through node {name!r}", name)
                open_nodes.add(name)
                stack.append((name, True))
                stack += self._sources(name, given, done, open_nodes)
        return order

    def _sources(self, name: str, given: set[PortName], done: set[str],
                 open_nodes: set[str]) -> list[tuple[str, bool]]:
        sources = []
        for text in reversed(self.nodes[name].inputs):
            port = parse_port(text)
            if port in given or port.node in done:
                continue
            self.node(port.node, wanted_by=name)
            if port.node in open_nodes:
                raise EvaluationError(
                    f"the graph has a cycle through nodes {name!r} and {port.node!r}",
                    name)
            sources.append((port.node, False))
        return sources


def load(source: Source) -> Graph:
    """Return the graph of a file or record.

    Raises:
        dumps.DumpError: the file is no GraphDef.
        EvaluationError: the graph is inconsistent.
    """
    if isinstance(source, GraphDef):
        return Graph(source)
    return Graph(graphdef.read(source))


def parse_port(text: str) -> PortName:
    """Split "node", "node:index" or "^node"; a control input has output -1."""
    if text.startswith("^"):
        return PortName(text[1:], -1)
    name, colon, index = text.rpartition(":")
    if colon and index.isdigit():
        return PortName(name, int(index))
    return PortName(text, 0)


def data_inputs(node: NodeDef) -> list[PortName]:
    """Return the ports a node reads, without control inputs."""
    return [parse_port(name) for name in node.inputs if not name.startswith("^")]


def check_supported(node: NodeDef) -> None:
    """Refuse control flow, state and strings by name.

    Raises:
        EvaluationError: the node is one of these.
    """
    if node.op in CONTROL_FLOW:
        raise EvaluationError(
            f"cannot evaluate node {node.name!r}: control flow ({node.op}) is not "
            "supported; cut the branch or the loop body out", node.name)
    if node.op in STATEFUL:
        raise EvaluationError(
            f"cannot evaluate node {node.name!r}: {node.op} holds state; freeze the "
            "graph first, so that variables are constants", node.name)
    strange = sorted({str(value.value) for _, value in node.attrs
                      if value.kind == "type" and value.value in _REFUSED})
    if strange and node.op != "Assert":
        raise EvaluationError(
            f"cannot evaluate node {node.name!r} ({node.op}): dtype {strange[0]} is "
            "not supported; numbers and booleans are", node.name)


_REFUSED = ("string", "resource", "variant", "complex64", "complex128", "qint8",
            "quint8", "qint16", "quint16", "qint32")
