"""What makes one side worse than another on one input set."""

from __future__ import annotations

from typing import Tuple

import numpy as np

from ge_harness.experiments import statistics as stats

# A find is one input set whose P99 or greatest error is this much greater than eager's
# and more than half an ULP.
WORSE, _LEAST_ULP = 1.05, 0.55
# Scores from here on count elements that changed kind, which comes before all errors.
KIND_CHANGED = 1e6
# P99 and greatest ULP error, and how many elements changed kind.
Figures = Tuple[float, float, int]


def score(fused: Figures, eager: Figures) -> float:
    """Return how much worse one side is than another on one set.

    The greater of the ratios of P99 and of the greatest error; changes of kind come
    before all.
    """
    if fused[2] != eager[2]:
        return KIND_CHANGED + fused[2] if fused[2] > eager[2] else 0.0
    return max(ratios(fused, eager))


def ratios(fused: Figures, eager: Figures) -> tuple[float, float]:
    """Return the ratios of P99 and of the greatest error, 0 where both are small."""
    p99, most = (mine / max(other, 2.0**-12) if mine > _LEAST_ULP else 0.0
                 for mine, other in zip(fused[:2], eager[:2]))
    return p99, most


def figures(side: np.ndarray, reference: np.ndarray, dtype: str
            ) -> Figures:
    """Return P99 and greatest ULP error, and how many elements changed kind."""
    found = stats.measured(side, reference, dtype)
    errors = np.sort(stats.ulp_errors(side, reference, dtype))
    changed = 0 if found.valid is None else int(np.count_nonzero(~found.valid))
    if not errors.size:
        return 0.0, 0.0, changed
    return (float(errors[int(np.ceil(0.99 * errors.size)) - 1]), float(errors[-1]),
            changed)
