"""What changed between two dumps of one graph: nodes, fusions, casts, descriptors.

`compare` pairs the nodes of both sides (`dumps.pairing`: by name, by the names of the
original operators, by structure, since GE renames) and describes every pair that is not
equal. What only follows from the file being written again (ids, offsets, copies of the
edges) is no change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from dumps.pairing import Pairing, edge_root, pair
from dumps.records import DumpGraph, DumpNode, TensorDesc
from dumps.sides import STAMP, Key, Side, stamps, without_times
from dumps.source import shown

CAST_TYPES = frozenset({"Cast", "CastLike", "CastV2"})
# Attributes that change from run to run or with the numbering of nodes.
# Source: reference: graph_dumps.md sections 3.3 and 5.4.
VOLATILE_ATTRIBUTES = frozenset({
    "_src_out_peer_index_for_ge_txt_load", "_session_graph_id", "session_graph_id",
    "json_file_path", "run_count", "_json_file_path",
})
VOLATILE_FIELDS = frozenset({
    "id", "stream_id", "src_name", "src_index", "dst_name", "dst_index", "input_i",
    "output_i", "workspace", "workspace_bytes", "input_name", "is_input_const",
    "has_out_attr",
})
VOLATILE_DESC = frozenset({
    "size", "weight_size", "data_offset", "real_dim_cnt", "reuse_input",
    "reuse_input_index", "cmps_size", "cmps_tab", "cmps_tab_offset", "has_out_attr",
})
# The lines between the attributes and the descriptors of an operator at depth 1 that
# say nothing. The fields stand in the order of their numbers.
_VOLATILE_LINE = re.compile(
    rb"^    (?:id|stream_id|src_name|src_index|dst_name|dst_index|input_i|output_i|"
    rb"workspace|workspace_bytes): [^\n]*\n", re.M)
_END_OF_ATTRIBUTE = b"\n    }\n"
_MOST_DETAILS = 40


@dataclass(frozen=True)
class NodeRef:
    """A node on one side.

    Attributes:
        graph: name of the graph it is in.
        name: its name.
        type: its operator type.
        dtypes: dtypes of its inputs and outputs, sorted.
        line: 1-based line where it begins.
    """

    graph: str
    name: str
    type: str
    dtypes: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True)
class Renamed:
    """A node that kept its work and got another name.

    Attributes:
        node: the node as it is now.
        old_name: the name it had.
        how: what showed that it is the same node.
    """

    node: NodeRef
    old_name: str
    how: str


@dataclass(frozen=True)
class Fused:
    """Several nodes that one node stands for now.

    Attributes:
        node: the fused node.
        originals: the nodes that are gone into it, in the order of the old file; the
            node itself among them where it kept its name.
        how: what showed it: an attribute's name, or "structure".
    """

    node: NodeRef
    originals: tuple[NodeRef, ...]
    how: str


@dataclass(frozen=True)
class Replaced:
    """Nodes that others stand for now, without being a fusion.

    Attributes:
        before: the nodes that are gone.
        after: the nodes that came for them.
        how: what showed it.
    """

    before: tuple[NodeRef, ...]
    after: tuple[NodeRef, ...]
    how: str


@dataclass(frozen=True)
class Changed:
    """A node that stayed and is not what it was.

    Attributes:
        node: the node as it is now.
        what: kinds of change, in the order of `KINDS`.
        details: (what exactly, before, after), shortened and printable.
    """

    KINDS = ("type", "dtype", "format", "shape", "attributes", "inputs", "controls",
             "graph")

    node: NodeRef
    what: tuple[str, ...]
    details: tuple[tuple[str, str, str], ...] = ()

    @property
    def attributes_only(self) -> bool:
        """Nothing but attributes differs."""
        return self.what == ("attributes",)


@dataclass(frozen=True)
class StageChanges:
    """Everything that differs between two dumps.

    Attributes:
        added: nodes that came and stand for none before.
        removed: nodes that went and have no successor.
        renamed: nodes with another name.
        fused: fusions.
        replaced: nodes replaced by others.
        changed: nodes that stayed and differ.
    """

    added: tuple[NodeRef, ...] = ()
    removed: tuple[NodeRef, ...] = ()
    renamed: tuple[Renamed, ...] = ()
    fused: tuple[Fused, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    changed: tuple[Changed, ...] = ()

    @property
    def casts_added(self) -> tuple[NodeRef, ...]:
        """The casts among the added nodes."""
        return tuple(node for node in self.added if node.type in CAST_TYPES)

    @property
    def casts_removed(self) -> tuple[NodeRef, ...]:
        """The casts among the removed nodes."""
        return tuple(node for node in self.removed if node.type in CAST_TYPES)

    def count(self, kind: str) -> int:
        """Return how many nodes stayed and changed in `kind` (of `Changed.KINDS`)."""
        return sum(kind in each.what for each in self.changed)

    @property
    def attributes_only(self) -> int:
        """Nodes of which nothing but attributes changed."""
        return sum(each.attributes_only for each in self.changed)

    @property
    def total(self) -> int:
        """Entries over all kinds; 0 when the dumps say the same."""
        return (len(self.added) + len(self.removed) + len(self.renamed)
                + len(self.fused) + len(self.replaced) + len(self.changed))


NO_CHANGES = StageChanges()


class _Said:
    """What differs between two nodes, while it is found."""

    def __init__(self) -> None:
        self.what: set[str] = set()
        self.details: list[tuple[str, str, str]] = []


def compare(old: DumpGraph, new: DumpGraph) -> StageChanges:
    """Return what differs between two dumps of a graph, subgraphs included."""
    if stamps(old) != stamps(new):
        old, new = without_times(old), without_times(new)
    before, after = Side(old), Side(new)
    same_format = old.format == new.format
    pairing = pair(before, after, _is_equal if same_format else _is_never_equal)
    changed = []
    for key, old_key in pairing.differing:
        found = _describe(pairing, before, after, old_key, key)
        if found is not None:
            changed.append(found)
    return StageChanges(
        tuple(ref(after, key) for key in pairing.added),
        tuple(ref(before, key) for key in pairing.removed),
        tuple(Renamed(ref(after, new_key), before.nodes[old_key].name, how)
              for old_key, new_key, how in pairing.renamed),
        tuple(Fused(ref(after, new_key), tuple(ref(before, each) for each in olds), how)
              for new_key, olds, how in pairing.fused),
        tuple(Replaced(tuple(ref(before, each) for each in olds),
                       tuple(ref(after, each) for each in news), how)
              for olds, news, how in pairing.replaced),
        tuple(changed))


def ref(side: Side, key: Key) -> NodeRef:
    """Return the reference to a node of one side."""
    node = side.nodes[key]
    return NodeRef(key[0], node.name, node.type, dtypes_of(node), node.line)


def dtypes_of(node: DumpNode) -> tuple[str, ...]:
    """Return the dtypes of a node's inputs and outputs, sorted."""
    found = {desc.dtype for desc in (*node.input_descs, *node.output_descs)}
    return tuple(sorted(found - {"undefined", ""}))


def _is_equal(old: DumpNode, new: DumpNode) -> bool:
    """Say whether the text of two nodes says the same."""
    before, after = old.text, new.text
    if before == after:
        return bool(before)
    if not before or not after:
        return False
    head, middle, tail = _parts(before)
    other_head, other_middle, other_tail = _parts(after)
    if head != other_head or tail != other_tail:
        return False
    return _VOLATILE_LINE.sub(b"", middle) == _VOLATILE_LINE.sub(b"", other_middle)


def _parts(text: bytes) -> tuple[bytes, bytes, bytes]:
    """Split an operator before and after the lines that number it.

    Kernels stand in the attributes, so these lines are searched for from behind.
    """
    tail = text.find(b"\n    input_desc {\n")
    if tail < 0:
        tail = text.find(b"\n    output_desc {\n")
    if tail < 0:
        tail = len(text)
    end = text.rfind(_END_OF_ATTRIBUTE, 0, tail)
    middle = end + len(_END_OF_ATTRIBUTE) if end >= 0 else 0
    return text[:middle], text[middle:tail + 1], text[tail + 1:]


def _is_never_equal(old: DumpNode, new: DumpNode) -> bool:
    return False


def _describe(pairing: Pairing, before: Side, after: Side, old_key: Key,
              new_key: Key) -> Changed | None:
    old, new = before.nodes[old_key], after.nodes[new_key]
    said = _Said()
    what, details = said.what, said.details
    if old.type != new.type:
        what.add("type")
        details.append(("type", shown(old.type), shown(new.type)))
    if old_key[0] != new_key[0] and not _same_name(old_key[0], new_key[0]):
        what.add("graph")
        details.append(("graph", shown(old_key[0]), shown(new_key[0])))
    for part, olds, news in (("input", old.input_descs, new.input_descs),
                             ("output", old.output_descs, new.output_descs)):
        _descs(part, olds, news, what, details)
        if before.format == after.format:
            _desc_attributes(part, olds, news, what, details)
    if before.format == after.format:
        _attributes(old, new, what, details)
    _edges(pairing, (before, after), (old_key, new_key), said)
    if not what:
        return None
    kinds = tuple(kind for kind in Changed.KINDS if kind in what)
    dtypes = tuple(sorted({*dtypes_of(old), *dtypes_of(new)}))
    return Changed(NodeRef(new_key[0], new.name, new.type, dtypes, new.line), kinds,
                   tuple(details[:_MOST_DETAILS]))


def _descs(part: str, olds: tuple[TensorDesc, ...], news: tuple[TensorDesc, ...],
           what: set[str], details: list[tuple[str, str, str]]) -> None:
    for index, (old, new) in enumerate(zip(olds, news)):
        for kind in ("dtype", "format", "shape"):
            a, b = getattr(old, kind), getattr(new, kind)
            if a != b and None not in (a, b):
                what.add(kind)
                details.append((f"{part} {index} {kind}", shown(str(a)), shown(str(b))))


def _desc_attributes(part: str, olds: tuple[TensorDesc, ...],
                     news: tuple[TensorDesc, ...], what: set[str],
                     details: list[tuple[str, str, str]]) -> None:
    """Compare what formats say differently, so only within one format."""
    for index, (old, new) in enumerate(zip(olds, news)):
        origin = [name for name in ("origin_dtype", "origin_format", "origin_shape")
                  if getattr(old, name) != getattr(new, name)]
        keys = origin + _keys(old.attributes, new.attributes, VOLATILE_DESC)
        if keys:
            what.add("attributes")
            details.append((f"{part} {index} attributes", "", ", ".join(keys[:8])))


def _attributes(old: DumpNode, new: DumpNode, what: set[str],
                details: list[tuple[str, str, str]]) -> None:
    for before, after, volatile in (
            (old.attributes, new.attributes, VOLATILE_ATTRIBUTES),
            (old.fields, new.fields, VOLATILE_FIELDS)):
        for key in _keys(before, after, volatile):
            what.add("attributes")
            details.append((f"attribute {shown(key)[1:-1]}", _short(before.get(key)),
                            _short(after.get(key))))


def _keys(before: Mapping[str, Any], after: Mapping[str, Any],
          volatile: Iterable[str]) -> list[str]:
    keys = sorted((set(before) | set(after)) - set(volatile))
    return [key for key in keys
            if not _same_value(before.get(key), after.get(key))]


def _same_value(a: Any, b: Any) -> bool:
    if a == b:
        return True
    if isinstance(a, str) and isinstance(b, str):
        return _same_name(a, b)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same_value, a, b))
    return bool(a != a and b != b)  # two NaN


def _same_name(a: str, b: str) -> bool:
    return a == b or STAMP.sub("", a) == STAMP.sub("", b)


def _short(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, (bytes, str)):
        return shown(value)
    if isinstance(value, (list, tuple)) and len(value) > 20:
        return f"{shown(str(list(value[:5])))[1:-1]} ({len(value)} values)"
    return shown(str(value))[1:-1]


def _edges(pairing: Pairing, sides: tuple[Side, Side], keys: tuple[Key, Key],
           said: _Said) -> None:
    """Compare inputs, those that follow from a removal or rename passed over."""
    before, after = sides
    what, details = said.what, said.details
    old, new = before.nodes[keys[0]], after.nodes[keys[1]]
    olds = [edge_root(pairing, before, keys[0][0], slot, True) for slot in old.inputs]
    news = [edge_root(pairing, after, keys[1][0], slot, False) for slot in new.inputs]
    if olds != news and keys[1] not in pairing.absorbing:
        what.add("inputs")
        details.append(("inputs", shown(", ".join(map(_spell, old.inputs)), 200),
                        shown(", ".join(map(_spell, new.inputs)), 200)))
    gone = {pairing.old_to_new.get((keys[0][0], name), (keys[0][0], name))[1]
            for name in old.controls if (keys[0][0], name) not in pairing.removed_set}
    come = {name for name in new.controls
            if (keys[1][0], name) not in pairing.added_set}
    if gone != come:
        what.add("controls")
        details.append(("controls", shown(", ".join(sorted(old.controls)), 200),
                        shown(", ".join(sorted(new.controls)), 200)))


def _spell(edge: Any) -> str:
    return "-" if edge is None else f"{edge[0]}:{edge[1]}"
