"""What an inspection of dumps says of passes."""

from __future__ import annotations

from dataclasses import dataclass

# From the strongest to the weakest.
STRENGTHS = ("graph trace", "stage difference", "attribute", "fusion_result", "log")
VERDICTS = ("precision-affecting", "undetermined", "bit-safe")


@dataclass(frozen=True)
class Evidence:
    """One thing that shows a pass acted, or at least ran.

    Attributes:
        strength: one of `STRENGTHS`.
        text: what was found, printable.
        path: the file it was found in.
        line: 1-based line there, 0 where there is none.
        shows_change: it shows that something changed, not only that the pass ran.
    """

    strength: str
    text: str
    path: str
    line: int = 0
    shows_change: bool = True


@dataclass(frozen=True)
class PassFinding:
    """An active pass: what is known of it, what shows it, what it touched.

    Attributes:
        family: as in the catalogue.
        name: the compiler's own name.
        known: the catalogue has it.
        level: optimization level, "" where it has none.
        precision_class: as in the catalogue, "unknown" where it lacks the pass.
        certainty: how certain the class is, "unknown" likewise.
        stage: the stage at which it was seen, or in which the catalogue places it.
        switch_off: how to switch it off, "" where nothing does.
        evidence: the strongest first.
        standing: "declared and seen", "declared, no trace", "seen, undeclared", "seen"
            (no fusion_result.json could declare it) or "log only".
        verdict: one of `VERDICTS`.
        reason: why that verdict.
        ops: operator types it touched, sorted.
        dtypes: dtypes it touched, sorted.
        node_count: nodes it is known to have touched.
        match_times: as fusion_result.json or the log counts; None where nothing does.
        effect_times: likewise.
    """

    family: str
    name: str
    known: bool
    level: str
    precision_class: str
    certainty: str
    stage: str
    switch_off: str
    evidence: tuple[Evidence, ...]
    standing: str
    verdict: str
    reason: str
    ops: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    node_count: int = 0
    match_times: int | None = None
    effect_times: int | None = None

    @property
    def strength(self) -> str:
        """The strongest evidence's."""
        return self.evidence[0].strength if self.evidence else STRENGTHS[-1]


@dataclass(frozen=True)
class Unattributed:
    """A stage whose changes no evidence gives to a pass.

    Attributes:
        graph: the graph.
        stage: the stage that shows them.
        path: its file.
        changes: what changed, as (kind, count).
        ops: operator types involved, sorted.
        dtypes: dtypes involved, sorted.
    """

    graph: str
    stage: str
    path: str
    changes: tuple[tuple[str, int], ...]
    ops: tuple[str, ...]
    dtypes: tuple[str, ...]


@dataclass(frozen=True)
class PassReport:
    """Everything an inspection says of passes.

    Attributes:
        active: passes with evidence, most telling verdict first.
        matched_only: passes that found their pattern and changed nothing, as
            (family, name, match_times).
        disabled: passes the log says are switched off, as (family, name).
        unattributed: changes nobody can be named for.
        steps: steps of the compiler that the log names, in its order.
        options: options of the compiler that the log or the dumps name, sorted.
    """

    active: tuple[PassFinding, ...] = ()
    matched_only: tuple[tuple[str, str, int], ...] = ()
    disabled: tuple[tuple[str, str], ...] = ()
    unattributed: tuple[Unattributed, ...] = ()
    steps: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    def of_verdict(self, verdict: str) -> tuple[PassFinding, ...]:
        """Return the active passes of one verdict."""
        return tuple(each for each in self.active if each.verdict == verdict)
