"""The passes of the model that a switch reaches, as the catalogue spells them."""

from __future__ import annotations

from ge_harness.backends.emulator.pipeline import AUTOFUSE, passes_of_the_model
from ge_harness.catalogue import passes
from ge_harness.records.switch import Switch

_BY_FLAG = ("Lifting", "ImprovePrecisionToFp32")


def switches() -> tuple[Switch, ...]:
    """Return every switch that can change what the model compiles, in order."""
    names = dict.fromkeys((*passes_of_the_model(), ("ge", AUTOFUSE)))
    found = [Switch(*each) for each in names if _is_reached(*each)]
    return (*found, *(Switch("autofuse", name) for name in _BY_FLAG))


def _is_reached(family: str, name: str) -> bool:
    info = passes.lookup(family, name)
    return info is not None and not info.switch_off.startswith(
        ("no switch", "not established"))
