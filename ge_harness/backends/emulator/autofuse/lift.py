"""Stage C: fused nodes that gain nothing are turned back into their operators.

Source: reference: autofuse_fusion_rules.md section 6.
"""

from __future__ import annotations

import dataclasses

from ge_harness.backends.emulator import values
from ge_harness.backends.emulator.autofuse import asc, table
from ge_harness.backends.emulator.autofuse.specs import AutoFuseOptions
from ge_harness.backends.emulator.autofuse.unit import Part, Unit, Units
from ge_harness.backends.emulator.ge_types import byte_size
from ge_harness.backends.emulator.ir import Node, Port

_TAIL_BYTES = 512
_SPLIT_SHARE = 0.2


def lift(start: Units, options: AutoFuseOptions) -> tuple[Units, tuple[str, ...]]:
    """Return the units that stay fused, and the names of those turned back."""
    units = start.copy()
    lifted: list[str] = []
    _unfold_concats(units, options, lifted)
    if not options.disable_lifting:
        fused = [unit for unit in units.units.values() if unit.is_fused]
        stay = {unit.name for unit in fused if _stays(units, unit, options)}
        parts = {node.name for unit in fused if unit.name in stay
                 for node in unit.nodes if len(node.outputs) > 1}
        # An operator of several outputs comes back whole or not at all.
        back = [unit.name for unit in fused if unit.name not in stay
                and not parts & {node.name for node in unit.nodes}]
        _turn_back(units, frozenset(back))
        lifted += back
    return units, tuple(lifted)


def _stays(units: Units, unit: Unit, options: AutoFuseOptions) -> bool:
    if unit.keep:
        return True
    if table.SPLIT in unit.kinds:
        return _split_share(units, unit) > _SPLIT_SHARE
    if unit.merges > 1:
        return True
    compute = [node for node in unit.nodes if node.type not in table.VIEWS]
    if len(compute) >= 2 or len(unit.outputs) > 1:
        return True
    if table.SLICE in unit.kinds and len(unit.nodes) > 1:
        return True
    if len(units.inputs(unit)) > options.spec.max_concat_inputs:
        return True
    return len(compute) == 1 and compute[0].type == "Transpose" and (
        _keeps_transpose(units, compute[0]))


def _split_share(units: Units, unit: Unit) -> float:
    """Return the share of a split's outputs that are read inside the kernel alone."""
    names = {node.name for node in unit.nodes if node.type in ("Split", "SplitV")}
    ports = [Port(node.name, index) for node in unit.nodes if node.name in names
             for index in range(len(node.outputs))]
    inside = [port for port in ports if port not in unit.outputs]
    return len(inside) / len(ports) if ports else 0.0


def _keeps_transpose(units: Units, node: Node) -> bool:
    """A single Transpose stays where its last axis does, and holds 512 bytes or more.

    Source: ge, autofuse/lowering/liftings.cpp.
    """
    source = units.graph.desc(node.inputs[0])
    order, _ = values.constant(units.graph.nodes[node.inputs[1].node])
    rank = len(source.shape)
    if not rank or int(order.reshape(-1)[-1]) != rank - 1:
        return False
    return source.shape[-1] * byte_size(source.dtype) >= _TAIL_BYTES


def _turn_back(units: Units, names: frozenset[str]) -> None:
    """Bring the original operators of units back, in their place."""
    kept: dict[str, Unit] = {}
    for name, each in units.units.items():
        if name not in names:
            kept[name] = each
            continue
        for node in each.nodes:
            if node.name not in kept and node.name not in units.units:
                kept[node.name] = _original(each, node)
    if names:
        units.reset(kept)


def _original(unit: Unit, node: Node) -> Unit:
    ports = tuple(Port(node.name, index) for index in range(len(node.outputs)))
    return Unit(node.name, unit.number, node=node, outputs=ports)


def _unfold_concats(units: Units, options: AutoFuseOptions, lifted: list[str]) -> None:
    for unit in list(units.units.values()):
        if not unit.is_fused or table.CONCAT not in unit.kinds or len(unit.parts) < 2:
            continue
        part = next(each for each in unit.parts if table.CONCAT in each.kinds)
        ports = asc.ends(units.graph, part.nodes).loads
        if len(ports) > options.spec.max_concat_inputs or len(ports) == 1:
            continue
        if _fused_share(units, unit, part) < _threshold(units, part, options):
            _unfold(units, unit)
            lifted.append(unit.name)


def _concat_axis(units: Units, node: Node) -> int:
    rank = len(node.outputs[0].shape)
    if node.type == "Pack":
        return int(node.attr("axis", 0)) % max(rank, 1)
    slot = 0 if node.type == "Concat" else len(node.inputs) - 1
    found = units.graph.nodes[node.inputs[slot].node]
    array, _ = values.constant(found)
    return int(array.reshape(-1)[0]) % max(rank, 1)


def _fused_share(units: Units, unit: Unit, part: Part) -> float:
    """Return the share of the concat axis that fused inputs give."""
    node = part.nodes[-1]
    axis = _concat_axis(units, node)
    inside = {each.name for each in unit.nodes if each.name != node.name}
    total = fused = 0
    for slot in table.data_inputs(node.type, len(node.inputs)):
        port = node.inputs[slot]
        shape = units.graph.desc(port).shape
        length = shape[axis] if node.type != "Pack" else 1
        total += length
        fused += length if port.node in inside else 0
    return fused / total if total else 1.0


def _threshold(units: Units, part: Part, options: AutoFuseOptions) -> float:
    node = part.nodes[-1]
    axis = _concat_axis(units, node)
    shape = node.outputs[0].shape
    if axis == 0 and shape[:1] == (0,):
        return 0.0
    leading = 1
    for length in shape[:axis]:
        leading *= length
    if leading != 1:
        return options.spec.concat_ratio
    ports = [node.inputs[slot] for slot in table.data_inputs(
        node.type, len(node.inputs))]
    sizes = [units.graph.desc(port) for port in ports]
    mean = sum(each.size * byte_size(each.dtype) for each in sizes) / len(sizes)
    for limit, ratio in ((8 << 20, 1.0), (1 << 20, 0.8), (512 << 10, 0.5)):
        if mean > limit:
            return ratio
    return 0.3333


def _unfold(units: Units, unit: Unit) -> None:
    """Split a fused concat: its parts are nodes of their own again."""
    kept: dict[str, Unit] = {}
    pieces = [units.free_name(f"{unit.name}_{place}")
              for place in range(len(unit.parts))]
    for name, each in units.units.items():
        if name != unit.name:
            kept[name] = each
            continue
        for piece_name, part in zip(pieces, unit.parts):
            ports = tuple(Port(node.name, index) for node in part.nodes
                          for index in range(len(node.outputs)))
            piece = dataclasses.replace(
                unit, name=piece_name, parts=(part,), outputs=ports,
                merges=1)
            kept[piece.name] = piece
    units.reset(kept)
    for name in pieces:
        piece = units.units[name]
        outputs = units.read_outside(piece, piece.outputs)
        units.trim(dataclasses.replace(piece, outputs=outputs))
