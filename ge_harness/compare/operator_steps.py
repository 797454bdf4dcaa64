"""Devices, models and steps: which dumps of one side stand beside which of the other.

Source: reference: tensor_dumps.md section 3.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Sequence, Tuple

from ge_harness.compare.operator_files import TIME_FOLDER, Context, Entry

StepOrder = Tuple[Tuple[int, str], ...]
_NUMBER = re.compile(r"[0-9]+")
_FROM_TIME_TO_STEP = 4


def reduced(sides: Sequence[Sequence[Entry]]) -> tuple[tuple[Entry, ...], ...]:
    """Cut the contexts of both sides down to what tells dumps of one side apart.

    Device, model and step are folders, of which each side may hold more or less. What
    all dumps of a side share says nothing. Where the rest has nothing in common the
    last folder, the step, decides.
    """
    cut = [_without_prefix(side) for side in sides]
    known = [{entry.context for entry in side} for side in cut]
    if len(known) < 2 or known[0] & known[1]:
        return tuple(cut)
    last = [tuple(replace(entry, context=entry.context[-1:]) for entry in side)
            for side in sides]
    known = [{entry.context for entry in side} for side in last]
    return tuple(last) if known[0] & known[1] else tuple(cut)


def reduced_like(entries: Sequence[Entry], sides: Sequence[Sequence[Entry]]
                 ) -> tuple[Entry, ...]:
    """Cut the contexts of a reference like those of the sides that it stands beside."""
    length = max(len(entry.context) for side in sides for entry in side)
    if not length:
        return _without_prefix(entries)
    return tuple(replace(entry, context=entry.context[-length:]) for entry in entries)


def step_order(context: Context) -> StepOrder:
    """Return a sort key: the step first, which is the last folder; 2 before 10."""
    return tuple((int(part), "") if _NUMBER.fullmatch(part) else (-1, part)
                 for part in reversed(context))


def named_step(entry: Entry) -> str:
    """Return the step whose folder a dump lies in below the place that was given.

    Returns:
        "" where the folders do not say, or where the place is the step's own folder.
    """
    parts = Path(entry.folder).parts
    times = [place for place, part in enumerate(parts) if TIME_FOLDER.fullmatch(part)]
    if not entry.context or not times:
        return ""
    return parts[-1] if len(parts) - 1 - times[-1] == _FROM_TIME_TO_STEP else ""


def _without_prefix(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    contexts = {entry.context for entry in entries}
    shortest = min((len(context) for context in contexts), default=0)
    shared = 0
    while shared < shortest and len({context[shared] for context in contexts}) == 1:
        shared += 1
    return tuple(replace(entry, context=entry.context[shared:]) for entry in entries)
