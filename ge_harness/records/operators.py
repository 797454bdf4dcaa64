"""Operators of two graphs side by side: what has no counterpart, what differs first."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Reason(enum.Enum):
    """The closed list of why an operator or tensor has no counterpart."""

    NO_COUNTERPART = "no_counterpart"
    """No graph was given, and the other side has no tensor of this name."""
    NO_STEP = "no_step"
    """The other side has no dump of this step, model or device."""
    FUSED_INSIDE = "fused_inside"
    """Its result stays inside a fused operator of the other side."""
    NEVER_DUMPED = "never_dumped"
    """The compiler dumps no operators of this kind (data, constants, control)."""
    INSERTED = "inserted"
    """The compiler put it in; it stands for no original operator."""
    NO_OPERATOR = "no_operator"
    """The other side has no operator of this origin."""
    NOT_DUMPED = "not_dumped"
    """It is in the graph, and there is no dump file of it."""
    COUNTERPART_NOT_DUMPED = "counterpart_not_dumped"
    """The other graph has its counterpart, of which there is no dump file."""
    NOT_IN_GRAPH = "not_in_graph"
    """There is a dump file, and the graph given has no such operator."""
    AMBIGUOUS = "ambiguous"
    """Several dumps or operators could be meant; none was taken."""


HARMLESS = frozenset((Reason.FUSED_INSIDE, Reason.NEVER_DUMPED, Reason.INSERTED))
"""Reasons that are how a fused graph is meant to be; the others leave doubt."""

FAILING = frozenset((Reason.NO_COUNTERPART, Reason.NO_STEP))
"""Reasons by which a side lacks a tensor that it should have: no agreement."""


@dataclass(frozen=True)
class UnmatchedReason:
    """Why one operator or tensor has no counterpart.

    Attributes:
        side: "a" or "b".
        name: the operator ("add"), or one of its tensors ("add.output.0").
        type: type of the operator, "" where it is not known.
        reason: in one word.
        words: the same in a sentence, with the names that matter.
        has_dump: there is a dump of it on its own side.
    """

    side: str
    name: str
    type: str
    reason: Reason
    words: str
    has_dump: bool = True


@dataclass(frozen=True)
class InputState:
    """One input of the operator that differs first.

    Attributes:
        index: number of the input.
        source: what it reads ("add.output.0"), "" where the graph was not given.
        state: "agrees", "differs", or "unknown" where it was not compared.
        status: status of the pair that decided, "" where there is none.
    """

    index: int
    source: str
    state: str
    status: str


@dataclass(frozen=True)
class FirstDifference:
    """The first operator, in order of execution, of which an output differs.

    Attributes:
        pair: name of the pair.
        operator: name of the operator on side A.
        type: its type, "" where it is not known.
        graph: name of the graph it is in, "" where none was given.
        place: its place in the order of execution, from 1.
        of: how many operators there are.
        order: where the order comes from: "graph of A", "graph of B", "time stamps" or
            "names".
        fused_from: names of the original operators it stands for.
        fused_types: their types, () where the graph does not say.
        passes: passes that made or changed it, as far as the graph says.
        counterpart: name of the operator of side B.
        counterpart_type: its type, "" where it is not known.
        inputs: each input, as far as it is known.
        inputs_state: "agree", "differ" (at least one does) or "unknown".
    """

    pair: str
    operator: str
    type: str
    graph: str
    place: int
    of: int
    order: str
    fused_from: tuple[str, ...]
    fused_types: tuple[str, ...]
    passes: tuple[str, ...]
    counterpart: str
    counterpart_type: str
    inputs: tuple[InputState, ...]
    inputs_state: str
