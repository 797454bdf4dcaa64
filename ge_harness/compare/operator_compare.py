"""Compares dumps of operators: every pair, what has no pair, and what differs first."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import dumps
from dumps import DumpError
from ge_harness.compare.compare import compare_storage, compare_values
from ge_harness.compare.operator_files import (
    BrokenDump,
    DumpTensor,
    Entry,
    Scan,
    Tensor,
    scan,
)
from ge_harness.compare.operator_first import Outcome
from ge_harness.compare.operator_graph import OperatorGraph
from ge_harness.compare.operator_layout import Aligned, align, plain
from ge_harness.compare.operator_pairs import (
    Match,
    Side,
    Slot,
    make_side,
    match_sides,
)
from ge_harness.compare.operator_steps import named_step, reduced, reduced_like
from ge_harness.compare.standards import Standard
from ge_harness.errors import UsageError
from ge_harness.records.comparison import (
    ErrorSummary,
    StandardVerdict,
    Status,
    TensorComparison,
)


@dataclass(frozen=True)
class Places:
    """Where the tensors are.

    Attributes:
        a: file or folder in doubt.
        b: file or folder that is trusted.
        reference: file or folder of the truth, None where there is none.
        map: dump of the graph of A, None where there is none.
        against_map: dump of the graph of B, likewise.
    """

    a: Path
    b: Path
    reference: Path | None = None
    map: Path | None = None
    against_map: Path | None = None


@dataclass(frozen=True)
class Rules:
    """How pairs are compared and judged.

    Attributes:
        standards: rules that decide.
        dtype: what raw bits of .npy files stand for, None where not told.
        values: compare values although shapes or dtypes differ.
    """

    standards: tuple[Standard, ...]
    dtype: str | None = None
    values: bool = False


@dataclass(frozen=True)
class Matched:
    """Both sides and what of them belongs together.

    Attributes:
        a: side A.
        b: side B.
        matches: in order of execution, or by name where no graph was given.
        skipped: files that hold no tensor of an operator.
        truth: the reference, None where there is none.
        single: both places are one file.
    """

    a: Side
    b: Side
    matches: tuple[Match, ...]
    skipped: tuple[str, ...]
    truth: Side | None = None
    single: bool = False


def match_places(places: Places) -> Matched:
    """Find the tensors of both places and pair them.

    Raises:
        UsageError: a place or graph cannot be used, or nothing belongs together.
    """
    if places.a.is_dir() != places.b.is_dir():
        raise UsageError("cannot compare a folder with a file: "
                         f"{places.a} and {places.b}")
    dumped = [read_graph(path) for path in (places.map, places.against_map)]
    scans = [scan(place) for place in (places.a, places.b)]
    single = not places.a.is_dir()
    _check_steps(scans)
    entries = reduced([each.entries for each in scans])
    if single and dumped == [None, None]:
        entries = _one_operator(scans)
    graphs = [OperatorGraph(graph, side) for graph, side in zip(dumped, entries)]
    _check_maps(places, graphs, entries)
    a, b = (make_side(word, graph, side)
            for word, graph, side in zip("ab", graphs, entries))
    matches = match_sides(a, b)
    if not (a.graph.is_given or b.graph.is_given):
        if not matches:
            raise UsageError(_nothing_common(places, entries))
        matches = tuple(sorted(matches, key=lambda match: match.a.name))
    elif not a.graph.is_given:
        matches = tuple(sorted(matches, key=lambda match: match.b.operator.place))
    truth = None
    if places.reference is not None:
        held = reduced_like(scan(places.reference).entries, entries)
        truth = make_side("r", OperatorGraph(None, held), held)
    return Matched(a, b, matches, (*scans[0].skipped, *scans[1].skipped), truth, single)


def compare_matches(matched: Matched, rules: Rules) -> list[Outcome]:
    """Compare every pair of every match.

    Raises:
        UsageError: a single pair that cannot be read.
    """
    found = []
    for match in matched.matches:
        for number, (a, b) in enumerate(zip(match.a.entries, match.b.entries)):
            name, notes = _name(match, number)
            truth, more = _truth(matched.truth, match, number)
            tensors = _with_layout(match.a, a), _with_layout(match.b, b), truth
            try:
                pair = _compare(name, tensors, rules)
            except UsageError as error:
                if matched.single and len(matched.matches) == 1:
                    raise
                pair = TensorComparison(name, Status.UNREADABLE, (), "", (), "",
                                        notes=(str(error),))
            pair = dataclasses.replace(
                pair, notes=tuple(dict.fromkeys((*pair.notes, *notes, *more))))
            found.append(Outcome(match, pair, a.tensor.source, b.tensor.source))
    return found


def read_graph(path: Path | None) -> dumps.DumpGraph | None:
    """Read the dump of a graph, in any format that `dumps` reads.

    Raises:
        UsageError: it cannot be read, or holds no operator.
    """
    if path is None:
        return None
    try:
        graph = dumps.read(path)
    except DumpError as error:
        raise UsageError(f"cannot read the graph: {error}") from error
    if not any(each.nodes for each in graph.graphs):
        raise UsageError(f"{path}: holds a graph without operators, expected the graph "
                         "that was dumped, such as ge_proto_*_Build.txt")
    return graph


def _check_steps(scans: Sequence[Scan]) -> None:
    """Refuse dumps of which no step is on both sides."""
    a, b = ({named_step(entry) for entry in each.entries} for each in scans)
    if "" in a or "" in b or a & b:
        return
    shown = [", ".join(sorted(side)[:3]) for side in (a, b)]
    raise UsageError(
        f"no step in common: {scans[0].place} holds dumps of step {shown[0]}, "
        f"{scans[1].place} of step {shown[1]}; to compare other steps give the folders "
        "of the steps")


def _check_maps(places: Places, graphs: Sequence[OperatorGraph],
                entries: Sequence[Sequence[Entry]]) -> None:
    """Refuse graphs that were given the wrong way round."""
    if places.map is None or places.against_map is None:
        return
    strays = [[entry for entry in side if not graph.named(entry)]
              for graph, side in zip(graphs, entries)]
    if all(strays) and all(other.named(entry) for other, side in zip(
            reversed(graphs), strays) for entry in side):
        raise UsageError(
            f"{strays[0][0].name} of {places.a} is in {places.against_map} and not in "
            f"{places.map}, {strays[1][0].name} of {places.b} the other way round: "
            f"swap --map (graph of A) and --against-map (graph of B)")


def _one_operator(scans: Sequence[Scan]) -> tuple[tuple[Entry, ...], ...]:
    """Return the tensors of two files as those of one operator.

    Files given by hand belong together whatever they are called. A .npy stands for the
    input or output that its name says, else for the only output.
    """
    sides = [list(each.entries) for each in scans]
    dumped = [any(isinstance(entry.tensor, (DumpTensor, BrokenDump)) for entry in side)
              for side in sides]
    for side, other, place in ((0, 1, scans[0].place), (1, 0, scans[1].place)):
        if dumped[side] or not dumped[other] or len(sides[side]) != 1:
            continue
        alone = sides[side][0]
        held = [entry for entry in sides[other]
                if entry.io == alone.io and (entry.index == alone.index
                                             or not place.stem.count("."))]
        if len(held) != 1:
            names = ", ".join(f"{entry.io}.{entry.index}" for entry in sides[other])
            raise UsageError(
                f"{scans[other].place}: holds {names or 'no tensor'}; which of them is "
                f"{place}? Name it <operator>.output.<number>.npy")
        sides[other] = held
        sides[side] = [dataclasses.replace(alone, index=held[0].index)]
    lead = sides[0][0]
    return tuple(tuple(dataclasses.replace(
        entry, op_name=lead.op_name, exact_name=lead.exact_name, op_type=lead.op_type,
        context=()) for entry in side) for side in sides)


def _nothing_common(places: Places, entries: Sequence[Sequence[Entry]]) -> str:
    shown = [", ".join(sorted({entry.name for entry in side})[:3]) for side in entries]
    return (f"no operator of {places.a} has the name of one in {places.b}: found "
            f"{shown[0]} against {shown[1]}; fused operators have names of their own: "
            "give the graphs with --map and --against-map")


def _name(match: Match, number: int) -> tuple[str, tuple[str, ...]]:
    """Return what a pair is called, and notes on the match."""
    name, notes = match.a.name, match.notes
    theirs = match.b
    if theirs.operator.name != match.a.operator.name or theirs.io != match.a.io:
        name = f"{name} = {theirs.operator.name}.{theirs.io}.{theirs.index}"
    if len(match.a.entries) > 1:
        name = f"{name} #{number + 1}"
        thread = match.a.entries[number].thread
        notes += (f"dump {number + 1} of {len(match.a.entries)} on each side, paired "
                  f"in order of time{'' if thread < 0 else f': thread {thread}'}",)
    return name, notes


def _with_layout(slot: Slot, entry: Entry) -> Tensor:
    """Return a tensor with the original layout that the graph tells."""
    desc = slot.operator.desc(slot.io, slot.index)
    if desc is None or not isinstance(entry.tensor, DumpTensor):
        return entry.tensor
    return dataclasses.replace(entry.tensor, origin_format=desc.origin_format,
                               origin_shape=desc.origin_shape)


def _truth(truth: Side | None, match: Match, number: int
           ) -> tuple[Tensor | None, tuple[str, ...]]:
    """Return the tensor of the reference, None where there is none, and notes."""
    if truth is None:
        return None, ()
    own = (match.a.operator.name, match.a.io, match.a.index)
    for key in (match.key, own):
        for context in (match.a.context, ()):
            slots = truth.outputs.get((context, key)) or truth.inputs.get(
                (context, key), [])
            if len(slots) == 1 and number < len(slots[0].entries):
                of_any = bool(match.a.context) and not context
                return slots[0].entries[number].tensor, (
                    "the reference names no step, taken for every one",) * of_any
    return None, ("the reference has no tensor of this name",)


def _compare(name: str, tensors: tuple[Tensor, Tensor, Tensor | None], rules: Rules
             ) -> TensorComparison:
    found = align(tensors[0], tensors[1], rules.dtype)
    if found.refused:
        return _refused(name, found, rules)
    truth, notes = None, found.notes
    if tensors[2] is not None:
        truth, more = plain(tensors[2], None)
        notes += more
    try:
        pair = compare_storage(name, found.a, found.b, truth, rules.standards)
        if rules.values:
            pair = compare_values(pair, found.a, found.b, truth)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name}: {error}") from error
    if found.is_raw and pair.bit_equal is not None:
        pair = dataclasses.replace(
            pair, abs=ErrorSummary(0), rel=ErrorSummary(0), cosine=None, buckets=())
        notes += (f"{pair.dtype} compared as bits; its values are not computed with",)
    kinds = pair.nonfinite
    if kinds.a_nan and pair.bit_equal:
        notes += (f"equal, and {kinds.a_nan} of {pair.count} elements are NaN on both "
                  "sides",)
    return dataclasses.replace(pair, notes=(*notes, *pair.notes))


def _refused(name: str, found: Aligned, rules: Rules) -> TensorComparison:
    (a, a_dtype), (b, b_dtype) = found.a, found.b
    verdicts = tuple(StandardVerdict(
        rule.name, None, f"not compared: {found.refused}", "base line")
        for rule in rules.standards)
    return TensorComparison(name, Status.FORMAT_MISMATCH, a.shape, a_dtype, b.shape,
                            b_dtype, standards=verdicts,
                            notes=(found.refused, *found.notes))
