"""Compares whole places: two files, or two folders of them, tensor by tensor."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

from ge_harness.compare.compare import compare_storage, compare_values, verdict_of
from ge_harness.compare.document import pair_document
from ge_harness.compare.dtypes import SUPPORTED, Storage
from ge_harness.compare.files import TensorFile, check_place, match, tensors_in
from ge_harness.compare.operator_compare import (
    Matched,
    Places,
    Rules,
    compare_matches,
    match_places,
)
from ge_harness.compare.operator_files import holds_dumps, label_of
from ge_harness.compare.operator_first import first_difference
from ge_harness.compare.standards import Standard, parse_standard
from ge_harness.errors import UnknownNameError, UsageError
from ge_harness.records.comparison import Status, TensorComparison, Verdict
from ge_harness.records.operators import (
    FAILING,
    HARMLESS,
    FirstDifference,
    UnmatchedReason,
)
from ge_harness.records.serialize import to_plain


@dataclass(frozen=True)
class Plan:
    """What to compare.

    Attributes:
        a: file or folder in doubt.
        b: file or folder that is trusted.
        reference: file or folder of the truth, None where there is none.
        standards: names of the rules that decide.
        dtype: what raw bits stand for, None where not told.
        values: compare values although shapes or dtypes differ.
        map: dump of the graph of A, None where there is none.
        against_map: dump of the graph of B, likewise.
    """

    a: Path
    b: Path
    reference: Path | None = None
    standards: tuple[str, ...] = ("bits",)
    dtype: str | None = None
    values: bool = False
    map: Path | None = None
    against_map: Path | None = None


@dataclass(frozen=True)
class PlacesComparison:
    """What came of a plan.

    Attributes:
        pairs: the compared pairs, sorted by name.
        sources: (a, b) of each pair, as text.
        only_a: tensors that side b lacks.
        only_b: tensors that side a lacks.
        skipped: files that hold no tensor.
        standards: names of the rules that decided.
        verdict: what it comes to.
        reasons: why operators and tensors have no counterpart, where dumps of operators
            were compared.
        first: the first operator that differs, likewise.
        has_operators: dumps of operators were compared.
        labels: side -> what the dumps of that side say of their origin, e.g. that they
            are emulated; sides that say nothing are left out.
    """

    pairs: tuple[TensorComparison, ...]
    sources: tuple[tuple[str, str], ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    skipped: tuple[str, ...]
    standards: tuple[str, ...]
    verdict: Verdict
    reasons: tuple[UnmatchedReason, ...] = ()
    first: FirstDifference | None = None
    has_operators: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def in_doubt(self) -> tuple[str, ...]:
        """What one side lacks and should have."""
        if not self.has_operators:
            return (*self.only_a, *self.only_b)
        return tuple(each.name for each in self.reasons if each.reason not in HARMLESS)


def compare_places(plan: Plan) -> PlacesComparison:
    """Compare every pair of tensors of two places.

    Among several pairs one that cannot be read does not keep the others from being
    compared: it gets the status `unreadable`.

    Raises:
        UsageError: a place, standard or dtype cannot be used; a single pair that cannot
            be read.
    """
    rules = tuple(dict.fromkeys(parse_standard(text) for text in plan.standards))
    if plan.dtype is not None and plan.dtype not in SUPPORTED:
        raise UnknownNameError("dtype", plan.dtype, SUPPORTED)
    places = [place for place in (plan.a, plan.b, plan.reference) if place is not None]
    for place in places:
        check_place(place)
    if plan.map or plan.against_map or any(map(holds_dumps, places)):
        return _compare_operators(plan, rules)
    return _compare_arrays(plan, rules)


def _compare_arrays(plan: Plan, rules: tuple[Standard, ...]) -> PlacesComparison:
    """Compare .npy and .npz, matched by name."""
    matched = match(plan.a, plan.b)
    truths = tensors_in(plan.reference)[0] if plan.reference else {}
    pairs = []
    for name, a, b in matched.pairs:
        truth = _truth(truths, name, single=matched.single)
        if matched.single and plan.reference and truth is None:
            raise UsageError(f"{plan.reference}: holds {len(truths)} tensors, none of "
                             f"them called {name!r}")
        try:
            pair = _compare_files(name, (a, b, truth), rules, plan)
        except UsageError as error:
            if matched.single:
                raise
            pair = TensorComparison(name, Status.UNREADABLE, (), "", (), "",
                                    notes=(str(error),))
        if plan.reference and truth is None:
            pair = dataclasses.replace(
                pair, notes=(*pair.notes, "the reference has no tensor of this name"))
        pairs.append(pair)
    if plan.dtype is not None:
        check_told(plan.dtype, pairs)
    unmatched = len(matched.only_a) + len(matched.only_b)
    return PlacesComparison(
        tuple(pairs), tuple((a.source, b.source) for _, a, b in matched.pairs),
        matched.only_a, matched.only_b, matched.skipped,
        tuple(rule.name for rule in rules), verdict_of(pairs, unmatched=unmatched))


def _compare_operators(plan: Plan, rules: tuple[Standard, ...]) -> PlacesComparison:
    """Compare dumps of operators, matched by operator or through graphs."""
    matched = match_places(Places(plan.a, plan.b, plan.reference, plan.map,
                                  plan.against_map))
    outcomes = compare_matches(matched, Rules(rules, plan.dtype, plan.values))
    pairs = [each.pair for each in outcomes]
    if plan.dtype is not None:
        check_told(plan.dtype, pairs)
    reasons = (*matched.a.reasons, *matched.b.reasons)
    missing = [each for each in reasons if each.reason in FAILING]
    verdict = verdict_of(pairs, unmatched=len(missing))
    if verdict is Verdict.AGREES and any(
            each.reason not in HARMLESS for each in reasons):
        verdict = Verdict.UNDECIDED
    only_a, only_b = (tuple(each.name for each in side.reasons if each.has_dump)
                      for side in (matched.a, matched.b))
    return PlacesComparison(
        tuple(pairs), tuple((each.a, each.b) for each in outcomes), only_a, only_b,
        matched.skipped, tuple(rule.name for rule in rules), verdict, reasons,
        first_difference(matched.a, matched.b, outcomes), True, _labels(matched))


def _labels(matched: Matched) -> dict[str, str]:
    """Return what the dumps of each side say of their origin."""
    found = {side.word: label_of(entry.tensor for slot in side.slots
                                 for entry in slot.entries)
             for side in (matched.a, matched.b)}
    return {word: label for word, label in found.items() if label}


def places_document(found: PlacesComparison) -> dict[str, Any]:
    """Return the body of a JSON document of the kind `compare`."""
    return {
        "pairs": [pair_document(pair, a=a, b=b)
                  for pair, (a, b) in zip(found.pairs, found.sources)],
        "unmatched": {"a": list(found.only_a), "b": list(found.only_b),
                      "reasons": to_plain(found.reasons)},
        "first_difference": to_plain(found.first), "labels": dict(found.labels),
        "skipped": list(found.skipped), "standards": list(found.standards),
        "verdict": found.verdict.value}


def check_told(dtype: str, pairs: list[TensorComparison]) -> None:
    """Refuse a --dtype that no tensor was read as, so that it is no silent no-op."""
    found = {name for pair in pairs for name in (pair.dtype, pair.b_dtype) if name}
    if found and dtype not in found:
        raise UsageError(
            f"--dtype={dtype} has no effect: it says what raw bits stand for, and the "
            f"tensors hold {', '.join(sorted(found))}")


def _truth(truths: dict[str, TensorFile], name: str, *, single: bool
           ) -> TensorFile | None:
    if single and len(truths) == 1:
        return next(iter(truths.values()))
    return truths.get(name)


def _compare_files(name: str, files: tuple[TensorFile, TensorFile, TensorFile | None],
                   rules: tuple[Standard, ...], plan: Plan) -> TensorComparison:
    a, notes_a = files[0].load(plan.dtype)
    b, notes_b = files[1].load(plan.dtype)
    truth: Storage | None = None
    notes_r: tuple[str, ...] = ()
    if files[2] is not None:
        truth, notes_r = files[2].load(None)
    try:
        pair = compare_storage(name, a, b, truth, rules)
        if plan.values:
            pair = compare_values(pair, a, b, truth)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
    notes = dict.fromkeys((*notes_a, *notes_b, *notes_r, *pair.notes))
    return dataclasses.replace(pair, notes=tuple(notes))
