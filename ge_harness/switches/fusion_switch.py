"""GE's two ways to name passes: the switch file (JSON) and the switch string.

Names are written by whoever calls; GE itself never says that a name is unknown.

Source: reference: ge_optimization.md sections 3 to 5.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from ge_harness.errors import SwitchError
from ge_harness.report.plain import printable

GRAPH = "GraphFusion"
UB = "UBFusion"
ALL = "ALL"
_KINDS = (GRAPH, UB)
_FIRST_LEVEL = ("Switch", "Priority", "ExceptionalPassOfO1Level")
_STATES = ("on", "off")


@dataclass(frozen=True)
class FusionSwitch:
    """What a switch file says.

    Attributes:
        graph: sorted (name, on) of graph fusion, "ALL" among them.
        ub: the same of UB fusion.
        exceptional: names that stay on at level O1.
    """

    graph: tuple[tuple[str, bool], ...] = ()
    ub: tuple[tuple[str, bool], ...] = ()
    exceptional: tuple[str, ...] = ()


@dataclass(frozen=True)
class SwitchToken:
    """One token of ge.optimizationSwitch.

    Attributes:
        name: the pass, "" where the token names none.
        on: its state.
        text: the token as given.
        lost: why GE drops it with no more than a warning in its log, "" where it acts.
    """

    name: str
    on: bool
    text: str
    lost: str = ""


def write_fusion_switch(graph: Mapping[str, bool], ub: Mapping[str, bool]) -> str:
    """Return the text of a switch file in its JSON form.

    The flat form is not written: GE-framework passes do not see it.

    Args:
        graph: name -> on, for graph fusion; "ALL" may only be off.
        ub: the same for UB fusion.

    Raises:
        SwitchError: ALL:on (GE has no such state), or a name that is none.
    """
    switch: dict[str, dict[str, str]] = {}
    for kind, states in ((GRAPH, graph), (UB, ub)):
        if states.get(ALL):
            raise SwitchError("a switch file can say ALL:off only; passes are on by "
                              "default")
        for name in states:
            _check_name(name)
        ordered = sorted(states, key=lambda name: (name != ALL, name))
        switch[kind] = {name: "on" if states[name] else "off" for name in ordered}
    return json.dumps({"Switch": switch}, indent=1) + "\n"


def fresh_file_name(text: str) -> str:
    """Return a file name that belongs to this content alone.

    GE caches a switch file by its path: the same path with other content is not read
    again in one process.
    """
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
    return f"fusion_switch_{digest}.json"


def parse_fusion_switch(text: str, path: object) -> FusionSwitch:
    """Return what GE takes from a switch file, in either form.

    Raises:
        SwitchError: what fails GE's initialization (E21001, E21002): an empty file, an
            unknown first-level key, a state other than on and off, a repeated or
            malformed line of the flat form.
    """
    if not text.strip():
        raise SwitchError(f"{path}: found an empty file; GE refuses it")
    if text.lstrip()[0] == "{":
        return _parse_json(text, path)
    states: dict[str, bool] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line:
            continue
        name, colon, state = line.partition(":")
        if not colon or state.strip() not in _STATES or name.strip() in states:
            raise SwitchError(
                f"{path}:{number}: found {printable(line, 80)!r}, expected one NAME:on "
                "or NAME:off a line, each name once")
        states[name.strip()] = state.strip() == "on"
    both = tuple(sorted(states.items()))
    return FusionSwitch(both, both)


def _parse_json(text: str, path: object) -> FusionSwitch:
    try:
        data = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        message = getattr(error, "msg", str(error))
        raise SwitchError(f"{path}:{line}: not JSON: {printable(message, 120)}"
                          ) from error
    for key in data:
        if key not in _FIRST_LEVEL:
            raise SwitchError(f"{path}: found the key {printable(key, 80)!r}, expected "
                              f"{', '.join(_FIRST_LEVEL)}; GE refuses the file")
    switch = data.get("Switch", {})
    if not isinstance(switch, dict):
        raise SwitchError(f"{path}: Switch is no object")
    for kind in switch:
        if kind not in _KINDS:
            raise SwitchError(f"{path}: found {printable(kind, 80)!r} in Switch, "
                              f"expected {' and '.join(_KINDS)}")
    exceptional = data.get("ExceptionalPassOfO1Level", [])
    if not isinstance(exceptional, list) or not all(
            isinstance(name, str) for name in exceptional):
        raise SwitchError(f"{path}: ExceptionalPassOfO1Level is no list of names")
    return FusionSwitch(_states(switch.get(GRAPH, {}), path),
                        _states(switch.get(UB, {}), path), tuple(exceptional))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} stands twice")
        found[key] = value
    return found


def _states(states: Any, path: object) -> tuple[tuple[str, bool], ...]:
    if not isinstance(states, dict):
        raise SwitchError(f"{path}: found {type(states).__name__}, expected an object "
                          "of names")
    for name, state in states.items():
        if state not in _STATES:
            raise SwitchError(f"{path}: found {printable(str(state), 40)!r} for "
                              f"{printable(name, 80)}, expected on or off; GE refuses "
                              "the file")
    return tuple(sorted((name, state == "on") for name, state in states.items()))


def write_optimization_switch(states: Iterable[tuple[str, bool]], *,
                              end: bool = False) -> str:
    """Return the string of ge.optimizationSwitch, one line without blanks.

    Args:
        states: (name, on) in the order wanted.
        end: end the string with ";": the native npu_device route appends its own token
            without one, and then the last token of the user and its own are both lost.

    Raises:
        SwitchError: a name the string cannot hold, or two states for one name.
    """
    seen: dict[str, bool] = {}
    for name, on in states:
        _check_name(name)
        if seen.get(name, on) != on:
            raise SwitchError(f"{name} is switched both on and off")
        seen[name] = on
    text = ";".join(f"{name}:{'on' if on else 'off'}" for name, on in seen.items())
    return text + ";" if end and text else text


def parse_optimization_switch(text: str) -> tuple[SwitchToken, ...]:
    """Return the tokens of a switch string as GE reads them.

    Split at ";", then at the first ":"; nothing is trimmed and letter case counts. What
    GE drops is returned too, with the reason; of two states for one name the later one
    acts. An empty token is dropped without loss and not returned.
    """
    tokens = []
    for part in text.split(";"):
        if not part:
            continue
        name, colon, state = part.partition(":")
        lost = ""
        if not colon or not name:
            lost = "not of the form NAME:on or NAME:off"
        elif part != part.strip() or name != name.strip() or state != state.strip():
            lost = "blanks are not trimmed"
        elif state not in _STATES:
            lost = f"the state is {printable(state, 40)!r}, not on or off"
        elif name.startswith("ge."):
            lost = "an option's name cannot be switched here"
        tokens.append(SwitchToken(name, state == "on", part, lost))
    last = {token.name: index for index, token in enumerate(tokens) if not token.lost}
    return tuple(
        SwitchToken(token.name, token.on, token.text, "a later token says otherwise")
        if not token.lost and last[token.name] != index
        and tokens[last[token.name]].on != token.on else token
        for index, token in enumerate(tokens))


def _check_name(name: str) -> None:
    if not name or name != name.strip() or any(
            c in ":;\"\\" or c.isspace() or not c.isprintable() for c in name):
        raise SwitchError(f"found {printable(name, 80)!r} as the name of a pass; names "
                          "hold no blanks, ':' or ';'")
