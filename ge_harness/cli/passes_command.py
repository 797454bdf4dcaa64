"""`passes`: the catalogue of passes; with a name, one pass explained."""

from __future__ import annotations

import argparse
from typing import Any, Iterable

from ge_harness.catalogue import passes
from ge_harness.cli import console, exit_codes
from ge_harness.errors import UnknownNameError
from ge_harness.report import plain
from ge_harness.report.passes_text import explain

_LEVELS = ("O0", "O1", "O2", "O3")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME|REGEX",
                        help="a pass, or a regular expression over their names")
    parser.add_argument("--class", dest="classes", action="append", default=[],
                        choices=passes.CLASSES, metavar="CLASS",
                        help="only this precision class (repeat for several): "
                        + ", ".join(passes.CLASSES))
    parser.add_argument("--level", choices=_LEVELS,
                        help="only passes that run at this level")
    parser.add_argument("--family", choices=passes.families(),
                        help="only this family")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Print the passes asked for."""
    exact = passes.named(args.name) if args.name else ()
    candidates = exact or _searched(args.name)
    if not candidates:
        raise UnknownNameError("pass", args.name, _known())
    found = list(_filtered(candidates, args))
    if args.json:
        console.document("passes", {"passes": [_plain(info) for info in found]})
    elif exact and found:
        console.answer("\n".join(explain(_plain(info)) for info in found))
    else:
        console.answer(plain.table(passes.columns(), [
            (info.family, info.name, info.level, info.precision_class, info.certainty,
             info.why) for info in found], widest=90))
        console.note(f"{len(found)} of {len(passes.everything())} passes; "
                     "'ge_harness passes NAME' explains one")
    return exit_codes.OK


def _searched(name: str | None) -> tuple[passes.PassInfo, ...]:
    if not name:
        return passes.everything()
    return passes.search(name)


def _filtered(found: Iterable[passes.PassInfo],
              args: argparse.Namespace) -> Iterable[passes.PassInfo]:
    for info in found:
        if args.classes and info.precision_class not in args.classes:
            continue
        if args.family and info.family != args.family:
            continue
        if args.level and not (info.level and info.level <= args.level):
            continue
        yield info


def _known() -> tuple[str, ...]:
    return tuple(sorted({info.name for info in passes.everything()}))


def _plain(info: passes.PassInfo) -> dict[str, Any]:
    return {"family": info.family, "name": info.name, "level": info.level,
            "precision_class": info.precision_class, "certainty": info.certainty,
            "effect": info.effect, "why": info.why, "stage": info.stage,
            "switch_off": info.switch_off, "source": info.source,
            "aliases": list(info.aliases), "bit_safe_reason": info.bit_safe_reason}
