"""One comparison in one sentence, for failing tests, terminals and reports."""

from __future__ import annotations

from ge_harness.records.comparison import (
    Element,
    KindCounts,
    Status,
    TensorComparison,
)
from ge_harness.report.plain import printable

_KIND_WORDS = {"finite": "a finite number", "inf": "infinity", "nan": "NaN"}
_LONG_DTYPES = ("float64", "int64", "uint64")


def describe(pair: TensorComparison, *, allowed_ulp: int | None = None,
             against: str = "reference") -> str:
    """Say how two tensors compare: how many differ, where worst, by how much.

    Args:
        pair: what the comparison found.
        allowed_ulp: the limit that was asked for, shown beside the distance.
        against: what side b is called.

    Returns:
        One line, e.g. "y: 3 of 4096 elements differ; worst at [1, 7]: 1.00195312,
        reference 1 (2 ULP, 1 allowed)".
    """
    name = printable(pair.name, 200)
    if pair.status is Status.UNREADABLE:
        return f"{name}: could not be read: {printable('; '.join(pair.notes))}"
    if pair.status is Status.SHAPE_MISMATCH:
        return (f"{name}: shape {list(pair.shape)}, {against} has shape "
                f"{list(pair.b_shape)}")
    if pair.status is Status.DTYPE_MISMATCH:
        return f"{name}: dtype {pair.dtype}, {against} has dtype {pair.b_dtype}"
    if pair.status is Status.FORMAT_MISMATCH:
        why = printable(pair.notes[0]) if pair.notes else "layouts"
        return f"{name}: not compared: {why}"
    if pair.status is Status.EQUAL:
        return f"{name}: all {pair.count} elements are equal, bit for bit"
    if pair.status is Status.EQUAL_VALUE:
        head = (f"{name}: {pair.bit_mismatch_count} of {pair.count} elements have "
                "other bits, all values are equal")
        return f"{head}; first at {_element(pair.worst[0], pair.dtype, against)}"
    head = f"{name}: {pair.mismatch_count} of {pair.count} elements differ"
    if pair.nonfinite.changed and pair.nonfinite.changed != pair.mismatch_count:
        head += f", {pair.nonfinite.changed} in kind"
    worst = pair.worst[0]
    return (f"{head}; worst at {_element(worst, pair.dtype, against)} "
            f"({_how_far(worst, pair, allowed_ulp)})")


def kinds_text(kinds: KindCounts) -> str:
    """Return the changes of kind in words, "" where there is none."""
    parts = []
    for name in ("nan_vs_finite", "nan_vs_inf", "finite_vs_nan", "inf_vs_nan",
                 "inf_vs_finite", "finite_vs_inf", "inf_sign"):
        count = getattr(kinds, name)
        if count:
            parts.append(f"{count} {_kind_words(name)}")
    if kinds.saturated:
        parts.append(f"{kinds.saturated} saturated (largest finite value against "
                     "infinity)")
    return ", ".join(parts)


def number_text(value: float | int | bool | None, dtype: str) -> str:
    """Return a value as a test failure shows it: nine digits, seventeen of float64."""
    if value is None:
        return "-"
    if isinstance(value, (bool, int)):
        return str(value)
    digits = 17 if dtype in _LONG_DTYPES else 9
    return f"{value:.{digits}g}"


def _element(element: Element, dtype: str, against: str) -> str:
    """Return "[1, 7]: 1.00195312, reference 1"; with bits where values read alike."""
    a, b = number_text(element.a, dtype), number_text(element.b, dtype)
    if a == b or element.ulp == 0:
        a, b = f"{a} ({element.a_bits})", f"{b} ({element.b_bits})"
    return f"{list(element.index)}: {a}, {against} {b}"


def _how_far(element: Element, pair: TensorComparison, allowed: int | None) -> str:
    if element.kind:
        text = f"{_kind_words(element.kind)}, within no tolerance"
        if pair.nonfinite.saturated:
            text += f"; {pair.nonfinite.saturated} saturated"
        return text
    if element.ulp is not None:
        limit = "" if allowed is None else f", {allowed} allowed"
        return f"{element.ulp} ULP{limit}"
    if pair.dtype == "bool":
        return "flipped"
    return f"difference {element.abs}"


def _kind_words(kind: str) -> str:
    if kind == "inf_sign":
        return "infinity against infinity of the other sign"
    first, _, second = kind.partition("_vs_")
    return f"{_KIND_WORDS[first]} against {_KIND_WORDS[second]}"
