"""Whether what an earlier call left can stand for a run of this one."""

from __future__ import annotations

import platform

import numpy as np

from ge_harness.backends import tf_loader
from ge_harness.experiments import store
from ge_harness.records.run import RunSuccess
from ge_harness.worker.arrays import digest


def usable(outcome: RunSuccess) -> bool:
    """Return whether stored outputs are those of the run, on the versions of today.

    A file that was cut off, exchanged or changed has another MD5 than the worker took
    when it wrote it; such a run is done again.
    """
    return (_same_versions(outcome) and _consistent(outcome)
            and _untouched(outcome))


def _same_versions(outcome: RunSuccess) -> bool:
    ran = outcome.environment
    here = (platform.python_version(), np.__version__)
    return (ran.python, ran.numpy) == here and (
        not ran.tensorflow or ran.tensorflow == tf_loader.installed())


def _consistent(outcome: RunSuccess) -> bool:
    """Return whether the record says of repeats what its hashes say."""
    hashes, repeat = outcome.output_hashes, max(1, outcome.request.repeat)
    return len(hashes) == outcome.request.case.set_count * repeat and (
        outcome.repeatable == all(each == hashes[place // repeat * repeat]
                                  for place, each in enumerate(hashes)))


def _untouched(outcome: RunSuccess) -> bool:
    case, repeat = outcome.request.case, max(1, outcome.request.repeat)
    try:
        for place, path in enumerate(outcome.output_paths):
            array = store.load(path)
            sets = array if case.set_count > 1 else array[None]
            if len(sets) != case.set_count or any(
                    digest(each) != outcome.output_hashes[number * repeat][place]
                    for number, each in enumerate(sets)):
                return False
    except (OSError, ValueError, IndexError):  # no .npy, cut off, or an edited record
        return False
    return len(outcome.output_paths) == len(case.outputs)
