"""Damage to files, seeded: what the readers must survive."""

from __future__ import annotations

import random
from typing import Callable, Iterator

_LONG = 20000


def mutations(data: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield `count` damaged copies of `data`, each with the name of its damage.

    The same seed gives the same copies on every Python.
    """
    rng = random.Random(seed)
    for _ in range(count):
        name, mutate = MUTATORS[rng.randrange(len(MUTATORS))]
        yield name, mutate(data, rng)


def flip_bits(data: bytes, rng: random.Random) -> bytes:
    """Flip one to eight bits."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 9)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def change_byte(data: bytes, rng: random.Random) -> bytes:
    """Replace one byte by one that means something in text formats."""
    place = rng.randrange(len(data))
    byte = rng.choice(b'{}<>[]()"\':,;#\\/\n\r\t 0x%-=.^')
    return data[:place] + bytes((byte,)) + data[place + 1:]


def insert_bytes(data: bytes, rng: random.Random) -> bytes:
    """Insert a few bytes of any value."""
    place = rng.randrange(len(data) + 1)
    extra = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 20)))
    return data[:place] + extra + data[place:]


def truncate(data: bytes, rng: random.Random) -> bytes:
    """Cut the end off."""
    return data[:rng.randrange(len(data))]


def behead(data: bytes, rng: random.Random) -> bytes:
    """Cut the beginning off."""
    return data[rng.randrange(len(data)):]


def cut_out(data: bytes, rng: random.Random) -> bytes:
    """Take a piece out of the middle."""
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randrange(1, 400):]


def swap_lines(data: bytes, rng: random.Random) -> bytes:
    """Exchange two lines."""
    lines = data.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def repeat_lines(data: bytes, rng: random.Random) -> bytes:
    """Write a few lines several times."""
    lines = data.split(b"\n")
    start = rng.randrange(len(lines))
    piece = lines[start:start + rng.randrange(1, 12)]
    return b"\n".join(lines[:start] + piece * rng.randrange(2, 6) + lines[start:])


def drop_lines(data: bytes, rng: random.Random) -> bytes:
    """Leave a few lines out."""
    lines = data.split(b"\n")
    start = rng.randrange(len(lines))
    return b"\n".join(lines[:start] + lines[start + rng.randrange(1, 12):])


def join_lines(data: bytes, rng: random.Random) -> bytes:
    """Put a few lines into one."""
    lines = data.split(b"\n")
    start = rng.randrange(len(lines))
    end = start + rng.randrange(2, 30)
    joined = [b" ".join(lines[start:end])]
    return b"\n".join(lines[:start] + joined + lines[end:])


def nest(data: bytes, rng: random.Random) -> bytes:
    """Insert thousands of opening brackets at the beginning of a line."""
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    opening = rng.choice((b"a {\n", b"{", b"[", b"(", b"value { list { g { op { attr {",
                          b'{"a":', b"<", b"}", b"]"))
    lines.insert(place, opening * rng.randrange(1000, 5000))
    return b"\n".join(lines)


def swell(data: bytes, rng: random.Random) -> bytes:
    """Make one line very long."""
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    filler = rng.choice((b" ", b"a", b"\\", b'\\"', b"(", b", ", b": ", b"\\000", b'"',
                         b"] (", b"a.y, "))
    at = rng.randrange(len(lines[place]) + 1)
    lines[place] = lines[place][:at] + filler * _LONG + lines[place][at:]
    return b"\n".join(lines)


def double(data: bytes, rng: random.Random) -> bytes:
    """Put the file after itself, whole or in part."""
    return data + data[:rng.randrange(1, len(data) + 1)]


def blank(data: bytes, rng: random.Random) -> bytes:
    """Overwrite a piece with zero bytes."""
    start = rng.randrange(len(data))
    length = min(rng.randrange(1, 4097), len(data) - start)
    return data[:start] + bytes(length) + data[start + length:]


def encode(data: bytes, rng: random.Random) -> bytes:
    """Write the text in another encoding, or with other line ends."""
    text = data.decode("latin-1")
    kind = rng.randrange(4)
    if kind == 0:
        return text.encode("utf-16")
    if kind == 1:
        return b"\xef\xbb\xbf" + data
    if kind == 2:
        return data.replace(b"\n", b"\r\n")
    return text.encode("utf-16-le")


MUTATORS: tuple[tuple[str, Callable[[bytes, random.Random], bytes]], ...] = tuple(
    (each.__name__, each) for each in (
        flip_bits, change_byte, insert_bytes, truncate, behead, cut_out, swap_lines,
        repeat_lines, drop_lines, join_lines, nest, swell, double, blank, encode))
