"""Benches for tests: an experiment's surroundings without a command line."""

from __future__ import annotations

from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments.bench import Bench


def bench(path, backend="xla", *, subgraphs=(), budget=0, **options):
    """Return a bench whose folder is `path`."""
    for each in (path, path / "inputs", path / "jobs"):
        each.mkdir(parents=True, exist_ok=True)
    return Bench(RunOptions("A", backend, **{"sets": 0, "repeat": 0, **options}),
                 RunFolder(path.resolve()), lambda text: None, subgraphs=subgraphs,
                 budget=budget)
