"""Names of fused nodes.

Source: reference: autofuse_fusion_rules.md section 7; graph_dumps.md section 6.1.
"""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from ge_harness.backends.emulator.autofuse import table
from ge_harness.backends.emulator.autofuse.specs import LONGEST_NAME
from ge_harness.backends.emulator.ir import Node

_NAME = re.compile(r"autofuse_(?:(?P<kind>[a-z]+)_)?(?P<number>\d+)_(?P<types>.+)")
_SECTIONS = ("Concat", "ConcatV2", "ConcatD", "ConcatV2D", "Pack")


def stage_a(nodes: Sequence[Node], number: int, kinds: Iterable[str]) -> str:
    """Return the name of a box: `autofuse_pointwise_0_Abs_Add`.

    Source: ge, autofuse/lowering/asc_lowerer/kernel_box.h (what a box is called).
    """
    kind = table.KINDS[nodes[-1].type]
    if kind == table.SPLIT and table.SPLIT not in kinds:
        kind = table.SLICE
    elif kind in (table.POINTWISE, table.RESHAPE):
        kind = next((each for each in (table.SLICE, table.GATHER) if each in kinds),
                    kind)
    elif kind == table.TRANSPOSE:
        kind = table.POINTWISE
    return _cut(f"autofuse_{kind}_{number}_{_types(nodes)}")


def stage_b(nodes: Sequence[Node], number: int, *, is_fused: bool) -> str:
    """Return the name of a merge: `autofuse_3_Abs_Add`, `autofuse_fused_3_...`."""
    prefix = "autofuse_fused" if is_fused else "autofuse"
    return _cut(f"{prefix}_{number}_{_types(nodes)}")


def shortened(name: str) -> str:
    """Return the name as the last step leaves it: repeats counted."""
    match = _NAME.fullmatch(name)
    if match is None:
        return name
    kind, types = match["kind"] or "", match["types"].split("_")
    if kind == "fused":
        text = "_".join(_sections(types))
    elif kind:
        text = "_".join(_neighbors(types))
    else:
        text = "_".join(_counted(types))
    head = f"autofuse_{kind}_" if kind else "autofuse_"
    return f"{head}{match['number']}_{text}"


def _types(nodes: Sequence[Node]) -> str:
    return "_".join(node.type for node in nodes)


def _cut(name: str) -> str:
    return name[:LONGEST_NAME]


def _neighbors(types: Sequence[str]) -> list[str]:
    runs: list[tuple[str, int]] = []
    for kind in types:
        if runs and runs[-1][0] == kind:
            runs[-1] = (kind, runs[-1][1] + 1)
        else:
            runs.append((kind, 1))
    return [f"{count}{kind}" if count > 1 else kind for kind, count in runs]


def _counted(types: Sequence[str]) -> list[str]:
    counts: dict[str, int] = {}
    for kind in types:
        counts[kind] = counts.get(kind, 0) + 1
    return [f"{count}{kind}" if count > 1 else kind for kind, count in counts.items()]


def _sections(types: Sequence[str]) -> list[str]:
    found: list[str] = []
    section: list[str] = []
    for kind in types:
        if kind in _SECTIONS:
            found += [*_counted(section), kind]
            section = []
        else:
            section.append(kind)
    return found + _counted(section)
