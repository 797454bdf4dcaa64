"""Inputs of a case: drawn or taken from the user, rounded, stored as .npy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ge_harness.compare.dtypes import round_to, to_storage
from ge_harness.compare.files import load_npz
from ge_harness.errors import UsageError
from ge_harness.experiment.options import RunOptions
from ge_harness.records.job import BuiltCase
from ge_harness.records.tensor import Case, Port
from graphs.build import Feed
from graphs.distribution import Distribution, from_plain
from graphs.inputs import draw


def make_case(built: BuiltCase, options: RunOptions, folder: Path) -> Case:
    """Store the inputs of every set and return the case.

    Args:
        built: the graph and its ports.
        options: seed, number of sets, file with the inputs.
        folder: where the .npy files go; one that exists is kept (a resumed run).

    Raises:
        UsageError: the inputs given do not fit the ports.
    """
    details = dict(built.details)
    given = _given(options, built)
    paths = []
    for number, port in enumerate(built.inputs):
        path = folder / f"{number:02d}_{port.spec.name}.npy"
        paths.append(str(path))
        if path.exists():
            continue
        if port.spec.name in given:
            array = _checked(given[port.spec.name], port, options)
        else:
            array = _drawn(port, _distribution(details, port), options)
        np.save(str(path), array, allow_pickle=False)
    return Case(
        subgraph=options.source, variant=json.loads(details.get("variant", '""')),
        seed=options.seed, graph_path=built.graph_path, inputs=built.inputs,
        outputs=built.outputs, input_paths=tuple(paths), set_count=options.sets)


def _distribution(details: dict[str, str], port: Port) -> Distribution:
    return from_plain(json.loads(details["distributions"])[port.spec.name])


def _drawn(port: Port, distribution: Distribution, options: RunOptions) -> np.ndarray:
    spec = port.spec
    shape = tuple(axis or 0 for axis in spec.shape)
    feed = Feed(spec.name, port.tensor, shape, spec.dtype, distribution)
    sets = [round_to(draw(feed, shape, options.seed + index), spec.dtype)
            for index in range(options.sets)]
    return np.stack(sets) if options.sets > 1 else sets[0]


def _given(options: RunOptions, built: BuiltCase) -> dict[str, np.ndarray]:
    if not options.inputs_path:
        return {}
    arrays = dict(load_npz(options.inputs_path))
    names = [port.spec.name for port in built.inputs]
    strange = sorted(set(arrays) - set(names))
    missing = [name for name in names if name not in arrays]
    if strange or missing:
        raise UsageError(
            f"--inputs={options.inputs_path}: found {', '.join(sorted(arrays))}; "
            f"expected {', '.join(names)}")
    return arrays


def _checked(array: np.ndarray, port: Port, options: RunOptions) -> np.ndarray:
    storage, name = to_storage(array)
    spec = port.spec
    wanted = "uint16" if spec.dtype == "bfloat16" else spec.dtype
    shape = (options.sets, *spec.shape) if options.sets > 1 else tuple(spec.shape)
    if name not in (spec.dtype, wanted) or tuple(storage.shape) != shape:
        raise UsageError(
            f"--inputs={options.inputs_path}: {spec.name} is {name}"
            f"{list(storage.shape)}, expected {spec.dtype}{list(shape)}")
    return np.ascontiguousarray(storage)
