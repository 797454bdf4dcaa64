"""What `run` found, in the shape of its JSON document."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Mapping

from ge_harness.records.comparison import ErrorStats, TensorComparison, UlpSummary
from ge_harness.records.explanation import Explanation
from ge_harness.records.run import Environment
from ge_harness.records.switch import ActivePass, SwitchEffect


class RunVerdict(enum.Enum):
    """The closed list of what a run comes to."""

    AGREES = "agrees"
    """Every output is within the standard of the first base line."""
    DIFFERS = "differs"
    """At least one output is not."""
    OUTCOME_MISMATCH = "outcome_mismatch"
    """One side raised where the other returned."""
    NOT_DETERMINISTIC = "not_deterministic"
    """A side did not repeat itself; nothing can be said of the difference."""
    INVALID_SWITCH = "invalid_switch"
    """The compiler refuses or does not know a switch that was asked for."""
    UNAVAILABLE = "unavailable"
    """The backend is not usable here, or the work never reached it."""
    UNDECIDED = "undecided"
    """A side gave no outputs, or the standard does not say."""


@dataclass(frozen=True)
class BackendLine:
    """The backend as every report names it.

    Attributes:
        name: as on the command line.
        label: what its figures are ("real compiler, not Ascend").
        reason: why this backend, what was found.
        emulated: its figures are a model's.
    """

    name: str
    label: str
    reason: str
    emulated: bool = False


@dataclass(frozen=True)
class Side:
    """One side of a run: a base line, the candidate or the reference.

    Attributes:
        name: "eager", "nodewise", "candidate" or "reference".
        backend: what ran it.
        mode: "whole" or "nodewise".
        status: "ok", or the kind of failure.
        message: "" or the failure in one line.
        repeatable: every execution gave the same bytes; None where it gave none.
        executions: how many times each input set was executed.
        duration_s: wall time of its worker, in seconds.
        effects: what became of each switch.
        artifact_hashes: (name, sha256) of what the compiler produced.
        environment: what it ran on, None where it gave no outputs.
        notes: sentences a reader must know.
        folder: its job folder, relative to the run's.
    """

    name: str
    backend: str
    mode: str
    status: str
    message: str = ""
    repeatable: bool | None = None
    executions: int = 0
    duration_s: float = 0.0
    effects: tuple[SwitchEffect, ...] = ()
    artifact_hashes: tuple[tuple[str, str], ...] = ()
    environment: Environment | None = None
    notes: tuple[str, ...] = ()
    folder: str = ""


@dataclass(frozen=True)
class OutputReport:
    """One output of the graph, every side of it.

    Attributes:
        name: name of the output.
        shape: its shape; stacked sets are not counted as an axis.
        dtype: its dtype.
        bit_equal: candidate against the first base line; None where not comparable.
        ulp: distances against the first base line; None where not comparable.
        vs_baseline: base line -> candidate compared with it.
        vs_reference: side -> its errors against the float64 reference.
        nearest: the sides with the smallest mean ULP error, "" where all are as far.
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    bit_equal: bool | None
    ulp: UlpSummary | None
    vs_baseline: Mapping[str, TensorComparison] = field(default_factory=dict)
    vs_reference: Mapping[str, ErrorStats] = field(default_factory=dict)
    nearest: str = ""


@dataclass(frozen=True)
class Suspect:
    """A pass that can have changed the numbers.

    Attributes:
        family: family of the pass.
        name: the compiler's own name.
        precision_class: its class.
        reason: why it can account for the difference.
        switch_off: how to switch it off, "" where nothing does.
    """

    family: str
    name: str
    precision_class: str
    reason: str
    switch_off: str


@dataclass(frozen=True)
class RunReport:
    """Everything `run` says of one subgraph on one backend.

    Attributes:
        subgraph: what was asked for.
        variant: dtype, size and variants, "float16/desk".
        backend: the backend line.
        switches: {"asked": {...}, "sent": {...}}.
        passes: the active passes of the candidate.
        outputs: every output.
        suspects: passes that can account for the difference.
        explanation: one sentence on where the difference comes from.
        verdict: the outcome.
        why: the verdict in one sentence.
        standard: the rule that decided.
        baseline: the first base line.
        sides: every side that was run.
        seed: seed of the first input set.
        set_count: number of input sets.
        command: the command that repeats the run.
        versions: of ge_harness, Python and NumPy of the parent.
        artifacts: what lies where, relative to the run's folder.
        explained: which roundings and orders reproduce the candidate's bits; None where
            that was not asked for.
    """

    subgraph: str
    variant: str
    backend: BackendLine
    switches: Mapping[str, Mapping[str, object]]
    passes: tuple[ActivePass, ...]
    outputs: tuple[OutputReport, ...]
    suspects: tuple[Suspect, ...]
    explanation: str
    verdict: RunVerdict
    why: str
    standard: str
    baseline: str
    sides: tuple[Side, ...]
    seed: int
    set_count: int
    command: str
    versions: Mapping[str, str]
    artifacts: Mapping[str, object]
    explained: Explanation | None = None
