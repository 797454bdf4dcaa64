"""A grid of experiments from a plan file, each cell in a process of its own.

A plan is strict JSON: {"parallel": 1, "timeout_s": 3600, "grid": {"id": ["C1", "D"],
"backend": ["xla"], "dtype": ["float16", "bfloat16"], "xla-flags": ["", "--..."]},
"options": ["--sets=8"]}. Every key of the grid but `id` is an option of `experiment`.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Sequence

from ge_harness.errors import HarnessError, PlanError
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import store

_KEYS = {"grid", "parallel", "timeout_s", "options"}
_TAIL_BYTES = 4096
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
        plan = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(path, 0, f"cannot read the plan: {error}", _STRICT) from error
    except ValueError as error:
        raise PlanError(path, getattr(error, "lineno", 0), str(error),
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
            or not isinstance(parallel, int) or parallel < 1
            or not isinstance(timeout_s, (int, float)) or timeout_s <= 0):
        raise PlanError(path, 0, "expected options to be texts, parallel a whole "
                        "number and timeout_s seconds", _STRICT)
    return _cells(grid, tuple(more), parallel, float(timeout_s))


def _cells(grid: dict[str, list[str]], more: tuple[str, ...], parallel: int,
           timeout_s: float) -> list[Cell]:
    keys = [key for key in grid if key != "id"]
    found: list[Cell] = []
    for name in grid["id"]:
        for values in itertools.product(*(grid[key] for key in keys)):
            words = [f"--{key}={value}" for key, value in zip(keys, values) if value]
            title = "-".join([name, *(value or "default" for value in values)])
            found.append(Cell(f"{len(found):03d}-{store.safe(title)}",
                              (name, *words, *more), parallel, timeout_s))
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
