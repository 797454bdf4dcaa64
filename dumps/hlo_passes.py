"""The per-pass files of an XLA dump folder, in order, and what each pass changed.

Source: reference/xla_cpu.md section 5.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Tuple

from dumps.errors import DumpError
from dumps.hlo import HloModule, parse_module, program_text, read_text, same_program
from dumps.records import DumpWarning
from dumps.source import base_name

PIPELINE_START = "pipeline-start"
PIPELINE_END = "pipeline-end"

# A module's name may hold dots; the four digits before the pipeline are the last ones
# before the first ".after_" (the pipeline "HLO_passes_after_layout_assignment" holds
# "after_" without the dot).
_PASS_FILE = re.compile(
    r"(?:(?P<stamp>\d{6,})\.)?module_(?P<number>\d{4,})(?:\.(?P<module>.*?))?"
    r"\.(?P<order>\d{4,})\.(?P<pipeline>[^.]+)\.after_(?P<passed>.+?)"
    r"(?:\.before_(?P<next>.+))?\.txt")
_OTHER_FILE = re.compile(
    r"(?:(?P<stamp>\d{6,})\.)?module_(?P<number>\d{4,})\.(?P<rest>.+)")
_BEFORE = "before_optimizations.txt"
_PLUMBING = frozenset({"parameter", "tuple", "get-tuple-element"})


@dataclass(frozen=True)
class PassFileName:
    """What the name of a per-pass file says.

    Attributes:
        stamp: time of the compilation in microseconds, "" where the version has none.
        number: number of the module in its process.
        module: name of the module, "" where the version or its length left it out.
        order: place of the file among the module's.
        pipeline: pipeline the pass belongs to.
        passed: the pass that has just run, or "pipeline-start".
        upcoming: the pass that runs next, "pipeline-end", or "" where none is named.
    """

    stamp: str
    number: int
    module: str
    order: int
    pipeline: str
    passed: str
    upcoming: str


@dataclass(frozen=True)
class PassRecord:
    """One per-pass file and what changed since the one before it.

    Attributes:
        order: place among the module's files.
        pipeline: pipeline the pass belongs to.
        name: the pass as XLA spells it, or "pipeline-start".
        upcoming: the pass named as next, "" where none is.
        path: the file.
        changed: the program differs from that of the file before.
        ops: opcodes that appeared, vanished or moved, sorted.
        dtypes: their dtypes (NumPy's names), sorted.
        added: how many instructions appeared or moved here.
        removed: how many vanished or moved away.
        previous: name of the file it was compared with, "" for the first.
    """

    order: int
    pipeline: str
    name: str
    upcoming: str
    path: str
    changed: bool = False
    ops: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    previous: str = ""


@dataclass(frozen=True)
class ModulePasses:
    """One compilation.

    Attributes:
        number: number of the module in its process.
        stamp: time of the compilation, "" where the version has none.
        name: name of the module, "" where the file names leave it out.
        passes: in the order in which they ran.
        warnings: files that were damaged.
    """

    number: int
    stamp: str
    name: str
    passes: tuple[PassRecord, ...]
    warnings: tuple[DumpWarning, ...] = ()


def parse_name(name: str) -> PassFileName | None:
    """Take the name of a per-pass file, packed or not, apart; None for others."""
    match = _PASS_FILE.fullmatch(base_name(name))
    if match is None:
        return None
    return PassFileName(
        match["stamp"] or "", int(match["number"]), match["module"] or "",
        int(match["order"]), match["pipeline"], match["passed"], match["next"] or "")


def read_passes(folder: Path) -> tuple[ModulePasses, ...]:
    """Read every compilation of a dump folder, oldest first.

    Raises:
        DumpError: the folder cannot be read, or holds no per-pass file.
    """
    folder = Path(folder)
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise DumpError(folder, 0, error.strerror or str(error), "a readable folder"
                        ) from error
    groups: dict[tuple[str, int], list[tuple[PassFileName, str]]] = {}
    for name in names:
        parsed = parse_name(name)
        if parsed is not None:
            groups.setdefault((parsed.stamp, parsed.number), []).append((parsed, name))
    if not groups:
        raise DumpError(folder, 0, f"{len(names)} files, none of them per pass",
                        "module_<number>...after_<pass>...txt")
    return tuple(_read_module(folder, group, names)
                 for _, group in sorted(groups.items()))


def pass_names(modules: Iterable[ModulePasses]) -> frozenset[str]:
    """Return every name of a pass or pipeline that occurs in the dumps."""
    found: set[str] = set()
    for module in modules:
        for each in module.passes:
            found.update((each.name, each.upcoming, each.pipeline))
    return frozenset(found - {"", PIPELINE_START, PIPELINE_END})


def ran_names(modules: Iterable[ModulePasses]) -> frozenset[str]:
    """Return the passes that have a file of their own."""
    return frozenset(each.name for module in modules for each in module.passes
                     if each.name != PIPELINE_START)


def _read_module(folder: Path, group: list[tuple[PassFileName, str]],
                 names: list[str]) -> ModulePasses:
    first = group[0][0]
    ordered = sorted(group, key=lambda item: (item[0].order, item[1]))
    previous, previous_name = _before(folder, first, names)
    warnings: list[DumpWarning] = []
    records = []
    for parsed, name in ordered:
        try:
            text = read_text(folder / name)
        except DumpError as error:
            warnings.append(DumpWarning(error.path, error.line, str(error)))
            continue
        record = _compare(parsed, folder / name, text, (previous, previous_name))
        warnings += _damage(folder / name, text)
        records.append(record)
        previous, previous_name = text, name
    module_names = [parsed.module for parsed, _ in ordered if parsed.module]
    return ModulePasses(first.number, first.stamp,
                        module_names[0] if module_names else "", tuple(records),
                        tuple(warnings))


def _before(folder: Path, first: PassFileName, names: list[str]) -> tuple[str, str]:
    """Return the text before any pass and its file's name, "" where there is none."""
    for name in names:
        match = _OTHER_FILE.fullmatch(base_name(name))
        if (match is not None and match["rest"].endswith(_BEFORE)
                and (match["stamp"] or "") == first.stamp
                and int(match["number"]) == first.number):
            try:
                return read_text(folder / name), name
            except DumpError:
                break
    return "", ""


def _damage(path: Path, text: str) -> list[DumpWarning]:
    """Say that a file ends too early; cheaper than to parse every one."""
    if text.rstrip().endswith("}"):
        return []
    return [DumpWarning(str(path), text.count("\n") + 1,
                        "the file ends inside a computation; its comparison with its "
                        "neighbors is not to be trusted")]


def _compare(parsed: PassFileName, path: Path, text: str,
             previous: tuple[str, str]) -> PassRecord:
    plain = PassRecord(parsed.order, parsed.pipeline, parsed.passed, parsed.upcoming,
                       str(path), previous=previous[1])
    if not previous[1]:
        return plain
    if same_program(program_text(previous[0]), program_text(text)):
        return plain
    gone, new = _moved(parse_module(previous[0], previous[1]), parse_module(text, path))
    touched = gone + new
    telling = {key for key in touched if key[1] not in _PLUMBING} or set(touched)
    return PassRecord(
        parsed.order, parsed.pipeline, parsed.passed, parsed.upcoming, str(path), True,
        tuple(sorted({key[1] for key in telling})),
        tuple(sorted({dtype for key in telling for dtype in key[2]})),
        sum(new.values()), sum(gone.values()), previous[1])


_Signature = Tuple[Any, ...]


def _moved(old: HloModule, new: HloModule) -> tuple[Counter[_Signature],
                                                    Counter[_Signature]]:
    before, after = _signatures(old), _signatures(new)
    return before - after, after - before


def _signatures(module: HloModule) -> Counter[_Signature]:
    """Count instructions by what they do and where: in the entry or in a body."""
    found: Counter[_Signature] = Counter()
    for computation in module.computations:
        known = {each.name: each for each in computation.instructions}
        for each in computation.instructions:
            operands = tuple(
                (known[name].opcode, known[name].type_text) if name in known else name
                for name in each.operands)
            attributes = re.sub(r"%[^\s(){}=,]+", "%", each.attributes)
            found[(computation.entry, each.opcode, each.dtypes, each.type_text,
                   operands, attributes)] += 1
    return found
