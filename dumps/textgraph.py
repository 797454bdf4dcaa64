"""What the readers of graphs in protobuf text have in common.

A reader says what an operator is called and how its head looks; this module finds the
graphs and operators, by their indentation where the text is regular and through the
full parser where it is not, keeps count of lines, and says what was lost.
"""

from __future__ import annotations

import bisect
import re
from typing import Any, List, Mapping, Sequence

from dumps import textproto
from dumps.errors import DumpError
from dumps.outline import (
    BLOCK,
    CHUNK,
    SCALAR,
    Head,
    Part,
    count_outside_strings,
    is_regular,
    odd_lines,
    outline,
    prepare,
)
from dumps.records import DumpGraph, DumpNode, NodeDetail, WarningLog
from dumps.source import shown
from dumps.textproto import Message
from dumps.textvalue import to_text

Graphs = List[DumpGraph]


class Place:
    """An operator's place in the text; parses its details when called."""

    __slots__ = ("depth", "end", "line", "reader", "start")

    def __init__(self, reader: TextReader, part: Part, line: int, depth: int) -> None:
        self.reader = reader
        self.start = part.start
        self.end = part.end
        self.line = line
        self.depth = depth

    def text(self) -> bytes:
        """Return the operator as it stands in the file."""
        return self.reader.data[self.start + 1:self.end + 1]

    def message(self) -> Message:
        """Parse the operator."""
        reader = self.reader
        whole = textproto.parse(self.text(), reader.log.path, reader.log,
                                line=self.line, depth=self.depth)
        return whole.message(reader.ITEM.decode()) or Message(self.line)

    def __call__(self) -> NodeDetail:
        """Parse the operator and return its details."""
        return self.reader.detail_of(self.message())


class TextReader:
    """One file while it is read, and what its nodes need afterwards.

    Attributes:
        FORMAT: name of the format.
        ITEM: field that holds an operator.
        TYPE: field of an operator that holds its type.
        WRAPPER: field of the file that holds a graph, b"" where the file is the graph.
        MODEL: fields known beside `WRAPPER`.
        GRAPH: fields known in a graph.
        EXPECTED: what a file of this format looks like, for the error.
    """

    FORMAT = ""
    ITEM = b""
    TYPE = b"type"
    WRAPPER = b"graph"
    MODEL: frozenset[bytes] = frozenset()
    GRAPH: frozenset[bytes] = frozenset()
    EXPECTED = ""

    def __init__(self, data: bytes, path: object) -> None:
        self.log = WarningLog(path)
        self.data = prepare(data, path)
        self._counted = 0
        self._lines = 0
        self._items_seen = 0
        self._is_regular = is_regular(self.data)
        self._odd = [] if self._is_regular else odd_lines(self.data)
        self._graph_head = re.compile(rb"(?:^|[\s{<>};,])(?:%b|%b)\s*(?::\s*)?[{<]" % (
            self.ITEM, self.WRAPPER or self.ITEM))
        self._item_head = re.compile(rb"(?:^|[\s{<>};,])%b\s*(?::\s*)?[{<]" % self.ITEM)

    # What a format defines.

    def head(self, place: int, lead: bytes) -> Head:
        """Read an operator's head after the newline at `place`."""
        raise NotImplementedError

    def edges_of(self, head: Head, line: int) -> DumpNode:
        """Return a node from its head; details are put in by the caller."""
        raise NotImplementedError

    def detail_of(self, message: Message) -> NodeDetail:
        """Return an operator's details."""
        raise NotImplementedError

    def graphs_of(self, message: Message) -> Graphs:
        """Return a graph that was parsed whole, then those inside it."""
        raise NotImplementedError

    def attributes_of(self, parts: Message) -> Mapping[str, Any]:
        """Return a graph's attributes from the fields called `attr`."""
        return {}

    def inner_graphs(self, part: Part, head: Head, depth: int) -> Graphs | None:
        """Return the graphs of an operator that stands for some, None otherwise."""
        return None

    def field_graphs(self, part: Part, line: int) -> Graphs | None:
        """Return the graphs of a field that is known to hold some."""
        return None

    # The file.

    def read(self) -> DumpGraph:
        """Read the file.

        Raises:
            DumpError: it holds no graph.
        """
        graphs = self._model()
        if not self._items_seen and not any(g.nodes for g in graphs) \
                and self._item_head.search(self.data):
            self.log = WarningLog(self.log.path)
            graphs = self._whole()
        if not graphs:
            first = self.data.strip()[:80].split(b"\n")[0]
            raise DumpError(self.log.path, 1, shown(first), self.EXPECTED)
        main = graphs[0]
        for graph in graphs[1:]:
            if graph.name and graph.name == main.name:
                self.log.add(graph.line, f"a second graph {shown(graph.name)}: the "
                             "file holds several dumps, one after the other")
        main.subgraphs = tuple(graphs[1:])
        main.check_references()
        return main

    def line_at(self, place: int) -> int:
        """Return the line that starts after the newline at `place`."""
        if place + 1 < self._counted:
            self._counted = self._lines = 0
        self._lines += self.data.count(b"\n", self._counted, place + 1)
        self._counted = place + 1
        return self._lines

    def parse(self, part: Part, line: int, depth: int) -> Message:
        """Parse a part of the file."""
        return textproto.parse(self.data[part.start + 1:part.end + 1], self.log.path,
                               self.log, line=line, depth=depth)

    def _model(self) -> Graphs:
        is_bare = not self.WRAPPER or b"\n%b {\n" % self.WRAPPER not in self.data
        repeated = self.ITEM if is_bare else self.WRAPPER
        parts = outline(self.data, 0, len(self.data) - 1, 0, repeated)
        if not self.WRAPPER or any(part.key == self.ITEM for part in parts):
            if not any(part.key for part in parts):
                return []
            return self.level(parts, 1, 0, ends_open=True)
        graphs: Graphs = []
        around = LazyAttributes(self, [p for p in parts if p.key == b"attr"], 0)
        for part in parts:
            self._model_part(part, graphs, around if not graphs else None)
        return graphs

    def _model_part(self, part: Part, graphs: Graphs,
                    around: LazyAttributes | None) -> None:
        line = self.line_at(part.start)
        holds_operators = part.kind != SCALAR and self.data.find(
            b"\n  %b {\n" % self.ITEM, part.start, part.end) >= 0
        if part.kind == BLOCK and (part.key == self.WRAPPER or holds_operators):
            if part.key != self.WRAPPER:
                self.log.add(line, f"found {shown(part.key)}, expected "
                             f"{shown(self.WRAPPER)}; read as one")
            if not part.is_closed:
                self.log.add(self.line_at(part.end), "graph not closed")
            graphs.extend(self.block(part, line, 1, around))
        elif part.kind == CHUNK:
            self._loose(part, line, graphs, holds_operators)
        elif not part.is_closed:
            self.log.add(line, f"the text ends inside {shown(part.key)}")
        elif part.key not in self.MODEL:
            self.unknown(part, line, -1)
        elif part.kind == SCALAR and graphs:
            self.log.add(line, "a second model begins: the file holds several dumps, "
                         "one after the other")

    def block(self, part: Part, line: int, depth: int,
              around: LazyAttributes | None = None) -> Graphs:
        """Read a graph that is a message of its own."""
        inside = self.data.find(b"\n", part.start + 1)
        end = part.end - 2 * depth if part.is_closed else part.end
        parts = outline(self.data, inside, max(end, inside), 2 * depth, self.ITEM)
        return self.level(parts, line, depth, around, ends_open=not part.is_closed)

    def level(self, parts: Sequence[Part], line: int, depth: int,
              around: LazyAttributes | None = None, *,
              ends_open: bool = False) -> Graphs:
        """Build a graph from the fields of its level, and those inside it."""
        nodes: list[DumpNode] = []
        inner: Graphs = []
        texts: dict[bytes, list[str]] = {b"name": [], b"input": [], b"output": []}
        attrs = []
        for part in parts:
            if part.kind == CHUNK:
                self._chunk(part, depth, nodes, inner)
            elif part.key == self.ITEM and part.kind == BLOCK:
                is_cut = ends_open and part is parts[-1] and not part.is_closed
                self._operator(part, depth, (nodes, inner), is_cut)
            elif part.kind == SCALAR and part.key in texts:
                texts[part.key].append(to_text(part.value))
            elif part.key == b"attr":
                attrs.append(part)
            else:
                at = self.line_at(part.start)
                found = self.field_graphs(part, at)
                inner.extend(found or [])
                if found is None and part.key not in self.GRAPH:
                    self.unknown(part, at, depth)
        name = texts[b"name"][-1] if texts[b"name"] else ""
        graph = DumpGraph(
            name, self.log.path, self.FORMAT, nodes, inputs=texts[b"input"],
            outputs=self.outputs_of(nodes, texts[b"output"]), line=line, log=self.log,
            attributes=LazyAttributes(self, attrs, depth, around))
        return [graph, *inner]

    def outputs_of(self, nodes: list[DumpNode], listed: list[str]) -> Sequence[Any]:
        """Return a graph's outputs."""
        return ()

    def _operator(self, part: Part, depth: int,
                  found: tuple[list[DumpNode], Graphs], is_cut: bool) -> None:
        line = self.line_at(part.start)
        self._items_seen += 1
        inside = self.data.find(b"\n", part.start + 1)
        if inside >= part.end and not is_cut:
            self.log.add(line, "empty operator left out")
            return
        lead = b"\n" + b" " * (2 * depth + 2)
        head = self.head(inside, lead)
        inner = self.inner_graphs(part, head, depth)
        if inner is not None:
            found[1].extend(inner)
            return
        if is_cut:
            what = shown(head.name or "it")
            self.log.lose(line, 1, f"the text ends inside {what}")
            return
        place = Place(self, part, line, depth)
        if part.is_closed and self._is_whole(head, lead, part) \
                and self._is_sound(part):
            node = self.edges_of(head, line)
            node._detail, node._text = place, place.text
            found[0].append(node)
            return
        if not part.is_closed:
            self.log.add(line, f"operator {shown(head.name or '')} not closed")
        graphs = self.graphs_of(self.parse(part, line, depth))
        found[0].extend(graphs[0].nodes)
        found[1].extend(graphs[1:])

    def _is_whole(self, head: Head, lead: bytes, part: Part) -> bool:
        """Say whether the head was found, and no input stands further down."""
        data, after = self.data, head.after
        return bool(head.name and head.type) and not data.startswith(
            (lead + b"name:", lead + self.TYPE + b":"), after) and data.find(
                lead + b"input:", after, part.end) < 0

    def _is_sound(self, part: Part) -> bool:
        """Say whether an operator's lines are regular and its brackets in pairs."""
        data, start, end = self.data, part.start, part.end
        if self._is_regular:
            return True
        place = bisect.bisect_left(self._odd, start)
        if place < len(self._odd) and self._odd[place] < end:
            return False
        stop = end + 1
        return data.count(b"{\n", start, stop) == data.count(b"}\n", start, stop)

    # What does not fit.

    def _whole(self) -> Graphs:
        """Read a file of another surface than TextFormat's."""
        graphs: Graphs = []
        self._from_text(Part(CHUNK, b"", b"", 0, len(self.data), True), 1, graphs)
        lost = count_outside_strings(self._item_head, self.data) - sum(
            len(graph.nodes) for graph in graphs)
        if lost > 0:
            self.log.lose(0, lost, "their text is damaged beyond reading")
        return graphs

    def _from_text(self, part: Part, line: int, graphs: Graphs) -> None:
        whole = self.parse(part, line, 0)
        if self.WRAPPER:
            for message in whole.messages(self.WRAPPER.decode()):
                graphs.extend(self.graphs_of(message))
        if whole.messages(self.ITEM.decode()):
            self._join(graphs, self.graphs_of(whole), line)

    def _join(self, graphs: Graphs, loose: Graphs, line: int) -> None:
        """Put operators that stand outside of any graph where they may belong."""
        if not graphs:
            graphs.extend(loose)
            return
        self.log.add(line, "operators outside of a graph; put into the one before")
        graphs[-1].nodes = (*graphs[-1].nodes, *loose[0].nodes)
        graphs.extend(loose[1:])

    def _loose(self, part: Part, line: int, graphs: Graphs,
               holds_operators: bool) -> None:
        """Take in text between the graphs that is no regular field."""
        if holds_operators:
            self.log.add(line, "a damaged head of a graph, or operators outside of one")
            parts = outline(self.data, part.start, part.end, 2, self.ITEM)
            self._join(graphs, self.level(parts, line, 1, ends_open=True), line)
            return
        if self._graph_head.search(self.data, part.start, part.end) is None:
            self.damaged(part, 0)
            return
        before = sum(len(graph.nodes) for graph in graphs)
        self._from_text(part, line, graphs)
        count = sum(len(graph.nodes) for graph in graphs) - before
        self._count_lost(part, line, count, 1)

    def _chunk(self, part: Part, depth: int, nodes: list[DumpNode],
               inner: Graphs) -> None:
        """Take the operators out of text that is not regular."""
        line = self.line_at(part.start)
        whole = self.parse(part, line, depth)
        graphs = self.graphs_of(whole)
        nodes.extend(graphs[0].nodes)
        inner.extend(graphs[1:])
        count = sum(len(graph.nodes) for graph in graphs)
        if not count and whole.items:
            self.log.add(line, f"field {shown(whole.items[0][0])} out of place")
        self._count_lost(part, line, count, depth)

    def damaged(self, part: Part, depth: int) -> None:
        """Note text that nothing can be made of, and the operators in it."""
        line = self.line_at(part.start)
        self.log.add(line, "text not understood: "
                     + shown(self.data[part.start:part.start + 400].strip()))
        self._count_lost(part, line, 0, depth)

    def _count_lost(self, part: Part, line: int, found: int, depth: int) -> None:
        text = self.data[part.start:part.end]
        heads = count_outside_strings(self._item_head, text)
        orphans = len(re.findall(
            rb'\n {%d,%d}%b: "' % (2 * depth + 2, 2 * depth + 2 if self.TYPE == b"type"
                                   else 400, self.TYPE), text))
        lost = max(heads, orphans) - found
        if lost > 0:
            self.log.lose(line, lost, "their text is damaged beyond reading")

    def unknown(self, part: Part, line: int, depth: int) -> None:
        """Count a field that is not known; an operator in it is lost."""
        self.log.unknown[part.key.decode("ascii", "replace")] += 1
        lead = b"\n" + b" " * (2 * depth + 2)
        if part.kind == BLOCK and depth >= 0 and self.data.find(
                lead + self.TYPE + b': "', part.start, part.end) >= 0:
            self.log.lose(line, 1, f"found {shown(part.key)}, expected "
                          f"{shown(self.ITEM)}")
        else:
            self.log.add(line, f"unknown field {shown(part.key)} passed over")


class LazyAttributes:
    """Attributes of a graph, and of the model around it; parsed when called."""

    def __init__(self, reader: TextReader, parts: list[Part], depth: int,
                 around: LazyAttributes | None = None) -> None:
        self._reader = reader
        self._parts = parts
        self._depth = depth
        self._around = around

    def __call__(self) -> Mapping[str, Any]:
        """Parse them; a key of the graph hides the model's."""
        reader = self._reader
        parts = list(self._around._parts) if self._around else []
        whole = Message()
        for part in parts:
            whole.items.extend(reader.parse(part, reader.line_at(part.start), 0).items)
        for part in self._parts:
            line = reader.line_at(part.start)
            whole.items.extend(reader.parse(part, line, self._depth).items)
        return reader.attributes_of(whole)
