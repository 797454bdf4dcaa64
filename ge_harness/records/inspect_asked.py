"""What the document of `inspect` holds besides, with --node and --against."""

from __future__ import annotations

from dataclasses import dataclass

from ge_harness.records.inspect_document import InspectChanges


@dataclass(frozen=True)
class InspectAsked:
    """What is there only when it was asked for.

    Attributes:
        nodes: with --node only: the nodes whose names the expression finds.
        against: with --against only: what differs from the other dump.
    """

    nodes: tuple[NodeCard, ...]
    against: Against


@dataclass(frozen=True)
class NodeCard:
    """One node and its way through the stages.

    Attributes:
        graph: the graph or subgraph it is in.
        run: the process, or the folder.
        name: its name.
        history: what it was at first, and again after each stage that changed it.
    """

    graph: str
    run: str
    name: str
    history: tuple[NodeState, ...]


@dataclass(frozen=True)
class NodeState:
    """A node as one stage shows it.

    Attributes:
        stage: the stage.
        file: the file it was read from.
        line: its line there, 0 where there is none.
        type: its operator type.
        inputs: what each input reads, "node:index"; null where nothing is connected.
        controls: nodes it waits for.
        input_descs: the tensor at each input.
        output_descs: the tensor at each output.
        original_names: nodes of the user's graph that it stands for, as it says.
        passes: passes it says it comes from.
    """

    stage: str
    file: str
    line: int
    type: str
    inputs: tuple[str | None, ...]
    controls: tuple[str, ...]
    input_descs: tuple[PortDesc, ...]
    output_descs: tuple[PortDesc, ...]
    original_names: tuple[str, ...]
    passes: tuple[str, ...]


@dataclass(frozen=True)
class PortDesc:
    """A tensor as a dump describes it.

    Attributes:
        dtype: its dtype, in the words of the dump.
        format: its memory layout ("ND", "NC1HWC0"), "" where the dump has none.
        shape: axis lengths, -1 where unknown; null where the dump has none.
    """

    dtype: str
    format: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class Against:
    """What differs between two dumps.

    Attributes:
        a: the first path.
        b: the path given with --against.
        differs: anything does.
        graphs: graphs that both have.
        graphs_only_a: names of graphs that only the first has.
        graphs_only_b: names of graphs that only the second has.
        passes: how the active passes differ.
    """

    a: str
    b: str
    differs: bool
    graphs: tuple[AgainstGraph, ...]
    graphs_only_a: tuple[str, ...]
    graphs_only_b: tuple[str, ...]
    passes: AgainstPasses


@dataclass(frozen=True)
class AgainstGraph:
    """A graph that both dumps have.

    Attributes:
        name_a: its name in the first.
        name_b: its name in the second.
        differs: a stage does, or only one side has it.
        stages: stages that both have.
        stages_only_a: names of stages that only the first has.
        stages_only_b: names of stages that only the second has.
    """

    name_a: str
    name_b: str
    differs: bool
    stages: tuple[AgainstStage, ...]
    stages_only_a: tuple[str, ...]
    stages_only_b: tuple[str, ...]


@dataclass(frozen=True)
class AgainstStage:
    """A stage that both dumps have.

    Attributes:
        name: its name in the first.
        name_b: its name in the second.
        file_a: its file in the first.
        file_b: its file in the second.
        nodes_a: operators in the first.
        nodes_b: operators in the second.
        problem: why they could not be compared, "" where they could.
        equal: nothing differs.
        changes: what the second has otherwise, as between two stages.
    """

    name: str
    name_b: str
    file_a: str
    file_b: str
    nodes_a: int
    nodes_b: int
    problem: str
    equal: bool
    changes: InspectChanges


@dataclass(frozen=True)
class AgainstPasses:
    """How the active passes of two dumps differ.

    Attributes:
        only_a: passes active in the first only.
        only_b: passes active in the second only.
        counts: passes active in both that changed something another number of times.
    """

    only_a: tuple[OneSidedPass, ...]
    only_b: tuple[OneSidedPass, ...]
    counts: tuple[PassCounts, ...]


@dataclass(frozen=True)
class OneSidedPass:
    """A pass that is active in one dump only.

    Attributes:
        family: its family.
        name: the compiler's own name.
        verdict: as for an active pass.
        precision_class: as for an active pass.
        switch_off: how to switch it off, "" where nothing is known to.
    """

    family: str
    name: str
    verdict: str
    precision_class: str
    switch_off: str


@dataclass(frozen=True)
class PassCounts:
    """A pass whose counts differ.

    Attributes:
        family: its family.
        name: the compiler's own name.
        effect_times_a: changes it reported in the first, null where nothing counts.
        effect_times_b: changes it reported in the second, null where nothing counts.
    """

    family: str
    name: str
    effect_times_a: int | None
    effect_times_b: int | None
