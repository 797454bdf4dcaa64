"""The one exception of this package."""

from __future__ import annotations


class DumpError(Exception):
    """A file that is not what it should be, or that holds nothing to read.

    Attributes:
        path: the file.
        line: 1-based line (or byte offset for a binary file), 0 where there is none.
        found: what stood there, shortened and printable.
        expected: what should have stood there.
    """

    def __init__(self, path: object, line: int, found: str, expected: str) -> None:
        self.path = str(path)
        self.line = line
        self.found = found
        self.expected = expected
        place = f"{self.path}:{line}" if line else self.path
        super().__init__(f"{place}: found {found}, expected {expected}")
