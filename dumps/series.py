"""A folder of dumps as runs, graphs and ordered stages.

A run is one process (its folder says which); a graph is found in the files of a run by
its id and its name; its stages are ordered by the serial number in the file names, as a
number. Equal serials stay beside each other. A stage that several formats show is one
stage, read from the format that holds most. Dumps are read one after another and let
go: memory is needed for a few of them, not for the series.

Source: reference: graph_dumps.md sections 1.3, 1.4 and 2, dump_stages.tsv.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Callable, Iterable, Iterator

from dumps import changes, stages
from dumps.changes import NO_CHANGES, StageChanges
from dumps.discover import DumpFile
from dumps.errors import DumpError
from dumps.records import DumpGraph, DumpWarning, EdgeCounts
from dumps.sides import STAMP

# Which of several formats of one stage is read: the one that holds most.
_RANK = {"ge_proto": 0, "atc_json": 1, "ge_onnx": 2, "readable": 3}
_KEPT_GRAPHS = 3

Watcher = Callable[["GraphStages", "Stage", DumpGraph, StageChanges], None]


@dataclass(frozen=True)
class Stage:
    """One stage of one graph.

    Attributes:
        order: place among the graph's stages, from 0.
        serial: serial number in the file name, None where it has none.
        name: the stage in one spelling; a name outside the table stays as it is.
        is_known: the name is in the table of stages.
        path: the file it was read from.
        twins: files of the same stage in other formats.
        format: format of that file.
        node_count: operators, subgraphs included.
        edges: inputs by kind, subgraphs included.
        ops: (type, count) by falling count, then name.
        subgraphs: names of the subgraphs.
        changes: against the stage before; empty for the first.
        lost_nodes: operators the reader could not return.
        is_failure: the step returned an error, or the dump is written for one only.
    """

    order: int
    serial: int | None
    name: str
    is_known: bool
    path: str
    twins: tuple[str, ...]
    format: str
    node_count: int
    edges: EdgeCounts
    ops: tuple[tuple[str, int], ...]
    subgraphs: tuple[str, ...]
    changes: StageChanges = NO_CHANGES
    lost_nodes: int = 0
    is_failure: bool = False


@dataclass
class GraphStages:
    """One graph of one run.

    Attributes:
        run: the process ("pid 370, device 0") or the folder.
        name: the graph's name.
        graph_id: id in the file names, None where they have none.
        session: session id, "" where no dump says.
        format: family of formats: "ge", "ascgraph", "tf_pbtxt", "hlo".
        stages: in order.
    """

    run: str
    name: str
    graph_id: int | None
    session: str = ""
    format: str = "ge"
    stages: list[Stage] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """What tells the graph from all others of the series."""
        graph_id = "" if self.graph_id is None else str(self.graph_id)
        return "|".join((self.run, self.format, graph_id, self.name))


@dataclass(frozen=True)
class Series:
    """Everything the graph dumps of a path say.

    Attributes:
        graphs: in the order in which they first occur.
        warnings: what could not be read.
        unreadable: files that gave no graph, as (path, why).
    """

    graphs: tuple[GraphStages, ...]
    warnings: tuple[DumpWarning, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


@dataclass
class _Place:
    """One stage: the file it is read from, and the same in other formats."""

    file: DumpFile
    twins: list[DumpFile] = field(default_factory=list)


class _Last:
    """The last dump of each graph; only a few are kept, others are read again."""

    def __init__(self, read: Callable[[str], DumpGraph]) -> None:
        self._read = read
        self._kept: OrderedDict[int, DumpGraph] = OrderedDict()

    def get(self, graph: GraphStages) -> DumpGraph | None:
        found = self._kept.get(id(graph))
        if found is not None or not graph.stages:
            return found
        try:
            return self._read(graph.stages[-1].path)
        except DumpError:
            return None

    def put(self, graph: GraphStages, dump: DumpGraph) -> None:
        self._kept[id(graph)] = dump
        self._kept.move_to_end(id(graph))
        while len(self._kept) > _KEPT_GRAPHS:
            self._kept.popitem(last=False)


def read_series(files: Iterable[DumpFile], read: Callable[[str], DumpGraph],
                watch: Watcher | None = None) -> Series:
    """Read graph dumps in their order and compare neighboring stages.

    Args:
        files: the graph dumps, as `discover` gives them.
        read: reads one file.
        watch: called with each stage while its dump is in memory.
    """
    worker = _Worker(read, watch)
    for run in _runs(files):
        for place in _places(run):
            worker.take(place)
    return Series(tuple(worker.graphs.values()), tuple(worker.warnings),
                  tuple(worker.unreadable))


class _Worker:
    def __init__(self, read: Callable[[str], DumpGraph], watch: Watcher | None) -> None:
        self.read = read
        self.watch = watch
        self.graphs: dict[tuple[str, str, str, str], GraphStages] = {}
        self.warnings: list[DumpWarning] = []
        self.unreadable: list[tuple[str, str]] = []
        self._last = _Last(read)

    def take(self, place: _Place) -> None:
        """Read one stage and compare it with the one before."""
        dump = None
        for file in (place.file, *place.twins):
            dump = self._open(file)
            if dump is not None:
                break
        if dump is None:
            return
        twins = [twin for twin in place.twins if twin.path != dump.path]
        own = [twin for twin in twins if not self._is_twin(place.file, twin, dump)]
        graph = self._graph(place.file, dump)
        before = self._last.get(graph)
        difference = NO_CHANGES
        if before is not None:
            difference = changes.compare(before, dump)
        stage = self._stage(place.file, dump, graph, difference, tuple(
            twin.path for twin in twins if twin not in own))
        graph.stages.append(stage)
        self._last.put(graph, dump)
        if self.watch is not None:
            self.watch(graph, stage, dump, difference)
        self.warnings.extend(dump.warnings)
        for twin in own:
            self.take(_Place(twin))

    def _open(self, file: DumpFile) -> DumpGraph | None:
        try:
            return self.read(file.path)
        except DumpError as error:
            self.unreadable.append((file.path, str(error)))
            self.warnings.append(DumpWarning(error.path, error.line, str(error)))
            return None

    def _is_twin(self, file: DumpFile, twin: DumpFile, dump: DumpGraph) -> bool:
        """Make sure of a pair that the file names alone do not prove."""
        if file.graph_id == twin.graph_id:
            return True
        other = self._open(twin)
        if other is None:
            return True
        return STAMP.sub("", other.name) == STAMP.sub("", dump.name)

    def _graph(self, file: DumpFile, dump: DumpGraph) -> GraphStages:
        family = "ge" if dump.format in _RANK else dump.format
        graph_id = "" if file.graph_id is None else str(file.graph_id)
        key = (file.run, family, graph_id, STAMP.sub("", dump.name))
        found = self.graphs.get(key)
        if found is None:
            found = GraphStages(file.run, dump.name, file.graph_id,
                                _session(dump), family)
            self.graphs[key] = found
        return found

    def _stage(self, file: DumpFile, dump: DumpGraph, graph: GraphStages,
               difference: StageChanges, twins: tuple[str, ...]) -> Stage:
        counts: dict[str, int] = {}
        for _, node in dump.walk():
            counts[node.type] = counts.get(node.type, 0) + 1
        name, is_known = _stage_name(file, dump)
        return Stage(
            len(graph.stages), file.serial, name, is_known,
            dump.path, twins, dump.format, dump.node_count, dump.all_edges,
            tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
            tuple(inner.name for inner in dump.subgraphs), difference, dump.lost_nodes,
            _is_failure(file.suffix))


def _runs(files: Iterable[DumpFile]) -> Iterator[list[DumpFile]]:
    """Group files by run, in the order in which runs first occur."""
    groups: dict[str, list[DumpFile]] = {}
    for file in files:
        groups.setdefault(file.run, []).append(file)
    yield from groups.values()


def _places(files: list[DumpFile]) -> list[_Place]:
    """Order the stages of one run and join the formats of each."""
    by_format: dict[str, list[DumpFile]] = {}
    for file in files:
        by_format.setdefault(file.format, []).append(file)
    for group in by_format.values():
        group.sort(key=_sort_key)
    ranked = sorted((name for name in by_format if name in _RANK), key=_rank)
    places: list[_Place] = []
    by_suffix: dict[str, list[_Place]] = {}
    for name in ranked:
        taken: set[int] = set()
        fresh = []
        for file in by_format[name]:
            place = _same_stage(file, by_suffix.get(file.suffix, []), taken)
            if place is None:
                fresh.append(_Place(file))
            else:
                place.twins.append(file)
                taken.add(id(place))
        for place in fresh:
            by_suffix.setdefault(place.file.suffix, []).append(place)
        places += fresh
    places.sort(key=lambda place: _sort_key(place.file))
    for name in sorted(set(by_format) - set(ranked)):
        places += [_Place(file) for file in by_format[name]]
    return places


def _same_stage(file: DumpFile, places: list[_Place], taken: set[int]) -> _Place | None:
    """Return the stage a file of another format shows as well.

    Numbers drift between formats, so it is the first stage of that suffix and graph id
    that no file of this format has yet; a name without graph id fits any.
    """
    if not file.suffix:
        return None
    free = [place for place in places if id(place) not in taken]
    for place in free:
        if place.file.graph_id == file.graph_id:
            return place
    for place in free:
        if None in (place.file.graph_id, file.graph_id):
            return place
    return None


def _rank(name: str) -> int:
    return _RANK[name]


def _sort_key(file: DumpFile) -> tuple[int, int, str]:
    serial = -1 if file.serial is None else file.serial
    return (serial, -1 if file.graph_id is None else file.graph_id, file.path)


def _stage_name(file: DumpFile, dump: DumpGraph) -> tuple[str, bool]:
    """Return a stage's name, and whether a table knows it."""
    if dump.format == "ascgraph":
        name = stages.find_asc(file.suffix)
        return name or file.suffix, bool(name)
    found = stages.find(file.suffix)
    # The adapter of TensorFlow names its files after its own steps.
    return found.name, found.stage is not None or dump.format == "tf_pbtxt"


def _is_failure(suffix: str) -> bool:
    found = stages.find(suffix)
    return found.is_failure or bool(
        found.stage and found.stage.note.startswith("failure dump"))


def _session(dump: DumpGraph) -> str:
    """Return the session id, from the graph's own attribute or its first node's."""
    for key in ("_session_graph_id", "session_graph_id", "_session_id", "session_id"):
        value = dump.attributes.get(key)
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            return str(value).partition("_")[0]
    return ""
