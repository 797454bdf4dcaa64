"""Two sides on the same input sets: which is further from float64, with an interval."""

from __future__ import annotations

from typing import Mapping, NamedTuple

import numpy as np

from ge_harness.compare.stats import measure_errors
from ge_harness.experiments import statistics as stats
from ge_harness.records.comparison import ErrorStats

BASES = ("eager", "nodewise")
CANDIDATE = "candidate"
# A bin of the histograms behind the interval of P99 is 1 % wide.
_RESOLUTION = 1.0101
_FEWEST_SETS = 2


class Paired(NamedTuple):
    """What was computed from the stored outputs of all sides.

    Attributes:
        errors: side -> its errors against float64, all sets together.
        p99: base line -> ratio of P99 ULP, candidate over base line.
        most: base line -> ratio of the greatest ULP error.
        same: base line -> share of elements with the candidate's bits.
        counts: side -> [bins + 1] histogram of ULP errors.
        most_of_each: side -> [sets] greatest ULP error.
        finite: elements that are finite in float64.
    """

    errors: Mapping[str, ErrorStats]
    p99: Mapping[str, stats.Interval]
    most: Mapping[str, stats.Interval]
    same: Mapping[str, float]
    counts: Mapping[str, np.ndarray]
    most_of_each: Mapping[str, np.ndarray]
    finite: int

    def powerless(self, base: str) -> str:
        """Say why the comparison with a base line proves nothing; "" where it does."""
        if self.changed_more(base):
            return ""
        if not self.finite:
            return "no element is finite in float64, so there is no error to compare"
        if self.most_of_each[CANDIDATE].size < _FEWEST_SETS:
            return "one input set gives no interval"
        return ""

    def changed_more(self, base: str) -> bool:
        """Return whether more elements changed kind than on a base line."""
        return (self.errors[CANDIDATE].nonfinite.changed
                > self.errors[base].nonfinite.changed)

    def worse(self, base: str) -> bool | None:
        """Return whether the candidate is worse; None where the interval holds 1."""
        p99, most = self.p99[base], self.most[base]
        if self.changed_more(base) or p99.low > _RESOLUTION or most.low > 1.0:
            return True
        within = max(p99.high, p99.ratio) <= _RESOLUTION and most.high <= 1.0
        return False if within else None

    def words(self, base: str) -> str:
        """Return the comparison with a base line in one sentence."""
        p99, most = self.p99[base], self.most[base]
        text = (f"P99 ratio {p99.ratio:.4g} [{p99.low:.4g}, {p99.high:.4g}], max ratio "
                f"{most.ratio:.4g} [{most.low:.4g}, {most.high:.4g}]")
        if self.changed_more(base):
            changed = {side: self.errors[side].nonfinite.changed
                       for side in (CANDIDATE, base)}
            return (f"{changed[CANDIDATE]} elements changed kind against float64, "
                    f"{changed[base]} on {base}; {text}")
        return text


def compare(arrays: Mapping[str, np.ndarray], reference: np.ndarray, dtype: str,
            seed: int) -> Paired:
    """Compare the candidate with every base line that is there.

    Args:
        arrays: side -> [sets, ...] storage of `dtype`, the candidate among them.
        reference: [sets, ...] float64.
        dtype: of the sides.
        seed: of the resampling.
    """
    errors = {side: measure_errors(array, reference, dtype=dtype)
              for side, array in arrays.items()}
    counts, most = {}, {}
    for side, array in arrays.items():
        counts[side], most[side] = _per_set(array, reference, dtype)
    fused = errors[CANDIDATE].ulp
    bases = [side for side in BASES if side in arrays]
    return Paired(
        errors,
        {base: stats.bootstrap_p99(
            counts[CANDIDATE], counts[base], seed,
            stats.ratio_of(fused.p99, errors[base].ulp.p99)) for base in bases},
        {base: stats.bootstrap_max(
            most[CANDIDATE], most[base], seed,
            stats.ratio_of(fused.max, errors[base].ulp.max)) for base in bases},
        {base: _same(arrays[CANDIDATE], arrays[base]) for base in bases},
        {side: each.sum(axis=0) for side, each in counts.items()}, most,
        int(np.count_nonzero(np.isfinite(reference))))


def _per_set(array: np.ndarray, reference: np.ndarray, dtype: str
             ) -> tuple[np.ndarray, np.ndarray]:
    """Return [sets, bins + 1] histograms and [sets] greatest ULP errors."""
    rows, most = [], []
    for mine, other in zip(array, reference):
        errors = stats.ulp_errors(mine, other, dtype)
        rows.append(stats.histogram(errors))
        most.append(errors.max(initial=0.0))
    return np.stack(rows), np.array(most)


def _same(a: np.ndarray, b: np.ndarray) -> float:
    kind = f"u{a.dtype.itemsize}"
    equal = np.count_nonzero(np.ascontiguousarray(a).view(kind)
                             == np.ascontiguousarray(b).view(kind))
    return equal / max(1, a.size)
