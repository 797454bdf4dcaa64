"""What the dumps of a run say: active passes, artifacts, how often it compiled."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Iterable, NamedTuple, Sequence

from dumps import hlo_passes
from dumps.errors import DumpError
from ge_harness import catalogue
from ge_harness.records.switch import ActivePass

_FILE = re.compile(r"(?:\d{6,}\.)?module_(?P<number>\d{4,})\.(?P<rest>.+)")
# TensorFlow 2.21 writes code files a kernel ("...<kernel>.ir-with-opt.ll",
# "...obj-file.<kernel>.o"), the others a module, 2.6 with a number before them.
_ARTIFACT = re.compile(
    r"(?:^|\.)(?P<kind>(?:cpu_)?after_optimizations\.txt|"
    r"(?:[^.]+\.)?ir-(?:no|with)-opt(?:-noconst)?\.ll|obj-file\.[^.]+\.o|o|s)$")


class Dumps(NamedTuple):
    """The dumps of one run.

    Attributes:
        folder: where they are.
        modules: the compilations, oldest first.
        problem: why there are none, "" where there are.
    """

    folder: Path
    modules: tuple[hlo_passes.ModulePasses, ...]
    problem: str = ""


def read(folder: Path) -> Dumps:
    """Read a dump folder; a folder without dumps is a problem, not an error."""
    try:
        return Dumps(folder, hlo_passes.read_passes(folder))
    except DumpError as error:
        return Dumps(folder, (), str(error))


def changed_names(dumps: Dumps) -> frozenset[str]:
    """Return the passes whose text differs from that before them."""
    return frozenset(each.name for module in dumps.modules for each in module.passes
                     if each.changed)


def active_passes(dumps: Dumps) -> tuple[ActivePass, ...]:
    """Return the passes that changed the program, in the order of their first change.

    A change that no pass put its name to is reported as "between passes".
    """
    found: dict[str, list[tuple[int, hlo_passes.PassRecord]]] = {}
    ran: dict[str, int] = {}
    for module in dumps.modules:
        for each in module.passes:
            ran[each.name] = ran.get(each.name, 0) + 1
            if each.changed:
                found.setdefault(each.name, []).append((module.number, each))
    return tuple(_active(name, records, ran[name], len(dumps.modules))
                 for name, records in found.items())


def _active(name: str, records: Sequence[tuple[int, hlo_passes.PassRecord]], ran: int,
            modules: int) -> ActivePass:
    info = catalogue.lookup("hlo_pass", name)
    unnamed = name == hlo_passes.PIPELINE_START
    first = records[0][1]
    places = sorted({number for number, _ in records})
    where = f"in {len(places)} of {modules} modules" if modules > 1 else "in the module"
    added = sum(each.added for _, each in records)
    removed = sum(each.removed for _, each in records)
    evidence = (
        f"HLO text changed {where} after it ({added} instructions new or moved, "
        f"{removed} gone or moved): {_short(first.path)} against "
        f"{_short(first.previous)}")
    return ActivePass(
        "hlo_pass", "(between passes)" if unnamed else name,
        ", ".join(_unique(each.pipeline for _, each in records)),
        info.precision_class if info else "unknown",
        info.certainty if info else "unknown", evidence,
        "" if unnamed else _switch_off(name, info),
        tuple(sorted({dtype for _, each in records for dtype in each.dtypes})),
        tuple(sorted({op for _, each in records for op in each.ops})),
        ran, len(records))


def _switch_off(name: str, info: catalogue.PassInfo | None) -> str:
    if info is not None and info.switch_off:
        return info.switch_off
    if info is not None:
        return ""
    return f"XLA_FLAGS=--xla_disable_hlo_passes={name}"


def _short(path: str) -> str:
    """Return a dump file's name without the module's, which may be 200 long."""
    name = Path(path).name
    parsed = hlo_passes.parse_name(name)
    if parsed is None:
        return re.sub(r"(module_\d+)\..*\.([^.]+\.txt)", r"\1...\2", name)
    after = f"after_{parsed.passed}"
    return f"module_{parsed.number:04d}...{parsed.order:04d}.{parsed.pipeline}.{after}"


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def artifacts(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return (name, sha256) of what the compiler produced, sorted.

    Optimized HLO text, LLVM text and object code; buffer assignment and debug options
    are left out, since they hold addresses and paths. Names are without time stamps
    and module names, which hold counters.
    """
    found = []
    for path, number, kind in _artifact_files(folder):
        digest = hashlib.sha256()
        with path.open("rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
        found.append((f"module_{number}/{kind}", digest.hexdigest()))
    return tuple(sorted(found))


def code(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return a digest of each optimized program, module names left out.

    For comparing what two sets of flags compile the same graph to.
    """
    found = []
    for path, number, kind in _artifact_files(folder):
        if not kind.endswith((".txt", ".ll")):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        text = re.sub(r"(?m)^(?:; ModuleID|source_filename|HloModule ).*$", "", text)
        text = re.sub(r"[\w.]*(?:_inference_f_|cluster_)\w+[\w.]*", "NAME", text)
        found.append((f"module_{number}/{kind}",
                      hashlib.sha256(text.encode("utf-8")).hexdigest()))
    return tuple(sorted(found))


def _artifact_files(folder: Path) -> list[tuple[Path, str, str]]:
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return []
    found = []
    for path in paths:
        if hlo_passes.parse_name(path.name) is not None:
            continue
        file = _FILE.fullmatch(path.name)
        match = _ARTIFACT.search(file["rest"]) if file is not None else None
        if file is not None and match is not None:
            kind = re.sub(r"^\d+\.", "", match["kind"])
            found.append((path, file["number"], f"code.{kind}" if len(kind) == 1
                          else kind))
    return found
