"""What a comparison of tensors found, layer by layer.

`a` is the side in doubt (the candidate), `b` the side it is compared with (the base
line, or the reference). Elements are numbered in C order by index tuples.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Status(enum.Enum):
    """The closed list of what can come of a pair of tensors."""

    EQUAL = "equal"
    """Every element has the same bits; two empty tensors of one shape are equal."""
    EQUAL_VALUE = "equal_value"
    """Equal but for signs of zero and payloads of NaN."""
    DIFFERS = "differs"
    """At least one value differs; none changed its kind."""
    KIND_MISMATCH = "kind_mismatch"
    """At least one element is NaN or infinite on one side only, or infinite with
    opposite signs. No tolerance covers that."""
    SHAPE_MISMATCH = "shape_mismatch"
    """The shapes differ; values are compared only on request."""
    DTYPE_MISMATCH = "dtype_mismatch"
    """The dtypes differ; values are compared only on request."""
    FORMAT_MISMATCH = "format_mismatch"
    """The tensors lie in different layouts, for which no exact conversion is known."""
    UNREADABLE = "unreadable"
    """One side could not be read; `notes` says why."""


class Verdict(enum.Enum):
    """What a whole comparison comes to."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ErrorSummary:
    """One error measure over the elements where it is a number.

    Quantiles are exact: the smallest element that at least that share of all `count`
    elements do not exceed. Of an empty count everything but `count` is None.

    Attributes:
        count: elements measured.
        max: greatest error.
        mean: mean error.
        p50: median.
        p99: 99th percentile.
        index: where `max` is; the first such element.
    """

    count: int
    max: float | int | None = None
    mean: float | None = None
    p50: float | int | None = None
    p99: float | int | None = None
    index: tuple[int, ...] | None = None


@dataclass(frozen=True)
class UlpSummary:
    """Distances in representable values between two sides of one float dtype.

    The four shares are of all elements and add up to 1. Of an empty tensor, and of
    dtypes that have no ULP, everything but `count` is None.

    Attributes:
        count: elements with a distance, i.e. all but those whose kind changed.
        max: greatest distance, exact.
        mean: mean distance.
        p50: median.
        p99: 99th percentile.
        share_0: share at distance 0.
        share_1: share at distance 1.
        share_2plus: share at distance 2 or more.
        share_kind: share whose kind changed.
    """

    count: int
    max: int | None = None
    mean: float | None = None
    p50: int | None = None
    p99: int | None = None
    share_0: float | None = None
    share_1: float | None = None
    share_2plus: float | None = None
    share_kind: float | None = None


@dataclass(frozen=True)
class KindCounts:
    """How many elements are, or became, NaN or infinite. All zero for integers.

    The seven `x_vs_y` and `inf_sign` counts are disjoint and add up to `changed`:
    the first word is the kind on side a, the second on side b.

    Attributes:
        a_nan: NaN on side a.
        b_nan: NaN on side b.
        a_inf: infinite on side a.
        b_inf: infinite on side b.
        changed: elements whose kind differs, or infinities of opposite sign.
        nan_vs_finite: a is NaN, b a finite number.
        nan_vs_inf: a is NaN, b infinite.
        finite_vs_nan: a is a finite number, b NaN.
        inf_vs_nan: a is infinite, b NaN.
        inf_vs_finite: a is infinite, b finite.
        finite_vs_inf: a is finite, b infinite.
        inf_sign: infinities of opposite sign.
        saturated: one side is the dtype's largest finite value where the other is, or
            would have to be rounded to, infinity of that sign (the saturation mode of
            Ascend). A category across the others, not added to `changed`.
        overflow: a is infinite where b is finite but rounds to that infinity in a's
            dtype; part of `inf_vs_finite`. Only against a wider reference.
    """

    a_nan: int = 0
    b_nan: int = 0
    a_inf: int = 0
    b_inf: int = 0
    changed: int = 0
    nan_vs_finite: int = 0
    nan_vs_inf: int = 0
    finite_vs_nan: int = 0
    inf_vs_nan: int = 0
    inf_vs_finite: int = 0
    finite_vs_inf: int = 0
    inf_sign: int = 0
    saturated: int = 0
    overflow: int = 0


@dataclass(frozen=True)
class Element:
    """One element, all sides of it.

    Attributes:
        index: its index, () in a 0-d tensor.
        a: value on side a; exact for integers.
        b: value on side b.
        reference: value of the reference, None where there is none.
        a_bits: bit pattern of side a, "0x3c01".
        b_bits: bit pattern of side b.
        ulp: distance, None where it has no meaning (kind changed, integers).
        abs: |a - b|, None where the kind changed.
        rel: |a - b| / |b|, None where the kind changed or b is 0.
        kind: "" or the change of kind in the words of `KindCounts` ("nan_vs_finite").
    """

    index: tuple[int, ...]
    a: float | int | bool
    b: float | int | bool
    reference: float | int | bool | None = None
    a_bits: str = ""
    b_bits: str = ""
    ulp: int | None = None
    abs: float | int | None = None
    rel: float | None = None
    kind: str = ""


@dataclass(frozen=True)
class ErrorStats:
    """Errors of one side against a reference.

    Attributes:
        dtype: dtype of the side.
        count: elements of the tensor.
        abs: |a - r|.
        rel: |a - r| / |r|, zeros of the reference left out.
        ulp: |a - r| / ulp(r), real-valued, where the reference is wider than the side
            or is float64; whole distances where both have one narrower dtype; count 0
            for integers.
        ulp_is_distance: `ulp` counts representable values instead.
        nonfinite: kinds; `nonfinite.changed` elements are in no error measure.
        zeros_in_reference: elements whose reference is 0.
        bit_equal_count: elements with the very bits of the reference rounded to the
            side's dtype.
        worst_index: the first element whose kind changed, else where the ULP error is
            greatest (integers: the absolute error); None where all errors are 0.
        worst_value: the side's value there.
        worst_reference: the reference there.
    """

    dtype: str
    count: int
    abs: ErrorSummary
    rel: ErrorSummary
    ulp: ErrorSummary
    ulp_is_distance: bool
    nonfinite: KindCounts
    zeros_in_reference: int
    bit_equal_count: int
    worst_index: tuple[int, ...] | None = None
    worst_value: float | int | bool | None = None
    worst_reference: float | int | bool | None = None


@dataclass(frozen=True)
class Nearer:
    """Which side is nearer to the reference, element by element.

    Elements are compared by |side - reference|; a side whose kind is not the
    reference's is further than any number.

    Attributes:
        a: elements in which side a is nearer.
        b: elements in which side b is nearer.
        same: elements equally far.
    """

    a: int
    b: int
    same: int


@dataclass(frozen=True)
class StandardVerdict:
    """What one named rule says of one pair.

    Attributes:
        name: the rule as asked for ("ulp:2").
        passed: None where the rule does not say (no thresholds for that dtype).
        reason: one sentence with the figures that decided.
        golden: what it was judged against, "reference" or "base line".
        figures: (name, value) pairs, the measures and limits of the rule.
    """

    name: str
    passed: bool | None
    reason: str
    golden: str
    figures: tuple[tuple[str, float | int | None], ...] = ()


@dataclass(frozen=True)
class Bucket:
    """Elements whose value differs, by magnitude of side b.

    Attributes:
        label: the range of |b|, e.g. "1e-3 to 1".
        count: elements in it whose value differs.
    """

    label: str
    count: int


@dataclass(frozen=True)
class TensorComparison:
    """The layers of one comparison: shape, bits, value, kind, distance, error.

    Attributes:
        name: what the tensor is called.
        status: the outcome in one word.
        shape: shape of side a.
        dtype: dtype of side a, NumPy's name or "bfloat16".
        b_shape: shape of side b.
        b_dtype: dtype of side b.
        count: elements compared; 0 where shape or dtype forbade it.
        bit_equal: every element has the same bits; None where nothing was compared.
        bit_mismatch_count: elements whose bits differ.
        mismatch_count: elements whose value differs (-0 = +0, NaN = NaN).
        zero_sign_count: zeros whose sign differs.
        nan_payload_count: NaNs whose payload or sign differs.
        nonfinite: kinds and changes of kind.
        ulp: distances; None fields for integers and booleans.
        abs: |a - b|, exact integers for integer dtypes; for booleans, 1 for a flip.
        rel: |a - b| / |b|, zeros of b left out.
        zeros_in_b: elements of b that are 0.
        cosine: cosine of the angle between both, shown and never judged; None where a
            side has no direction or is not finite.
        worst: up to five elements, the worst first: changed kind, then distance (float)
            or difference (integer); where values are equal the first whose bits differ.
        buckets: mismatches by magnitude.
        a_errors: side a against the reference, None where there is none.
        b_errors: side b against the reference.
        nearer: which side is nearer to the reference.
        standards: what each named rule says.
        notes: what a reader must know ("byte order differs").
    """

    name: str
    status: Status
    shape: tuple[int, ...]
    dtype: str
    b_shape: tuple[int, ...]
    b_dtype: str
    count: int = 0
    bit_equal: bool | None = None
    bit_mismatch_count: int = 0
    mismatch_count: int = 0
    zero_sign_count: int = 0
    nan_payload_count: int = 0
    nonfinite: KindCounts = KindCounts()
    ulp: UlpSummary = UlpSummary(0)
    abs: ErrorSummary = ErrorSummary(0)
    rel: ErrorSummary = ErrorSummary(0)
    zeros_in_b: int = 0
    cosine: float | None = None
    worst: tuple[Element, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    a_errors: ErrorStats | None = None
    b_errors: ErrorStats | None = None
    nearer: Nearer | None = None
    standards: tuple[StandardVerdict, ...] = ()
    notes: tuple[str, ...] = ()
