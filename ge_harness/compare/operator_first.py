"""The operator that differs first, in order of execution, and all that is known of it.

What comes later may differ only because it was handed other values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Sequence

from ge_harness.compare.operator_files import Context
from ge_harness.compare.operator_graph import Operator, OperatorGraph
from ge_harness.compare.operator_pairs import Match, Side
from ge_harness.compare.operator_steps import StepOrder, step_order
from ge_harness.records.comparison import Status, TensorComparison
from ge_harness.records.operators import FirstDifference, InputState

_STATES = {True: "agrees", False: "differs", None: "unknown"}


@dataclass(frozen=True)
class Outcome:
    """One compared pair of a match.

    Attributes:
        match: what was compared.
        pair: what came of it.
        a: where side A came from.
        b: where side B came from.
    """

    match: Match
    pair: TensorComparison
    a: str
    b: str


def first_difference(a: Side, b: Side, outcomes: Sequence[Outcome]
                     ) -> FirstDifference | None:
    """Return the first operator of which an output differs, else an input.

    Args:
        a: side A.
        b: side B.
        outcomes: every compared pair.
    """
    lead = a.graph if a.graph.is_given or not b.graph.is_given else b.graph
    of_a = lead is a.graph
    bad = [each for each in outcomes if passes(each.pair) is False]
    if not bad:
        return None

    def place(each: Outcome) -> tuple[bool, StepOrder, int, int]:
        slot = each.match.a if of_a else each.match.b
        return (each.match.a.io != "output", step_order(slot.context),
                slot.operator.place, slot.index)

    found = min(bad, key=place)
    mine, theirs = found.match.a.operator, found.match.b.operator
    shown = mine if of_a else theirs
    inputs = _inputs(a.graph, mine, found.match.a.context, outcomes)
    return FirstDifference(
        found.pair.name, mine.name, mine.type, shown.graph, shown.place + 1,
        len(lead.operators), _order(a, b, lead), mine.originals, mine.original_types,
        mine.passes, theirs.name, theirs.type, inputs, _inputs_state(inputs))


def passes(pair: TensorComparison) -> bool | None:
    """Say whether a pair passes every rule; None where that is not known."""
    if pair.status in (Status.UNREADABLE, Status.FORMAT_MISMATCH):
        return None
    verdicts = [verdict.passed for verdict in pair.standards] or [pair.bit_equal]
    if pair.status in (Status.SHAPE_MISMATCH, Status.DTYPE_MISMATCH) or (
            False in verdicts):
        return False
    return None if None in verdicts else True


def _order(a: Side, b: Side, lead: OperatorGraph) -> str:
    if lead.is_given:
        return "graph of A" if lead is a.graph else "graph of B"
    timed = all(entry.time_us for slot in a.slots for entry in slot.entries)
    return "time stamps" if timed else "names"


def _inputs(graph: OperatorGraph, operator: Operator, context: Context,
            outcomes: Iterable[Outcome]) -> tuple[InputState, ...]:
    """Return what is known of an operator's inputs."""
    known: dict[tuple[int, str, int], list[TensorComparison]] = {}
    for each in outcomes:
        slot = each.match.a
        if slot.context == context:
            known.setdefault((slot.operator.place, slot.io, slot.index), []).append(
                each.pair)
    count = 0 if operator.node is None else len(operator.node.inputs)
    dumped = [index for place, io, index in known
              if place == operator.place and io == "input"]
    found = []
    for index in range(max([count, *(number + 1 for number in dumped)])):
        source = graph.reads(operator, index)
        pairs = known.get((operator.place, "input", index), [])
        name = ""
        if source is not None:
            name = f"{source[0].name}.output.{source[1]}"
            pairs = pairs or known.get((source[0].place, "output", source[1]), [])
        said = [passes(pair) for pair in pairs]
        state = False if False in said else (None if None in said or not said else True)
        shown = [pair for pair in pairs if passes(pair) is state]
        found.append(InputState(index, name, _STATES[state],
                                shown[0].status.value if shown else ""))
    return tuple(found)


def _inputs_state(inputs: Sequence[InputState]) -> str:
    states = {each.state for each in inputs}
    if "differs" in states:
        return "differ"
    return "agree" if states == {"agrees"} else "unknown"
