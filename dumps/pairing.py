"""Which node of one dump is which node of the next.

In this order: equal graph and name; the same name in another graph; the names of the
original operators (an empty list proves nothing); the rename of CastRemovePass (the
removed cast's name in front); the same work on the same inputs; the place in the graph.

Source: reference: graph_dumps.md section 5.1, fusion_result.md section 5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Iterable

from dumps.records import DumpNode, Edge
from dumps.sides import ORIGIN_NAME, ORIGINAL_NAMES, Key, Side, origin_names, originals

IsEqual = Callable[[DumpNode, DumpNode], bool]
STRUCTURE = "structure"
# Operators that pass their first input on, possibly in another dtype or layout.
_PASS_ON = frozenset({"Cast", "CastLike", "Identity", "TransData", "Transpose",
                      "TransposeD", "Reshape", "TensorMove", "MemcpyAsync", "Squeeze",
                      "Unsqueeze", "ReFormat", "Bitcast", "ExpandDims"})
_CASTS = frozenset({"Cast", "CastLike", "CastV2"})
_MOST_STEPS = 1000
_LONGEST_NAME = 2000


@dataclass
class Pairing:
    """The outcome.

    Attributes:
        old_to_new: successor of every old node that has one.
        differing: (new, old) pairs of one node whose text differs.
        removed: old nodes without successor.
        added: new nodes without predecessor.
        renamed: (old, new, how).
        fused: (new, olds, how).
        replaced: (olds, news, how).
        absorbing: new nodes whose inputs grew by a fusion.
        stands_for: of several new nodes that replace others, the one that stands for
            them all.
        removed_set: `removed` as a set.
        added_set: `added` as a set.
    """

    old_to_new: dict[Key, Key] = field(default_factory=dict)
    differing: list[tuple[Key, Key]] = field(default_factory=list)
    removed: list[Key] = field(default_factory=list)
    added: list[Key] = field(default_factory=list)
    renamed: list[tuple[Key, Key, str]] = field(default_factory=list)
    fused: list[tuple[Key, list[Key], str]] = field(default_factory=list)
    replaced: list[tuple[list[Key], list[Key], str]] = field(default_factory=list)
    absorbing: set[Key] = field(default_factory=set)
    stands_for: dict[Key, Key] = field(default_factory=dict)
    removed_set: set[Key] = field(default_factory=set)
    added_set: set[Key] = field(default_factory=set)


def pair(before: Side, after: Side, is_equal: IsEqual) -> Pairing:
    """Pair the nodes of two dumps.

    Args:
        before: the earlier dump.
        after: the later dump.
        is_equal: says that two nodes of one name are the same in everything.
    """
    worker = _Worker(before, after)
    worker.by_name(is_equal)
    if worker.gone and (worker.come or worker.result.differing):
        worker.by_originals()
        worker.by_cast_prefix()
        worker.by_signature()
        worker.by_place()
        worker.by_absorption()
    return worker.finish()


def edge_root(pairing: Pairing, side: Side, graph: str, edge: Edge | None,
              is_old: bool) -> Any:
    """Return where an input comes from, in the later dump's terms.

    Nodes without counterpart are followed through their first input, so that an input
    is the same when only a node between was removed or added.
    """
    lonely = pairing.removed_set if is_old else pairing.added_set
    for _ in range(_MOST_STEPS):
        if edge is None:
            return None
        key = (graph, edge[0])
        if key not in lonely:
            break
        inputs = side.nodes[key].inputs
        following = next((each for each in inputs if each is not None), None)
        if following is None:
            break
        edge = following
    if edge is None:
        return None
    if not is_old:
        key = pairing.stands_for.get((graph, edge[0]), (graph, edge[0]))
        return (key[1], 0 if key in pairing.absorbing else edge[1])
    successor = pairing.old_to_new.get((graph, edge[0]))
    if successor is None:
        return (edge[0], edge[1])
    return (successor[1], 0 if successor in pairing.absorbing else edge[1])


class _Worker:
    """The pairing while it grows."""

    def __init__(self, before: Side, after: Side) -> None:
        self.before = before
        self.after = after
        self.result = Pairing()
        self.gone: dict[Key, None] = {}
        self.come: dict[Key, None] = {}
        self._back: dict[Key, Key] | None = None

    def by_name(self, is_equal: IsEqual) -> None:
        old_nodes, new_nodes = self.before.nodes, self.after.nodes
        self.come = dict.fromkeys(key for key in new_nodes if key not in old_nodes)
        for key, node in old_nodes.items():
            other = new_nodes.get(key)
            if other is None:
                self.gone[key] = None
                continue
            self.result.old_to_new[key] = key
            if not is_equal(node, other):
                self.result.differing.append((key, key))
        names: dict[str, list[Key]] = {}
        for key in self.come:
            names.setdefault(key[1], []).append(key)
        for key in list(self.gone):
            found = names.get(key[1], [])
            if len(found) == 1 and new_nodes[found[0]].type == old_nodes[key].type:
                self._match(key, found.pop())

    def by_originals(self) -> None:
        """Join nodes that are gone to those that name them as their originals."""
        by_name: dict[str, list[Key]] = {}
        for key in self.gone:
            node = self.before.nodes[key]
            for name in {node.name, *originals(node)}:
                by_name.setdefault(name, []).append(key)
        claims: dict[Key, dict[Key, str]] = {}
        stayed = [new for new, _ in self.result.differing]
        old_of = dict(self.result.differing)
        for key in [*self.come, *stayed]:
            found = self._claimed(key, old_of.get(key), by_name)
            if found:
                claims[key] = found
        for news, olds in _components(claims):
            how = next(iter(claims[news[0]].values()))
            self._settle(news, self.before.sorted(olds), how, old_of)

    def _claimed(self, key: Key, old_key: Key | None,
                 by_name: dict[str, list[Key]]) -> dict[Key, str]:
        node = self.after.nodes[key]
        names, how = set(originals(node)), ORIGINAL_NAMES
        if not names:
            names, how = set(origin_names(node)), ORIGIN_NAME
        if old_key is not None:
            old = self.before.nodes[old_key]
            names -= {old.name, *originals(old), *origin_names(old)}
        found: dict[Key, str] = {}
        for name in names:
            for other in by_name.get(name, ()):
                gone = self.before.nodes[other]
                if gone.name in names or set(originals(gone)) <= names:
                    found[other] = how
        return found

    def _settle(self, news: list[Key], olds: list[Key], how: str,
                old_of: dict[Key, Key]) -> None:
        """Decide between rename, fusion and replacement for one group."""
        if len(news) == 1:
            new = news[0]
            if new in old_of:
                self._fuse(new, self.before.sorted({old_of[new], *olds}), how)
            elif len(olds) > 1:
                self._fuse(new, olds, how)
            elif self.after.nodes[new].type == self.before.nodes[olds[0]].type:
                self._rename(olds[0], new, how)
            else:
                self._replace(olds, news, how)
            return
        fresh = [new for new in news if new not in old_of]
        if not fresh:
            return
        exact = [(old, new) for old in olds for new in fresh
                 if self.before.nodes[old].type == self.after.nodes[new].type]
        if len(olds) == 1 and len(exact) == 1:
            self._rename(exact[0][0], exact[0][1], how)
            return
        self._replace(olds, fresh, how)

    def by_cast_prefix(self) -> None:
        """Undo the rename of CastRemovePass: the removed cast's name in front."""
        casts = {key for key in self.gone if self.before.nodes[key].type in _CASTS}
        if not casts:
            return
        for new in list(self.come):
            graph, name = new
            for cut in range(1, min(len(name), _LONGEST_NAME)):
                old = (graph, name[cut:])
                if (old in self.gone and (graph, name[:cut]) in casts
                        and self.after.nodes[new].type == self.before.nodes[old].type):
                    self._rename(old, new, "name of the removed cast in front")
                    break

    def by_signature(self) -> None:
        """Match nodes that do the same on the same inputs, from the inputs on.

        A node can only be matched once what feeds it is, so after the first round only
        the readers of what was just matched are looked at.
        """
        olds_left: Iterable[Key] = list(self.gone)
        news_left: Iterable[Key] = list(self.come)
        while olds_left and news_left:
            olds = _unique((self._signature(key, True), key) for key in olds_left)
            news = _unique((self._signature(key, False), key) for key in news_left)
            both = [(key, news[mark]) for mark, key in olds.items() if mark in news]
            for old, new in both:
                self._rename(old, new, STRUCTURE)
            olds_left = dict.fromkeys(
                reader for old, _ in both for reader, _ in self.before.consumers(old)
                if reader in self.gone)
            news_left = dict.fromkeys(
                reader for _, new in both for reader, _ in self.after.consumers(new)
                if reader in self.come)

    def _signature(self, key: Key, is_old: bool) -> Any:
        side = self.before if is_old else self.after
        node = side.nodes[key]
        lonely = self.gone if is_old else self.come
        inputs: list[tuple[str, int] | None] = []
        for edge in node.inputs:
            if edge is None:
                inputs.append(None)
                continue
            source = (key[0], edge[0])
            if source in lonely:
                return None
            if is_old:
                source = self.result.old_to_new.get(source, source)
            inputs.append((source[1], edge[1]))
        descs = tuple((desc.dtype, desc.shape, desc.format)
                      for desc in node.output_descs)
        return (key[0], node.type, tuple(inputs), descs)

    def by_place(self) -> None:
        """Give new nodes the removed ones that stood between the same neighbors."""
        groups: dict[Key, list[Key]] = {}
        taken: dict[Key, Key] = {}
        for new in self.come:
            group = self._between(new)
            if group and not any(old in taken for old in group):
                groups[new] = group
                taken.update((old, new) for old in group)
        for new, group in groups.items():
            kind = self.after.nodes[new].type
            same = [old for old in group if self.before.nodes[old].type == kind]
            others = {self.before.nodes[old].type for old in group if old not in same}
            if len(same) == 1 and others <= _PASS_ON:
                self._rename(same[0], new, STRUCTURE)
            elif kind in _PASS_ON:
                continue
            elif len(group) > 1:
                self._fuse(new, self.before.sorted(group), STRUCTURE)
            else:
                self._replace(group, [new], STRUCTURE)

    def _between(self, new: Key) -> list[Key]:
        """Return the nodes that are gone and fed the readers of `new` before."""
        if self._back is None:
            self._back = {b: a for a, b in self.result.old_to_new.items()}
        ends = set()
        for reader, slot in self.after.consumers(new):
            old_reader = self._back.get(reader)
            if old_reader is None:
                continue
            inputs = self.before.nodes[old_reader].inputs
            edge = inputs[slot] if slot < len(inputs) else None
            if edge is not None and (old_reader[0], edge[0]) in self.gone:
                ends.add((old_reader[0], edge[0]))
        sources = {edge[0] for edge in self.after.nodes[new].inputs if edge is not None}
        group: dict[Key, None] = {}
        pending = sorted(ends)
        while pending and len(group) < _MOST_STEPS:
            key = pending.pop()
            if key in group:
                continue
            group[key] = None
            for edge in self.before.nodes[key].inputs:
                if edge is None:
                    continue
                source = (key[0], edge[0])
                if source in self.gone:
                    pending.append(source)
                elif self.result.old_to_new.get(source, source)[1] not in sources:
                    return []
        return list(group)

    def by_absorption(self) -> None:
        """Find nodes that kept their name and took in the reader of their output."""
        for new, old in list(self.result.differing):
            fresh = {edge[0] for edge in self.after.nodes[new].inputs if edge}
            known = {self.result.old_to_new.get((old[0], edge[0]), edge)[1]
                     for edge in self.before.nodes[old].inputs if edge}
            grown = fresh - known
            if not grown:
                continue
            readers = {reader for reader, _ in self.before.consumers(old)
                       if reader in self.gone}
            for reader in sorted(readers):
                others = {edge[0] for edge in self.before.nodes[reader].inputs
                          if edge and edge[0] != old[1]}
                if others and others <= fresh and others & grown:
                    self._fuse(new, [old, reader], STRUCTURE)
                    break

    def _match(self, old: Key, new: Key) -> None:
        self.result.old_to_new[old] = new
        self.result.differing.append((new, old))
        self.gone.pop(old, None)
        self.come.pop(new, None)
        self._back = None

    def _rename(self, old: Key, new: Key, how: str) -> None:
        self.result.renamed.append((old, new, how))
        self._match(old, new)

    def _fuse(self, new: Key, olds: list[Key], how: str) -> None:
        self.result.fused.append((new, olds, how))
        self.result.absorbing.add(new)
        self._take(olds, [new])

    def _replace(self, olds: list[Key], news: list[Key], how: str) -> None:
        self.result.replaced.append((olds, news, how))
        self.result.absorbing.update(news)
        self.result.stands_for.update((new, news[-1]) for new in news)
        self._take(olds, news)

    def _take(self, olds: list[Key], news: list[Key]) -> None:
        for old in olds:
            self.result.old_to_new[old] = news[-1]
            self.gone.pop(old, None)
        for new in news:
            self.come.pop(new, None)
        self._back = None

    def finish(self) -> Pairing:
        result = self.result
        result.removed = self.before.sorted(self.gone)
        result.added = self.after.sorted(self.come)
        result.removed_set = set(self.gone)
        result.added_set = set(self.come)
        in_fusion = {new for new, _, _ in result.fused}
        result.differing = [each for each in result.differing
                            if each[0] not in in_fusion]
        result.differing.sort(key=lambda each: self.after.order[each[0]])
        return result


def _components(claims: dict[Key, dict[Key, str]]) -> list[tuple[list[Key], list[Key]]]:
    """Group nodes that claim a common original."""
    groups: list[tuple[list[Key], set[Key]]] = []
    owner: dict[Key, int] = {}
    for new, olds in claims.items():
        joined = sorted({owner[old] for old in olds if old in owner})
        if not joined:
            groups.append(([new], set(olds)))
            place = len(groups) - 1
        else:
            place = joined[0]
            groups[place][0].append(new)
            groups[place][1].update(olds)
            for other in joined[1:]:
                groups[place][0].extend(groups[other][0])
                groups[place][1].update(groups[other][1])
                groups[other] = ([], set())
        for old in groups[place][1]:
            owner[old] = place
    return [(news, list(olds)) for news, olds in groups if news]


def _unique(marked: Iterable[tuple[Any, Key]]) -> dict[Any, Key]:
    """Return the keys whose mark nobody else has; None is no mark."""
    found: dict[Any, Key] = {}
    twice = set()
    for mark, key in marked:
        if mark is None:
            continue
        if mark in found:
            twice.add(mark)
        found[mark] = key
    return {mark: key for mark, key in found.items() if mark not in twice}
