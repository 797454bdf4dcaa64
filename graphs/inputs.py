"""Draws the numbers fed to a subgraph; rounding them is left to the caller."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from graphs.built import Feed
from graphs.distribution import (
    Booleans,
    Distribution,
    Integers,
    LogUniform,
    Normal,
    Uniform,
    Values,
)
from graphs.errors import GraphError
from graphs.subgraph import Input

_WORD = 0xFFFFFFFF


def draw(what: Feed | Input, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Draw one input.

    The stream depends on the seed and on the input's name alone: an input keeps its
    numbers when another is added, and its first numbers when it grows.

    Args:
        what: the fed port or the declared input.
        shape: axis lengths.
        seed: any whole number; set i of a case uses seed + i.

    Returns:
        [shape] float64, not yet rounded to the port's dtype.

    Raises:
        GraphError: the distribution is none that this module knows.
    """
    stream = np.random.RandomState(
        [seed & _WORD, (seed >> 32) & _WORD, zlib.crc32(what.name.encode("utf-8"))])
    return _draw(what.distribution, tuple(shape), stream, what.name)


def _draw(kind: Distribution, shape: tuple[int, ...], stream: np.random.RandomState,
          name: str) -> np.ndarray:
    drawn: Any
    if isinstance(kind, Normal):
        drawn = stream.standard_normal(shape) * kind.std + kind.mean
    elif isinstance(kind, Uniform):
        drawn = stream.random_sample(shape) * (kind.high - kind.low) + kind.low
    elif isinstance(kind, LogUniform):
        low, high = np.log(kind.low), np.log(kind.high)
        drawn = np.exp(stream.random_sample(shape) * (high - low) + low)
    elif isinstance(kind, Integers):
        drawn = stream.randint(kind.low, kind.high, size=shape, dtype=np.int64)
    elif isinstance(kind, Booleans):
        drawn = stream.random_sample(shape) < kind.share
    elif isinstance(kind, Values):
        count = int(np.prod(shape, dtype=np.int64))
        drawn = np.resize(np.array(kind.numbers, dtype=np.float64), count)
    else:
        raise GraphError(f"input {name!r}: found {kind!r}, expected a distribution of "
                         "graphs.distribution", subject=name)
    return np.asarray(drawn, dtype=np.float64).reshape(shape)
