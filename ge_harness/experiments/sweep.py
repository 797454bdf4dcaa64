"""A grid of experiments from a plan file, each cell in a process of its own.

A plan is strict JSON: {"parallel": 1, "timeout_s": 3600, "grid": {"id": ["C1", "D"],
"backend": ["xla"], "dtype": ["float16", "bfloat16"], "xla-flags": ["", "--..."]},
"options": ["--sets=8"]}. Every key of the grid but `id` is an option of `experiment`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Sequence

from ge_harness.errors import HarnessError, PlanError
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import store
from ge_harness.experiments.table import EXPERIMENTS

_KEYS = {"grid", "parallel", "timeout_s", "options"}
_TAIL_BYTES = 4096
_MOST_CELLS, _MOST_PARALLEL, _LONGEST_S = 10000, 1024, 1e8
_OPTION = re.compile(r"--[a-z][a-z0-9-]*")
_OF_THE_CALL = ("--out", "--resume", "--plan", "--json", "--help", "--flagfile",
                "--version")
_STRICT = "Plans are strict JSON; docs/experiments.md shows one"


@dataclass(frozen=True)
class Cell:
    """One experiment of a grid.

    Attributes:
        name: of its folder.
        words: arguments of `experiment`.
        parallel: cells at a time.
        timeout_s: limit on the cell, in seconds.
    """

    name: str
    words: tuple[str, ...]
    parallel: int
    timeout_s: float


def read_plan(path: str) -> list[Cell]:
    """Return the cells of a plan file.

    Raises:
        PlanError: it cannot be read, or holds something else.
    """
    try:
        plan = json.loads(Path(path).read_text(encoding="utf-8"),
                          object_pairs_hook=_once, parse_constant=_no_number)
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(path, 0, f"cannot read the plan: {error}", _STRICT) from error
    except ValueError as error:
        raise PlanError(path, getattr(error, "lineno", 0), str(error),
                        _STRICT) from error
    except RecursionError as error:
        raise PlanError(path, 0, "found too many brackets inside one another",
                        _STRICT) from error
    grid = plan.get("grid") if isinstance(plan, dict) else None
    if not isinstance(grid, dict) or not grid.get("id") or set(plan) - _KEYS:
        raise PlanError(path, 0, "expected an object with grid (with id) and perhaps "
                        "parallel, timeout_s and options", _STRICT)
    if not all(isinstance(values, list) and values and all(
            isinstance(value, str) for value in values) for values in grid.values()):
        raise PlanError(path, 0, "expected a list of texts for every key of grid",
                        _STRICT)
    more = plan.get("options", [])
    parallel, timeout_s = plan.get("parallel", 1), plan.get("timeout_s", 3600)
    if (not isinstance(more, list) or not all(isinstance(each, str) for each in more)
            or not _number(parallel, int) or not 1 <= parallel <= _MOST_PARALLEL
            or not _number(timeout_s, (int, float))
            or not 0 < timeout_s <= _LONGEST_S):
        raise PlanError(path, 0, "expected options to be texts, parallel a whole "
                        f"number up to {_MOST_PARALLEL} and timeout_s seconds",
                        _STRICT)
    _check_words(path, grid, more)
    return _cells(grid, tuple(more), parallel, float(timeout_s))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"found {twice!r} twice in one object")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"found {text}, which is no number in JSON")


def _number(value: object, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _check_words(path: str, grid: dict[str, list[str]], more: Sequence[str]) -> None:
    """Refuse words that would make a cell something else than an experiment.

    Raises:
        PlanError: there are such, or too many cells.
    """
    known = (*EXPERIMENTS.names(), "all")
    for name in grid["id"]:
        if name not in known:
            raise PlanError(path, 0, f"found id {name!r}, expected one of "
                            f"{', '.join(known)}", _STRICT)
    options = [word.partition("=")[0] for word in more]
    for option in [*options, *(f"--{key}" for key in grid if key != "id")]:
        if not _OPTION.fullmatch(option) or option in _OF_THE_CALL:
            raise PlanError(path, 0, f"found the option {option!r}, expected one of "
                            "'experiment' (--out, --resume, --plan and --json are the "
                            "call's own)", _STRICT)
    for word in (*more, *(value for values in grid.values() for value in values)):
        if not word.isprintable():
            raise PlanError(path, 0, f"found {word!r}, expected a text of one line",
                            _STRICT)
    count = 1
    for values in grid.values():
        count *= len(values)
    if count > _MOST_CELLS:
        raise PlanError(path, 0, f"found {count} cells, expected at most {_MOST_CELLS}",
                        _STRICT)


def _cells(grid: dict[str, list[str]], more: tuple[str, ...], parallel: int,
           timeout_s: float) -> list[Cell]:
    keys = [key for key in grid if key != "id"]
    found: list[Cell] = []
    for name in grid["id"]:
        for values in itertools.product(*(grid[key] for key in keys)):
            words = (name, *(f"--{key}={value}" for key, value in zip(keys, values)
                             if value), *more)
            title = "-".join([name, *(value or "default" for value in values)])
            # The digest: a cell of a plan that changed is not taken for the old one.
            digest = hashlib.sha256("\n".join(words).encode("utf-8")).hexdigest()[:8]
            found.append(Cell(f"{len(found):03d}-{store.safe(title)}-{digest}", words,
                              parallel, timeout_s))
    return found


def run(cells: Sequence[Cell], folder: RunFolder, progress: Callable[[str], None]
        ) -> tuple[list[dict[str, Any]], list[str]]:
    """Run the cells that are not finished and return all reports and what failed.

    A cell that dies takes no other with it; its log stays in its folder.
    """
    with ThreadPoolExecutor(cells[0].parallel if cells else 1) as pool:
        ends = list(pool.map(lambda cell: _one(cell, folder, progress), cells))
    reports: list[dict[str, Any]] = []
    skipped = []
    for cell, why in zip(cells, ends):
        try:
            found = store.read_all(folder.path / cell.name)
        except HarnessError as error:
            found, why = [], str(error)
        reports += found
        if not found:
            skipped.append(f"{cell.name}: {why}")
    return reports, skipped


def _one(cell: Cell, folder: RunFolder, progress: Callable[[str], None]) -> str:
    """Run one cell and return "" or what came of it."""
    path = folder.path / cell.name
    done = path / "done"
    if done.is_file():
        progress(f"{cell.name} before")
        return ""
    where = f"--resume={path}" if (path / "jobs").is_dir() else f"--out={path}"
    log = folder.path / f"{cell.name}.log"
    command = [sys.executable, "-m", "ge_harness", "experiment", *cell.words, where]
    try:
        with log.open("ab") as out:
            status = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                timeout=cell.timeout_s, check=False).returncode
    except subprocess.TimeoutExpired:
        progress(f"{cell.name}: too long")
        return f"longer than {cell.timeout_s:g} s; its log is {log.name}"
    progress(f"{cell.name}: exit status {status}")
    if status in (0, 1, 4):
        done.write_text(f"{status}\n", encoding="utf-8")
    return f"exit status {status}: {_last_line(log)}; its log is {log.name}"


def _last_line(log: Path) -> str:
    """Return the last words of a cell, "" where there are none."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
