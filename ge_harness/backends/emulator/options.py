"""What one compilation goes by, read from what GE would be sent, and who is on.

The readers are those of the ge backend: the same strings give the same settings.

Source: reference: ge_optimization.md sections 3 and 5; autofuse_flags.md section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from ge_harness.backends.emulator.autofuse.specs import CHIPS, AutoFuseOptions
from ge_harness.catalogue import passes
from ge_harness.errors import UnknownNameError
from ge_harness.records.ge import GePlan
from ge_harness.switches.autofuse_config import AutofuseConfig, read_config
from ge_harness.switches.autofuse_keys import DFX_FLAGS, FLAGS
from ge_harness.switches.fusion_switch import (
    ALL,
    FusionSwitch,
    parse_fusion_switch,
    parse_optimization_switch,
)
from ge_harness.switches.ge_level import EXCEPTIONAL
from ge_harness.switches.skip_node_names import (
    SkipNodeNames,
    parse_skip,
    read_skip_file,
)

_FOLDING_GROUP = frozenset((
    "ConstantFoldingPass", "DimensionAdjustPass", "DimensionComputePass",
    "ReplaceWithEmptyConstPass", "PotentialConstTakenEffectPass"))
_LEVELS = ("O0", "O1", "O2", "O3")
_FORBIDDEN_CLOSE = "forbidden_close_pass"
CLOSED_PATTERNS = frozenset((
    "LayerNormFusionPass", "SoftmaxFusionPass", "GeluFusionPass"))
"""Patterns whose code is closed: off here unless a switch names them."""


@dataclass(frozen=True)
class CompileOptions:
    """One compilation.

    Attributes:
        chip: "910b" or "950".
        level: as sent, "O1" or "O3".
        switches: name -> on, from ge.optimizationSwitch.
        constant_folding: ge.oo.constantFolding.
        fusion_switch: the switch file.
        autofuse: what both AutoFuse variables hold.
        skip: operators that AutoFuse leaves alone.
        warnings: what the readers had to say.
        bf16_pointwise: parameter of the model; None: as the chip has it.
        drop_cast_pairs: parameter of the model: AutoFuse's CastRemovePass acts.
    """

    chip: str = "910b"
    level: str = "O3"
    switches: tuple[tuple[str, bool], ...] = ()
    constant_folding: bool = True
    fusion_switch: FusionSwitch = FusionSwitch()  # noqa: RUF009  # frozen, empty
    autofuse: AutofuseConfig = AutofuseConfig()  # noqa: RUF009  # frozen, defaults
    skip: SkipNodeNames = SkipNodeNames()  # noqa: RUF009  # frozen, empty
    warnings: tuple[str, ...] = ()
    bf16_pointwise: bool | None = None
    drop_cast_pairs: bool = True

    def autofuse_options(self) -> AutoFuseOptions:
        """Return what AutoFuse itself goes by."""
        return AutoFuseOptions(
            CHIPS[self.chip], self.autofuse.passes,
            self.autofuse.recomputation_threshold, self.autofuse.max_fusion_size,
            self.autofuse.precision_blacklist, self.autofuse.disable_lifting,
            self.skip.types, self.skip.names, self.bf16_pointwise)


def from_plan(plan: GePlan, chip: str) -> CompileOptions:
    """Return the options of a compilation from what GE would be sent.

    Raises:
        UnknownNameError: no such chip.
        SwitchError: a switch file that GE refuses.
        UsageError: a skip file that cannot be read.
    """
    if chip not in CHIPS:
        raise UnknownNameError("chip", chip, CHIPS)
    held = dict(plan.ge_options)
    files = dict(plan.files)
    tokens = parse_optimization_switch(held.get("ge.optimizationSwitch", ""))
    switches = {token.name: token.on for token in tokens if not token.lost}
    path = held.get("ge.fusionSwitchFile", "")
    switch = parse_fusion_switch(files[path], path) if path in files else FusionSwitch()
    variables = dict(plan.environment)
    config = read_config(variables.get(FLAGS, ""), variables.get(DFX_FLAGS, ""))
    skip, warnings = _skip(config.skip_file, files)
    folding = held.get("ge.oo.constantFolding", "true") in ("", "true")
    return CompileOptions(chip, plan.level, tuple(sorted(switches.items())), folding,
                          switch, config, skip, warnings)


def _skip(path: str, files: Mapping[str, str]
          ) -> tuple[SkipNodeNames, tuple[str, ...]]:
    if not path:
        return SkipNodeNames(), ()
    return parse_skip(files[path]) if path in files else read_skip_file(path)


def is_on(options: CompileOptions, family: str, name: str) -> bool:
    """Say whether a pass runs."""
    switches = dict(options.switches)
    if family == "graph_fusion":
        return _engine_is_on(options, switches, name)
    if name in switches:
        return switches[name]
    if name in _FOLDING_GROUP:
        return options.constant_folding
    info = passes.lookup(family, name)
    if info is None or info.level not in _LEVELS:
        return False
    return _LEVELS.index(info.level) <= _LEVELS.index(options.level)


def _engine_is_on(options: CompileOptions, switches: Mapping[str, bool],
                  name: str) -> bool:
    """Apply the fusion engine's order of decisions."""
    if name in switches:
        return switches[name]
    states = dict(options.fusion_switch.graph)
    if name in CLOSED_PATTERNS and not states.get(name, False):
        return False
    if name in EXCEPTIONAL or name in options.fusion_switch.exceptional:
        return True
    info = passes.lookup("graph_fusion", name)
    forbidden = info is not None and "level O1 and the switch file do not stop it" in (
        info.switch_off)
    if forbidden:
        return switches.get(_FORBIDDEN_CLOSE, True)
    if options.level == "O1":
        return False
    if name in states:
        return states[name]
    if ALL in states:
        return states[ALL]
    return info is None or not info.switch_off.startswith("off by default")
