"""The hypotheses a graph allows, and the states that the search begins from."""

from __future__ import annotations

from typing import Mapping, Sequence

from ge_harness.explain.evidence import Evidence
from ge_harness.explain.policy import (
    ALGORITHM,
    CONTRACTION,
    EDGE,
    KERNEL,
    OWN_DTYPE,
    PRODUCT,
    REASSOCIATION,
    SINGLE,
    STEP,
    SUM,
    TWO_ROUNDINGS,
    Key,
)

Choices = Mapping[Key, "tuple[str, ...]"]
Places = Mapping[Key, Mapping[str, str]]

ON = "on"
_WINDOW = 32
_LONGEST_SUM = 1 << 22
_LONGEST_PRODUCT = 1 << 24


def choices(places: Places, evidence: Evidence, *, kernels: bool) -> Choices:
    """Return the values that each place can take besides none.

    Args:
        places: what the recording policy wrote down.
        evidence: what the compiled program shows.
        kernels: whether kernels can be run.
    """
    found: dict[Key, tuple[str, ...]] = {}
    for key, known in places.items():
        if key.kind == SUM:
            own = (OWN_DTYPE,) if known["dtype"] != "float32" else ()
            found[key] = (*sum_orders(int(known["size"]), evidence),
                          *((SINGLE, *own) if kernels else ()))
        elif key.kind == PRODUCT:
            small = int(known["size"]) <= _LONGEST_PRODUCT
            orders = ("float32, one by one", "float32, one by one, fused")
            own = (OWN_DTYPE,) if known["dtype"] != "float32" else ()
            found[key] = ("float64", *(orders if small else ()),
                          *((SINGLE, *own) if kernels else ()))
        elif key.kind == ALGORITHM:
            found[key] = (TWO_ROUNDINGS,)
        elif key.kind == REASSOCIATION:
            found[key] = ("input 0 last", "input 1 last")
        elif key.kind == KERNEL:
            own = (OWN_DTYPE,) if known["dtype"] != "float32" else ()
            found[key] = (*own, SINGLE) if kernels else ()
        else:
            found[key] = (ON,)
    return {key: values for key, values in found.items() if values}


def sum_orders(size: int, evidence: Evidence) -> tuple[str, ...]:
    """Return accumulators and orders, what the program shows first."""
    shown = [n for n in evidence.windows if n < size]
    orders = _windows(shown) + ["one by one"]
    if not shown and size > _WINDOW:
        orders += _windows([_WINDOW])
    orders += ["halves", "numpy"]
    orders += [f"{n} lanes" for n in (4, 8, 16, 32) if n < size]
    if size > _LONGEST_SUM:
        orders = ["numpy"]
    return (*(f"float32, {order}" for order in orders), "float64, numpy")


def _windows(sizes: Sequence[int]) -> list[str]:
    return [f"windows of {n}{again}" for n in sizes for again in ("", ", again")]


def seeds(found: Choices, places: Places, evidence: Evidence) -> list[dict[Key, str]]:
    """Return the states to begin from: nothing, and what fusing compilers do.

    Roundings that vanish inside a kernel vanish together, and one alone may gain
    nothing, so whole kernels are tried at once.
    """
    sums = {key: values[0] for key, values in found.items() if key.kind == SUM}
    steps = {key: ON for key in found if key.kind == STEP}
    inside = {key: ON for key in found if key.kind in (EDGE, CONTRACTION)
              and evidence.together((key.node, places[key].get("source", "")))}
    edges = {key: ON for key in found if key.kind == EDGE}
    every = {key: ON for key in found if key.kind in (EDGE, CONTRACTION)}
    wide = {**sums, **steps}
    shown = {key: ON for key in found
             if (key.kind == EDGE and places[key]["source"] in evidence.wide)
             or (key.kind == STEP and key.node in evidence.wide)}
    parts: list[dict[Key, str]] = [
        {}, shown, {key: ON for key in inside if key.kind == EDGE}, inside, edges,
        every]
    states = []
    for part in parts:
        for state in (part, {**part, **wide}):
            if state not in states:
                states.append(state)
    return states

