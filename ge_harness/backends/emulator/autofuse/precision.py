"""Whether a loop nest is widened to float32 or keeps its storage dtypes.

Source: reference: autofuse_flags.md section 8; autofuse_fusion_rules.md section 3.
"""

from __future__ import annotations

from typing import Sequence

from ge_harness.backends.emulator.autofuse import table
from ge_harness.backends.emulator.autofuse.specs import ChipSpec
from ge_harness.backends.emulator.ir import AscOp

_UNTOUCHED = frozenset((table.CONCAT, table.SPLIT, table.CUBE))
_ALL = "all"
_LOW = ("float16", "bfloat16")
_V1_NO_LOW = frozenset(("Sum", "Mean", "Prod"))
_V2_NO_LOW = frozenset(("Mean", "Prod"))
_V2_NO_BF16 = frozenset(("Div", "Relu", "Broadcast", "Transpose"))
_V1_BF16 = frozenset(("Data", "Scalar", "Load", "Store", "Output", "Concat", "Gather",
                      "Cast"))


class BlacklistError(Exception):
    """A listed operator does not support its dtype: the compilation fails."""


def keeps_low_precision(ops: Sequence[AscOp], kinds: frozenset[str],
                        blacklist: Sequence[str], spec: ChipSpec) -> bool:
    """Say whether a loop nest stays in float16 or bfloat16.

    Args:
        ops: its AscIR before the precision pass.
        kinds: kinds of fusion inside.
        blacklist: AscIR types, or "all".
        spec: the chip.

    Raises:
        BlacklistError: a listed type does not support the dtype it has.
    """
    if kinds & _UNTOUCHED:
        return True
    if not any(op.dtype in _LOW for op in ops):
        return False
    if _ALL in blacklist:
        return all(_supported(op, spec) for op in ops)
    for op in ops:
        if op.type in table.MOVES:
            continue
        if op.type not in blacklist:
            return False
        if not _supported(op, spec):
            raise BlacklistError(
                f"autofuse_enhance_precision_blacklist names {op.type}, which has no "
                f"{op.dtype} on {spec.chip}")
    return bool(blacklist) or all(op.type in table.MOVES for op in ops)


def _supported(op: AscOp, spec: ChipSpec) -> bool:
    if op.dtype not in _LOW:
        return True
    if spec.is_v1:
        if op.dtype == "bfloat16":
            return op.type in _V1_BF16
        return op.type not in _V1_NO_LOW
    if op.type in _V2_NO_LOW:
        return False
    return op.dtype == "float16" or op.type not in _V2_NO_BF16
