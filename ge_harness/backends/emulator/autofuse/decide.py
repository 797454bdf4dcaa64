"""Stage B, one pair: may two fused nodes become one kernel?

Not modeled, because nothing in the model can reach them: core-count attributes
(NF1025), peak memory of horizontal merges (NF1003), and axis groups (NF1009): two
reductions never meet, since every pair of them is refused earlier.

Source: reference: autofuse_fusion_rules.md sections 5.2 to 5.5; codes as in ge,
autofuse/utils/not_fuse_reason_code.h.
"""

from __future__ import annotations

from typing import Sequence

from ge_harness.backends.emulator.autofuse import asc, table
from ge_harness.backends.emulator.autofuse.specs import AFTER_REDUCE, AutoFuseOptions
from ge_harness.backends.emulator.autofuse.unit import Part, Unit, Units, data_shape
from ge_harness.backends.emulator.ir import Port

_FREE = frozenset((table.POINTWISE, table.RESHAPE))


def refusal(units: Units, first: Unit, second: Unit, vertical: bool,
            options: AutoFuseOptions) -> str:
    """Return the code for which a pair is refused, "" where it fuses.

    Args:
        units: all units.
        first: the ancestor, or the earlier of the two.
        second: the other.
        vertical: `first` is an ancestor of `second`.
        options: limits and flags.
    """
    code = _strategies(units, first, second, vertical, options)
    if code:
        return code
    into_concat = vertical and table.CONCAT in second.kinds
    total = node_count(units, first) + node_count(units, second)
    limit = options.max_fusion_size + (1 if table.CUBE in first.kinds else 0)
    if total > limit and not into_concat and table.SPLIT not in first.kinds:
        return "NF1010"
    if not _maps(units, first, second, vertical):
        return "NF1006"
    inputs = set(units.inputs(first)) | (set(units.inputs(second))
                                         - set(first.outputs))
    if len(inputs) > options.spec.max_inputs and not into_concat:
        return "NF1007"
    return ""


def node_count(units: Units, unit: Unit) -> int:
    """Return the AscGraph nodes of a unit, bookkeeping included."""
    return sum(len(asc.build(units.graph, part.nodes, part_stores(units, unit, part)))
               for part in unit.parts)


def part_stores(units: Units, unit: Unit, part: Part) -> tuple[Port, ...]:
    """Return what an AscGraph of a unit writes to memory."""
    own = [Port(node.name, index) for node in part.nodes
           for index in range(len(node.outputs))]
    read = set(unit.outputs)
    for other in unit.parts:
        if other is not part:
            read.update(asc.ends(units.graph, other.nodes).loads)
    return tuple(port for port in own if port in read)


def _strategies(units: Units, first: Unit, second: Unit, vertical: bool,
                options: AutoFuseOptions) -> str:
    kinds = first.kinds | second.kinds
    if first.kinds == second.kinds == {table.RESHAPE}:
        return "NF1024"
    checks = (
        (table.SPLIT, _split), (table.CONCAT, _concat), (table.REDUCE, _reduce),
        (table.SLICE, _slice), (table.GATHER, _gather), (table.TRANSPOSE, _transpose),
        (table.CUBE, _cube))
    for kind, check in checks:
        if kind in kinds:
            code = check(units, first, second, vertical, options)
            if code:
                return code
    return ""


def _reduce(units: Units, first: Unit, second: Unit, vertical: bool,
            options: AutoFuseOptions) -> str:
    if not vertical or set(units.inputs(first)) & set(units.inputs(second)):
        return "NF1021"
    if table.REDUCE not in first.kinds:
        return ""
    if not second.kinds <= _FREE:
        return "NF1031"
    more = sum(asc.after_reduce(asc.build(units.graph, part.nodes, ()))
               for part in second.parts)
    return "NF1031" if first.after_reduce + more > AFTER_REDUCE else ""


def _concat(units: Units, first: Unit, second: Unit, vertical: bool,
            options: AutoFuseOptions) -> str:
    if table.REDUCE in first.kinds | second.kinds:
        return "NF1012"
    if table.CONCAT in first.kinds and table.CONCAT in second.kinds:
        return "NF1013"
    if not vertical:
        return "NF1011"
    if table.CONCAT in second.kinds:
        return ""
    if options.spec.is_v1 or not second.kinds <= _FREE:
        return "NF1011"
    return "NF1035" if _link_is_broadcast(units, first, second) else ""


def _slice(units: Units, first: Unit, second: Unit, vertical: bool,
           options: AutoFuseOptions) -> str:
    if vertical and any(table.SLICE in part.kinds for part in _reading(
            units, first, second)):
        return "NF1024"
    if not vertical and table.SLICE in first.kinds and table.SLICE in second.kinds:
        return "NF1023"
    if table.SLICE in first.kinds and vertical and (
            _link_is_broadcast(units, first, second)
            or table.TRANSPOSE in second.kinds):
        return "NF1047"
    return ""


def _gather(units: Units, first: Unit, second: Unit, vertical: bool,
            options: AutoFuseOptions) -> str:
    if table.GATHER in second.kinds:
        return "NF1016"
    if table.REDUCE in second.kinds and options.spec.is_v1:
        return "NF1017"
    if table.CONCAT in second.kinds and options.spec.is_v1:
        return "NF1018"
    if not vertical:
        return "NF1027"
    same = _part_of(first, first.outputs[0]).loop == second.parts[0].loop
    return "" if same else "NF1019"


def _transpose(units: Units, first: Unit, second: Unit, vertical: bool,
               options: AutoFuseOptions) -> str:
    if not vertical or not (first.kinds | second.kinds) <= (
            _FREE | {table.TRANSPOSE}):
        return "NF1022"
    if table.TRANSPOSE in second.kinds:
        edges = units.edges()[first.name]
        if len(edges) != 1 or set(first.outputs) & units.graph.output_ports():
            return "NF1022"
    broadcast = any(op.type == "Broadcast" for unit in (first, second)
                    for part in unit.parts
                    for op in asc.build(units.graph, part.nodes, ()))
    return "NF1022" if options.spec.is_v1 and broadcast else ""


def _split(units: Units, first: Unit, second: Unit, vertical: bool,
           options: AutoFuseOptions) -> str:
    if not vertical:
        return "NF1039"
    if table.SPLIT in second.kinds:
        return "NF1028"
    if table.REDUCE in second.kinds:
        return "NF1038"
    return "NF1029" if table.CONCAT in second.kinds else ""


def _cube(units: Units, first: Unit, second: Unit, vertical: bool,
          options: AutoFuseOptions) -> str:
    if options.spec.is_v1:
        return "NF1046"
    if not vertical:
        return "NF1049"
    if table.CUBE in second.kinds:
        return "NF1042"
    if not second.kinds <= _FREE:
        return "NF1048"
    if second.kinds == {table.RESHAPE}:
        return "NF1043"
    return "NF1044" if _link_is_broadcast(units, first, second) else ""


def _links(units: Units, first: Unit, second: Unit) -> list[Port]:
    return [port for port in units.inputs(second) if port in first.outputs]


def _reading(units: Units, first: Unit, second: Unit) -> list[Part]:
    """Return the AscGraphs of the second unit that read from the first."""
    links = set(_links(units, first, second))
    return [part for part in second.parts
            if links & set(asc.ends(units.graph, part.nodes).loads)]


def _link_is_broadcast(units: Units, first: Unit, second: Unit) -> bool:
    for port in _links(units, first, second):
        for part in second.parts:
            ends = asc.ends(units.graph, part.nodes)
            if part.kinds <= _FREE and port in ends.loads and (
                    data_shape(units.graph, part.nodes, port) != part.loop):
                return True
    return False


def _part_of(unit: Unit, port: Port) -> Part:
    for part in unit.parts:
        if any(node.name == port.node for node in part.nodes):
            return part
    return unit.parts[0]


def _maps(units: Units, first: Unit, second: Unit, vertical: bool) -> bool:
    """Say whether the loop axes of a pair can be mapped."""
    links = _links(units, first, second)
    if not vertical or not links:
        return all(mapping(a.loop, b.loop) is not None
                   for a in first.parts for b in second.parts)
    return all(_link_maps(units, _part_of(first, port), second, port)
               for port in links)


def _link_maps(units: Units, producer: Part, second: Unit, port: Port) -> bool:
    store = _store_shape(producer, port)
    for part in second.parts:
        if port not in asc.ends(units.graph, part.nodes).loads:
            continue
        if {table.CONCAT, table.CUBE} & (part.kinds | producer.kinds):
            continue  # the loops stay apart
        data = data_shape(units.graph, part.nodes, port)
        if mapping(store, data) is not None:
            if table.REDUCE in producer.kinds and _is_reduced(producer, port) and (
                    _long(store) != _long(part.loop)):
                return False
            continue
        if mapping(store, part.loop) is not None:
            continue
        differs = data != part.loop and store == producer.loop
        if differs or mapping(producer.loop, part.loop) is None:
            return False
    return True


def _store_shape(part: Part, port: Port) -> tuple[int, ...]:
    node = next(each for each in part.nodes if each.name == port.node)
    return node.outputs[port.index].shape


def _is_reduced(part: Part, port: Port) -> bool:
    """Say whether a port of a part comes after its reduce."""
    seen: set[str] = set()
    for node in part.nodes:
        if table.KINDS[node.type] == table.REDUCE or any(
                each.node in seen for each in node.inputs):
            seen.add(node.name)
    return port.node in seen


def _long(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(length for length in shape if length != 1)


def mapping(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...] | None:
    """Map the shorter list of axis sizes into the longer, in order, from the right.

    A size-1 axis matches only a size-1 axis.

    Returns:
        For each axis of the shorter list its place in the longer; None where there is
        no such mapping.
    """
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    found: list[int] = []
    place = len(long) - 1
    for size in reversed(short):
        while place >= 0 and long[place] != size:
            place -= 1
        if place < 0:
            return None
        found.append(place)
        place -= 1
    return tuple(reversed(found))
