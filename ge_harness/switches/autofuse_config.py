"""AutoFuse settings as objects: what GE would hold, and strings built from it.

`AutofuseConfig` is what the readers hold of both variables at once (the emulator runs
on it); `AutofuseConfig.strings` writes the two variables canonically, refusing what the
product would only warn about in its log.

Source: reference: autofuse_flags.md sections 3 to 6, 9 and 12.
"""

from __future__ import annotations

from dataclasses import dataclass

from ge_harness.switches import autofuse_checks as checks
from ge_harness.switches import autofuse_readers as readers
from ge_harness.switches.autofuse_flags import check_flags
from ge_harness.switches.autofuse_keys import (
    BLACKLIST,
    DFX_FLAGS,
    DISABLE_PASS,
    ENABLE_PASS,
    FLAGS,
    GATE,
    KEYS,
    LIFTING,
    SKIP_FILE,
    keys_of,
)


@dataclass(frozen=True)
class AutofuseConfig:
    """The settings of AutoFuse in one process.

    Attributes:
        enabled: the gate is open.
        passes: kinds of fusion that are on besides elementwise, in table order.
        recomputation_threshold: readers above which a value is stored.
        max_fusion_size: operations in one fused kernel.
        precision_blacklist: AscIR types, or "all".
        disable_lifting: fused nodes are never turned back.
        skip_file: path of the skip_node_names_cfg file, "" for none.
        extra: (key, value) of every other key that is set, in canonical order.
    """

    enabled: bool = False
    passes: tuple[str, ...] = ()
    recomputation_threshold: int = 1
    max_fusion_size: int = 64
    precision_blacklist: tuple[str, ...] = ()
    disable_lifting: bool = False
    skip_file: str = ""
    extra: tuple[tuple[str, str], ...] = ()

    def strings(self, chip: str = "") -> tuple[str, str]:
        """Return the values of AUTOFUSE_FLAGS and AUTOFUSE_DFX_FLAGS.

        Args:
            chip: "910b", "950" or "", for the checks.

        Raises:
            SwitchError: a string would not do what it says.
        """
        flags = _join({
            GATE: "true" if self.enabled else "",
            ENABLE_PASS: ",".join(self.passes),
            "--recomputation_threshold": _unless(self.recomputation_threshold, 1),
            "--max_fusion_size": _unless(self.max_fusion_size, 64),
            BLACKLIST: ",".join(self.precision_blacklist),
            **{name: value for name, value in self.extra
               if name not in KEYS or KEYS[name].variable == FLAGS},
        })
        dfx = _join({
            LIFTING: "true" if self.disable_lifting else "",
            SKIP_FILE: self.skip_file,
            **{name: value for name, value in self.extra
               if name in KEYS and KEYS[name].variable == DFX_FLAGS},
        })
        check_flags(flags, FLAGS, chip)
        check_flags(dfx, DFX_FLAGS, chip)
        return flags, dfx


def read_config(flags: str, dfx: str = "") -> AutofuseConfig:
    """Return what GE's readers hold of the two variables; every string is answered.

    Args:
        flags: the value of AUTOFUSE_FLAGS, "" where unset.
        dfx: the value of AUTOFUSE_DFX_FLAGS, "" where unset.
    """
    held = {**_held(FLAGS, flags), **_held(DFX_FLAGS, dfx)}
    cancelled = held.pop(DISABLE_PASS, "").split(",")
    passes = tuple(name for name in held.pop(ENABLE_PASS, "").split(",")
                   if name and name not in cancelled)
    blacklist = held.pop(BLACKLIST, "")
    return AutofuseConfig(
        enabled=held.pop(GATE, "") == "true", passes=passes,
        recomputation_threshold=int(held.pop("--recomputation_threshold", "1")),
        max_fusion_size=int(held.pop("--max_fusion_size", "64")),
        precision_blacklist=tuple(name for name in blacklist.split(",") if name),
        disable_lifting=held.pop(LIFTING, "") == "true",
        skip_file=held.pop(SKIP_FILE, ""), extra=tuple(held.items()))


def why_nothing_fuses(config: AutofuseConfig, level: str, pass_on: bool | None,
                      single_operator: bool = False) -> tuple[str, ...]:
    """Return the reasons for which AutoFuse would fuse nothing at all.

    Args:
        config: what the variables hold.
        level: "O1", "O3" or "" (O3), as sent to GE.
        pass_on: what optimization_switch says of AutoFusePass; None where it is silent.
        single_operator: the graph carries GE's single-operator attribute.
    """
    if not config.enabled:
        return (f"the gate is closed: {FLAGS} does not hold {GATE}=true",)
    found = []
    if pass_on is False:
        found.append("AutoFusePass is switched off by name (its preparation and "
                     "clean-up of the graph still run)")
    elif level == "O1" and pass_on is None:
        found.append("AutoFusePass belongs to level O3 and the level sent is O1; "
                     "--enable-pass=AutoFusePass switches it on there (its "
                     "preparation of the graph runs in any case)")
    if config.max_fusion_size == 0:
        found.append("--max_fusion_size=0 leaves every operator unfused")
    if single_operator:
        found.append("the graph is a single-operator graph, which AutoFuse skips")
    return tuple(found)


def pair_warnings(flags: str, dfx: str) -> tuple[str, ...]:
    """Return what only both variables together show to be without effect.

    Args:
        flags: the value of AUTOFUSE_FLAGS, "" where unset.
        dfx: the value of AUTOFUSE_DFX_FLAGS, "" where unset.
    """
    there = _held(FLAGS, flags)
    found = []
    for name in _held(DFX_FLAGS, dfx):
        other, value = KEYS[name].needs_elsewhere
        if other and there.get(other) != value:
            found.append(f"{name} has no effect: {FLAGS} does not hold {other}={value}")
    return tuple(found)


def _held(variable: str, text: str) -> dict[str, str]:
    readings = readers.read_all(variable, text)
    held = {}
    for key in keys_of(variable):
        reading = readings[key.owner].get(key.name)
        if reading is not None:
            held[key.name] = checks.in_effect(key, key.owner, reading[1])[0]
    return held


def _unless(value: int, default: int) -> str:
    return "" if value == default else str(value)


def _join(values: dict[str, str]) -> str:
    order = {name: place for place, name in enumerate(KEYS)}
    names = sorted((name for name, value in values.items() if value),
                   key=lambda name: order.get(name, len(order)))
    return ";".join(f"{name}={values[name]}" for name in names)
