"""From outcome and evidence to a verdict: no verdict without the mechanism seen."""

from __future__ import annotations

from typing import Sequence, Tuple

from ge_harness.records.experiment import ExperimentVerdict, MechanismEvidence

Ruling = Tuple[ExperimentVerdict, str]


def settle(held: bool, why: str, evidence: Sequence[MechanismEvidence]) -> Ruling:
    """Return the verdict of an outcome that the evidence bears, else `inconclusive`.

    Args:
        held: the outcome agrees with the claim.
        why: the outcome in one sentence.
        evidence: all that had to be shown of the mechanism.
    """
    missing = [each for each in evidence if not each.ok]
    if missing or not evidence:
        lacks = (f"{missing[0].what}: {missing[0].found}" if missing
                 else "nothing was read that shows the mechanism")
        return ExperimentVerdict.INCONCLUSIVE, (
            f"no verdict without evidence ({lacks}); the numbers alone: {why}")
    return (ExperimentVerdict.HOLDS if held else ExperimentVerdict.REFUTED), why


def all_of(rulings: Sequence[Ruling], names: Sequence[str]) -> Ruling:
    """Return the verdict of a claim that has parts: one refuted part refutes it.

    Args:
        rulings: one a part.
        names: of the parts.
    """
    by_kind: dict[ExperimentVerdict, list[int]] = {}
    for place, (verdict, _) in enumerate(rulings):
        by_kind.setdefault(verdict, []).append(place)
    counts = ", ".join(f"{len(places)} {kind.value}"
                       for kind, places in sorted(
                           by_kind.items(), key=lambda item: item[0].value))
    for kind in (ExperimentVerdict.REFUTED, ExperimentVerdict.INCONCLUSIVE,
                 ExperimentVerdict.HOLDS):
        if kind in by_kind:
            place = by_kind[kind][0]
            return kind, f"{counts}; {names[place]}: {rulings[place][1]}"
    return ExperimentVerdict.NOT_APPLICABLE, counts or "nothing to test"
