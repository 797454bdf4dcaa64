"""What every reader of a graph gives back: graphs, nodes, descriptors, edges, warnings.

The surface is a read-only record. Inside, what costs time to parse (descriptors and
attributes) is parsed when it is first asked for; readers that have it at hand pass it
ready-made. Nothing here knows a file format.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, Union

_NOTHING: Mapping[str, Any] = {}


class Edge(NamedTuple):
    """One output of a node, as the source of an input.

    Attributes:
        node: name of the producer, unique within its graph only.
        index: number of the producer's output, from 0.
    """

    node: str
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs


class EdgeCounts(NamedTuple):
    """Inputs of a graph's nodes by kind.

    Attributes:
        data: inputs that hold a tensor.
        control: control inputs.
        empty: data slots that nothing is connected to.
    """

    data: int
    control: int
    empty: int


@dataclass(frozen=True)
class DumpWarning:
    """Something in a file that could not be read as it should.

    Attributes:
        path: the file.
        line: 1-based line, 0 where there is none.
        message: what was found and what became of it, printable.
    """

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"


@dataclass(frozen=True)
class TensorDesc:
    """What a dump says about one input or output of a node.

    Attributes:
        dtype: NumPy's name, "bfloat16", or the compiler's own in lower case where
            neither has one; "undefined" where the dump says so or says nothing.
        format: the layout ("ND", "NC1HWC0"), "" where it is not given.
        shape: dimensions; -1 is unknown, (-2,) an unknown rank, () a scalar, None where
            the format has no shapes.
        origin_dtype: dtype before the compiler changed it, "" where it is not given.
        origin_format: layout before the compiler changed it, "" where not given.
        origin_shape: shape in the original layout, None where it is not given.
        name: name of the port, often "".
        raw_dtype: the dtype as the file spells it ("DT_FLOAT16", "27").
        line: 1-based line of the descriptor, 0 where there is none.
        attributes: everything else, as plain Python values.
    """

    dtype: str = "undefined"
    format: str = ""
    shape: tuple[int, ...] | None = None
    origin_dtype: str = ""
    origin_format: str = ""
    origin_shape: tuple[int, ...] | None = None
    name: str = ""
    raw_dtype: str = ""
    line: int = field(default=0, compare=False)
    attributes: Mapping[str, Any] = field(
        default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class TensorValue:
    """A tensor stored in an attribute.

    Attributes:
        desc: dtype, shape and layout.
        data: elements as the file holds them, little-endian; b"" where the dump level
            left them out.
    """

    desc: TensorDesc
    data: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class NodeDetail:
    """The part of a node that is parsed on demand.

    Attributes:
        attributes: plain Python values by key.
        input_descs: one for each data input slot, as far as the file has them.
        output_descs: one for each output.
        subgraphs: names of the graphs this node runs (body of a loop, a function).
        fields: what is neither of these ("id", "stream_id", ...), by the file's name.
    """

    attributes: Mapping[str, Any] = field(default_factory=dict)
    input_descs: tuple[TensorDesc, ...] = ()
    output_descs: tuple[TensorDesc, ...] = ()
    subgraphs: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


EMPTY_DETAIL = NodeDetail()
Detail = Union[NodeDetail, Callable[[], NodeDetail]]
Text = Union[bytes, Callable[[], bytes]]


class DumpNode:
    """One operator of a dumped graph.

    Attributes:
        name: its name, unique within the graph unless the file is damaged.
        type: its operator type ("Conv2D"); without the "ge:" of the ONNX form.
        inputs: one entry for each data input slot in order; None = nothing connected.
        controls: names of the nodes that must run before.
        line: 1-based line where the node begins.
    """

    __slots__ = ("_detail", "_text", "controls", "inputs", "line", "name", "type")

    def __init__(self, name: str, type: str, inputs: tuple[Edge | None, ...] = (),
                 controls: tuple[str, ...] = (), line: int = 0,
                 detail: Detail = EMPTY_DETAIL, text: Text = b"") -> None:
        self.name = name
        self.type = type
        self.inputs = inputs
        self.controls = controls
        self.line = line
        self._detail = detail
        self._text = text

    @property
    def detail(self) -> NodeDetail:
        """Descriptors and attributes; parsed at first use, then kept."""
        found = self._detail
        if not isinstance(found, NodeDetail):
            found = found()
            self._detail = found
        return found

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes as plain Python values; each is decoded when asked for."""
        return self.detail.attributes

    @property
    def input_descs(self) -> tuple[TensorDesc, ...]:
        """Descriptors of the data inputs."""
        return self.detail.input_descs

    @property
    def output_descs(self) -> tuple[TensorDesc, ...]:
        """Descriptors of the outputs."""
        return self.detail.output_descs

    @property
    def subgraphs(self) -> tuple[str, ...]:
        """Names of the graphs this node runs."""
        return self.detail.subgraphs

    @property
    def fields(self) -> Mapping[str, Any]:
        """Other scalars of the node by the file's own names ("id", "stream_id")."""
        return self.detail.fields

    @property
    def text(self) -> bytes:
        """The node as it stands in the file, b"" where the reader cannot tell.

        Two nodes of one format with equal text are equal in everything, so a
        comparison of two stages can pass over them without parsing.
        """
        found = self._text
        return found if isinstance(found, bytes) else found()

    def __repr__(self) -> str:
        return (f"DumpNode(name={self.name!r}, type={self.type!r}, inputs="
                f"{self.inputs!r}, controls={self.controls!r}, line={self.line})")


class WarningLog:
    """Warnings of one file, shared by its graphs; grows while details are parsed.

    Attributes:
        path: the file.
        lost_nodes: operators that stand in the file and could not be returned.
        unknown: how often each field unknown to the reader occurred.
        problems: lines and tokens that could not be read, warned of or not.
    """

    LIMIT = 200
    HOPELESS = 20000

    def __init__(self, path: object) -> None:
        self.path = str(path)
        self.lost_nodes = 0
        self.unknown: Counter[str] = Counter()
        self.problems = 0
        self._found: list[DumpWarning] = []
        self._seen: set[tuple[int, str]] = set()
        self._dropped = 0

    def add(self, line: int, message: str) -> None:
        """Note a warning once; past `LIMIT` warnings they are only counted."""
        self.problems += 1
        if (line, message) in self._seen:
            return
        if len(self._found) >= self.LIMIT:
            self._dropped += 1
            return
        self._seen.add((line, message))
        self._found.append(DumpWarning(self.path, line, message))

    @property
    def is_hopeless(self) -> bool:
        """So much was wrong that reading on would only cost time."""
        return self.problems > self.HOPELESS

    def give_up(self, line: int, lost: int) -> None:
        """Note that the rest of the file is left out, with `lost` operators."""
        self.lost_nodes += lost
        also = f", {lost} operators with it: they are lost" if lost else ""
        self._found.append(DumpWarning(self.path, line, "damaged throughout; what "
                                       f"follows is left out{also}"))

    def lose(self, line: int, count: int, why: str) -> None:
        """Note that `count` operators were lost."""
        self.lost_nodes += count
        noun = "operator" if count == 1 else "operators"
        self.add(line, f"{count} {noun} lost: {why}")

    def all(self) -> tuple[DumpWarning, ...]:
        """Return the warnings so far, the number of dropped ones last."""
        text = f"{self._dropped} more warnings not shown" + (
            f"; {self.lost_nodes} operators lost in all" if self.lost_nodes else "")
        more = DumpWarning(self.path, 0, text)
        return (*self._found, more) if self._dropped else tuple(self._found)


class DumpGraph:
    """One graph of a dump, with the graphs that belong to it.

    Attributes:
        name: the graph's name.
        path: the file it came from.
        format: "ge_proto", "ge_onnx", "readable", "atc_json", "ascgraph",
            "tf_pbtxt", "hlo".
        nodes: operators in the order of the file.
        subgraphs: further graphs of the file, in its order; they have none themselves.
        inputs: names of the graph's inputs as the file lists them, often empty.
        outputs: what the graph returns.
        line: 1-based line where the graph begins.
    """

    __slots__ = ("_attributes", "_by_name", "_log", "format", "inputs", "line",
                 "name", "nodes", "outputs", "path", "subgraphs")

    def __init__(self, name: str, path: object, format: str,
                 nodes: Sequence[DumpNode] = (), subgraphs: Sequence[DumpGraph] = (),
                 *, inputs: Sequence[str] = (), outputs: Sequence[Edge] = (),
                 line: int = 1, log: WarningLog | None = None,
                 attributes: Mapping[str, Any]
                 | Callable[[], Mapping[str, Any]] = _NOTHING) -> None:
        self.name = name
        self.path = str(path)
        self.format = format
        self.nodes = tuple(nodes)
        self.subgraphs = tuple(subgraphs)
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.line = line
        self._log = log if log is not None else WarningLog(path)
        self._attributes = attributes
        self._by_name: dict[str, DumpNode] | None = None

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes of the graph; those of the file around it under their own keys."""
        if callable(self._attributes):
            self._attributes = self._attributes()
        return self._attributes

    @property
    def warnings(self) -> tuple[DumpWarning, ...]:
        """What could not be read so far, the whole file's; attributes add to it."""
        return self._log.all()

    @property
    def lost_nodes(self) -> int:
        """Operators that stand in the file and could not be returned."""
        return self._log.lost_nodes

    @property
    def unknown_fields(self) -> Mapping[str, int]:
        """Fields the reader does not know, and how often each occurred so far."""
        return self._log.unknown

    @property
    def graphs(self) -> tuple[DumpGraph, ...]:
        """This graph, then its subgraphs."""
        return (self, *self.subgraphs)

    @property
    def node_count(self) -> int:
        """Operators of this graph and of its subgraphs."""
        return sum(len(graph.nodes) for graph in self.graphs)

    @property
    def edges(self) -> EdgeCounts:
        """Inputs of this graph's own nodes by kind, subgraphs left out."""
        slots = [slot for node in self.nodes for slot in node.inputs]
        empty = slots.count(None)
        control = sum(len(node.controls) for node in self.nodes)
        return EdgeCounts(len(slots) - empty, control, empty)

    @property
    def all_edges(self) -> EdgeCounts:
        """Inputs by kind, over this graph and its subgraphs."""
        counts = [graph.edges for graph in self.graphs]
        return EdgeCounts(*(sum(column) for column in zip(*counts)))

    def warn(self, line: int, message: str) -> None:
        """Add a warning about this file."""
        self._log.add(line, message)

    def load_details(self) -> None:
        """Parse every descriptor and attribute, so that all warnings are known."""
        pending: list[Any] = [self]
        while pending:
            each = pending.pop()
            if isinstance(each, DumpGraph):
                pending += (each.attributes, *each.nodes, *each.subgraphs)
            elif isinstance(each, DumpNode):
                pending += (each.attributes, *each.input_descs, *each.output_descs)
            elif isinstance(each, TensorDesc):
                pending.append(each.attributes)
            elif isinstance(each, TensorValue):
                pending.append(each.desc)
            elif isinstance(each, Mapping):
                pending += each.values()
            elif isinstance(each, tuple):
                pending += each

    def check_references(self) -> None:
        """Warn about inputs from operators that are in none of the graph's nodes."""
        for graph in self.graphs:
            known = {node.name for node in graph.nodes}
            known.update(graph.inputs)
            missing = [(node, name) for node in graph.nodes
                       for name in [edge.node for edge in node.inputs if edge]
                       + list(node.controls) if name not in known]
            if missing:
                node, name = missing[0]
                graph.warn(node.line, f"{len(missing)} inputs come from operators that "
                           f"are not in the graph, the first from {name[:60]!a}")

    def node(self, name: str) -> DumpNode | None:
        """Return the node of this graph with that name; the first of equal names."""
        if self._by_name is None:
            self._by_name = {node.name: node for node in reversed(self.nodes)}
        return self._by_name.get(name)

    def subgraph(self, name: str) -> DumpGraph | None:
        """Return the subgraph with that name."""
        return next((each for each in self.subgraphs if each.name == name), None)

    def walk(self) -> Iterator[tuple[DumpGraph, DumpNode]]:
        """Yield every node of this graph and its subgraphs with the graph it is in."""
        for graph in self.graphs:
            for node in graph.nodes:
                yield graph, node

    def __repr__(self) -> str:
        return (f"DumpGraph(name={self.name!r}, format={self.format!r}, "
                f"nodes={len(self.nodes)}, subgraphs={len(self.subgraphs)})")
