"""Read everything below a path: stages, counts, traces, logs, kernels, HLO."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import dumps
from dumps import fusion_result, hlo_passes, kernel_meta, plog, trace
from dumps.discover import (
    FUSION,
    GRAPH,
    HLO,
    KERNEL,
    LOG,
    OTHER,
    TRACE,
    DumpFile,
    discover,
)
from dumps.errors import DumpError
from dumps.fusion_result import FusionResult
from dumps.hlo_passes import ModulePasses
from dumps.kernel_meta import KernelMeta
from dumps.plog import Plog
from dumps.records import DumpGraph, DumpWarning
from dumps.series import Series, Watcher, read_series
from dumps.trace import GraphTrace
from ge_harness.inspection import active
from ge_harness.inspection.stage_evidence import StageWatcher
from ge_harness.inspection.tally import Tallies
from ge_harness.records.inspection import PassReport


@dataclass
class Gathered:
    """What was found below a path.

    Attributes:
        source: the path.
        series: graphs and their stages.
        fusion: every fusion_result.json.
        traces: every graph trace.
        logs: every log.
        kernels: every kernel description.
        modules: compilations of XLA.
        passes: what all of it says of passes.
        warnings: what could not be read.
        file_count: files found.
        read_count: files that gave something.
        passed_over: files that are no dumps.
        tallies: the evidence, also by graph.
    """

    source: str
    series: Series = field(default_factory=lambda: Series(()))
    fusion: list[FusionResult] = field(default_factory=list)
    traces: list[GraphTrace] = field(default_factory=list)
    logs: list[Plog] = field(default_factory=list)
    kernels: list[KernelMeta] = field(default_factory=list)
    modules: list[ModulePasses] = field(default_factory=list)
    passes: PassReport = field(default_factory=PassReport)
    warnings: list[DumpWarning] = field(default_factory=list)
    file_count: int = 0
    read_count: int = 0
    passed_over: tuple[str, ...] = ()
    tallies: Tallies = field(default_factory=Tallies)


def gather(path: str | Path, watch: Watcher | None = None, *,
           strict: bool = False) -> Gathered:
    """Read everything at or below a path.

    Args:
        path: a file or a folder.
        watch: called with each stage while its dump is in memory.
        strict: look inside every operator, so that damage there is a warning too.

    Raises:
        DumpError: there is nothing there, or nothing in it can be read.
    """
    files, warnings = discover(path)
    found = Gathered(str(path), warnings=warnings, file_count=len(files))
    found.passed_over = tuple(file.path for file in files if file.kind == OTHER)
    errors: list[DumpError] = []
    _read_all(files, FUSION, fusion_result.read, found.fusion, errors)
    _read_all(files, TRACE, trace.read, found.traces, errors)
    _read_all(files, LOG, plog.read, found.logs, errors)
    _read_all(files, KERNEL, kernel_meta.read, found.kernels, errors)
    _read_hlo(files, found, errors)
    tallies = Tallies()
    watcher = StageWatcher(tallies, active.wanted_names(found.traces), watch)
    graphs = [file for file in files if file.kind == GRAPH]
    found.series = read_series(graphs, _read_whole if strict else dumps.read, watcher)
    found.warnings += [DumpWarning(error.path, error.line, str(error))
                       for error in errors]
    found.warnings += found.series.warnings
    evidence: list[Any] = [*found.fusion, *found.traces, *found.logs, *found.kernels,
                           *found.modules]
    for each in evidence:
        found.warnings.extend(each.warnings)
    found.read_count = len(evidence) - len(found.modules) + sum(
        1 + len(stage.twins) for graph in found.series.graphs
        for stage in graph.stages) + sum(len(each.passes) for each in found.modules)
    if not found.read_count:
        _nothing(path, files, errors)
    found.passes = active.report(tallies, watcher, active.Sources(
        found.series.graphs, found.fusion, found.traces, found.logs, found.modules))
    found.tallies = tallies
    return found


def _read_whole(path: str) -> DumpGraph:
    graph = dumps.read(path)
    graph.load_details()
    return graph


def _read_all(files: list[DumpFile], kind: str, read: Callable[[str], Any],
              into: list[Any], errors: list[DumpError]) -> None:
    for file in files:
        if file.kind != kind:
            continue
        try:
            into.append(read(file.path))
        except DumpError as error:
            errors.append(error)


def _read_hlo(files: list[DumpFile], found: Gathered, errors: list[DumpError]) -> None:
    folders = sorted({str(Path(file.path).parent) for file in files
                      if file.kind == HLO})
    for folder in folders:
        try:
            found.modules.extend(hlo_passes.read_passes(Path(folder)))
        except DumpError as error:
            errors.append(error)


def _nothing(path: str | Path, files: list[DumpFile],
             errors: list[DumpError]) -> None:
    if errors:
        raise errors[0]
    if len(files) == 1:
        dumps.read(files[0].path)
    raise DumpError(path, 0, f"{len(files)} files, none of them readable as a dump",
                    "GE dumps, fusion_result.json, graph traces, logs, or HLO dumps")
