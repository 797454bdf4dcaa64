"""Which of Grappler's optimizers changed the graph, and what became of switches.

An optimizer is active when the graph that ran is another without it. That is found by
running again with it off; where a run takes too long, from the names Grappler gives to
its nodes, which is weaker evidence and said to be.
"""

from __future__ import annotations

import hashlib
from typing import Any, Callable, NamedTuple, Sequence

from ge_harness import catalogue
from ge_harness.backends import graph_structure
from ge_harness.backends.base import BackendFailure
from ge_harness.backends.grappler_program import Ran
from ge_harness.records.switch import ActivePass, Switch, SwitchEffect, SwitchSetting
from ge_harness.switches import grappler_options

# What the optimizers call the nodes they make.
# Source: tensorflow/core/grappler/optimizers, AddPrefixToNodeName of each optimizer.
_PREFIXES = (
    ("ArithmeticOptimizer", "arithmetic_optimization"),
    ("ConstantFolding", "constant_folding"),
    ("LayoutOptimizer", "layout_optimizer"),
    ("LoopOptimizer", "loop_optimization"),
    ("DependencyOptimizer", "dependency_optimization"),
    ("Remapper", "remapping"),
)
_SEVERAL = "(several together)"
# Ops that hand values on: a change of nothing else cannot change a value.
_HANDED_ON = frozenset(("Identity", "IdentityN", "NoOp"))


class Found(NamedTuple):
    """What is known of the optimizers of a run.

    Attributes:
        passes: those that were active.
        effects: what became of each switch.
        notes: sentences a reader must know.
    """

    passes: tuple[ActivePass, ...] = ()
    effects: tuple[SwitchEffect, ...] = ()
    notes: tuple[str, ...] = ()


Again = Callable[..., Ran]


def find(setting: SwitchSetting, version: str, ran: Ran, again: Again | None) -> Found:
    """Find the active optimizers of a run.

    Args:
        setting: the switches of the run.
        version: version of TensorFlow.
        ran: the run.
        again: runs with one more optimizer off (`also_off`) or on (`also_on`); None
            where that takes too long.
    """
    if not ran.after:
        return Found(notes=("TensorFlow gave no graph of this run: nothing is known of "
                            "its optimizers",))
    after = graph_structure.of(ran.after)
    before = graph_structure.of(ran.before) if ran.before else None
    whole = graph_structure.difference(before, after) if before is not None else None
    notes = _kernel_note(after, ran)
    if again is None:
        named = _by_name(ran, whole)
        notes += ("a run takes too long to find the optimizers by running again; they "
                  "are told by the names of nodes",)
        return Found(named, unproved(setting, "not run again: too slow"), notes)
    passes: tuple[ActivePass, ...] = ()
    if whole is not None or before is None:
        passes = _by_running(setting, version, after, again)
    if whole is not None and not passes:
        passes = (_pass(_SEVERAL, whole, "the graph that ran differs from the one "
                        "Grappler got, whichever single optimizer is off"),)
    return Found(passes, _effects(setting, after, again), notes)


def unproved(setting: SwitchSetting, why: str) -> tuple[SwitchEffect, ...]:
    """Return the effects of switches that nothing was done to prove."""
    return tuple(SwitchEffect(switch, asked, "unproved", why)
                 for asked, chosen in (("off", setting.off), ("on", setting.on))
                 for switch in chosen)


def _by_running(setting: SwitchSetting, version: str, after: graph_structure.Structure,
                again: Again) -> tuple[ActivePass, ...]:
    found = []
    for name in grappler_options.active(setting, version):
        try:
            without = graph_structure.of(again(also_off=name).after)
        except BackendFailure:
            continue
        change = graph_structure.difference(without, after)
        if change is not None:
            found.append(_pass(name, change, "the graph that ran has other nodes when "
                               "it is off"))
    return tuple(found)


def _by_name(ran: Ran, whole: graph_structure.Change | None) -> tuple[ActivePass, ...]:
    if whole is None:
        return ()
    old = {node.name for node in ran.before}
    new = [node for node in ran.after if node.name not in old]
    found = []
    for prefix, name in _PREFIXES:
        own = [node for node in new if prefix in node.name]
        if own:
            made = graph_structure.difference(
                graph_structure.of(()), graph_structure.of(own))
            if made is not None:
                found.append(_pass(
                    name, made, f"{len(own)} nodes carry its prefix {prefix}/"))
    if not found:
        found.append(_pass(_SEVERAL, whole, "the graph that ran differs from the one "
                           "Grappler got"))
    return tuple(found)


def _pass(name: str, change: graph_structure.Change, how: str) -> ActivePass:
    info = catalogue.lookup(grappler_options.FAMILY, name)
    described = graph_structure.describe(change)
    unknown = ("none", "certain") if set(change.ops) <= _HANDED_ON else (
        "unknown", "unknown")
    return ActivePass(
        grappler_options.FAMILY, name, "graph optimization",
        info.precision_class if info else unknown[0],
        info.certainty if info else unknown[1], f"{how}: {described}",
        info.switch_off if info else "", change.dtypes, change.ops)


def _effects(setting: SwitchSetting, after: graph_structure.Structure,
             again: Again) -> tuple[SwitchEffect, ...]:
    found = [_effect(switch, "off", after, again) for switch in setting.off]
    found += [_effect(switch, "on", after, again) for switch in setting.on]
    return tuple(found)


def _effect(switch: Switch, asked: str, after: graph_structure.Structure,
            again: Again) -> SwitchEffect:
    try:
        other = again(**{"also_on" if asked == "off" else "also_off": switch.name})
    except BackendFailure as failure:
        return SwitchEffect(switch, asked, "proved",
                            f"without the switch the run fails: {failure}")
    change = graph_structure.difference(graph_structure.of(other.after), after)
    if change is None:
        return SwitchEffect(switch, asked, "no_target",
                            "the same graph ran with and without the switch")
    described = graph_structure.describe(change)
    return SwitchEffect(switch, asked, "proved",
                        f"another graph ran without the switch: {described}")


def _kernel_note(after: graph_structure.Structure, ran: Ran) -> tuple[str, ...]:
    change = graph_structure.difference(after, graph_structure.of(ran.executed))
    if change is None or not (change.gone or change.new):
        return ()
    return ("after Grappler TensorFlow chose other kernels: "
            f"{graph_structure.describe(change)}",)


def hashes(ran: Ran) -> tuple[tuple[str, str], ...]:
    """Return the digest of the graph that ran, its names left out."""
    return (("graph that ran", _digest(ran.after)),) if ran.after else ()


def _digest(nodes: Sequence[Any]) -> str:
    structure = graph_structure.of(nodes)
    text = repr(sorted(structure.nodes.items()))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
