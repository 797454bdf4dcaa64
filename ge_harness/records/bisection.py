"""What `bisect` found, in the shape of its JSON document."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Mapping

from ge_harness.records.report import BackendLine


class BisectVerdict(enum.Enum):
    """The closed list of what a bisection comes to."""

    PROVED = "proved"
    """A set reaches the goal, and every member of it was shown to be needed."""
    NOT_PROVED = "not_proved"
    """A set reaches the goal; it was not shown that none of it can be spared."""
    AGREES_ALREADY = "agrees_already"
    """The goal is reached with nothing switched off."""
    NOTHING_RESTORES = "nothing_restores"
    """No set that was tried reaches the goal, among them everything that can be off."""
    UNDECIDED = "undecided"
    """The runs that would decide gave no answer, or the limit was reached first."""


@dataclass(frozen=True)
class BisectRun:
    """One run of the search.

    Attributes:
        number: in order, from 0; run 0 has nothing switched off.
        switches: what was switched off, "kind:name".
        agrees: whether it reached the goal; null where undecided.
        message: why, in one line.
        folder: its files, relative to the folder of the bisection.
        duration_s: wall time, in seconds.
    """

    number: int
    switches: tuple[str, ...]
    agrees: bool | None
    message: str = ""
    folder: str = ""
    duration_s: float = 0.0


@dataclass(frozen=True)
class Culprit:
    """One switch of a set that reaches the goal.

    Attributes:
        kind: family of the switch: "hlo_pass", "xla_flag", "grappler", "ge",
            "graph_fusion", "ub_fusion", "autofuse" or "node".
        name: the compiler's own name.
        precision_class: class of the pass: "upcast", "instruction", "accumulation",
            "algorithm", "mixed", "none" or "unknown".
        write: how to switch it off by hand.
    """

    kind: str
    name: str
    precision_class: str
    write: str = ""


@dataclass(frozen=True)
class NeededMember:
    """What came of leaving one member of the set on.

    Attributes:
        kind: family of the switch.
        name: the compiler's own name.
        agrees_with_it_on: null where that was undecided or not tried.
        tried: it was tried.
    """

    kind: str
    name: str
    agrees_with_it_on: bool | None
    tried: bool


@dataclass(frozen=True)
class BisectProof:
    """What shows that the set is enough, and that none of it can be spared.

    Attributes:
        with_minimal_off: whether the run with exactly the set off reached the goal;
            null where there is no set.
        each_needed: a line for each member.
        only_set: leaving on any one member while everything else that was found to go
            together is off does not reach the goal either; so a smaller or other set
            exists only if a switch that is off can hurt.
        runs: runs in all, run 0 among them.
        search_runs: runs until the set was found.
        proof_runs: further runs of the proof.
        lower_bound: runs that no search can do without on the average.
        error_probability: bound on the chance that a verdict is wrong: 0 unless
            --error-rate says that a run can be.
    """

    with_minimal_off: bool | None = None
    each_needed: tuple[NeededMember, ...] = ()
    only_set: bool = False
    runs: int = 0
    search_runs: int = 0
    proof_runs: int = 0
    lower_bound: int = 0
    error_probability: float = 0.0


@dataclass(frozen=True)
class BisectFile:
    """A file ready to be used.

    Attributes:
        path: where it was written.
        content: what is in it.
    """

    path: str
    content: str


@dataclass(frozen=True)
class BisectFiles:
    """The set as the compiler and its adapters read it; null where not needed.

    Attributes:
        fusion_switch_cfg: switch file of GE's fusion engine (fusion_switch_file).
        optimization_switch: string of GE's option optimization_switch.
        autofuse_flags: shell line that sets AUTOFUSE_FLAGS.
        autofuse_dfx_flags: shell line that sets AUTOFUSE_DFX_FLAGS.
        skip_node_names_cfg: operators that AutoFuse leaves alone.
        session_config: lines of Python for the session.
        xla_flags: shell line that sets XLA_FLAGS.
    """

    fusion_switch_cfg: BisectFile | None = None
    optimization_switch: BisectFile | None = None
    autofuse_flags: BisectFile | None = None
    autofuse_dfx_flags: BisectFile | None = None
    skip_node_names_cfg: BisectFile | None = None
    session_config: BisectFile | None = None
    xla_flags: BisectFile | None = None


@dataclass(frozen=True)
class Reproduction:
    """A command that shows one side of the flip.

    Attributes:
        command: to be typed.
        agrees: what it shows; null where that was undecided.
        what: what is off in it.
    """

    command: str
    agrees: bool | None
    what: str


@dataclass(frozen=True)
class Bisection:
    """Everything `bisect` says of one subgraph, or of one command, on one backend.

    Attributes:
        goal: "bits", "ulp:N", "standard:NAME", "no-worse" or "command".
        granularity: "pass" or "op".
        subgraph: what was asked for, "" with a command.
        variant: dtype, size and variants, "" with a command.
        backend: the backend line; its label says where figures are emulated.
        baseline: the base line of the goal, "" with a command.
        verdict: the outcome.
        why: the verdict in plain words.
        runs: every run in order.
        minimal: the set, the most likely culprits first; empty where there is none.
        alternatives: other sets that reach the goal, none with a member to spare.
        proof: what shows it.
        files: the set as the compiler reads it.
        reproduce: the commands that show the flip: with the set off, and with each
            member left on.
        set_aside: switches whose being off left runs undecided, "kind:name".
        left_out: switch -> why it was not tried.
        switch_count: how many switches were searched.
        notes: sentences a reader must know.
        seed: seed of the first input set.
        command: the command that repeats the bisection.
        versions: of ge_harness, Python and NumPy of the parent.
        artifacts: what lies where.
    """

    goal: str
    granularity: str
    subgraph: str
    variant: str
    backend: BackendLine
    baseline: str
    verdict: BisectVerdict
    why: str
    runs: tuple[BisectRun, ...]
    minimal: tuple[Culprit, ...] = ()
    alternatives: tuple[tuple[Culprit, ...], ...] = ()
    proof: BisectProof = BisectProof()  # frozen, defaults
    files: BisectFiles = BisectFiles()  # frozen, defaults
    reproduce: tuple[Reproduction, ...] = ()
    set_aside: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    switch_count: int = 0
    notes: tuple[str, ...] = ()
    seed: int = 0
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    artifacts: Mapping[str, str] = field(default_factory=dict)
