"""The table of passes, and how to find one by family and name.

The tables are text files beside this module: passes.tsv (GE, fusion engine, AutoFuse;
rebuilt by scripts/build_catalogue.py), hlo_passes.tsv and grappler_passes.tsv (kept by
hand). They are read at first use.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

from ge_harness.catalogue.pattern import compile_pattern

CLASSES = ("upcast", "instruction", "accumulation", "algorithm", "mixed", "none")
CERTAINTIES = ("certain", "likely", "guess")
_FILES = ("passes.tsv", "hlo_passes.tsv", "grappler_passes.tsv")
_COLUMNS = ("family", "name", "level", "precision_class", "certainty", "effect",
            "stage", "why", "switch_off", "source", "aliases")
# Effects that move or keep values and compute none: the reason why "none" is bit-safe.
_SAFE = {
    "data-movement": "moves data without computing on it",
    "layout": "changes the layout, not the values",
    "memory": "assigns memory, computes nothing",
    "scheduling": "orders execution, computes nothing",
    "control-flow": "rewrites control, the operators on values stay",
    "fold": "replaces integers or shapes, no rounding",
    "algebraic": "merges or drops operators with an identical result",
    "cast": "touches casts that lose nothing",
    "fusion": "groups operators without changing their arithmetic",
    "decompose": "splits operators without changing their arithmetic",
}


@dataclass(frozen=True)
class PassInfo:
    """What is known of one pass; identified by family and name together.

    Attributes:
        family: "ge", "graph_fusion", "ub_fusion", "autofuse", "hlo_pass" or
            "grappler".
        name: the compiler's own name.
        level: lowest optimization level at which it runs, "" where it has none. Passes
            of the fusion engine that level O1 closes stand at O2.
        precision_class: one of `CLASSES`.
        certainty: how certain the class is: "certain" (code read or measured),
            "likely" (described or judged from the rewrite), "guess" (from its name).
        why: what it does, and what of that can change a value.
        stage: the stage it runs in, "" where that is not known.
        switch_off: how to switch it off, or that nothing does; "" for what is no pass.
        source: what the entry rests on.
        effect: kind of rewrite ("fusion", "cast", "layout", ...).
        aliases: other spellings of the name.
    """

    family: str
    name: str
    level: str
    precision_class: str
    certainty: str
    why: str
    stage: str
    switch_off: str
    source: str
    effect: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def bit_safe_reason(self) -> str:
        """Why the pass cannot change a value, "" where it can."""
        if self.precision_class != "none":
            return ""
        return _SAFE.get(self.effect, "computes nothing")


_TABLE: list[PassInfo] = []
_BY_KEY: dict[tuple[str, str], PassInfo] = {}
_BY_NAME: dict[str, list[PassInfo]] = {}


def everything() -> tuple[PassInfo, ...]:
    """Return every pass, in the order of the tables."""
    if not _TABLE:
        for name in _FILES:
            _TABLE.extend(_read(Path(__file__).with_name(name)))
        for info in _TABLE:
            _BY_KEY[info.family, info.name] = info
            for spelling in (info.name, *info.aliases):
                _BY_NAME.setdefault(spelling, []).append(info)
    return tuple(_TABLE)


def lookup(family: str, name: str) -> PassInfo | None:
    """Return the pass, or None where the catalogue does not have it.

    Args:
        family: one of `families()`, or "" for any: then the first of that name.
        name: the compiler's own name or one of its aliases.
    """
    everything()
    exact = _BY_KEY.get((family, name))
    if exact is not None:
        return exact
    return next((info for info in _BY_NAME.get(name, ())
                 if family in ("", info.family)), None)


def named(name: str) -> tuple[PassInfo, ...]:
    """Return the passes of that name or alias in every family."""
    everything()
    return tuple(_BY_NAME.get(name, ()))


def by_family(family: str) -> tuple[PassInfo, ...]:
    """Return the passes of one family."""
    return tuple(info for info in everything() if info.family == family)


def families() -> tuple[str, ...]:
    """Return the families that occur, sorted."""
    return tuple(sorted({info.family for info in everything()}))


def search(pattern: str) -> tuple[PassInfo, ...]:
    """Return the passes whose name or an alias the regular expression finds.

    Raises:
        UsageError: not a regular expression, or one that takes too long.
    """
    finds = compile_pattern(pattern).search
    return tuple(info for info in everything()
                 if any(finds(name) for name in (info.name, *info.aliases)))


def nearest(name: str) -> str:
    """Return the known name most like `name`, "" where none is close."""
    everything()
    lower = {known.lower(): known for known in _BY_NAME}
    if name.lower() in lower:
        return lower[name.lower()]
    close = difflib.get_close_matches(name[:200].lower(), lower, n=1, cutoff=0.6)
    return lower[close[0]] if close else ""


def columns() -> tuple[str, ...]:
    """Return the headings of `rows`."""
    return ("family", "name", "level", "class", "certainty", "what it does")


def rows() -> list[tuple[str, ...]]:
    """Return a line for each pass, for lists."""
    return [(info.family, info.name, info.level, info.precision_class, info.certainty,
             info.why) for info in everything()]


def _read(path: Path) -> Iterable[PassInfo]:
    lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        row = dict(zip(_COLUMNS, line.split("\t")))
        aliases = tuple(part for part in row.pop("aliases", "").split(",") if part)
        yield PassInfo(aliases=aliases, **row)
