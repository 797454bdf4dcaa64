"""What a run was asked for, free of argparse."""

from __future__ import annotations

from dataclasses import dataclass

from ge_harness.records.switch import SwitchSetting


@dataclass(frozen=True)
class RunOptions:
    """One subgraph on one backend.

    Attributes:
        source: name of a shipped subgraph, or a file or folder.
        backend: name of the candidate's backend.
        baselines: base lines in order; the verdict is against the first.
        dtype: dtype of the inputs that leave a choice, "" for the subgraph's default.
        size: "desk" or "paper".
        shapes: (input, shape) pairs that override the size.
        variants: (name, value) pairs.
        fetch: tensors to fetch, () for the graph's outputs.
        feed: tensors to feed, () for the graph's inputs.
        signature: signature of a SavedModel, "" for its default.
        inputs_path: .npz with the inputs, "" to draw them.
        seed: seed of the first input set.
        sets: number of input sets.
        repeat: executions of each set, at least two.
        threads: size of every thread pool.
        timeout_s: limit on each worker, in seconds.
        standard: the rule that decides.
        setting: switches of the candidate and of the nodewise base line.
        backend_options: further (name, value) pairs for the backend.
        asked: the switches as the user wrote them.
        diagnose: a further run that collects evidence; its numbers are not compared.
        explain: look for what reproduces the candidate's bits.
    """

    source: str
    backend: str
    baselines: tuple[str, ...] = ("eager", "nodewise")
    dtype: str = ""
    size: str = "desk"
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    variants: tuple[tuple[str, str], ...] = ()
    fetch: tuple[str, ...] = ()
    feed: tuple[str, ...] = ()
    signature: str = ""
    inputs_path: str = ""
    seed: int = 0
    sets: int = 1
    repeat: int = 2
    threads: int = 2
    timeout_s: float = 600.0
    standard: str = "bits"
    setting: SwitchSetting = SwitchSetting()
    backend_options: tuple[tuple[str, str], ...] = ()
    asked: tuple[tuple[str, object], ...] = ()
    diagnose: bool = False
    explain: bool = False
