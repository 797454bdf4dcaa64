"""The smaller parts of the document of `inspect`, with what each field means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping


@dataclass(frozen=True)
class PassName:
    """A pass by what identifies it.

    Attributes:
        family: its family; some names exist in two.
        name: the compiler's own name.
    """

    family: str
    name: str


@dataclass(frozen=True)
class MatchedPass:
    """A pass that found its pattern and changed nothing.

    Attributes:
        family: its family.
        name: the compiler's own name.
        match_times: patterns found.
    """

    family: str
    name: str
    match_times: int


@dataclass(frozen=True)
class PassEvidence:
    """One thing that shows a pass acted, or at least ran.

    Attributes:
        strength: "graph trace", "stage difference", "attribute", "fusion_result" or
            "log", from the strongest to the weakest.
        text: what was found.
        file: the file it was found in.
        line: 1-based line there, 0 where there is none.
        shows_change: it shows that something changed, not only that the pass ran.
    """

    strength: str
    text: str
    file: str
    line: int
    shows_change: bool


@dataclass(frozen=True)
class StageEdges:
    """Inputs of a stage's operators, by kind.

    Attributes:
        data: inputs that carry a tensor.
        control: inputs that only order.
        empty: optional inputs that nothing is connected to.
    """

    data: int
    control: int
    empty: int


@dataclass(frozen=True)
class ChangedNode:
    """A node that a stage added or removed.

    Attributes:
        graph: the graph or subgraph it is in.
        name: its name.
        type: its operator type.
        dtypes: dtypes of its outputs.
        line: its line in the file, 0 where there is none.
    """

    graph: str
    name: str
    type: str
    dtypes: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class RenamedNode:
    """A node that has another name than in the stage before.

    Attributes:
        graph: the graph or subgraph it is in.
        name: its new name.
        type: its operator type.
        dtypes: dtypes of its outputs.
        line: its line in the file, 0 where there is none.
        old_name: its name in the stage before.
        how: what shows that it is the same node.
    """

    graph: str
    name: str
    type: str
    dtypes: tuple[str, ...]
    line: int
    old_name: str
    how: str


@dataclass(frozen=True)
class FusedNode:
    """A node that stands for several of the stage before.

    Attributes:
        graph: the graph or subgraph it is in.
        name: its name.
        type: its operator type.
        dtypes: dtypes of its outputs.
        line: its line in the file, 0 where there is none.
        originals: the nodes it stands for.
        how: what shows it: the name of an attribute, or "structure".
    """

    graph: str
    name: str
    type: str
    dtypes: tuple[str, ...]
    line: int
    originals: tuple[ChangedNode, ...]
    how: str


@dataclass(frozen=True)
class ReplacedNodes:
    """Nodes that went and nodes that came in their place.

    Attributes:
        before: nodes of the stage before.
        after: nodes of this stage.
        how: what shows it.
    """

    before: tuple[ChangedNode, ...]
    after: tuple[ChangedNode, ...]
    how: str


@dataclass(frozen=True)
class ChangeDetail:
    """One thing that is different in a node that stayed.

    Attributes:
        what: what exactly ("output 0 dtype").
        before: in the stage before, shortened.
        after: in this stage, shortened.
    """

    what: str
    before: str
    after: str


@dataclass(frozen=True)
class AlteredNode:
    """A node that stayed and is not what it was.

    Attributes:
        graph: the graph or subgraph it is in.
        name: its name.
        type: its operator type.
        dtypes: dtypes of its outputs.
        line: its line in the file, 0 where there is none.
        what: kinds of change: "type", "dtype", "format", "shape", "attributes",
            "inputs", "controls", "graph".
        details: each change.
    """

    graph: str
    name: str
    type: str
    dtypes: tuple[str, ...]
    line: int
    what: tuple[str, ...]
    details: tuple[ChangeDetail, ...]


@dataclass(frozen=True)
class HloCounts:
    """More counts of a stage that is a pass of XLA.

    Attributes:
        instructions_added: stages of XLA only: instructions that came.
        instructions_removed: stages of XLA only: instructions that went.
    """

    instructions_added: int
    instructions_removed: int


@dataclass(frozen=True)
class UnattributedChanges:
    """A stage whose changes no evidence gives to a pass.

    Attributes:
        graph: the graph.
        stage: the stage that shows them.
        file: its file.
        changes: kind of change -> how many.
        ops: operator types involved.
        dtypes: dtypes involved.
    """

    graph: str
    stage: str
    file: str
    changes: Mapping[str, int]
    ops: tuple[str, ...]
    dtypes: tuple[str, ...]


@dataclass(frozen=True)
class InspectFiles:
    """What became of the files.

    Attributes:
        found: how many there are.
        read: how many could be read.
        passed_over: files that are no dumps.
    """

    found: int
    read: int
    passed_over: tuple[str, ...]
