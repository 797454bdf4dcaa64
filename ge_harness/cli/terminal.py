"""Tables for a terminal, drawn by rich where it is installed.

Piped output stays plain aligned text, so scripts and files see no colour codes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shutil
import sys
from typing import ContextManager, Sequence

from ge_harness.report import plain


def tables() -> ContextManager[None]:
    """Return a context in which tables are drawn for the terminal, if it is one."""
    wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    if not wanted or importlib.util.find_spec("rich") is None:
        return contextlib.nullcontext()
    return plain.rendering(_draw)


def _draw(columns: Sequence[str], rows: list[list[str]], right: list[bool]) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, to_right in zip(columns, right):
        table.add_column(Text(name), justify="right" if to_right else "left",
                         overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out = io.StringIO()
    width = shutil.get_terminal_size((120, 40)).columns
    Console(file=out, force_terminal=True, width=max(width, 60)).print(table)
    return out.getvalue()
