"""ge_harness: what a graph compiler did to a TensorFlow graph and to its numbers.

Importing this package imports neither TensorFlow nor NumPy; the names of the precision
toolkit are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ge_harness.version import VERSION as __version__  # noqa: N811 - Python's name

if TYPE_CHECKING:
    from ge_harness.toolkit import (
        bit_equal,
        error_stats,
        fp64_reference,
        ulp_diff,
    )

__all__ = ["__version__", "bit_equal", "error_stats", "fp64_reference", "ulp_diff"]

_TOOLKIT = ("bit_equal", "error_stats", "fp64_reference", "ulp_diff")


def __getattr__(name: str) -> Any:
    if name in _TOOLKIT:
        from ge_harness import toolkit

        return getattr(toolkit, name)
    raise AttributeError(f"module 'ge_harness' has no attribute {name!r}")
