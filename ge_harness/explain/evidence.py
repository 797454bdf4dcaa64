"""What the optimized program says: which nodes share a kernel, how sums are cut.

Read from XLA's text after optimization, on any stack: TensorFlow 1.15 and 2.6 name the
node in the metadata of an instruction, 2.21 in the instruction's own name. Where there
is no such text (other compilers, no dumps) there is no evidence, and the search begins
without it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Sequence

from dumps import hlo
from dumps.errors import DumpError
from dumps.hlo import HloComputation, HloInstruction, HloModule

_NUMBER = re.compile(r"(\.\d+|\.clone|\.remat\d*)+$")
_REDUCTION = re.compile(r"-reduction$")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_WINDOW = re.compile(r"window=\{size=([\dx]+)")
_LONGEST_FILES = 64


@dataclass(frozen=True)
class Evidence:
    """What a compiled program shows.

    Attributes:
        kernels: the nodes of the graph in each fused kernel, more than one in each.
        wide: nodes of a 16-bit graph whose result some kernel has in float32 and
            never converts to 16 bits.
        windows: lengths of windows that sums are cut into, ascending.
        passes: names of the active passes.
        found: a program was read.
    """

    kernels: tuple[frozenset[str], ...] = ()
    wide: frozenset[str] = frozenset()
    windows: tuple[int, ...] = ()
    passes: tuple[str, ...] = ()
    found: bool = False

    def together(self, nodes: Iterable[str]) -> bool:
        """Return whether one kernel holds all these nodes."""
        wanted = set(nodes)
        return any(wanted <= kernel for kernel in self.kernels)


def gather(folder: Path | None, nodes: Iterable[str],
           passes: Sequence[str] = ()) -> Evidence:
    """Read the evidence in a dump folder.

    Args:
        folder: of the candidate's dumps, None where there are none.
        nodes: names of the graph's nodes.
        passes: names of the active passes.
    """
    known = set(nodes)
    kernels: list[frozenset[str]] = []
    wide: set[str] = set()
    windows: set[int] = set()
    found = False
    for path in _programs(folder):
        try:
            text = hlo.read_text(path)
        except DumpError:
            continue
        module = hlo.parse_module(text, path)
        lines = text.split("\n")
        found = True
        kernels += [kernel for kernel in (
            _kernel(each, lines, known) for each in _fused(module)) if len(kernel) > 1]
        wide |= _wide(module, lines, known)
        windows |= _windows(module)
    return Evidence(tuple(dict.fromkeys(kernels)), frozenset(wide),
                    tuple(sorted(windows)), tuple(sorted(set(passes))), found)


def _programs(folder: Path | None) -> list[Path]:
    if folder is None or not folder.is_dir():
        return []
    return sorted(folder.glob("*after_optimizations.txt"))[:_LONGEST_FILES]


def _fused(module: HloModule) -> list[HloComputation]:
    called = {name for computation in module.computations
              for item in computation.instructions
              if item.opcode == "fusion" for name in item.called}
    return [each for each in module.computations if each.name in called]


def _kernel(computation: HloComputation, lines: Sequence[str],
            known: set[str]) -> frozenset[str]:
    return frozenset(filter(None, (
        _node(item, lines[item.line - 1], known)
        for item in computation.instructions)))


def _node(item: HloInstruction, line: str, known: set[str]) -> str:
    match = _OP_NAME.search(line)
    if match:
        parts = match[1].split("/")
        for start in range(len(parts)):
            name = "/".join(parts[start:])
            if name in known:
                return name
    name = _REDUCTION.sub("", _NUMBER.sub("", item.name))
    return name if name in known else ""


def _wide(module: HloModule, lines: Sequence[str], known: set[str]) -> set[str]:
    """Return the nodes whose float32 results reach another float32 instruction.

    What is converted to 16 bits at once, and only that, is rounded as ever.
    """
    found = set()
    for computation in module.computations:
        narrowed = {name for item in computation.instructions
                    if item.opcode == "convert" and item.dtypes[:1] != ("float32",)
                    for name in item.operands}
        for item in computation.instructions:
            if (item.dtypes[:1] == ("float32",) and item.name not in narrowed
                    and item.opcode not in ("convert", "constant", "parameter")):
                found.add(_node(item, lines[item.line - 1], known))
    return found - {""}


def _windows(module: HloModule) -> set[int]:
    sizes = set()
    for computation in module.computations:
        for item in computation.instructions:
            match = (_WINDOW.search(item.attributes)
                     if item.opcode == "reduce-window" else None)
            if match:
                sizes.add(max(int(part) for part in match[1].split("x")))
    return sizes
