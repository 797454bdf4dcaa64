"""--enable-pass and --disable-pass for GE: the mechanism that reaches each name.

GE ignores names it does not know without a word, so names are looked up in the
catalogue first, and what no switch reaches is refused here.

Source: reference: ge_optimization.md sections 3 to 8; ge_passes.tsv (as the catalogue).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ge_harness.catalogue import passes
from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.records.switch import Switch
from ge_harness.switches.fusion_switch import GRAPH, UB
from ge_harness.switches.ge_level import MUST_STAY
from ge_harness.switches.ge_options import TF2_NATIVE

OPTIMIZATION_SWITCH = "optimization_switch"
FUSION_SWITCH_FILE = "fusion_switch_file"
AUTOFUSE = "autofuse_flags"
SKIP_NODE = "skip_node_names_cfg"
FAMILIES = ("ge", "graph_fusion", "ub_fusion", "autofuse")
_ALIASES = {"optimization": "ge", "fe_graph": "graph_fusion", "fe_ub": "ub_fusion",
            "engine": "ge"}
_NAMED = re.compile(r"ge\.optimizationSwitch=([A-Za-z0-9_]+):off")
# The catalogue's switch of a pass where the gate has another name than the pass.
_GATES = {"HostcpuEngineUpdatePass": "HostShapeOptimizationPass"}
FLAG_PASSES = {
    "Lifting": "--disable_lifting", "ImprovePrecisionToFp32":
    "--autofuse_enhance_precision_blacklist"}
"""Parts of AutoFuse that a key of its variables switches."""
_WAY_ROUND = {
    "FeOpDtypeJudge": "give precision_mode_v2 (or precision_mode) instead",
    "Lowering": "leave names out of --autofuse_enable_pass, or give "
    "--max_fusion_size=0",
    "PotentialConstTakenEffectPass": "oo_constant_folding=false takes its effect away",
    "FeDistHeavyFormat": "--opt-level=O1 skips it",
    "aicpu_ops_parallel": "--opt-level=O1 turns it off",
    "tf_op_fussion": "--opt-level=O1 turns it off",
}


@dataclass(frozen=True)
class PassChoice:
    """How one pass is switched.

    Attributes:
        switch: family and name as in the catalogue.
        on: the state asked for.
        mechanism: `OPTIMIZATION_SWITCH`, `FUSION_SWITCH_FILE`, `AUTOFUSE` or
            `SKIP_NODE`.
        name: the name written there (the gate's, where a pass has one).
        kind: "GraphFusion" or "UBFusion" for the switch file, "" otherwise.
        warnings: what a reader must know.
    """

    switch: Switch
    on: bool
    mechanism: str
    name: str
    kind: str = ""
    warnings: tuple[str, ...] = ()


def resolve_switch(text: str) -> Switch:
    """Return the pass that NAME or FAMILY:NAME means.

    Raises:
        UnknownNameError: the catalogue has no such pass of GE.
        SwitchError: the name exists in several families.
    """
    family, colon, name = text.partition(":")
    if not colon:
        family, name = "", text
    return _resolve(_ALIASES.get(family, family), name)


def _resolve(family: str, name: str) -> Switch:
    if family == "node":
        return Switch(family, name)
    if family and family not in FAMILIES:
        raise UnknownNameError("family of passes of GE", family, FAMILIES + ("node",))
    found = [info for info in passes.named(name) if info.family in FAMILIES
             and family in ("", info.family)]
    exact = [info for info in found if info.name == name] or found
    if not exact:
        known = [info.name for info in passes.everything() if info.family in FAMILIES
                 and family in ("", info.family)]
        raise UnknownNameError(f"pass of GE in {family}" if family else "pass of GE",
                               name, known)
    if len(exact) > 1:
        choices = ", ".join(f"{info.family}:{info.name}" for info in exact)
        raise SwitchError(f"{name} names several passes; write one of {choices}")
    return Switch(exact[0].family, exact[0].name)


def choose(switch: Switch, on: bool, level: str, route: str) -> PassChoice:
    """Return the mechanism that switches a pass.

    Args:
        switch: the pass; an empty family is looked up. Family "node" means an operator
            that AutoFuse leaves alone (its GE name, or "type:" and a GE type).
        on: the state asked for.
        level: "O1" or "O3", as sent.
        route: one of `ge_options.ROUTES`.

    Raises:
        UnknownNameError: no such pass.
        SwitchError: no switch reaches it, or not on this route and level.
    """
    switch = _resolve(_ALIASES.get(switch.family, switch.family), switch.name)
    if switch.family == "node":
        return _node(switch, on)
    info = passes.lookup(switch.family, switch.name)
    text = info.switch_off if info else ""
    if switch.name in FLAG_PASSES and switch.family == "autofuse":
        if on:
            raise SwitchError(f"autofuse:{switch.name} is on by default; leave "
                              f"{FLAG_PASSES[switch.name]} out of the flags")
        return PassChoice(switch, on, AUTOFUSE, FLAG_PASSES[switch.name])
    match = _NAMED.search(text)
    name = _GATES.get(switch.name) or (match.group(1) if match else "")
    if not name or text.startswith(("no switch", "not established")):
        raise SwitchError(_refusal(switch, text))
    warnings = _warnings(switch, name, on, text)
    if switch.family in ("graph_fusion", "ub_fusion"):
        return _fusion(PassChoice(switch, on, OPTIMIZATION_SWITCH, name,
                                  GRAPH if switch.family == "graph_fusion" else UB,
                                  warnings), text, level, route)
    if route == TF2_NATIVE:
        warnings += (_native_warning(name),)
    return PassChoice(switch, on, OPTIMIZATION_SWITCH, name, "", warnings)


def _node(switch: Switch, on: bool) -> PassChoice:
    if on:
        raise SwitchError(f"operators are in AutoFuse unless switched off; found "
                          f"node:{switch.name} to be switched on")
    return PassChoice(switch, on, SKIP_NODE, switch.name)


def _refusal(switch: Switch, text: str) -> str:
    way = _WAY_ROUND.get(switch.name, "")
    if not way and "only via AUTOFUSE_FLAGS" in text:
        way = "it runs only while AUTOFUSE_FLAGS opens the gate; leave that unset"
    if not way and switch.family == "autofuse":
        way = "--disable-pass=AutoFusePass stops AutoFuse as a whole"
    reason = text.split(";")[0] or "the catalogue knows no switch"
    return (f"no switch reaches {switch.family}:{switch.name} ({reason})"
            + (f"; {way}" if way else ""))


def _fusion(choice: PassChoice, text: str, level: str, route: str) -> PassChoice:
    """Switch string or switch file for a pass of the fusion engine."""
    name = choice.name
    twins = [info for info in passes.named(name)
             if info.family in ("graph_fusion", "ub_fusion") and info.name == name]
    file_reaches = "ge.fusionSwitchFile" in text
    if route != TF2_NATIVE and len(twins) < 2:
        return choice
    if file_reaches and (level == "O3" or not choice.on):
        return PassChoice(choice.switch, choice.on, FUSION_SWITCH_FILE, name,
                          choice.kind, choice.warnings)
    if route != TF2_NATIVE:
        return PassChoice(
            choice.switch, choice.on, OPTIMIZATION_SWITCH, name, choice.kind,
            choice.warnings + (f"{name} exists for graph and UB fusion; at level "
                               f"{level} the switch opens both",))
    return PassChoice(choice.switch, choice.on, OPTIMIZATION_SWITCH, name, choice.kind,
                      choice.warnings + (_native_warning(name),))


def _native_warning(name: str) -> str:
    return (f"{name}: on the native npu_device route GE may not see "
            "optimization_switch (the session's own value hides it); the session route "
            "is dependable")


def _warnings(switch: Switch, name: str, on: bool, text: str) -> tuple[str, ...]:
    found = []
    if not on and name in MUST_STAY:
        found.append(f"{name} off may break the compile or the result: "
                     f"{MUST_STAY[name]}")
    elif not on and "functional risk" in text:
        found.append(f"{name} off is a functional risk by the vendor's own account")
    if name != switch.name:
        found.append(f"{switch.name} is switched by its gate {name}")
    if not on and text.startswith("off by default"):
        found.append(f"{name} is off by default; switching it off changes nothing "
                     "where the installation keeps that default")
    return tuple(found)


def pair_warnings(off: frozenset[str]) -> tuple[str, ...]:
    """Return warnings about passes that should be off together or not at all.

    Args:
        off: every name that is switched off.
    """
    found = []
    dead_branch = {"SwitchDeadBranchElimination", "CondRemovePass"}
    if "MergePass" in off and dead_branch - off:
        found.append("MergePass is off while a dead-branch pass is on")
    if len(off & {"ReshapeRemovePass", "ReshapeRecoveryPass"}) == 1:
        found.append("ReshapeRemovePass and ReshapeRecoveryPass act as a pair; one of "
                     "them is off")
    if "PrunePass" in off and "TransOpSymmetryEliminationPass" not in off:
        found.append("PrunePass is off while TransOpSymmetryEliminationPass leaves "
                     "dead nodes for it")
    return tuple(found)
