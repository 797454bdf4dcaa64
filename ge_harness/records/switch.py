"""Switches of compilers and the setting of one run."""

from __future__ import annotations

from dataclasses import dataclass

FAMILIES = (
    "graph_fusion", "ub_fusion", "optimization", "autofuse", "node", "grappler",
    "hlo_pass", "xla_flag", "ge", "ge_option", "emulator",
)


@dataclass(frozen=True)
class Switch:
    """The control of one pass or option, spelled as the compiler spells it.

    Attributes:
        family: one of `FAMILIES`; some names exist in two families.
        name: the compiler's own name.
    """

    family: str
    name: str


@dataclass(frozen=True)
class SwitchValue:
    """A switch that takes a value instead of on and off."""

    switch: Switch
    value: str


@dataclass(frozen=True)
class SwitchSetting:
    """The switches of one run; everything not named keeps the compiler's default.

    Attributes:
        level: "O0", "O1", "O3", or "" for the compiler's default.
        off: switched off.
        on: switched on.
        values: given a value.
    """

    level: str = ""
    off: tuple[Switch, ...] = ()
    on: tuple[Switch, ...] = ()
    values: tuple[SwitchValue, ...] = ()


@dataclass(frozen=True)
class SwitchEffect:
    """What became of one switch of a run.

    Attributes:
        switch: the switch.
        asked: "off", "on" or the value asked for.
        status: "proved" (seen to act in the compiler's own output), "no_target" (the
            name is known, this graph gives it nothing to do), "unknown" (the name never
            occurs in what the compiler wrote) or "unproved".
        evidence: where that was read.
    """

    switch: Switch
    asked: str
    status: str
    evidence: str


@dataclass(frozen=True)
class ActivePass:
    """A pass that changed the graph, and how that is known.

    A pass is identified by family and name together.

    Attributes:
        family: one of `FAMILIES`.
        name: the compiler's own name.
        stage: the stage or pipeline it ran in, "" where unknown.
        precision_class: "upcast", "instruction", "accumulation", "algorithm", "mixed",
            "none", or "unknown" where the catalogue does not know the pass.
        certainty: how certain the class is: "certain", "likely", "guess" or "unknown".
        evidence: what shows that the pass acted, with its source.
        switch_off: how to switch it off, "" where nothing does.
        dtypes: dtypes of the tensors it touched, sorted.
        ops: op types it touched, sorted.
        match_times: how often it matched; None where nothing counted.
        effect_times: how often it changed something; None where nothing counted.
        level: optimization level the pass belongs to, "" where it has none.
    """

    family: str
    name: str
    stage: str
    precision_class: str
    certainty: str
    evidence: str
    switch_off: str
    dtypes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    match_times: int | None = None
    effect_times: int | None = None
    level: str = ""
