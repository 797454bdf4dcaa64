"""Comparisons as plain text for a terminal."""

from __future__ import annotations

from typing import Sequence

from ge_harness.records.comparison import (
    ErrorStats,
    Status,
    TensorComparison,
    Verdict,
)
from ge_harness.report.describe import describe, kinds_text
from ge_harness.report.plain import printable, table

_COLUMNS = ("tensor", "status", "dtype", "shape", "differ", "of", "ULP max", "ULP p99",
            "max abs", "max rel", "cosine")
_ERROR_COLUMNS = ("tensor", "side", "bit-equal", "ULP p50", "ULP p99", "ULP max",
                  "max abs", "max rel", "kind", "nearer")
_LONGEST_LIST = 20


def comparison_text(pairs: Sequence[TensorComparison], verdict: Verdict,
                    standards: Sequence[str], *, widest: int = 40) -> str:
    """Return the tables of a comparison, a sentence for each difference, the verdict.

    Args:
        pairs: the compared pairs.
        verdict: what they come to.
        standards: names of the rules that decided.
        widest: longest name in characters; longer ones are shortened.
    """
    parts = [table(_COLUMNS, [_row(pair) for pair in pairs], widest=widest)]
    errors = [row for pair in pairs for row in _error_rows(pair)]
    if errors:
        parts.append("Errors against the reference\n"
                     + table(_ERROR_COLUMNS, errors, widest=40))
    sentences = [line for pair in pairs for line in _sentences(pair)]
    if sentences:
        parts.append("\n".join(sentences) + "\n")
    parts.append(f"verdict: {verdict.value} ({', '.join(standards)})\n")
    return "\n".join(parts)


def names_text(title: str, names: Sequence[str]) -> str:
    """Return a list of names under a title, shortened, "" where there is none."""
    if not names:
        return ""
    shown = [f"  {printable(name, 200)}" for name in names[:_LONGEST_LIST]]
    if len(names) > _LONGEST_LIST:
        shown.append(f"  and {len(names) - _LONGEST_LIST} more")
    return "\n".join([f"{title}: {len(names)}", *shown]) + "\n"


def _row(pair: TensorComparison) -> list[object]:
    shape = "x".join(str(length) for length in pair.shape) or "0-d"
    compared = pair.bit_equal is not None
    return [pair.name, pair.status.value, pair.dtype, shape,
            pair.mismatch_count if compared else None,
            pair.count if compared else None, pair.ulp.max, pair.ulp.p99,
            pair.abs.max, pair.rel.max,
            None if pair.cosine is None else f"{pair.cosine:.9f}"]


def _error_rows(pair: TensorComparison) -> list[list[object]]:
    if pair.a_errors is None or pair.b_errors is None or pair.nearer is None:
        return []
    return [_error_row(pair, "a (in doubt)", pair.a_errors, pair.nearer.a),
            _error_row(pair, "b (trusted)", pair.b_errors, pair.nearer.b)]


def _error_row(pair: TensorComparison, side: str, errors: ErrorStats, nearer: int
               ) -> list[object]:
    return [pair.name, side, errors.bit_equal_count, errors.ulp.p50, errors.ulp.p99,
            errors.ulp.max, errors.abs.max, errors.rel.max, errors.nonfinite.changed,
            nearer]


def _sentences(pair: TensorComparison) -> list[str]:
    lines = []
    if pair.status is not Status.EQUAL:
        lines.append(describe(pair, against="base line"))
    kinds = kinds_text(pair.nonfinite)
    name = printable(pair.name, 200)
    if kinds:
        lines.append(f"{name}: kind changed: {kinds}")
    if pair.status is not Status.UNREADABLE:
        lines += [f"{name}: {printable(note)}" for note in pair.notes]
    words = {True: "passes", False: "fails", None: "does not say"}
    lines += [f"{name}: {one.name} {words[one.passed]}: {one.reason} "
              f"(against the {one.golden})"
              for one in pair.standards if one.name != "bits" or not one.passed]
    return lines
