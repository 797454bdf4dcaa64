"""The public precision toolkit.

    from ge_harness import bit_equal, ulp_diff, error_stats, fp64_reference

`compare_tensor` gives all layers at once. Nothing here needs TensorFlow.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from ge_harness.compare.compare import compare_tensor
from ge_harness.compare.stats import error_stats
from ge_harness.compare.ulp import bit_equal, ulp_diff

__all__ = ["bit_equal", "compare_tensor", "error_stats", "fp64_reference", "ulp_diff"]


def fp64_reference(graph: Any, inputs: Mapping[str, Any],
                   outputs: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Evaluate a graph op by op in float64.

    Args:
        graph: a GraphDef record or the path of a .pb or .pbtxt.
        inputs: array by the name of its Placeholder.
        outputs: tensors wanted, "node:index"; None for the graph's own outputs.

    Returns:
        [...] float64 by output name.

    Raises:
        UnknownNameError: an op the interpreter does not know; the message names it.
    """
    from ge_harness.interpreter.evaluate import fp64_reference as evaluate

    found: dict[str, np.ndarray] = evaluate(graph, inputs, outputs)
    return found
