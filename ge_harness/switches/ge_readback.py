"""Hold what GE says it holds against what was sent.

Source: reference: tf_adapter.md section 7.3 and tf_adapter_examples.md section 11 (each
ge_proto dump names GraphOptions, SessionOptions and GlobalOptions); ge_optimization.md
section 1 (graph over session over global, each value as a whole).
"""

from __future__ import annotations

from typing import Mapping

from ge_harness.records.ge import GePlan
from ge_harness.records.switch import Switch, SwitchEffect
from ge_harness.switches.fusion_switch import parse_optimization_switch

BLOCKS = ("GlobalOptions", "SessionOptions", "GraphOptions")
"""The attributes of a dump that hold options, the stronger later."""

_SWITCH = "ge.optimizationSwitch"
_SAME = ({"0", "false"}, {"1", "true"})


def held_options(blocks: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the options in effect: graph over session over global.

    Args:
        blocks: name of the block -> {GE's name: value}; other blocks are ignored.
    """
    held: dict[str, str] = {}
    for name in BLOCKS:
        held.update(blocks.get(name, {}))
    return held


def option_effects(plan: GePlan, blocks: Mapping[str, Mapping[str, str]],
                   source: str) -> tuple[SwitchEffect, ...]:
    """Return one effect for each option of the plan that GE has a name for.

    An option is "proved" where GE holds what was sent, "unproved" where it holds
    something else or the dump does not say. The switch string is compared token by
    token, as GE reads it.

    Args:
        plan: what was sent.
        blocks: what a dump holds, as for `held_options`.
        source: the dump, for the evidence.
    """
    held = held_options(blocks)
    effects = []
    for name, asked in plan.ge_options:
        if name not in held:
            evidence, proved = f"{source} does not name {name}", False
        elif name == _SWITCH:
            proved, evidence = _switch(asked, held[name], source)
        else:
            proved = _same(asked, held[name])
            evidence = f"{source}: GE holds {name}={held[name]!r}" + (
                "" if proved else f", sent was {asked!r}")
        effects.append(SwitchEffect(Switch("ge_option", name), asked,
                                    "proved" if proved else "unproved", evidence))
    return tuple(effects)


def mismatches(plan: GePlan, blocks: Mapping[str, Mapping[str, str]], source: str
               ) -> tuple[str, ...]:
    """Return a sentence for each option that GE holds differently from what was sent.

    An option the dump does not name is no mismatch.
    """
    held = held_options(blocks)
    return tuple(effect.evidence for effect in option_effects(plan, blocks, source)
                 if effect.status != "proved" and effect.switch.name in held)


def _switch(asked: str, found: str, source: str) -> tuple[bool, str]:
    wanted, there = _acting(asked), _acting(found)
    missing = sorted(name for name, on in wanted.items() if there.get(name) != on)
    if not missing:
        return True, f"{source}: GE holds {_SWITCH}={found!r}"
    lost = [token.text for token in parse_optimization_switch(found) if token.lost]
    why = f" (lost: {', '.join(lost)})" if lost else ""
    return False, (f"{source}: GE does not hold {', '.join(missing)} of {_SWITCH}; it "
                   f"holds {found!r}{why}")


def _acting(text: str) -> dict[str, bool]:
    return {token.name: token.on for token in parse_optimization_switch(text)
            if not token.lost}


def _same(asked: str, found: str) -> bool:
    return asked == found or any({asked, found} <= words for words in _SAME)
