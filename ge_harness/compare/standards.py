"""Named acceptance rules, each with what it asks and why.

Integers and booleans are compared exactly under every rule. A change of kind (a number
against NaN or infinity) fails every rule at once, whatever its shares say.
Source: reference: precision_standards.md; the rule `msprobe-ulp` from the official
thresholds of msprobe 26.2.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, Dict, Optional, Tuple, Union

from ge_harness.compare.dtypes import FLOAT_FORMATS
from ge_harness.compare.golden import CLOSE, MIXED, SMALL, Figures
from ge_harness.errors import UnknownNameError, UsageError
from ge_harness.records.comparison import StandardVerdict, TensorComparison


@dataclass(frozen=True)
class StandardRule:
    """One row of the table of standards.

    Attributes:
        name: how it is asked for; "ulp:N" and "dual:LEVEL" take a value.
        rule: when an output passes.
        reason: why, and when to take it.
    """

    name: str
    rule: str
    reason: str


STANDARDS = (
    StandardRule(
        "bits", "every element has the same bits as the base line",
        "the strictest claim; what a rewrite that is called bit-safe must meet"),
    StandardRule(
        "binary", "same bits as the base line, NaN against NaN counted as equal",
        "the CANN rule for pure movement, comparisons, integer and boolean outputs"),
    StandardRule(
        "ulp:N", "every element within N representable values of the base line",
        "one limit for every magnitude; 1 allows one other rounding an element"),
    StandardRule(
        "mixed", "|a-g| <= atol + rtol |g| for 99 % of the elements, and the greatest "
        "error within the hard limit or 32 ULP",
        "the CANN default for float outputs: many small errors, no wild one"),
    StandardRule(
        "stat", "mean relative error below Th and greatest below 10 Th "
        "(Th: float16 2^-10, bfloat16 2^-7, float32 2^-13)",
        "the CANN statistical rule: judges the whole tensor, not single elements"),
    StandardRule(
        "dual:L0", "errors against fp64 at most 10 / 2 / 2 times the base line's "
        "(greatest relative, mean relative, root mean square)",
        "cross check with a second benchmark, loosest level"),
    StandardRule(
        "dual:L1", "as dual:L0 with 5 / 1.5 / 1.5",
        "cross check, the default level"),
    StandardRule(
        "dual:L2", "as dual:L0 with 2 / 1.2 / 1.2",
        "cross check for operators that must not be worse than the base line"),
    StandardRule(
        "close", "np.isclose for all but an allowed share (float16, bfloat16: rtol "
        "1e-3, share 1e-3; float32: 1e-4, 1e-4; atol 1e-8)",
        "the habit of operator tests in NumPy"),
    StandardRule(
        "msprobe-ulp", "float16: less than 0.1 % of elements off by more than 1 ULP; "
        "float32: mean below 64 ULP, or less than 5 % off by more than 32 ULP",
        "the official ULP rule of msprobe, for people who know its verdicts"),
)

_PLAIN = ("bits", "binary", "mixed", "stat", "close", "msprobe-ulp")
_LEVELS = {"L0": (10.0, 2.0, 2.0), "L1": (5.0, 1.5, 1.5), "L2": (2.0, 1.2, 1.2)}
_STAT = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-13}
_MIXED_ULP = 32

Numbers = Dict[str, Union[float, int, None]]
Answer = Tuple[Optional[bool], str, Numbers]
"""Passed (None: the rule does not say), the reason, the figures in shown order."""


@dataclass(frozen=True)
class Standard:
    """A rule as asked for.

    Attributes:
        name: its full name, "ulp:2", "dual:L1".
        kind: "bits", "binary", "ulp", "mixed", "stat", "dual", "close", "msprobe-ulp".
        limit: N of ulp:N.
        level: level of dual.
    """

    name: str
    kind: str
    limit: int = 0
    level: str = ""

    @property
    def needs_reference(self) -> bool:
        """Whether it cannot be judged without an fp64 reference."""
        return self.kind == "dual"

    @property
    def needs_figures(self) -> bool:
        """Whether it is judged by errors against a golden."""
        return self.kind not in ("bits", "binary", "ulp")


def parse_standard(text: str) -> Standard:
    """Return the rule called `text`.

    Raises:
        UnknownNameError: no rule has that name.
        UsageError: a value is missing or no whole number.
    """
    kind, colon, value = text.partition(":")
    if text in _PLAIN:
        return Standard(text, text)
    if kind == "ulp":
        if not re.match(r"[0-9]{1,20}\Z", value):
            raise UsageError(
                f"standard {text!r}: found {value!r} after 'ulp:', expected a whole "
                "number of ULP, e.g. 'ulp:1'")
        return Standard(f"ulp:{int(value)}", "ulp", limit=int(value))
    if kind == "dual" and (value in _LEVELS or not colon):
        level = value or "L1"
        return Standard(f"dual:{level}", "dual", level=level)
    raise UnknownNameError("standard", text, [row.name for row in STANDARDS])


def judge(standard: Standard, pair: TensorComparison, candidate: Figures | None = None,
          baseline: Figures | None = None) -> StandardVerdict:
    """Judge one compared pair by one rule.

    Args:
        standard: the rule.
        pair: what the comparison found.
        candidate: figures of side a against the golden: the reference where there is
            one, else side b. None for integers, booleans and pairs not compared.
        baseline: figures of side b against the reference, None without one.

    Raises:
        UsageError: `dual` without a reference.
    """
    compared = pair.bit_equal is not None and pair.dtype in FLOAT_FORMATS
    if standard.needs_reference and compared and pair.b_errors is None:
        raise UsageError(
            f"standard {standard.name} of {pair.name!r} compares errors against the "
            "truth and got no reference; give one with --reference")
    with_golden = standard.needs_figures and candidate is not None
    golden = "reference" if with_golden and pair.b_errors else "base line"
    passed, reason, figures = _decide(standard, pair, candidate, baseline)
    return StandardVerdict(
        standard.name, passed, reason, golden, tuple(figures.items()))



def _decide(standard: Standard, pair: TensorComparison, candidate: Figures | None,
            baseline: Figures | None) -> Answer:
    if pair.bit_equal is None:
        return False, f"not compared: {pair.status.value}", {}
    if standard.kind in ("bits", "binary") or pair.dtype not in FLOAT_FORMATS:
        return _judge_bits(standard, pair)
    if standard.kind == "ulp":
        return _judge_ulp(standard, pair)
    if candidate is None:
        return None, "no figures were collected", {}
    if candidate.changed:
        return False, _kinds_text(candidate), {"changed": candidate.changed}
    if standard.kind == "dual" and baseline is not None:
        return _judge_dual(standard, pair.dtype, candidate, baseline)
    return _RULES[standard.kind](pair.dtype, candidate)


def _judge_bits(standard: Standard, pair: TensorComparison) -> Answer:
    off = pair.bit_mismatch_count
    what = "have other bits"
    if standard.kind == "binary":
        off -= pair.nan_payload_count
        what = "have other bits (NaN payloads apart)"
    elif standard.kind != "bits":
        what = "differ; integers and booleans are compared exactly under every standard"
    return off == 0, f"{off} of {pair.count} elements {what}", {"mismatches": off}


def _judge_ulp(standard: Standard, pair: TensorComparison) -> Answer:
    figures: Numbers = {
        "max_ulp": pair.ulp.max, "limit": standard.limit,
        "changed": pair.nonfinite.changed}
    if pair.nonfinite.changed:
        return False, (f"{pair.nonfinite.changed} of {pair.count} elements changed "
                       "their kind, which no tolerance covers"), figures
    worst = pair.ulp.max or 0
    reason = f"max {worst} ULP, {standard.limit} allowed"
    return worst <= standard.limit, reason, figures


def _kinds_text(figures: Figures) -> str:
    text = (f"{figures.changed} of {figures.count} elements are NaN or infinite on one "
            "side only")
    if figures.overflow:
        text += f", {figures.overflow} of them where the golden is beyond the dtype"
    if figures.saturated:
        text += f"; {figures.saturated} saturated"
    return text


def _judge_mixed(dtype: str, a: Figures) -> Answer:
    limits = MIXED.get(dtype)
    if limits is None or a.mixed_misses is None:
        return _without_thresholds("mixed", dtype)
    ratio = 1.0 - a.mixed_misses / max(1, a.count)
    tame = a.max_abs <= limits.hard or a.max_ulp <= _MIXED_ULP
    # The count decides: 1 - misses / count may round below the limit it meets.
    enough = a.mixed_misses * 100 <= a.count
    reason = (f"{ratio:.4%} within tolerance (99 % asked); greatest error "
              f"{a.max_abs:.6g} ({limits.hard:g} allowed) or {a.max_ulp:.6g} ULP "
              f"({_MIXED_ULP} allowed)")
    return enough and tame, reason, {
        "matched_ratio": ratio, "max_abs": a.max_abs, "max_ulp": a.max_ulp,
        "rtol": limits.rtol, "atol": limits.atol, "hard_limit": limits.hard}


def _judge_stat(dtype: str, a: Figures) -> Answer:
    limit = _STAT.get(dtype)
    if limit is None:
        return _without_thresholds("stat", dtype)
    reason = (f"mean relative error {a.mere:.6g} ({limit:g} is too much), greatest "
              f"{a.mare:.6g} ({10 * limit:g} is too much)")
    return a.mere < limit and a.mare < 10 * limit, reason, {
        "mere": a.mere, "mare": a.mare, "threshold": limit}


def _judge_close(dtype: str, a: Figures) -> Answer:
    limits = CLOSE.get(dtype)
    if limits is None or a.close_misses is None:
        return _without_thresholds("close", dtype)
    share = a.close_misses / max(1, a.count)
    reason = f"{share:.4%} are not close ({limits.share:.4%} allowed)"
    return share <= limits.share, reason, {
        "miss_share": share, "rtol": limits.rtol, "atol": limits.atol,
        "share": limits.share}


def _judge_msprobe(dtype: str, a: Figures) -> Answer:
    over_1 = a.over_1_ulp / max(1, a.count)
    over_32 = a.over_32_ulp / max(1, a.count)
    figures: Numbers = {
        "mean_ulp": a.mean_ulp, "share_over_1": over_1, "share_over_32": over_32}
    if dtype == "float16":
        reason = f"{over_1:.4%} are off by more than 1 ULP (less than 0.1 % asked)"
        return over_1 < 0.001, reason, figures
    if dtype == "float32":
        reason = (f"mean {a.mean_ulp:.6g} ULP (less than 64 asked) or {over_32:.4%} "
                  "off by more than 32 ULP (less than 5 % asked)")
        return a.mean_ulp < 64 or over_32 < 0.05, reason, figures
    return _without_thresholds("msprobe-ulp", dtype)


def _judge_dual(standard: Standard, dtype: str, a: Figures, b: Figures) -> Answer:
    if dtype not in SMALL:
        return _without_thresholds(standard.name, dtype)
    if b.changed:
        return None, ("the base line itself is wrong: " + _kinds_text(b)), {}
    pairs = (("mare", a.normal_mare, b.normal_mare),
             ("mere", a.normal_mere, b.normal_mere),
             ("rmse", a.normal_rmse, b.normal_rmse))
    figures: Numbers = {}
    passed, parts = True, []
    for (name, mine, others), limit in zip(pairs, _LEVELS[standard.level]):
        ratio = _ratio(mine or 0.0, others or 0.0)
        figures[f"{name}_ratio"] = ratio
        passed = passed and ratio <= limit
        parts.append(f"{name} {ratio:.4g} ({limit:g})")
    small = (a.small_errors or 0) / max(b.small_errors or 0, 1)
    figures["small_ratio"] = small
    parts.append(f"small values {small:.4g} (2)")
    return passed and small <= 2, ("error over the base line's, with the limit: "
                                   + ", ".join(parts)), figures


def _ratio(mine: float, others: float) -> float:
    """Return mine / others; a base line without error allows none."""
    if others == 0:
        return 1.0 if mine == 0 else float("inf")
    return mine / others


def _without_thresholds(name: str, dtype: str) -> Answer:
    return None, f"{name} has no thresholds for {dtype}", {}


_RULES: dict[str, Callable[[str, Figures], Answer]] = {
    "mixed": _judge_mixed, "stat": _judge_stat, "close": _judge_close,
    "msprobe-ulp": _judge_msprobe,
}
