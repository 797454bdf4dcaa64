"""Whether an active pass can have changed numbers.

Two things must hold: the pass is of a class that can, and what it touched is floating
point. What it touched is not always known; then the answer is "undetermined", never
"bit-safe".
"""

from __future__ import annotations

from typing import Iterable

from ge_harness.catalogue import passes
from ge_harness.catalogue.passes import PassInfo

_FLOATING = ("float", "bfloat", "complex", "hifloat")


def is_floating(dtype: str) -> bool:
    """Say whether values of a dtype are rounded."""
    return dtype.startswith(_FLOATING)


def judge(info: PassInfo | None, name: str, dtypes: Iterable[str], *,
          changed: bool) -> tuple[str, str]:
    """Return the verdict on an active pass and the reason for it.

    Args:
        info: what the catalogue knows, None where it lacks the pass.
        name: the pass.
        dtypes: dtypes of what it touched; none where that is not known.
        changed: something shows that it changed the graph.
    """
    touched = sorted(dtypes)
    floating = [dtype for dtype in touched if is_floating(dtype)]
    if info is None:
        near = passes.nearest(name)
        hint = f"; the nearest name is {near}" if near else ""
        if touched and not floating:
            return "bit-safe", (f"touched only {', '.join(touched)}; not in the "
                                "catalogue")
        return "undetermined", f"not in the catalogue{hint}"
    if info.precision_class == "none":
        sure = "" if info.certainty == "certain" else f" ({info.certainty})"
        return "bit-safe", f"{info.bit_safe_reason}{sure}: {info.why}"
    if touched and not floating:
        return "bit-safe", (f"class {info.precision_class}, but it touched only "
                            f"{', '.join(touched)}")
    if not changed:
        return "undetermined", (f"class {info.precision_class}; it ran, and nothing "
                                "shows whether it changed anything")
    if not touched:
        return "undetermined", (f"class {info.precision_class}; nothing here says what "
                                "it touched")
    return "precision-affecting", (f"class {info.precision_class} on "
                                   f"{', '.join(floating)}: {info.why}")
