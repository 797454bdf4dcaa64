"""Inputs of a case: drawn or taken from the user, rounded, stored as .npy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Mapping

import numpy as np

from ge_harness.compare.dtypes import round_to
from ge_harness.compare.files import TensorFile, tensors_in
from ge_harness.errors import NoRoomError, UsageError
from ge_harness.experiment.options import RunOptions
from ge_harness.records.job import BuiltCase
from ge_harness.records.tensor import Case, Port
from ge_harness.worker import built as worker_built
from ge_harness.worker.arrays import DISK_FULL
from graphs.built import Feed
from graphs.inputs import draw

# Drawn in float64, then rounded: both are in memory at once.
_DRAWN_BYTES = 12


def make_case(built: BuiltCase, options: RunOptions, folder: Path) -> Case:
    """Store the inputs of every set and return the case.

    Args:
        built: the graph and its ports.
        options: seed, number of sets, file with the inputs.
        folder: where the .npy files go; one that is there is kept (a resumed run).

    Raises:
        UsageError: the inputs given do not fit the ports.
        NoRoomError: the inputs do not fit into memory or onto the disk.
        GraphError: an input has no distribution that can be drawn.
    """
    given = _given(options, built)
    paths = []
    for port, feed in zip(built.inputs, worker_built.feeds(built)):
        path = folder / f"{port.spec.name}.npy"
        paths.append(str(path))
        if path.exists():
            continue
        if port.spec.name in given:
            array = _checked(given[port.spec.name], port, options)
        else:
            array = _drawn(feed, options)
        store_array(path, array)
    return Case(
        subgraph=options.source, variant=built.variant, seed=options.seed,
        graph_path=built.graph_path, inputs=built.inputs, outputs=built.outputs,
        input_paths=tuple(paths), set_count=options.sets)


def _drawn(feed: Feed, options: RunOptions) -> np.ndarray:
    count = options.sets
    for length in feed.shape:
        count *= length
    too_large = NoRoomError(
        f"input {feed.name!r}, {feed.dtype} {list(feed.shape)} in {options.sets} sets, "
        f"does not fit into memory; a smaller one: --shape={feed.name}:...")
    if count * _DRAWN_BYTES > _available():
        raise too_large
    try:
        sets = [round_to(draw(feed, feed.shape, options.seed + index), feed.dtype)
                for index in range(options.sets)]
        return np.stack(sets) if options.sets > 1 else sets[0]
    except MemoryError as error:
        raise too_large from error


def _available() -> float:
    """Return the bytes of memory that can be had, infinity where nobody says."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return float("inf")
    found = re.search(r"(?m)^MemAvailable:\s+(\d+) kB$", text)
    return 1024.0 * int(found[1]) if found else float("inf")


def store_array(path: Path, array: np.ndarray) -> None:
    """Write an input aside and rename it, so that a resumed run finds none cut off."""
    aside = path.with_name(f".{path.name}.part")
    try:
        with aside.open("wb") as out:
            np.save(out, array, allow_pickle=False)
        aside.replace(path)
    except OSError as error:
        if error.errno in DISK_FULL or error.errno is None:  # NumPy's short write
            raise NoRoomError(f"{path}: no room left on the disk; free some or choose "
                              "another folder with --out") from error
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error


def _given(options: RunOptions, built: BuiltCase) -> Mapping[str, TensorFile]:
    if not options.inputs_path:
        return {}
    found, _ = tensors_in(Path(options.inputs_path))
    names = [port.spec.name for port in built.inputs]
    if sorted(found) != sorted(names):
        raise UsageError(
            f"--inputs={options.inputs_path}: found {', '.join(sorted(found))}; "
            f"expected {', '.join(names)}")
    return found


def _checked(tensor: TensorFile, port: Port, options: RunOptions) -> np.ndarray:
    spec = port.spec
    (array, name), _ = tensor.load(spec.dtype if spec.dtype == "bfloat16" else None)
    shape = (options.sets, *spec.shape) if options.sets > 1 else tuple(spec.shape)
    if name != spec.dtype or tuple(array.shape) != shape:
        raise UsageError(
            f"--inputs={options.inputs_path}: {spec.name} is {name}"
            f"{list(array.shape)}, expected {spec.dtype}{list(shape)}")
    wanted = np.dtype("uint16" if spec.dtype == "bfloat16" else spec.dtype)
    return np.ascontiguousarray(array, dtype=wanted)
