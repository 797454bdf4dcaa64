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
from pathlib import Path
from typing import Any, ContextManager, Sequence

from ge_harness.report import plain


class _Patient(io.FileIO):
    """A descriptor whose reader may go: what nobody reads is dropped.

    So that `run ... | head` does all its work and ends with the status of its verdict.
    Another error is raised once; nothing is tried after it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        self._gone = False

    def write(self, data: Any) -> int:
        """Write, or drop what nobody reads any more."""
        if not self._gone:
            try:
                return int(super().write(data) or 0)
            except BrokenPipeError:
                self._gone = True
            except OSError:
                self._gone = True
                raise
        return memoryview(data).nbytes


def harden() -> None:
    """Make stdout and stderr streams that can be written although nobody reads."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
        elif isinstance(stream, io.TextIOWrapper) and not stream.isatty() and (
                _number(stream) == number):
            stream.flush()
            setattr(sys, name, io.TextIOWrapper(
                io.BufferedWriter(_Patient(number)),
                encoding=stream.encoding, errors=stream.errors,
                line_buffering=number == 2))


def _number(stream: io.TextIOWrapper) -> int:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return -1


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
