"""Takes secrets and home paths out of what is sent to somebody.

What is recognized is recognized by its form; nobody can promise that a log holds no
other secret, so `pack` tells the reader to look.
"""

from __future__ import annotations

import re
from typing import Iterable, Match

REMOVED = b"[removed]"
_WORDS = (rb"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|"
          rb"private[_-]?key|credentials?)")
# Name and value, as a shell, an ini file, JSON or a list of pairs writes them. A value
# without a letter is a count and stays.
_PAIR = re.compile(
    rb"(?i)(?P<head>\b[\w-]*" + _WORDS + rb"[\"']?\s*[=:,]\s*)(?:\"(?P<double>[^\"\n]"
    rb"{4,}?)\"|'(?P<single>[^'\n]{4,}?)'|(?P<bare>(?=[^\s\"',;]*[A-Za-z])"
    rb"[^\s\"',;{}\[\]]{6,}))")
_WHOLE = (
    re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE "
               rb"KEY-----|\Z)", re.DOTALL),
    re.compile(rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|"
               rb"hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|xox[abprs]-[\w-]{10,})"),
    re.compile(rb"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}"),
)
_AUTHORIZATION = re.compile(
    rb"(?i)(authorization\"?\s*[:=]\s*\"?(?:bearer|basic|token)\s+)[^\s\"']+")
_USERINFO = re.compile(rb"(?<=://)[^/\s:@\"']+:[^/\s@\"']+(?=@)")
_HOMES = re.compile(rb"/(?:home|Users)/[^/\s\"'<>:;,)\]\\&]+|"
                    rb"(?<![\w./-])/root(?=[/\s\"'<>:;,)\]\\&]|\Z)")


class Redactor:
    """Takes out secrets by their form, and paths that name a person or a machine.

    Args:
        paths: (absolute path, what stands for it) pairs; the longest is tried first.
    """

    def __init__(self, paths: Iterable[tuple[str, str]]) -> None:
        self._paths = sorted(
            ((path.rstrip("/").encode("utf-8"), word.encode("utf-8"))
             for path, word in paths if len(path.rstrip("/")) > 1),
            key=lambda pair: (-len(pair[0]), pair))

    def text(self, data: bytes) -> tuple[bytes, int]:
        """Return text without secrets and home paths, and how many were taken out."""
        count = 0
        for pattern in _WHOLE:
            data, found = pattern.subn(REMOVED, data)
            count += found
        data, found = _AUTHORIZATION.subn(rb"\1" + REMOVED, data)
        count += found
        data, found = _USERINFO.subn(REMOVED, data)
        count += found
        data, found = _PAIR.subn(_without_value, data)
        count += found
        for path, word in self._paths:
            pattern = re.compile(re.escape(path) + rb"(?![\w.-])")
            data, found = pattern.subn(word.replace(b"\\", b"\\\\"), data)
            count += found
        data, found = _HOMES.subn(b"~", data)
        return data, count + found

    def binary(self, data: bytes) -> tuple[bytes, int]:
        """Return the same for bytes whose length must stay, as in a GraphDef."""
        count = 0
        patterns = [re.compile(re.escape(path)) for path, _ in self._paths]
        for pattern in (*_WHOLE, *patterns, _HOMES):
            data, found = pattern.subn(lambda match: b"~" * len(match[0]), data)
            count += found
        return data, count


def _without_value(match: Match[bytes]) -> bytes:
    quote = b'"' if match["double"] is not None else (
        b"'" if match["single"] is not None else b"")
    return match["head"] + quote + REMOVED + quote
