"""The fields of the documents of `inspect` and `passes`, with what each means.

The documents are built as plain data (`inspection.document`), because they mirror
files; these records say what stands in them, and a test holds both equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from ge_harness.records.inspect_parts import (
    AlteredNode,
    ChangedNode,
    FusedNode,
    InspectFiles,
    MatchedPass,
    PassEvidence,
    PassName,
    RenamedNode,
    ReplacedNodes,
    StageEdges,
    UnattributedChanges,
)


@dataclass(frozen=True)
class InspectDocument:
    """What `inspect` prints.

    Attributes:
        source: the path as given.
        graphs: one for each main graph of each process, and each HLO module.
        active_passes: passes of all graphs and of the process, most telling first.
        precision_affecting: family and name of those that can have changed numbers.
        undetermined: family and name of those of which that is not settled.
        bit_safe: family and name of those that cannot have changed numbers.
        matched_only: passes that found their pattern and changed nothing.
        disabled_passes: passes the log says are switched off.
        unattributed: changes that no evidence gives to a pass.
        options: options of the compiler that the log names.
        kernels: kernel descriptions.
        files: how many files were found and read, and which are no dumps.
        warnings: what could not be read.
    """

    source: str
    graphs: tuple[InspectGraph, ...]
    active_passes: tuple[InspectPass, ...]
    precision_affecting: tuple[PassName, ...]
    undetermined: tuple[PassName, ...]
    bit_safe: tuple[PassName, ...]
    matched_only: tuple[MatchedPass, ...]
    disabled_passes: tuple[PassName, ...]
    unattributed: tuple[UnattributedChanges, ...]
    options: Mapping[str, str]
    kernels: tuple[InspectKernel, ...]
    files: InspectFiles
    warnings: tuple[InspectWarning, ...]


@dataclass(frozen=True)
class InspectGraph:
    """One main graph.

    Attributes:
        name: the graph's name.
        session: session id, "" where no dump says.
        run: the process ("pid 370, device 0"), or the folder.
        graph_id: id in the file names, or the number of an HLO module; null without.
        format: "ge", "ascgraph", "tf_pbtxt" or "hlo".
        subgraphs: names of its subgraphs.
        stages: in order.
        active_passes: passes shown in this graph or for the whole process.
        precision_affecting: family and name of those that can have changed numbers.
    """

    name: str
    session: str
    run: str
    graph_id: int | None
    format: str
    subgraphs: tuple[str, ...]
    stages: tuple[InspectStage, ...]
    active_passes: tuple[InspectPass, ...]
    precision_affecting: tuple[PassName, ...]


@dataclass(frozen=True)
class InspectStage:
    """One stage of a graph.

    Attributes:
        order: place among the graph's stages, from 0.
        serial: serial number in the file name, null where it has none.
        name: the stage; old and new spellings are one.
        known: the stage is in the table of stages.
        file: the file it was read from.
        format: format of that file.
        other_formats: files that show the same stage.
        nodes: operators, subgraphs included.
        edges: inputs by kind.
        ops: count of each operator type.
        lost_nodes: operators that stand in the file and could not be read.
        failed: the compiler wrote it because the step failed.
        changes: against the stage before.
    """

    order: int
    serial: int | None
    name: str
    known: bool
    file: str
    format: str
    other_formats: tuple[str, ...]
    nodes: int
    edges: StageEdges
    ops: Mapping[str, int]
    lost_nodes: int
    failed: bool
    changes: InspectChanges


@dataclass(frozen=True)
class InspectChanges:
    """What a stage changed; an HLO stage also counts `instructions_added/_removed`.

    Attributes:
        added: nodes that came and stand for none before.
        removed: nodes that went and have no successor.
        renamed: nodes with another name, with `old_name` and how that is known.
        fused: nodes that stand for several, with `originals` and how that is known.
        replaced: nodes `before` and `after`, where that is no fusion.
        changed: nodes that stayed and differ: `what`, and `details` before and after.
        casts_added: count of casts among `added`.
        casts_removed: count of casts among `removed`.
        dtype_changed: count of nodes with another dtype.
        format_changed: count of nodes with another format.
        shape_changed: count of nodes with another shape.
        attributes_changed: count of nodes of which nothing but attributes changed.
    """

    added: tuple[ChangedNode, ...]
    removed: tuple[ChangedNode, ...]
    renamed: tuple[RenamedNode, ...]
    fused: tuple[FusedNode, ...]
    replaced: tuple[ReplacedNodes, ...]
    changed: tuple[AlteredNode, ...]
    casts_added: int
    casts_removed: int
    dtype_changed: int
    format_changed: int
    shape_changed: int
    attributes_changed: int


@dataclass(frozen=True)
class InspectPass:
    """One active pass.

    Attributes:
        family: "ge", "graph_fusion", "ub_fusion", "autofuse", "hlo_pass", "grappler".
        name: the compiler's own name.
        known: the catalogue has it.
        match_times: patterns found, null where nothing counts them.
        effect_times: changes it reported, null where nothing counts them.
        evidence: the strongest evidence.
        strength: of that: "graph trace", "stage difference", "attribute",
            "fusion_result" or "log".
        standing: "declared and seen", "declared, no trace", "seen, undeclared", "seen"
            or "log only".
        all_evidence: all of it with strength, text, file, line and shows_change.
        level: lowest optimization level at which it runs, "" where it has none.
        precision_class: "upcast", "instruction", "accumulation", "algorithm", "mixed",
            "none" or "unknown".
        certainty: how certain the class is.
        stage: where it was seen, or where the catalogue places it.
        switch_off: how to switch it off, "" where nothing is known to.
        verdict: "precision-affecting", "undetermined" or "bit-safe".
        reason: why that verdict.
        ops: operator types it touched.
        dtypes: dtypes it touched.
        nodes: how many nodes it is known to have touched.
    """

    family: str
    name: str
    known: bool
    match_times: int | None
    effect_times: int | None
    evidence: str
    strength: str
    standing: str
    all_evidence: tuple[PassEvidence, ...]
    level: str
    precision_class: str
    certainty: str
    stage: str
    switch_off: str
    verdict: str
    reason: str
    ops: tuple[str, ...]
    dtypes: tuple[str, ...]
    nodes: int


@dataclass(frozen=True)
class InspectKernel:
    """One kernel description.

    Attributes:
        name: name of the kernel's files.
        kernel_name: entry point.
        core_type: "VectorCore", "AiCore", "MIX", ...
        block_dim: number of blocks, null where not given.
        sha256: hash of the object file, as the description says.
        file: the description.
    """

    name: str
    kernel_name: str
    core_type: str
    block_dim: int | None
    sha256: str
    file: str


@dataclass(frozen=True)
class InspectWarning:
    """Something that could not be read.

    Attributes:
        file: the file.
        line: 1-based line, 0 where there is none.
        message: what was found.
    """

    file: str
    line: int
    message: str


@dataclass(frozen=True)
class PassesDocument:
    """What `passes` prints.

    Attributes:
        passes: the passes asked for.
    """

    passes: tuple[CatalogueEntry, ...]


@dataclass(frozen=True)
class CatalogueEntry:
    """One pass of the catalogue.

    Attributes:
        family: as for an active pass.
        name: the compiler's own name.
        level: lowest optimization level at which it runs, "" where it has none.
        precision_class: as for an active pass, never "unknown".
        certainty: "certain", "likely" or "guess".
        effect: kind of rewrite ("fusion", "cast", "layout", ...).
        why: what it does, and what of that can change a value.
        stage: where it runs, "" where that is not known.
        switch_off: how to switch it off, "" for what is no pass.
        source: what the entry rests on.
        aliases: other spellings.
        bit_safe_reason: why it cannot change a value, "" where it can.
    """

    family: str
    name: str
    level: str
    precision_class: str
    certainty: str
    effect: str
    why: str
    stage: str
    switch_off: str
    source: str
    aliases: tuple[str, ...]
    bit_safe_reason: str
