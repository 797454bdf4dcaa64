"""Which tensor of one side belongs to which of the other, and why the rest does not.

Everything is looked up in tables, so time grows with the number of tensors and not with
its square. Where several could be meant none is taken: all are named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Sequence, Tuple

from dumps.data_names import escape
from ge_harness.compare.operator_files import Context, DumpTensor, Entry
from ge_harness.compare.operator_graph import Key, Operator, OperatorGraph
from ge_harness.records.operators import Reason, UnmatchedReason

_Place = Tuple[Context, Key]
_MOST_NAMES = 3


@dataclass(frozen=True)
class Slot:
    """One input or output of one operator in one step, with every dump of it.

    Attributes:
        operator: whose.
        io: "input" or "output".
        index: number among them.
        context: device, model and step, as far as they tell dumps apart.
        entries: its dumps, by thread and time; several from a loop, from several runs
            or from a task that was cut into threads.
        keys: whose tensor it is, the surest first.
    """

    operator: Operator
    io: str
    index: int
    context: Context
    entries: tuple[Entry, ...]
    keys: tuple[Key, ...] = ()

    @property
    def name(self) -> str:
        """What it is called: step, operator, "input" or "output", number."""
        head = "".join(f"{part}/" for part in self.context)
        return f"{head}{self.operator.name}.{self.io}.{self.index}"


@dataclass(frozen=True)
class Match:
    """Two slots that hold the same tensor.

    Attributes:
        a: of side A.
        b: of side B.
        key: whose tensor it is.
        notes: what a reader must know of the match.
    """

    a: Slot
    b: Slot
    key: Key
    notes: tuple[str, ...] = ()


@dataclass
class Side:
    """One side: its operators, its slots by whose tensor they are, and what is left.

    Attributes:
        word: "a" or "b".
        graph: its operators.
        outputs: slots that are outputs, by context and key.
        inputs: slots that are inputs, likewise.
        slots: all of them, in order of execution.
        contexts: the contexts in which there is a dump of a key.
        reasons: what has no counterpart.
        told: places of the operators that are in a pair or have a reason.
    """

    word: str
    graph: OperatorGraph
    outputs: dict[_Place, list[Slot]] = field(default_factory=dict)
    inputs: dict[_Place, list[Slot]] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    contexts: dict[Key, list[Context]] = field(default_factory=dict)
    reasons: list[UnmatchedReason] = field(default_factory=list)
    told: set[int] = field(default_factory=set)

    def unmatched(self, slot: Slot, reason: Reason, words: str) -> None:
        """Note that a slot has no counterpart."""
        self.told.add(slot.operator.place)
        self.reasons.append(UnmatchedReason(
            self.word, slot.name, slot.operator.type, reason, words))


def make_side(word: str, graph: OperatorGraph, entries: Sequence[Entry]) -> Side:
    """Sort the tensors of a side by the operators they belong to."""
    side = Side(word, graph)
    groups: dict[tuple[int, Context, str, int], list[Entry]] = {}
    owners: dict[int, Operator] = {}
    for entry in entries:
        found = graph.named(entry)
        if len(found) == 1:
            owners[found[0].place] = found[0]
            groups.setdefault((found[0].place, entry.context, entry.io, entry.index),
                              []).append(entry)
            continue
        reason = Reason.AMBIGUOUS if found else Reason.NOT_IN_GRAPH
        words = (f"{len(found)} operators have that name in file names: "
                 f"{_names(_with_graph(each) for each in found)}" if found
                 else "the graph given has no operator of that name")
        side.told.update(each.place for each in found)
        side.reasons.append(UnmatchedReason(
            word, entry.name, entry.op_type, reason, words))
    for (place, context, io, index), each in sorted(
            groups.items(), key=lambda item: (item[0][0], item[0][1], item[0][2:])):
        held = tuple(sorted(each, key=lambda entry: entry.order))
        slot = Slot(owners[place], io, index, context, held,
                    _keys(graph, owners[place], held[0]))
        side.slots.append(slot)
        table = side.outputs if io == "output" else side.inputs
        for key in slot.keys:
            table.setdefault((context, key), []).append(slot)
            side.contexts.setdefault(key, []).append(context)
    return side


def _keys(graph: OperatorGraph, operator: Operator, entry: Entry) -> tuple[Key, ...]:
    """Return whose tensor it is: as the graph says, then as the dump file says."""
    keys = graph.keys(operator, entry.io, entry.index)
    tensor = entry.tensor
    original = tensor.item.original if isinstance(tensor, DumpTensor) else None
    if original is not None and original.name:
        keys += ((escape(original.name), "output", original.index),)
    return tuple(dict.fromkeys(keys))


def match_sides(a: Side, b: Side) -> tuple[Match, ...]:
    """Pair the slots of two sides in order of execution; note what is left over.

    Outputs are paired with outputs. An input is paired with the output that it reads,
    else with an input of side B that reads the same.
    """
    found = []
    used: set[int] = set()
    for slot in a.slots:
        match = _match(a, b, slot)
        if match is None:
            continue
        found.append(match)
        used.add(id(match.b))
        a.told.add(match.a.operator.place)
        b.told.add(match.b.operator.place)
    for slot in b.slots:
        if id(slot) not in used and not _is_compared(a, slot):
            _explain(b, a, slot)
    for side, other in ((a, b), (b, a)):
        _explain_undumped(side, other)
    return tuple(found)


def _match(a: Side, b: Side, slot: Slot) -> Match | None:
    for key in slot.keys:
        place = (slot.context, key)
        mine = a.outputs.get(place, ()) if slot.io == "output" else (slot,)
        others = b.outputs.get(place, ()) or b.inputs.get(place, ())[:1]
        if not others:
            continue
        chosen, theirs = _chosen(mine, slot, key), _chosen(others, slot, key)
        if chosen is None or theirs is None:
            several = mine if chosen is None else others
            words = (f"{len(several)} operators say that they give {key[0]}, output "
                     f"{key[2]}: {_names(each.operator.name for each in several)}")
        elif chosen is not slot:
            words = (f"{chosen.operator.name} gives {key[0]}, output {key[2]} too and "
                     "was taken")
        elif len(slot.entries) != len(theirs.entries):
            words = _counts(slot, theirs)
        elif not _same_threads(slot, theirs):
            words = "the task was cut into other threads on the other side"
        else:
            return Match(slot, theirs, key, _notes(a, slot, theirs, key))
        a.unmatched(slot, Reason.AMBIGUOUS, words)
        return None
    _explain(a, b, slot)
    return None


def _chosen(slots: Sequence[Slot], slot: Slot, key: Key) -> Slot | None:
    """Return the slot that is meant: the only one, or the operator of that name.

    Of several that say they give one tensor an operator of the very name of `slot`'s
    comes first, then one that is named after the tensor.
    """
    if len(slots) == 1:
        return slots[0]
    for same in ([each for each in slots if each.operator.name == slot.operator.name],
                 [each for each in slots if escape(each.operator.name) == key[0]]):
        if len(same) == 1:
            return same[0]
    return None


def _is_compared(a: Side, slot: Slot) -> bool:
    """Say whether an input of side B is a copy of a tensor that was compared."""
    if slot.io != "input":
        return False
    return any((slot.context, key) in table
               for key in slot.keys
               for table in (a.outputs, a.inputs))


def _notes(a: Side, slot: Slot, theirs: Slot, key: Key) -> tuple[str, ...]:
    notes = []
    if slot.io == "output" and a.graph.is_guess(slot.operator, slot.index):
        notes.append(f"the graph does not say whose output {slot.operator.name} gives; "
                     f"taken as that of {key[0]}, the last of its original operators")
    if slot.io == "output" and theirs.io == "input":
        notes.append(f"side B has no dump of the output; taken from "
                     f"{theirs.name}, which reads it")
    if key not in a.graph.keys(slot.operator, slot.io, slot.index):
        notes.append(f"matched by the original operator that the dump file names: "
                     f"{key[0]}, output {key[2]}")
    return tuple(notes)


def _same_threads(slot: Slot, theirs: Slot) -> bool:
    """Say whether the dumps of both are of the same threads; one is as good as none."""
    mine, others = ([entry.thread for entry in each.entries] for each in (slot, theirs))
    return mine == others or len(set(mine)) == len(set(others)) == 1


def _counts(slot: Slot, theirs: Slot) -> str:
    folders = sorted({entry.folder for each in (slot, theirs)
                      for entry in each.entries})
    return (f"{len(slot.entries)} dumps of it in A, {len(theirs.entries)} in B; below "
            f"{_names(folders)}")


def _explain(side: Side, other: Side, slot: Slot) -> None:
    """Say why a slot has no counterpart."""
    key = slot.keys[0]
    steps = [] if (slot.context, key) in other.outputs else other.contexts.get(key, [])
    if steps and slot.context not in steps:
        side.unmatched(slot, Reason.NO_STEP, "the other side has dumps of it in "
                       f"{_names('/'.join(step) or '.' for step in steps)} only")
        return
    if (slot.context, key) in other.outputs:
        side.unmatched(slot, Reason.AMBIGUOUS, "its counterpart could not be chosen or "
                       "belongs to another operator")
        return
    if not (side.graph.is_given or other.graph.is_given):
        side.unmatched(slot, Reason.NO_COUNTERPART,
                       "the other side has no tensor of this name")
        return
    reason, words = _why(side, other, slot, key)
    side.unmatched(slot, reason, words)


def _why(side: Side, other: Side, slot: Slot, key: Key) -> tuple[Reason, str]:
    """Say why a tensor of an operator has no counterpart, from the graphs."""
    operator = slot.operator
    source = side.graph.reads(operator, slot.index) if slot.io == "input" else None
    given = other.graph.giving(key)
    fused = other.graph.fused.get(key[0])
    for giver in (*given[:1], *([source[0]] if source else [])):
        if giver.is_never_dumped:
            return Reason.NEVER_DUMPED, (f"{giver.name} gives it; operators of type "
                                         f"{giver.type} are never dumped")
    if given:
        return Reason.COUNTERPART_NOT_DUMPED, f"{given[0].name} gives it, no dump of it"
    if fused is not None and len(fused.originals) > 1:
        return Reason.FUSED_INSIDE, f"its result stays inside {fused.name}"
    if operator.is_inserted:
        return Reason.INSERTED, "the compiler put it in; it stands for no original one"
    return Reason.NO_OPERATOR, (f"nothing on the other side gives output {key[2]} of "
                                f"{key[0]}" if key[1] == "output" else
                                f"nothing on the other side reads what {key[0]} reads")


def _explain_undumped(side: Side, other: Side) -> None:
    """Name every operator of a graph that has no dump, or only copies of others'."""
    if not side.graph.is_given:
        return
    dumped = {slot.operator.place for slot in side.slots}
    for operator in side.graph.operators:
        if operator.place in side.told:
            continue
        fused = other.graph.fused.get(escape(operator.name))
        if operator.is_never_dumped:
            reason, words = (Reason.NEVER_DUMPED,
                             f"operators of type {operator.type} are never dumped")
        elif operator.is_inserted:
            reason, words = (Reason.INSERTED, "the compiler put it in; no dump of it")
        elif fused is not None and len(fused.originals) > 1:
            reason, words = (Reason.FUSED_INSIDE,
                             f"fused into {fused.name} on the other side; no dump")
        else:
            words = ("there is no dump of its outputs" if operator.place in dumped
                     else "there is no dump file of it")
            reason = Reason.NOT_DUMPED
        side.reasons.append(UnmatchedReason(
            side.word, operator.name, operator.type, reason, words, has_dump=False))


def _with_graph(operator: Operator) -> str:
    return (f"{operator.name} of {operator.graph}" if operator.graph
            else operator.name)


def _names(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    shown = ", ".join(known[:_MOST_NAMES])
    more = len(known) - _MOST_NAMES
    return shown if more <= 0 else f"{shown} and {more} more"
