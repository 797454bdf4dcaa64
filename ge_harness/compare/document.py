"""Comparison records as the plain dicts that JSON documents are made of.

The kinds `compare` and `run` show the same layers under the same names; this is the one
place that lays them out.
"""

from __future__ import annotations

from typing import Any

from ge_harness.records.comparison import StandardVerdict, TensorComparison
from ge_harness.records.serialize import to_plain


def pair_document(pair: TensorComparison, *, a: str, b: str) -> dict[str, Any]:
    """Return one entry of `pairs` of the kind `compare`.

    Args:
        pair: the record.
        a: where side a came from.
        b: where side b came from.
    """
    return {
        "name": pair.name, "a": a, "b": b, "shape": list(pair.shape),
        "dtype": pair.dtype, "b_shape": list(pair.b_shape), "b_dtype": pair.b_dtype,
        "status": pair.status.value, **layers(pair),
        "standards": {verdict.name: _standard(verdict) for verdict in pair.standards},
        "vs_reference": references(pair), "notes": list(pair.notes),
    }


def layers(pair: TensorComparison) -> dict[str, Any]:
    """Return the layers of candidate against base line, without name and standards."""
    worst = [to_plain(element) for element in pair.worst]
    found: dict[str, Any] = {
        "count": pair.count, "bit_equal": pair.bit_equal,
        "bit_mismatch_count": pair.bit_mismatch_count,
        "mismatch_count": pair.mismatch_count,
        "zero_sign_count": pair.zero_sign_count,
        "nan_payload_count": pair.nan_payload_count,
        "zeros_in_b": pair.zeros_in_b, "ulp": to_plain(pair.ulp),
        "abs": to_plain(pair.abs), "rel": to_plain(pair.rel), "cosine": pair.cosine,
        "nonfinite": to_plain(pair.nonfinite), "worst": worst[0] if worst else None,
        "top": worst, "buckets": to_plain(pair.buckets)}
    return found


def references(pair: TensorComparison) -> dict[str, Any] | None:
    """Return the errors of both sides against the reference; None without one."""
    if pair.a_errors is None:
        return None
    found: dict[str, Any] = to_plain(
        {"a": pair.a_errors, "b": pair.b_errors, "nearer": pair.nearer})
    return found


def _standard(verdict: StandardVerdict) -> dict[str, Any]:
    return {"passed": verdict.passed, "reason": verdict.reason,
            "golden": verdict.golden, "figures": to_plain(dict(verdict.figures))}
