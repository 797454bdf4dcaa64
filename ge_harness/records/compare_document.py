"""The fields of the document of `compare`, with what each means.

The document is built as plain data (`compare.document`) from `TensorComparison`; these
records say what stands in it, and a test holds both equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from ge_harness.records.comparison import (
    Bucket,
    Element,
    ErrorStats,
    ErrorSummary,
    KindCounts,
    Nearer,
    Status,
    UlpSummary,
    Verdict,
)
from ge_harness.records.operators import FirstDifference, UnmatchedReason


@dataclass(frozen=True)
class CompareDocument:
    """What `compare` prints.

    Attributes:
        pairs: every pair of tensors, sorted by name; in order of execution where a
            graph was given.
        unmatched: tensors that only one side has.
        first_difference: the first operator that differs, where dumps of operators
            were compared; None where none does.
        labels: side ("a", "b") -> what its dumps say of their origin, e.g. that they
            are emulated; left out where they say nothing.
        skipped: files that hold no tensor.
        standards: names of the rules that decided.
        verdict: what it comes to.
    """

    pairs: tuple[ComparePair, ...]
    unmatched: Unmatched
    first_difference: FirstDifference | None
    labels: Mapping[str, str]
    skipped: tuple[str, ...]
    standards: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Unmatched:
    """Tensors that only one side has.

    Attributes:
        a: names that side b lacks.
        b: names that side a lacks.
        reasons: why, for every operator and tensor without a counterpart, where dumps
            of operators were compared; operators without a dump as well.
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    reasons: tuple[UnmatchedReason, ...]


@dataclass(frozen=True)
class ComparePair:
    """One pair of tensors. Fields not described here are those of `TensorComparison`.

    Attributes:
        a: where side a came from.
        b: where side b came from.
        worst: the worst element; null where nothing differs.
        top: up to five elements, the worst first.
        standards: rule -> what it says.
        vs_reference: both sides against the reference; null without one.
    """

    name: str
    a: str
    b: str
    shape: tuple[int, ...]
    dtype: str
    b_shape: tuple[int, ...]
    b_dtype: str
    status: Status
    count: int
    bit_equal: bool | None
    bit_mismatch_count: int
    mismatch_count: int
    zero_sign_count: int
    nan_payload_count: int
    zeros_in_b: int
    ulp: UlpSummary
    abs: ErrorSummary
    rel: ErrorSummary
    cosine: float | None
    nonfinite: KindCounts
    worst: Element | None
    top: tuple[Element, ...]
    buckets: tuple[Bucket, ...]
    standards: Mapping[str, StandardRuling]
    vs_reference: PairReferences | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class StandardRuling:
    """What one named rule says of a pair.

    Attributes:
        passed: null where the rule does not say (no thresholds for that dtype).
        reason: one sentence with the figures that decided.
        golden: what it was judged against, "reference" or "base line".
        figures: measures and limits of the rule, by name.
    """

    passed: bool | None
    reason: str
    golden: str
    figures: Mapping[str, float | int | None]


@dataclass(frozen=True)
class PairReferences:
    """Both sides of a pair against the reference.

    Attributes:
        a: errors of side a.
        b: errors of side b.
        nearer: which side is nearer, element by element.
    """

    a: ErrorStats
    b: ErrorStats
    nearer: Nearer | None
