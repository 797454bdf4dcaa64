"""Lines of large text files, one at a time: packed or not, bounded, never failing.

Logs and graph traces reach hundreds of megabytes, so they are not loaded whole.
"""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO, Iterator

from dumps.errors import DumpError
from dumps.records import DumpWarning
from dumps.source import shown

LONGEST_LINE = 1 << 20
MAX_BYTES = 4 << 30
_MOST_WARNINGS = 200
# Logs shrink to a tenth or a thirtieth; what shrinks more is no log.
_MOST_GROWTH = 200
_SMALL_BYTES = 64 << 20


class LineReader:
    """The lines of one file.

    Attributes:
        path: the file.
        warnings: what could not be read so far.
    """

    def __init__(self, path: str | Path, max_bytes: int = MAX_BYTES) -> None:
        self.path = str(path)
        self.warnings: list[DumpWarning] = []
        self._max_bytes = max_bytes

    def warn(self, line: int, message: str) -> None:
        """Note what was found at a line."""
        if len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(DumpWarning(self.path, line, message))

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield (line number from 1, text without line end).

        Raises:
            DumpError: the file cannot be opened, is empty, or is binary.
        """
        number, total = 0, 0
        with self._open() as stream:
            most_bytes = self._most_bytes(stream)
            while True:
                raw = self._line(stream, number + 1)
                if not raw:
                    break
                number += 1
                total += len(raw)
                if number == 1:
                    raw = self._checked(raw)
                if total > most_bytes:
                    self.warn(number, f"more than {most_bytes:,} bytes; the rest is "
                              "not read")
                    break
                yield number, raw.rstrip(b"\r\n").decode("utf-8", "replace")
        if not number:
            raise DumpError(self.path, 0, "an empty file", "lines of text")

    def _most_bytes(self, stream: BinaryIO) -> int:
        """Return how much to read: less of a file that unpacks to very much more."""
        if not isinstance(stream, io.BufferedReader) or not isinstance(
                stream.raw, gzip.GzipFile):
            return self._max_bytes
        packed = Path(self.path).stat().st_size
        return min(self._max_bytes, max(_SMALL_BYTES, _MOST_GROWTH * packed))

    def _open(self) -> BinaryIO:
        try:
            path = Path(self.path)
            if not path.is_file():
                raise DumpError(self.path, 0, "no regular file", "a text file")
            stream: BinaryIO = path.open("rb")
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise DumpError(self.path, 0, shown(reason), "a readable file") from error
        if not packed:
            return stream
        return io.BufferedReader(gzip.GzipFile(fileobj=stream))  # type: ignore[arg-type]

    def _line(self, stream: BinaryIO, number: int) -> bytes:
        try:
            raw = stream.readline(LONGEST_LINE)
            if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                self.warn(number, f"a line longer than {LONGEST_LINE:,} bytes; the "
                          "rest of it is not read")
                self._skip_line(stream)
        except (EOFError, OSError, zlib.error) as error:
            self.warn(number, f"the file breaks off here ({shown(str(error))})")
            return b""
        return raw

    def _skip_line(self, stream: BinaryIO) -> None:
        skipped = 0
        while skipped < self._max_bytes:
            part = stream.readline(LONGEST_LINE)
            skipped += len(part)
            if not part or part.endswith(b"\n"):
                return

    def _checked(self, raw: bytes) -> bytes:
        if raw[:4096].count(b"\0") > len(raw[:4096]) // 20:
            raise DumpError(self.path, 1, f"binary bytes {shown(raw, 16)}",
                            "lines of text")
        return raw[3:] if raw.startswith(b"\xef\xbb\xbf") else raw
