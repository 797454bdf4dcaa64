"""Explained bits: which roundings, contractions and orders reproduce compiled bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping


@dataclass(frozen=True)
class Hypothesis:
    """One way in which the compiled program is taken to differ from op-by-op rounding.

    Attributes:
        kind: "unrounded edge" (a node reads its input before it is rounded to the
            dtype), "unrounded step" (the same inside one op), "contraction" (an
            addition and the product it reads are one fused multiply-add), "sum" and
            "product sum" (accumulator and order), "algorithm" (another way to work
            out the function), "reciprocal" (a division as a multiplication), "kernel"
            (the compiler's own kernel, run on the very arguments), "distribution"
            ((x + 1) * y as one fused multiply-add), "reassociation" ((a * b) * c in
            another order).
        node: node of the graph.
        place: which input ("input 0") or part ("total") of the node, "" for all of it.
        source: the node that is read, for an edge or a contraction; else "".
        value: what holds there ("float32, windows of 32"), "" where the kind says it.
        gained: elements whose bits are lost when this hypothesis alone is dropped.
        evidence: what in the compiler's dumps speaks for it, "" where nothing does.
        alternatives: other values that fit as many elements; the bits do not tell them
            apart.
    """

    kind: str
    node: str
    place: str = ""
    source: str = ""
    value: str = ""
    gained: int = 0
    evidence: str = ""
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reproduced:
    """How many differing elements of one pair the model has bit for bit.

    Attributes:
        differing: elements whose bits differ between base line and candidate.
        reproduced: of these, elements where the model has the candidate's bits.
        share: reproduced / differing; None where nothing differs.
        unexplained: 1 - share; None where nothing differs.
    """

    differing: int
    reproduced: int
    share: float | None = None
    unexplained: float | None = None


@dataclass(frozen=True)
class OutputExplanation:
    """One output under the best explanation.

    Attributes:
        name: name of the output.
        count: elements, over all input sets.
        reproduced: of all elements, those where the model has the candidate's bits.
        share: reproduced / count; None without elements.
        vs_baseline: base line -> its differing elements.
        first_unexplained: flat index of the first differing element (of the first
            base line) that is not reproduced; None where all are.
    """

    name: str
    count: int
    reproduced: int
    share: float | None
    vs_baseline: Mapping[str, Reproduced] = field(default_factory=dict)
    first_unexplained: int | None = None


@dataclass(frozen=True)
class SideModel:
    """What the model makes of a base line.

    Attributes:
        hypotheses: what it takes to reproduce its bits.
        count: elements over all outputs.
        reproduced: elements with its bits.
        plain: elements with its bits when nothing is assumed but rounding after
            each op.
    """

    hypotheses: tuple[Hypothesis, ...]
    count: int
    reproduced: int
    plain: int


@dataclass(frozen=True)
class Explanation:
    """The best explanation found for the candidate's bits.

    Attributes:
        hypotheses: the minimal set, most elements gained first.
        outputs: every output.
        vs_baseline: base line -> all outputs together.
        plain: elements with the candidate's bits when nothing is assumed but rounding
            after each op.
        baselines: base line -> what reproduces it.
        evaluations: evaluations of the graph that the search made.
        evaluation_limit: how many it was allowed.
        kernel_runs: runs of single kernels on the candidate's backend.
        status: "explained" (at least the wanted share of the differing elements),
            "partly", "unexplained", "equal" (nothing differs) or "not possible".
        notes: sentences a reader must know.
    """

    hypotheses: tuple[Hypothesis, ...] = ()
    outputs: tuple[OutputExplanation, ...] = ()
    vs_baseline: Mapping[str, Reproduced] = field(default_factory=dict)
    plain: int = 0
    baselines: Mapping[str, SideModel] = field(default_factory=dict)
    evaluations: int = 0
    evaluation_limit: int = 0
    kernel_runs: int = 0
    status: str = "not possible"
    notes: tuple[str, ...] = ()
