"""The operators of one side: from a graph, or only from the names of dump files.

Whose tensor an output is, the graph says in attributes: the original operator and which
of its outputs. Where it says only names of original operators the last one is meant; an
operator that stands for itself has its own name. What stands for an input is found by
the operator it comes from, through layout changes and into subgraphs.

Source: reference: graph_dumps.md sections 3.3 and 5; tensor_dumps.md sections 2 and 10.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Sequence, Tuple

from dumps.data_names import escape
from dumps.records import DumpGraph, DumpNode, Edge, TensorDesc
from dumps.sides import ORIGIN_NAME, ORIGINAL_NAMES, originals
from ge_harness.compare.operator_files import Entry

Key = Tuple[str, str, int]
"""Whose tensor it is: an operator's escaped name, "input" or "output", number."""

ORIGIN_INDEX = "_datadump_origin_output_index"
_TYPES = "_datadump_original_op_types"
# "Data, Const, NetOutput, ..." in the reference; the rest is of the same kinds.
_NEVER_WORDS = (
    "Data RefData AippData AnnData Const Constant ConstPlaceHolder FileConstant "
    "Variable NetOutput NoOp ControlTrigger PlaceHolder End PartitionedCall "
    "StatefulPartitionedCall If StatelessIf Case StatelessCase While StatelessWhile "
    "For Enter RefEnter Exit RefExit Switch RefSwitch Merge RefMerge NextIteration "
    "RefNextIteration LoopCond StreamActive StreamSwitch StreamMerge "
    "AscBackendNoKernelOp")
_NEVER = frozenset(_NEVER_WORDS.split())
_SAME_VALUES = frozenset(("TransData", "Identity", "MemcpyAsync", "TensorMove"))
_DEEPEST = 64


@dataclass(frozen=True)
class Operator:
    """One operator of a side.

    Attributes:
        name: its name.
        type: its type, "" where it is not known.
        graph: name of its graph, "" where none was given.
        place: place in the order of execution, from 0.
        node: its node, None where no graph was given.
        originals: names of the original operators it stands for.
        is_inserted: the graph says that it stands for none.
    """

    name: str
    type: str
    graph: str = ""
    place: int = 0
    node: DumpNode | None = field(default=None, compare=False, repr=False)
    originals: tuple[str, ...] = ()
    is_inserted: bool = False

    @property
    def is_never_dumped(self) -> bool:
        """Whether the compiler dumps no operators like this one."""
        if self.type in _NEVER:
            return True
        node = self.node
        no_task = None if node is None else node.attributes.get("_no_task")
        return no_task in (1, "1")

    @property
    def original_types(self) -> tuple[str, ...]:
        """Types of the original operators, () where the graph does not say."""
        return _texts(self.node, _TYPES)

    @property
    def passes(self) -> tuple[str, ...]:
        """Names of the passes that made or changed it, as far as the graph says."""
        found = (*_texts(self.node, "pass_name"), *_texts(self.node, "pass_name_ub"))
        return tuple(dict.fromkeys(found))

    def desc(self, io: str, index: int) -> TensorDesc | None:
        """Return what the graph says of an input or output."""
        if self.node is None:
            return None
        descs = self.node.output_descs if io == "output" else self.node.input_descs
        return descs[index] if index < len(descs) else None


class OperatorGraph:
    """The operators of a side in order of execution, by name and by origin.

    Attributes:
        operators: in order of execution.
        is_given: they come from a graph, not from names of files.
        fused: escaped name of an original operator -> the one that stands for it, of
            several the one that stands for most.
    """

    def __init__(self, graph: DumpGraph | None, entries: Iterable[Entry]) -> None:
        self.is_given = graph is not None
        self._graphs: dict[str, DumpGraph] = {}
        self._callers: dict[str, tuple[DumpGraph, DumpNode]] = {}
        if graph is None:
            self.operators = tuple(_named_in(entries))
        else:
            for each in graph.graphs:
                self._graphs.setdefault(each.name, each)
            self.operators = tuple(
                _operator(owner, node, place) for place, (owner, node) in enumerate(
                    self._in_order(graph)))
        self._by_name: dict[str, list[Operator]] = {}
        self._by_node: dict[int, Operator] = {}
        self.fused: dict[str, Operator] = {}
        for operator in self.operators:
            self._by_name.setdefault(escape(operator.name), []).append(operator)
            if operator.node is not None:
                self._by_node[id(operator.node)] = operator
            for name in map(escape, operator.originals):
                known = self.fused.get(name)
                if known is None or len(known.originals) < len(operator.originals):
                    self.fused[name] = operator
        self._giving: dict[Key, list[Operator]] | None = None

    def is_guess(self, operator: Operator, index: int) -> bool:
        """Say whether an output's origin is only the last of several names."""
        desc = operator.desc("output", index)
        told = desc is not None and desc.attributes.get(ORIGIN_NAME)
        return len(operator.originals) > 1 and not told

    def named(self, entry: Entry) -> tuple[Operator, ...]:
        """Return the operators that an entry can belong to; one where it is sure."""
        found = self._by_name.get(entry.op_name, [])
        for told, of in ((entry.exact_name, lambda each: each.name),
                         (entry.op_type, lambda each: escape(each.type))):
            same = [each for each in found if told and of(each) == told]
            if len(found) > 1 and same:
                found = same
        return tuple(found)

    def keys(self, operator: Operator, io: str, index: int) -> tuple[Key, ...]:
        """Return whose tensor an input or output is, the surest first."""
        own = (escape(operator.name), io, index)
        if operator.node is None:
            return (own,)
        if io == "output":
            return (_origin(operator, index),)
        source = self.reads(operator, index)
        if source is None:
            return (own,)
        return (_origin(*source), own)

    def giving(self, key: Key) -> Sequence[Operator]:
        """Return the operators of a given graph that give a tensor."""
        if self._giving is None:
            self._giving = {}
            for operator in self.operators:
                descs = () if operator.node is None else operator.node.output_descs
                for index in range(len(descs)):
                    self._giving.setdefault(_origin(operator, index), []).append(
                        operator)
        return self._giving.get(key, ())

    def reads(self, operator: Operator, index: int) -> tuple[Operator, int] | None:
        """Return the operator and output that an input comes from."""
        graph = self._graphs.get(operator.graph)
        if operator.node is None or graph is None:
            return None
        if index >= len(operator.node.inputs):
            return None
        return self._source(graph, operator.node.inputs[index])

    def _source(self, graph: DumpGraph, edge: Edge | None
                ) -> tuple[Operator, int] | None:
        """Follow an edge to the operator whose values it carries."""
        for _ in range(_DEEPEST):
            node = None if edge is None else graph.node(edge.node)
            if node is None or edge is None:
                return None
            outer = self._outer_edge(graph, node)
            operator = self._by_node.get(id(node))
            if outer is not None:
                graph, edge = outer
            elif operator is not None and operator.is_inserted and (
                    node.type in _SAME_VALUES and node.inputs):
                edge = node.inputs[0]
            else:
                return None if operator is None else (operator, edge.index)
        return None

    def _outer_edge(self, graph: DumpGraph, node: DumpNode
                    ) -> tuple[DumpGraph, Edge | None] | None:
        """Return what feeds a Data operator of a subgraph."""
        if node.type != "Data" or graph.name not in self._callers:
            return None
        number = node.attributes.get("_parent_node_index")
        owner, caller = self._callers[graph.name]
        if not isinstance(number, int) or not 0 <= number < len(caller.inputs):
            return None
        return owner, caller.inputs[number]

    def _in_order(self, root: DumpGraph) -> list[tuple[DumpGraph, DumpNode]]:
        """Return all nodes in order of execution, bodies before who runs them.

        Graphs that no operator runs come last, in the order of the file.
        """
        found: list[tuple[DumpGraph, DumpNode]] = []
        done = set()
        for start in root.graphs:
            pending = [] if id(start) in done else _reversed(start)
            done.add(id(start))
            while pending:
                graph, node, is_open = pending.pop()
                bodies = [] if is_open else [
                    self._graphs[name] for name in dict.fromkeys(node.subgraphs)
                    if name in self._graphs and id(self._graphs[name]) not in done]
                if not bodies:
                    found.append((graph, node))
                    continue
                pending.append((graph, node, True))
                for body in reversed(bodies):
                    done.add(id(body))
                    self._callers[body.name] = (graph, node)
                    pending += _reversed(body)
        return found


def _reversed(graph: DumpGraph) -> list[tuple[DumpGraph, DumpNode, bool]]:
    return [(graph, node, False) for node in reversed(_topological(graph))]


def _topological(graph: DumpGraph) -> list[DumpNode]:
    """Return nodes after what they read, else in the order of the file.

    Nodes of a cycle (loops of the old kind) come last, in the order of the file.
    """
    place: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        place.setdefault(node.name, number)
    readers: list[list[int]] = [[] for _ in graph.nodes]
    missing = [0] * len(graph.nodes)
    for number, node in enumerate(graph.nodes):
        sources = {edge.node for edge in node.inputs if edge is not None}
        sources.update(node.controls)
        for name in sources:
            source = place.get(name)
            if source is not None and source != number:
                readers[source].append(number)
                missing[number] += 1
    ready = [number for number, count in enumerate(missing) if not count]
    order: list[int] = []
    heapq.heapify(ready)
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for reader in readers[number]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    order += [number for number, count in enumerate(missing) if count]
    return [graph.nodes[number] for number in order]


def _operator(graph: DumpGraph, node: DumpNode, place: int) -> Operator:
    attributes: Mapping[str, Any] = node.attributes
    names = originals(node)
    inserted = ORIGINAL_NAMES in attributes and not names
    return Operator(node.name, node.type, graph.name, place, node,
                    tuple(dict.fromkeys(names)), inserted)


def _origin(operator: Operator, index: int) -> Key:
    """Return whose tensor an output is."""
    desc = operator.desc("output", index)
    attributes: Mapping[str, Any] = {} if desc is None else desc.attributes
    name, number = attributes.get(ORIGIN_NAME), attributes.get(ORIGIN_INDEX, 0)
    if isinstance(name, str) and name and isinstance(number, int):
        return escape(name), "output", number
    if operator.originals:
        return escape(operator.originals[-1]), "output", index
    return escape(operator.name), "output", index


def _named_in(entries: Iterable[Entry]) -> list[Operator]:
    """Return the operators that files are named after, in order of time."""
    first: dict[tuple[str, str], tuple[int, int]] = {}
    types: dict[tuple[str, str], str] = {}
    for number, entry in enumerate(entries):
        key = (entry.op_name, entry.exact_name or entry.op_name)
        when = (entry.time_us, number)
        first[key] = min(first.get(key, when), when)
        types.setdefault(key, entry.op_type)
    order: Sequence[tuple[str, str]] = sorted(first, key=first.__getitem__)
    return [Operator(key[1], types[key], place=place)
            for place, key in enumerate(order)]


def _texts(node: DumpNode | None, key: str) -> tuple[str, ...]:
    """Return an attribute that is a text or a list of them."""
    value = None if node is None else node.attributes.get(key)
    if isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(each for each in value if isinstance(each, str) and each)
