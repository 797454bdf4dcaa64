"""What is known of every pass: level, precision class, how to switch it off.

`passes` holds the passes of GE, its fusion engine and AutoFuse, XLA's HLO passes and
Grappler's optimizers; `stages` the points where GE writes a dump; `pattern` regular
expressions from users, bounded in time.
"""

from __future__ import annotations

from ge_harness.catalogue.passes import (
    PassInfo,
    by_family,
    families,
    lookup,
    nearest,
    search,
)

__all__ = ["PassInfo", "by_family", "families", "lookup", "nearest", "search"]
