"""Inputs of a case: drawn or taken from the user, rounded, stored as .npy."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

import numpy as np

from ge_harness.compare.dtypes import round_to
from ge_harness.compare.files import TensorFile, tensors_in
from ge_harness.errors import UsageError
from ge_harness.experiment.options import RunOptions
from ge_harness.records.job import BuiltCase
from ge_harness.records.tensor import Case, Port
from ge_harness.worker import built as worker_built
from graphs.built import Feed
from graphs.inputs import draw


def make_case(built: BuiltCase, options: RunOptions, folder: Path) -> Case:
    """Store the inputs of every set and return the case.

    Args:
        built: the graph and its ports.
        options: seed, number of sets, file with the inputs.
        folder: where the .npy files go; one that is there is kept (a resumed run).

    Raises:
        UsageError: the inputs given do not fit the ports.
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
        np.save(str(path), array, allow_pickle=False)
    return Case(
        subgraph=options.source, variant=built.variant, seed=options.seed,
        graph_path=built.graph_path, inputs=built.inputs, outputs=built.outputs,
        input_paths=tuple(paths), set_count=options.sets)


def _drawn(feed: Feed, options: RunOptions) -> np.ndarray:
    sets = [round_to(draw(feed, feed.shape, options.seed + index), feed.dtype)
            for index in range(options.sets)]
    return np.stack(sets) if options.sets > 1 else sets[0]


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
