"""Which options of `run` and of `experiment` each experiment takes.

An option that nothing asked for takes would be a silent no-op, so it is refused; one
that only says how much to run is named and left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Sequence

from ge_harness.cli import console
from ge_harness.errors import UsageError

_ONLY: dict[str, tuple[str, ...]] = {
    "--subgraph": ("A", "B", "D"), "--corpus": ("E",), "--steps": ("E",),
    "--variant": ("E",), "--shape": (), "--inputs": (), "--fetch": (), "--feed": (),
    "--signature": (), "--standard": (), "--baseline": (), "--collect": (),
    "--explain": (),
}
_EFFORT: dict[str, tuple[str, ...]] = {
    "--sets": ("A", "B", "C1", "C2", "C3", "E"), "--repeat": ("A", "C2"),
    "--budget": ("B",),
}
_DEFAULTS = {"baseline": "both", "standard": "bits"}
_OF_A_PLAN = ("plan", "out", "resume", "json", "source", "command", "parser", "yes")


def check(args: argparse.Namespace, ids: Sequence[str]) -> None:
    """Refuse options that no experiment of a call takes.

    Args:
        args: of the command.
        ids: of the experiments asked for.

    Raises:
        UsageError: an option that would do nothing.
    """
    for option, takers in _ONLY.items():
        if _given(args, option) and not set(takers) & set(ids):
            raise UsageError(f"{option}: {_said(ids)} not take it; {_who(takers)}")
    for option, takers in _EFFORT.items():
        if _given(args, option) and not set(takers) & set(ids):
            console.note(f"{option} is left out: {_said(ids)} not take it; "
                         f"{_who(takers)}")
    if len(args.subgraph) > 1 and "A" in ids:
        raise UsageError("--subgraph: A takes one subgraph, found "
                         f"{len(args.subgraph)}; a call each, or --plan")
    stems = [Path(source).stem for source in args.subgraph]
    if "B" in ids and len(set(stems)) < len(stems):
        twice = next(stem for stem in stems if stems.count(stem) > 1)
        raise UsageError(f"--subgraph: two are called {twice!r}, and B tells its "
                         "chains apart by name; a call each, or --plan")


def check_plan(args: argparse.Namespace, given: Sequence[str]) -> None:
    """Refuse what stands beside a plan, which says all of it itself.

    Args:
        args: of the command.
        given: words of the command line.

    Raises:
        UsageError: an experiment or an option that the cells would not get.
    """
    if args.source:
        raise UsageError(f"{args.source} beside --plan={args.plan}: the plan says "
                         "which experiments run")
    known = {name.replace("_", "-") for name in vars(args)} - set(_OF_A_PLAN)
    for word in given:
        name = word[2:].split("=")[0]
        if word.startswith("--") and name in known:
            raise UsageError(f"--{name} beside --plan={args.plan}: the cells do not "
                             "get it; put it into the plan's options")


def _given(args: argparse.Namespace, option: str) -> bool:
    name = option[2:].replace("-", "_")
    value = getattr(args, name)
    return bool(value) and value != _DEFAULTS.get(name)


def _said(ids: Sequence[str]) -> str:
    return f"{ids[0]} does" if len(ids) == 1 else "these experiments do"


def _who(takers: Sequence[str]) -> str:
    if not takers:
        return "only 'run' does"
    *more, last = takers
    return f"{', '.join(more)} and {last} do" if more else f"{last} does"
