"""Limits of AutoFuse by chip, and what a run asks of it.

Source: reference: autofuse_fusion_rules.md sections 4 to 8; autofuse_flags.md section
4.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChipSpec:
    """What a chip's backend allows.

    Attributes:
        chip: "910b" or "950".
        max_loads: loads at which a box is closed.
        max_inputs: inputs of one kernel.
        max_concat_inputs: inputs of one concat kernel.
        concat_ratio: share of fused inputs below which a concat is unfolded.
    """

    chip: str
    max_loads: int
    max_inputs: int
    max_concat_inputs: int
    concat_ratio: float

    @property
    def is_v1(self) -> bool:
        """Whether it is the 910B's backend."""
        return self.chip == "910b"


CHIPS = {
    "910b": ChipSpec("910b", 4, 8, 63, 0.3333),
    "950": ChipSpec("950", 15, 14, 512, 0.1666),
}
MAX_ROUNDS = 10
AFTER_REDUCE = 3
MULTI_OUTPUT_READERS = 4
LONGEST_NAME = 140


@dataclass(frozen=True)
class AutoFuseOptions:
    """What AutoFuse is asked for in one compilation.

    Attributes:
        spec: limits of the chip.
        passes: kinds of fusion that are on besides elementwise.
        recomputation_threshold: readers above which a value is stored.
        max_fusion_size: limit on operations and nodes.
        blacklist: AscIR types that stay in low precision, or "all".
        disable_lifting: fused nodes are never turned back.
        skip_types: GE types that are left alone.
        skip_names: node names that are left alone.
        bf16_pointwise: pointwise operators may compute on bfloat16; None: as the chip
            has it (a parameter of the model).
    """

    spec: ChipSpec
    passes: tuple[str, ...] = ()
    recomputation_threshold: int = 1
    max_fusion_size: int = 64
    blacklist: tuple[str, ...] = ()
    disable_lifting: bool = False
    skip_types: tuple[str, ...] = ()
    skip_names: tuple[str, ...] = ()
    bf16_pointwise: bool | None = None
