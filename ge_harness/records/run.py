"""Requests to run a case on a backend, and what came of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ge_harness.records.switch import ActivePass, SwitchEffect, SwitchSetting
from ge_harness.records.tensor import Case


class Mode(enum.Enum):
    """How a backend executes the graph."""

    WHOLE = "whole"
    """The graph as one compilation."""
    NODEWISE = "nodewise"
    """The same compiler with the same switches, one node at a time."""


class FailureKind(enum.Enum):
    """The closed list of ways in which a run gives no outputs."""

    UNAVAILABLE = "unavailable"
    NOT_OFFLOADED = "not_offloaded"
    INVALID_SWITCH = "invalid_switch"
    UNKNOWN_SWITCH = "unknown_switch"
    BUILD = "build"
    COMPILE = "compile"
    RUN = "run"
    TIMEOUT = "timeout"
    CRASH = "crash"
    KILLED = "killed"
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    GARBAGE = "garbage"


@dataclass(frozen=True)
class RunRequest:
    """One configuration to be compiled once and executed on every set of a case.

    Attributes:
        case: the graph and its inputs.
        backend: name of the backend.
        mode: whole graph or node by node.
        setting: the switches.
        timeout_s: limit on the worker's wall time, in seconds.
        want_dumps: whether the compiler is asked for its dumps.
        repeat: executions of each set; two at least, or repeatability is unknown.
        threads: size of every thread pool the backend has a control for.
        cold: a fresh process is wanted, never one forked from a warm worker.
        options: further backend options as sorted (name, value) pairs, e.g.
            ("chip", "910b"), ("grappler", "on").
    """

    case: Case
    backend: str
    mode: Mode = Mode.WHOLE
    setting: SwitchSetting = SwitchSetting()
    timeout_s: float = 600.0
    want_dumps: bool = True
    repeat: int = 2
    threads: int = 2
    cold: bool = False
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Environment:
    """What a run ran on, versions as strings ("" where absent).

    Attributes:
        python: version of the interpreter of the worker.
        numpy: version of NumPy.
        tensorflow: version of TensorFlow.
        npu_bridge: version of the Ascend adapter.
        cann: version of the Ascend toolkit.
        platform: operating system and machine.
        cpu_model: name of the processor.
        cpu_flags: instruction sets that can change results (fma, avx2, avx512f ...).
        variables: environment variables that can change results, as the worker had
            them, sorted (name, value).
        removed: variables that were taken out before the worker started, with the
            value they had, sorted.
        threads: (pool, size) pairs as set.
        route: how the backend executed, e.g. "tf.function", "v1 session".
        onednn: whether TensorFlow used oneDNN kernels: "on", "off" or "not built in"
            (the stack's own choice, never forced); "" where TensorFlow was not used.
    """

    python: str
    numpy: str
    tensorflow: str = ""
    npu_bridge: str = ""
    cann: str = ""
    platform: str = ""
    cpu_model: str = ""
    cpu_flags: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    removed: tuple[tuple[str, str], ...] = ()
    threads: tuple[tuple[str, int], ...] = ()
    route: str = ""
    onednn: str = ""


@dataclass(frozen=True)
class RunSuccess:
    """A run that gave every output.

    Attributes:
        request: what was asked.
        output_paths: one .npy an output port, laid out as `Case` says.
        output_hashes: for each execution, in the order set 0 repeat 0, set 0 repeat 1,
            ..., the MD5 of each output's bytes.
        repeatable: every repeat of every set gave the same bytes.
        dump_dir: folder of the compiler's dumps, "" where there are none.
        passes: the passes that were active.
        effects: what became of each switch that was asked for.
        sent: the options as sent to the compiler, (name, value) sorted.
        artifact_hashes: (name, sha256) of what the compiler produced, sorted.
        duration_s: wall time of the worker, in seconds.
        environment: what it ran on.
        notes: sentences a reader must know (e.g. "fetched through an Identity").
    """

    request: RunRequest
    output_paths: tuple[str, ...]
    output_hashes: tuple[tuple[str, ...], ...]
    repeatable: bool
    dump_dir: str
    passes: tuple[ActivePass, ...]
    effects: tuple[SwitchEffect, ...]
    sent: tuple[tuple[str, str], ...]
    artifact_hashes: tuple[tuple[str, str], ...]
    duration_s: float
    environment: Environment
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFailure:
    """A run that gave no outputs.

    Attributes:
        request: what was asked.
        kind: the named way in which it failed.
        message: one line: what was attempted, what happened, the way out.
        exit_code: exit status of the worker (negative: signal), None if it never began.
        log_path: the worker's log, "" where there is none.
        duration_s: wall time until the failure, in seconds.
    """

    request: RunRequest
    kind: FailureKind
    message: str
    exit_code: int | None
    log_path: str
    duration_s: float = 0.0
