"""The contract of a backend: what compiles a case and executes it.

A backend runs inside a worker process (`worker/child.py`), except for `probe`,
`switches` and `environment`, which the parent calls and which therefore never import
TensorFlow. The child does the rest: it loops over sets and repeats, hashes, stores,
times and turns exceptions into outcomes, so a backend holds no I/O of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Mapping

import numpy as np

from ge_harness.records.run import Environment, FailureKind, RunRequest
from ge_harness.records.switch import ActivePass, Switch, SwitchEffect


@dataclass(frozen=True)
class Probe:
    """Whether a backend is usable here.

    Attributes:
        usable: it can be asked to run.
        reason: why not, or what was found ("TensorFlow 2.21.0").
        checks: (what, found, "ok" | "warn" | "fail", how to mend it) rows for `doctor`.
    """

    usable: bool
    reason: str
    checks: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What a backend can say of a compilation once it has been executed.

    Attributes:
        passes: the active passes.
        effects: what became of each switch asked for.
        artifact_hashes: (name, sha256) of what the compiler produced, sorted.
        sent: options as the compiler got them, sorted (name, value).
        route: how it executed ("tf.function", "v1 session", ...).
        notes: sentences a reader must know.
    """

    passes: tuple[ActivePass, ...] = ()
    effects: tuple[SwitchEffect, ...] = ()
    artifact_hashes: tuple[tuple[str, str], ...] = ()
    sent: tuple[tuple[str, str], ...] = ()
    route: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Announcement:
    """What a run would send, known before it happens.

    Attributes:
        sent: options as the compiler would get them, sorted (name, value).
        warnings: sentences that must be said before the run.
    """

    sent: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()


class BackendFailure(Exception):  # noqa: N818 - the house calls it a failure
    """A run that the backend itself gives up, with its kind.

    Caught by the child and stored as a `RunFailure`.
    """

    def __init__(self, kind: FailureKind, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class Compiled:
    """A case made ready by a backend; executed many times, then asked for evidence.

    Attributes:
        float64_outputs: float outputs come as float64 whatever the port's dtype, as the
            reference's do.
    """

    float64_outputs = False

    def execute(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run once.

        Args:
            inputs: port name -> array of the port's shape (uint16 bits for bfloat16).

        Returns:
            port name -> array (uint16 bits for bfloat16).
        """
        raise NotImplementedError

    def evidence(self) -> Evidence:
        """Return what the compiler's own output says; called once, after execution."""
        return Evidence()


class Backend:
    """What compiles and runs a case.

    Attributes:
        name: as on the command line.
        label: the honest label that stands in every report.
        emulated: its numbers are a model's, not a compiler's or a device's.
        warm: its runs may be forked from a process that has TensorFlow imported.
    """

    name = ""
    label = ""
    emulated = False
    warm = True

    def probe(self) -> Probe:
        """Say whether it is usable here; never raises, imports no TensorFlow."""
        raise NotImplementedError

    def switches(self) -> tuple[Switch, ...]:
        """Return what the backend can turn on and off by name."""
        return ()

    def describe(self, environment: Environment | None) -> tuple[str, bool]:
        """Return the label of a run's figures and whether they are emulated.

        Args:
            environment: what the run ran on, None where it gave no outputs.
        """
        return self.label, self.emulated

    def announce(self, request: RunRequest) -> Announcement:
        """Return what a run would send and what must be said before it; no I/O.

        Raises:
            SwitchError: a switch of the request cannot be sent by this backend.
        """
        return Announcement()

    def environment(self, request: RunRequest, job_dir: Path) -> dict[str, str]:
        """Return the variables the worker needs before its compiler is first used.

        Args:
            request: what will be run.
            job_dir: the job's folder; dumps go to job_dir / "dumps".

        Raises:
            SwitchError: a switch of the request cannot be sent by this backend.
        """
        return {}

    def compile(self, request: RunRequest, job_dir: Path) -> Compiled:
        """Make the case ready (in the child).

        Raises:
            BackendFailure: it cannot be built or compiled.
        """
        raise NotImplementedError
