"""What `experiment` found, in the shape of its JSON document."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Mapping

from ge_harness.records.report import BackendLine


class ExperimentVerdict(enum.Enum):
    """The closed list of what an experiment comes to."""

    HOLDS = "holds"
    """The claim held in every part, and the mechanism was seen at work."""
    REFUTED = "refuted"
    """A counter-example was found; it is kept as a case that can be run."""
    INCONCLUSIVE = "inconclusive"
    """The outcome proves nothing: no evidence of the mechanism, or no power."""
    NOT_APPLICABLE = "not applicable"
    """The backend has nothing that the claim is about."""


@dataclass(frozen=True)
class MechanismEvidence:
    """One thing that was read to show that the mechanism under test was at work.

    Attributes:
        what: what had to be shown.
        found: what was read.
        source: the dump, trace or record it was read from, "" where there is none.
        ok: it shows what had to be shown.
    """

    what: str
    found: str
    source: str
    ok: bool


@dataclass(frozen=True)
class ExperimentTable:
    """A table of an experiment.

    Attributes:
        title: what the rows are.
        columns: headings.
        rows: cells, as many as there are columns.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class CounterexampleRecord:
    """A case that contradicts a claim, or shows its limits.

    Attributes:
        name: what it is called.
        op: operator that it is put down to, "" where it is not known.
        inputs: range and structure of the inputs.
        reason: why it happens, and how that is known.
        figures: the numbers that make it one, by name.
        path: graph file that holds it, relative to the folder, "" where there is none.
        command: the command that runs it, "" where there is none.
    """

    name: str
    op: str
    inputs: str
    reason: str
    figures: Mapping[str, object] = field(default_factory=dict)
    path: str = ""
    command: str = ""


@dataclass(frozen=True)
class FigureRecord:
    """A figure, as the data that it is drawn from.

    Attributes:
        title: what it shows, the backend's label included.
        kind: "lines" or "bars".
        x_label: of the horizontal axis.
        y_label: of the vertical axis.
        x: places on the horizontal axis.
        series: name -> heights, as many as places.
        log_x: the horizontal axis is logarithmic.
        x_names: what stands at each place, () where the places are numbers.
    """

    title: str
    kind: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    series: Mapping[str, tuple[float, ...]]
    log_x: bool = False
    x_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentReport:
    """Everything `experiment` says of one experiment on one backend.

    Attributes:
        id: A, B, C1, C2, C3, D or E.
        title: what it is about.
        claim: the sentence under test.
        verdict: the outcome.
        why: the verdict in one sentence.
        method: what was run, how often, on what.
        limits: what the outcome does not say.
        evidence: what shows that the mechanism was at work, or that it was not.
        table: the main table.
        more_tables: further tables.
        counterexamples: cases that contradict the claim or show its limits.
        figures: figures with their data.
        backend: the backend line.
        dtype: dtype of the inputs, "" for several.
        size: "desk" or "paper".
        seed: seed of the first input set.
        switches: as the user asked for them.
        versions: of ge_harness, Python, NumPy and the compiler's stack.
        artifacts: name -> file or files the numbers were computed from, relative to
            the folder.
        duration_s: time spent, in seconds; finished parts of an earlier call not
            counted.
        command: the command that repeats it.
    """

    id: str
    title: str
    claim: str
    verdict: ExperimentVerdict
    why: str
    method: str
    limits: tuple[str, ...]
    evidence: tuple[MechanismEvidence, ...]
    table: ExperimentTable
    backend: BackendLine
    more_tables: tuple[ExperimentTable, ...] = ()
    counterexamples: tuple[CounterexampleRecord, ...] = ()
    figures: tuple[FigureRecord, ...] = ()
    dtype: str = ""
    size: str = "desk"
    seed: int = 0
    switches: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    artifacts: Mapping[str, object] = field(default_factory=dict)
    duration_s: float = 0.0
    command: str = ""


@dataclass(frozen=True)
class ExperimentsDocument:
    """What `experiment` prints of several experiments or backends.

    Attributes:
        experiments: every finished one, as in the kind `experiment`.
        skipped: a sentence for each that could not be begun.
    """

    experiments: tuple[ExperimentReport, ...]
    skipped: tuple[str, ...]
