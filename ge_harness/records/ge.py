"""What a run on GE is to be: options, environment and files, before it happens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GeRequest:
    """What a run wants of GE besides its switches.

    Attributes:
        preset: a name of `ge_level.PRESETS`, "" for none.
        chip: "910b", "950" or "" (for the checks of the AutoFuse strings only).
        device: logical id of the device.
        graph_dumps: graph dumps are wanted.
        data_dump: "" for none, else "tensor" or "stats".
        collect: a diagnostic run with NPU_COLLECT_PATH; its numbers are not compared.
        nodewise: the base line: one operator a session run, level O1, AUTOFUSE_FLAGS
            unset.
        grappler: TensorFlow's own rewriting stays on, as in a user's script.
        bfloat16: every floating-point input of the graph is bfloat16.
    """

    preset: str = ""
    chip: str = ""
    device: int = 0
    graph_dumps: bool = True
    data_dump: str = ""
    collect: bool = False
    nodewise: bool = False
    grappler: bool = False
    bfloat16: bool = False


@dataclass(frozen=True)
class GePlan:
    """Everything that a GE worker sends, sets and writes.

    Attributes:
        route: "tf1", "tf2_session" or "tf2_native".
        level: the level as sent, "O1" or "O3".
        options: adapter options, sorted (name, value); a bool goes to the `.b` arm, an
            int to `.i`, a str to `.s` of the session config.
        ge_options: what GE should then hold, sorted (GE's name, text), for the
            read-back from the dumps.
        environment: variables to set, sorted.
        removed: variables to take out, sorted (name, reason).
        folders: absolute folders that must exist first.
        files: (absolute path, text) to write first.
        literal_graph: TensorFlow's own rewriting is to be switched off.
        asked: the request in (name, value) pairs, sorted.
        sent: what goes out, in (name, value) pairs, sorted.
        warnings: what must be said before the run.
        notes: what a reader of the result must know.
    """

    route: str
    level: str
    options: tuple[tuple[str, bool | int | str], ...]
    ge_options: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    removed: tuple[tuple[str, str], ...]
    folders: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    literal_graph: bool
    asked: tuple[tuple[str, str], ...]
    sent: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
