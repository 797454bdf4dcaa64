"""Takes secrets and home paths out of what is sent to somebody.

What is recognized is recognized by its form; nobody can promise that a log holds no
other secret, so `pack` tells the reader to look.
"""

from __future__ import annotations

import html
import json
import re
from typing import Iterable, Match

REMOVED = b"[removed]"
_WORDS = (rb"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|"
          rb"private[_-]?key|credentials?)")
# Name and value, as a shell, an ini file, JSON or a list of pairs writes them. A value
# without a letter is a count and stays, unless what it is the value of is never one.
_PAIR = re.compile(
    rb"(?i)(?P<head>(?:(?P<never>pass(?:word|wd|phrase)|secret)|" + _WORDS +
    rb")[\"']?\s{0,99}[=:,]\s{0,99})(?:\"(?P<double>[^\"\n]{4,})\"|"
    rb"'(?P<single>[^'\n]{4,})'|(?P<bare>(?(never)[^\s\"',;{}\[\]]{3,}|"
    rb"(?=[^\s\"',;{}\[\]]*[A-Za-z])[^\s\"',;{}\[\]]{6,})))")
# A long option and its value as the next word.
_OPTION = re.compile(rb"(?i)(?P<head>--[\w-]{0,40}" + _WORDS + rb"[ \t]{1,9})"
                     rb"(?P<bare>[^\s\"',;-][^\s\"',;]{3,})")
_WHOLE = (
    re.compile(rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}"
               rb"PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|"
               rb"hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|xox[abprs]-[\w-]{10,})"),
    re.compile(rb"(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}"),
)
_AUTHORIZATION = re.compile(
    rb"(?i)(authorization\"?\s*[:=]\s*\"?(?:bearer|basic|token)\s+)[^\s\"']+")
_USERINFO = re.compile(rb"(?<=://)[^/\s:@\"']{1,255}:[^/\s@\"']{1,1024}(?=@)")
_HOMES = re.compile(rb"/(?:home|Users)/+[^/\s\"'<>:;,)\]\\&]+|"
                    rb"(?<![\w./-])/root(?=[/\s\"'<>:;,)\]\\&]|\Z)")


# Accounts and hosts that name nobody, and would be found in any text.
_NOBODY = frozenset((
    "root", "user", "users", "admin", "test", "home", "data", "work", "localhost",
    "ubuntu", "centos", "docker", "linux", "host", "node", "none", "default", "nobody"))


class Redactor:
    """Takes out secrets by their form, and what names a person or a machine.

    Args:
        paths: (absolute path, what stands for it) pairs; the longest is tried first.
        names: (account or host, what stands for it) pairs; taken out where they stand
            as a word. Names that name nobody ("root") and of one or two letters stay.
        secrets: values to be taken out wherever they stand; short ones stay.
    """

    def __init__(self, paths: Iterable[tuple[str, str]],
                 names: Iterable[tuple[str, str]] = (),
                 secrets: Iterable[str] = ()) -> None:
        pairs = {(form, word) for path, word in paths if len(path.rstrip("/")) > 1
                 for form in _forms(path.rstrip("/"))}
        self._replaced = [
            (re.compile(re.escape(form) + rb"(?![\w-]|\.\w)"), word.encode("utf-8"))
            for form, word in sorted(pairs, key=lambda pair: (-len(pair[0]), pair))]
        self._replaced += [
            (re.compile(rb"(?<![A-Za-z0-9])" + re.escape(form) + rb"(?![A-Za-z0-9])"),
             word.encode("utf-8"))
            for name, word in sorted(names, key=lambda pair: (-len(pair[0]), pair))
            if len(name) > 2 and name.lower() not in _NOBODY for form in _forms(name)]
        self._values = [re.compile(re.escape(form)) for value in sorted(
            secrets, key=lambda value: (-len(value), value)) if len(value) > 5
            for form in _forms(value)]

    def text(self, data: bytes) -> tuple[bytes, int]:
        """Return text without secrets and names, and how many were taken out."""
        count = 0
        for pattern in (*self._values, *_WHOLE, _USERINFO):
            data, found = pattern.subn(REMOVED, data)
            count += found
        data, found = _AUTHORIZATION.subn(rb"\1" + REMOVED, data)
        count += found
        for pattern in (_PAIR, _OPTION):
            data, found = pattern.subn(_without_value, data)
            count += found
        for pattern, word in self._replaced:
            data, found = pattern.subn(word.replace(b"\\", b"\\\\"), data)
            count += found
        data, found = _HOMES.subn(b"~", data)
        return data, count + found

    def name(self, text: str) -> str:
        """Return the name of a file, fit for an archive, without what names somebody.

        Bytes that are no text and control characters are written as escapes.
        """
        clean = self.text(text.encode("utf-8", "backslashreplace"))[0].decode("utf-8")
        return "".join(letter if letter.isprintable() else ascii(letter)[1:-1]
                       for letter in clean)

    def binary(self, data: bytes) -> tuple[bytes, int]:
        """Return the same for bytes whose length must stay, as in a GraphDef."""
        count = 0
        names = [pattern for pattern, _ in self._replaced]
        for pattern in (*self._values, *_WHOLE, *names, _HOMES):
            data, found = pattern.subn(lambda match: b"~" * len(match[0]), data)
            count += found
        return data, count


def names_a_secret(variable: str) -> bool:
    """Say whether an environment variable holds a secret, by its name."""
    return re.search(rb"(?i)" + _WORDS, variable.encode("utf-8", "replace")) is not None


def _forms(text: str) -> list[bytes]:
    """Return a text as a log, JSON and HTML write it."""
    forms = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1],
             html.escape(text)}
    return [form.encode("utf-8", "surrogateescape") for form in sorted(forms)]


def _without_value(match: Match[bytes]) -> bytes:
    groups = match.groupdict()
    quote = b'"' if groups.get("double") is not None else (
        b"'" if groups.get("single") is not None else b"")
    return match["head"] + quote + REMOVED + quote
