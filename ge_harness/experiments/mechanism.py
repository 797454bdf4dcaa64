"""What a compiler's own output says it generated: instructions, kernels, hashes.

Read from the dump folder at judging time, never from what the worker remembered, so an
experiment whose dumps are gone has no evidence. Grappler writes no dumps; its evidence
is the graph that TensorFlow says it ran, as the worker recorded it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import dumps
from dumps import ascgraph, hlo
from dumps.errors import DumpError
from dumps.records import DumpNode
from ge_harness.backends import xla_dumps
from ge_harness.records.run import RunFailure, RunSuccess

# Opcodes and op types that move bits and never make new ones.
MOVEMENT = frozenset((
    # XLA
    "parameter", "constant", "broadcast", "reshape", "bitcast", "transpose", "copy",
    "slice", "dynamic-slice", "dynamic-update-slice", "concatenate", "pad", "gather",
    "tuple", "get-tuple-element", "fusion", "call", "iota", "reverse",
    # GE, AutoFuse and TensorFlow
    "Data", "Const", "Constant", "NetOutput", "Identity", "Reshape", "Transpose",
    "TransposeD", "Slice", "SliceD", "StridedSlice", "StridedSliceD", "Concat",
    "ConcatD", "ConcatV2", "ConcatV2D", "Split", "SplitD", "SplitV", "SplitVD",
    "BroadcastTo", "BroadcastToD", "AscBackend", "FusedAscBackend", "Placeholder",
    "AutofuseNode", "Load", "Store", "Output", "Broadcast", "Scalar", "Gather",
    "AscGraph", "NoOp", "Fill", "Pack", "Unpack", "Shape", "Tile", "TileD",
    "Workspace", "ExpandDims", "Squeeze",
))
_FILES = ("*after_optimizations.txt",)
_NAMES = re.compile(r"%[^\s(){}=,]+")
_SOURCES = re.compile(r'op_name="[^"]*"|, metadata=\{[^}]*\}')
_CHANGED = "the dumps are not those that the run wrote"
_KERNELS = ("AscBackend", "FusedAscBackend")
GE_BUILD = re.compile(r"ge_proto_\d+_(graph_\d+_)?Build\.txt")


@dataclass(frozen=True)
class Mechanism:
    """What one compilation generated.

    Attributes:
        present: something could be read.
        source: folder or record it was read from.
        problem: why nothing could be read.
        program: text of the program with names of values left out.
        ops: (op, how often), sorted; what the program computes with.
        fused: kernels that hold more than one operation.
        hashes: (artifact, sha256), sorted.
        graph_only: the graph is known, what its operators compile to is not.
    """

    present: bool
    source: str
    problem: str = ""
    program: str = ""
    ops: tuple[tuple[str, int], ...] = ()
    fused: int = 0
    hashes: tuple[tuple[str, str], ...] = ()
    graph_only: bool = False

    @property
    def ops_of(self) -> tuple[tuple[str, int], ...]:
        """The ops that are no movement, with how often they occur."""
        return tuple((op, count) for op, count in self.ops
                     if op.split(" ")[0] not in MOVEMENT)

    @property
    def digest(self) -> str:
        """First digits of the hash of all artifacts together."""
        text = "\n".join(f"{name} {value}" for name, value in self.hashes)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]

    @property
    def computing(self) -> tuple[str, ...]:
        """Ops that are no movement."""
        return tuple(op for op, _ in self.ops_of)

    @property
    def words(self) -> str:
        """The computing ops in one line."""
        counted = [f"{count} x {op}" if count > 1 else op
                   for op, count in self.ops_of]
        return ", ".join(counted[:14]) or "movement only"


def read(outcome: RunSuccess | RunFailure) -> Mechanism:
    """Read what the candidate's compilation left behind; never raises."""
    if isinstance(outcome, RunFailure):
        return Mechanism(False, "", f"the run failed: {outcome.message}")
    backend = outcome.request.backend
    if backend == "grappler":
        return _recorded(outcome)
    if not outcome.dump_dir or not _has_files(Path(outcome.dump_dir)):
        return Mechanism(False, outcome.dump_dir, "there are no dumps to read")
    folder = Path(outcome.dump_dir)
    try:
        if backend in ("emulator", "ge"):
            return _ge(folder, outcome)
        return _xla(folder, outcome)
    except (DumpError, OSError) as error:
        return Mechanism(False, str(folder), f"the dumps cannot be read: {error}")


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _recorded(outcome: RunSuccess) -> Mechanism:
    """Grappler: the optimized graph that ran, as recorded."""
    ops = Counter(f"{op} after {item.name}" for item in outcome.passes
                  for op in item.ops)
    source = "record of the graph that TensorFlow ran (outcome.json)"
    if not outcome.artifact_hashes:
        return Mechanism(False, source, "no graph was recorded")
    program = "\n".join(value for _, value in outcome.artifact_hashes)
    return Mechanism(True, source, "", program, tuple(sorted(ops.items())), 0,
                     outcome.artifact_hashes, graph_only=True)


def _xla(folder: Path, outcome: RunSuccess) -> Mechanism:
    paths = sorted(path for pattern in _FILES for path in folder.glob(pattern))
    if not paths:
        return Mechanism(False, str(folder), "no optimized HLO among the dumps")
    recorded = outcome.artifact_hashes  # () of a training run, whose worker takes none
    if recorded and xla_dumps.artifacts(folder) != recorded:
        return Mechanism(False, str(folder), _CHANGED)
    ops: Counter[str] = Counter()
    programs, fused = [], 0
    for path in paths:
        text = hlo.read_text(path)
        programs.append(_canonical(hlo.program_text(text)))
        module = hlo.parse_module(text, path)
        for computation in module.computations:
            for each in computation.instructions:
                ops[f"{each.opcode} {','.join(each.dtypes)}"] += 1
                fused += each.opcode == "fusion"
    return Mechanism(True, str(folder), "", "\n".join(programs),
                     tuple(sorted(ops.items())), fused, _kernels(folder))


def _kernels(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return hashes of optimized HLO and object code.

    LLVM's text is left out where there is object code: it is on the way there, and was
    seen to differ between two starts that gave the same object code.
    """
    found = xla_dumps.artifacts(folder)
    if any(name.endswith(".o") for name, _ in found):
        found = tuple(pair for pair in found if not pair[0].endswith(".ll"))
    return found


def _canonical(text: str) -> str:
    numbers: dict[str, str] = {}
    return _NAMES.sub(
        lambda match: numbers.setdefault(match[0], f"%{len(numbers)}"),
        _SOURCES.sub("", text))


def _ge(folder: Path, outcome: RunSuccess) -> Mechanism:
    files = sorted(path for path in folder.rglob("*.txt")
                   if GE_BUILD.fullmatch(path.name))
    if not files:
        return Mechanism(False, str(folder), "no graph of the stage Build in the dumps")
    ops: Counter[str] = Counter()
    fused, lines = 0, []
    for path in files:
        graph = dumps.read(path)
        if graph.warnings and outcome.request.backend == "emulator":
            # The emulator writes none that the reader warns of.
            return Mechanism(False, str(path),
                             f"{_CHANGED}: {graph.warnings[0].message}")
        for node in graph.nodes:
            inside = _inside(node)
            if not inside:
                ops[node.type] += 1
                lines.append(node.type)
                continue
            fused += sum(op not in MOVEMENT for op in inside) > 1
            ops.update(f"{op} (in a kernel of AutoFuse)" for op in inside)
            lines.append("kernel: " + " ".join(inside))
    program = "\n".join(lines)
    # The file itself is no artifact: GE writes sessions, addresses and times into it.
    operators = hashlib.sha256(program.encode("utf-8")).hexdigest()
    hashes = (*outcome.artifact_hashes, ("operators of the stage Build", operators))
    if outcome.request.backend == "ge" and not outcome.artifact_hashes:
        hashes = ()  # no kernel of the device was kept: nothing shows what was compiled
    return Mechanism(True, str(files[-1]), "", program, tuple(sorted(ops.items())),
                     fused, hashes)


def _inside(node: DumpNode) -> list[str]:
    """Return what a kernel of AutoFuse computes: its AscGraph, or its origins."""
    if node.type not in _KERNELS:
        return []
    kernel = ascgraph.of_node(node)
    if kernel is not None:
        return [each.type for each in kernel.nodes]
    origins = node.attributes.get("_datadump_original_op_types")
    return [str(each) for each in origins] if isinstance(origins, (list, tuple)) else []
