"""Untrusted text made harmless for a terminal, and plain aligned tables."""

from __future__ import annotations

import contextlib
from typing import Callable, Iterable, Iterator, List, Sequence

_LONGEST = 4000

Renderer = Callable[[Sequence[str], List[List[str]], List[bool]], str]
"""Columns, cells and whether each column goes to the right, to text."""

_renderers: list[Renderer] = []


def printable(text: str, longest: int = _LONGEST) -> str:
    """Return `text` on one line, without control characters, shortened in its middle.

    Names from dumps may hold newlines, ANSI escapes, bidirectional overrides or
    100,000 characters; none of that may reach a terminal.
    """
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]}...[{len(text) - 2 * half} more]...{text[-half:]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *,
          widest: int = 60) -> str:
    """Return aligned text: numbers to the right, everything else to the left.

    Args:
        columns: headings.
        rows: cells; None prints as "-", floats with six significant digits.
        widest: longest cell in characters; longer ones are shortened.
    """
    body = [[_cell(value, widest) for value in row] for row in rows]
    raw = [list(row) for row in rows] if isinstance(rows, (list, tuple)) else body
    widths = [max([len(name)] + [len(row[i]) for row in body])
              for i, name in enumerate(columns)]
    right = [bool(raw) and all(isinstance(row[i], (int, float)) or row[i] is None
                               for row in raw) for i in range(len(columns))]
    if _renderers:
        return _renderers[-1](columns, body, right)
    lines = [_line(list(columns), widths, right),
             "  ".join("-" * width for width in widths)]
    lines += [_line(row, widths, right) for row in body]
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def rendering(renderer: Renderer) -> Iterator[None]:
    """Let `renderer` draw every table inside the context, e.g. for a terminal."""
    _renderers.append(renderer)
    try:
        yield
    finally:
        _renderers.remove(renderer)


def number(value: object) -> str:
    """Return a number in six significant digits; None as "-"."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _cell(value: object, widest: int) -> str:
    return printable(number(value), widest)


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    done = [cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right)]
    return "  ".join(done).rstrip()


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
