"""The stages at which GE writes a dump, as rows for lists.

The table itself is part of the package `dumps`, whose readers need it.
"""

from __future__ import annotations

from dumps import stages


def columns() -> tuple[str, ...]:
    """Return the headings of `rows`."""
    return ("order", "stage", "component", "after", "level 1", "level 2")


def rows() -> list[tuple[object, ...]]:
    """Return a line for each stage in the order of one compilation."""
    return [(stage.order, stage.name, stage.component, stage.what,
             "yes" if stage.level1 else "no", "yes" if stage.level2 else "no")
            for stage in stages.table()]
