r"""Scalars of protobuf's text format: raw tokens to Python values.

Source: Protocol Buffers documentation, "Text Format Language Specification", string and
numeric literals.
"""

from __future__ import annotations

import codecs
import re

_SIMPLE = {
    b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f",
    b"v": b"\v", b"\\": b"\\", b"'": b"'", b'"': b'"', b"?": b"?",
}
_ESCAPE = re.compile(
    rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})"
    rb"|U([0-9a-fA-F]{8})|([\s\S]))")
# What codecs.escape_decode reads otherwise than protobuf does, or warns about.
_UNUSUAL = re.compile(rb"""\\(?:[4-7][0-7][0-7]|[^0-7nrtabfv'"\\])""")
_INTEGER = re.compile(rb"-?\s*(?:0[xX][0-9a-fA-F]+|[0-9]+)\Z")
_FLOAT = re.compile(
    rb"(-?)\s*(?:((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fF]?"
    rb"|(inf(?:inity)?|nan)f?)\Z", re.IGNORECASE)
_LONGEST_NUMBER = 400


def string_end(data: bytes, start: int) -> int:
    """Return the index of the quote that closes the string opened at `start`, or -1.

    A string does not go past the end of its line.
    """
    quote = data[start:start + 1]
    seen = start + 1
    place = data.find(quote, seen)
    while place >= 0 and data.find(b"\n", seen, place) < 0:
        before = place
        while data[before - 1] == 0x5C:
            before -= 1
        if (place - before) % 2 == 0:
            return place
        seen = place + 1
        place = data.find(quote, seen)
    return -1


def is_string(token: bytes) -> bool:
    """Say whether a raw token is a string rather than a number or a name."""
    return token[:1] in (b'"', b"'")


def to_bytes(token: bytes) -> bytes:
    """Return what a string token stands for; other tokens as they are."""
    if not is_string(token):
        return token
    end = string_end(token, 0)
    if end == len(token) - 1 or end < 0:
        return unescape(token[1:end] if end > 0 else token[1:])
    parts = []
    start = 0
    while 0 <= start < len(token):
        end = string_end(token, start)
        end = len(token) if end < 0 else end
        parts.append(unescape(token[start + 1:end]))
        start = end + 1
        while start < len(token) and token[start:start + 1] not in (b'"', b"'"):
            start += 1
    return b"".join(parts)


def unescape(body: bytes) -> bytes:
    """Return the bytes that the inside of a string stands for."""
    if b"\\" not in body:
        return body
    # A run of backslashes begins with an escape, so its pairs are escapes too.
    body = body.replace(b"\\\\", b"\\134")
    if _UNUSUAL.search(body) is None and not body.endswith(b"\\"):
        return codecs.escape_decode(body)[0]  # type: ignore[attr-defined,no-any-return]
    return _ESCAPE.sub(_replace, body)


def _replace(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, short, wide, other = match.groups()
    if octal is not None:
        return bytes((int(octal, 8) & 0xFF,))
    if hexadecimal is not None:
        return bytes((int(hexadecimal, 16),))
    if short is not None or wide is not None:
        code = int(short or wide, 16)
        valid = code < 0x110000 and not 0xD800 <= code < 0xE000
        return (chr(code) if valid else "\ufffd").encode("utf-8")
    return _SIMPLE.get(other, match.group(0))


def to_text(token: bytes) -> str:
    """Return a string token as text; a byte that is not UTF-8 becomes a surrogate."""
    return to_bytes(token).decode("utf-8", "surrogateescape")


def to_int(token: bytes) -> int | None:
    """Return an integer in any of protobuf's notations, None for anything else."""
    if len(token) > _LONGEST_NUMBER:
        return None
    try:
        if token.isdigit() and (token[0] != 0x30 or len(token) == 1):
            return int(token)
        if _INTEGER.match(token) is None:
            return None
        negative = token[:1] == b"-"
        digits = token[1:].strip() if negative else token
        if digits[:2] in (b"0x", b"0X"):
            value = int(digits, 16)
        elif digits[:1] == b"0" and len(digits) > 1:
            value = int(digits, 8)
        else:
            value = int(digits)
    except ValueError:
        return None
    return -value if negative else value


def to_float(token: bytes) -> float | None:
    """Return a float, None for anything else."""
    if len(token) > _LONGEST_NUMBER:
        return None
    match = _FLOAT.match(token)
    if match is None:
        whole = to_int(token)
        return None if whole is None else float(whole)
    value = float(match.group(2) or match.group(3))
    return -value if match.group(1) else value


def to_bool(token: bytes) -> bool | None:
    """Return a boolean, None for anything else."""
    if token in (b"true", b"True", b"t", b"1"):
        return True
    if token in (b"false", b"False", b"f", b"0"):
        return False
    return None
