"""Stage B, the search: pairs in order of what they share, greedily, in rounds.

Source: reference: autofuse_fusion_rules.md sections 5.1 and 5.4.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Iterator, NamedTuple

from ge_harness.backends.emulator.autofuse import asc, decide, names, table
from ge_harness.backends.emulator.autofuse.specs import MAX_ROUNDS, AutoFuseOptions
from ge_harness.backends.emulator.autofuse.unit import Part, Unit, Units, loop_of
from ge_harness.backends.emulator.ge_types import byte_size
from ge_harness.backends.emulator.ir import Node, Port

_APART = frozenset((table.CONCAT, table.CUBE, table.SPLIT))


class Rejection(NamedTuple):
    """A pair that did not become one kernel.

    Attributes:
        code: "NF1021" ...
        first: name of the earlier fused node.
        second: name of the other.
    """

    code: str
    first: str
    second: str


@dataclass(frozen=True)
class Solved:
    """What stage B leaves.

    Attributes:
        units: after the last round.
        rejections: each once, in the order met.
        merges: how many pairs became one.
        rounds: the units after each round that changed something.
    """

    units: Units
    rejections: tuple[Rejection, ...]
    merges: int
    rounds: tuple[Units, ...] = ()


class _Pair(NamedTuple):
    priority: int
    shared: int
    distance: int
    place: int
    names: tuple[str, str]


def solve(start: Units, options: AutoFuseOptions) -> Solved:
    """Merge fused nodes until a round changes nothing, at most ten rounds."""
    return _Solver(start, options).run()


class _Solver:
    def __init__(self, start: Units, options: AutoFuseOptions) -> None:
        self.units = start.copy()
        self.options = options
        self.rejections: dict[Rejection, None] = {}
        self.merges = 0
        self.next_number = sum(unit.is_fused for unit in start.units.values())

    def run(self) -> Solved:
        rounds = []
        for _ in range(MAX_ROUNDS):
            if not self._round():
                break
            rounds.append(self.units.copy())
        return Solved(self.units, tuple(self.rejections), self.merges, tuple(rounds))

    def _round(self) -> bool:
        stands_for: dict[str, str] = {}
        changed = False
        for pair in sorted(self._pairs(), key=lambda each: (
                each.priority, -each.shared, each.distance, each.place)):
            first, second = (_current(stands_for, name) for name in pair.names)
            if first == second:
                continue
            merged = self._try(first, second)
            if merged:
                stands_for[first] = stands_for[second] = merged
                changed = True
        return changed

    def _pairs(self) -> Iterator[_Pair]:
        fused = [unit for unit in self.units.units.values() if unit.is_fused]
        rank = {name: place for place, name in enumerate(self.units.units)}
        for place, first in enumerate(fused):
            ours = {*self.units.inputs(first), *first.outputs}
            for second in fused[place + 1:]:
                theirs = {*self.units.inputs(second), *second.outputs}
                common = ours & theirs
                if not common:
                    continue
                yield _Pair(
                    _priority(first, second), sum(self._bytes(p) for p in common),
                    rank[second.name] - rank[first.name], rank[first.name],
                    (first.name, second.name))

    def _bytes(self, port: Port) -> int:
        desc = self.units.graph.desc(port)
        return desc.size * byte_size(desc.dtype)

    def _try(self, one: str, other: str) -> str:
        """Merge two units; return the name of the result, "" where refused."""
        order = {name: place for place, name in enumerate(self.units.units)}
        if order[one] > order[other]:
            one, other = other, one
        first, second = self.units.units[one], self.units.units[other]
        edges = self.units.edges()
        direct = other in edges[one]
        if _reaches(edges, one, other, skip_direct=True):
            return self._reject("NF1002", first, second)
        code = decide.refusal(self.units, first, second, direct, self.options)
        if code:
            return self._reject(code, first, second)
        return self._merge(first, second, direct)

    def _reject(self, code: str, first: Unit, second: Unit) -> str:
        self.rejections[Rejection(code, first.name, second.name)] = None
        return ""

    def _merge(self, first: Unit, second: Unit, vertical: bool) -> str:
        parts = self._parts(first, second)
        nodes = _ordered(self.units, (*first.nodes, *second.nodes))
        after = second.after_reduce
        if table.REDUCE in first.kinds:
            after = first.after_reduce + sum(
                asc.after_reduce(asc.build(self.units.graph, part.nodes, ()))
                for part in second.parts)
        name = self.units.free_name(
            names.stage_b(nodes, self.next_number, is_fused=len(parts) > 1))
        self.next_number += 1
        made = Unit(name, max(first.number, second.number) if vertical
                    else first.number, parts, None,
                    (*first.outputs, *(port for port in second.outputs
                                       if port not in first.outputs)),
                    first.merges + second.merges, after, first.keep or second.keep)
        self.units.merge((first.name, second.name), made)
        outputs = self.units.read_outside(made, made.outputs)
        self.units.trim(dataclasses.replace(made, outputs=outputs))
        self.merges += 1
        return name

    def _parts(self, first: Unit, second: Unit) -> tuple[Part, ...]:
        """Merge loops where they may be; otherwise keep the AscGraphs apart."""
        apart = (len(first.parts) + len(second.parts) > 2
                 or (first.kinds | second.kinds) & _APART)
        if apart:
            return (*first.parts, *second.parts)
        one, other = first.parts[0], second.parts[0]
        nodes = _ordered(self.units, (*one.nodes, *other.nodes))
        kinds = one.kinds | other.kinds
        loop = max((one.loop, other.loop), key=lambda axes: (_size(axes), len(axes)))
        if table.REDUCE in kinds:
            loop = loop_of(self.units.graph, nodes)
        return (Part(nodes, kinds, loop),)


def _priority(first: Unit, second: Unit) -> int:
    kinds = (first.kinds, second.kinds)
    if all(table.SPLIT in each for each in kinds):
        return 0
    if any(table.SPLIT in each for each in kinds):
        return 1
    if any(table.CONCAT in each for each in kinds) or table.GATHER in kinds[0]:
        return 2
    return 4 if table.CUBE in kinds[0] else 3


def _current(stands_for: dict[str, str], name: str) -> str:
    while name in stands_for:
        name = stands_for[name]
    return name


def _reaches(edges: dict[str, set[str]], start: str, goal: str, *,
             skip_direct: bool) -> bool:
    """Say whether a path leads from one unit to another, by way of a third."""
    stack = [name for name in edges[start] if not (skip_direct and name == goal)]
    seen = set(stack)
    while stack:
        name = stack.pop()
        if name == goal:
            return True
        for target in edges[name]:
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return False


def _ordered(units: Units, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return nodes in the graph's order, each once."""
    rank = {name: place for place, name in enumerate(units.graph.nodes)}
    found = {node.name: node for node in nodes}
    return tuple(sorted(found.values(), key=lambda node: rank[node.name]))


def _size(axes: tuple[int, ...]) -> int:
    size = 1
    for length in axes:
        size *= length
    return size
