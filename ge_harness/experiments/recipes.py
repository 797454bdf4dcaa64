"""Recipes for inputs that bring out one weakness of low-precision arithmetic each."""

from __future__ import annotations

from typing import Callable, NamedTuple

import numpy as np

import graphs
from ge_harness.compare.dtypes import FLOAT_FORMATS, round_to
from ge_harness.records.job import BuiltCase
from ge_harness.worker import built as worker_built
from graphs.errors import GraphError
from graphs.inputs import draw

Change = Callable[[np.ndarray, str, np.random.RandomState], np.ndarray]
_WIDE_LENGTH = 1024


class Recipe(NamedTuple):
    """How inputs are made from those the subgraph declares.

    Attributes:
        name: short.
        words: range and structure.
        change: [...] float64 as drawn, dtype, stream -> [...] float64.
        wide: for the shape with a long reduced axis.
    """

    name: str
    words: str
    change: Change
    wide: bool = False


def _scaled(factor: float) -> Change:
    return lambda drawn, dtype, stream: drawn * factor


def _offset(offset: float, spread: float) -> Change:
    return lambda drawn, dtype, stream: offset + drawn * spread


def _subnormal(drawn: np.ndarray, dtype: str, stream: np.random.RandomState
               ) -> np.ndarray:
    return np.asarray(drawn * 2.0 ** (FLOAT_FORMATS[dtype].emin - 2))


def _edge(drawn: np.ndarray, dtype: str, stream: np.random.RandomState) -> np.ndarray:
    return np.asarray(
        np.clip(drawn, -1.0, 1.0) * min(2.0 ** FLOAT_FORMATS[dtype].emax, 1e30))


def _root_edge(drawn: np.ndarray, dtype: str, stream: np.random.RandomState
               ) -> np.ndarray:
    return np.asarray(np.clip(drawn, -1.0, 1.0) * min(
        2.0 ** (FLOAT_FORMATS[dtype].emax / 2.0), 1e15))


def _magnitudes(drawn: np.ndarray, dtype: str, stream: np.random.RandomState
                ) -> np.ndarray:
    return np.asarray(np.sign(drawn) * 2.0 ** stream.uniform(-8.0, 4.0, drawn.shape))


def _opposite(drawn: np.ndarray, dtype: str, stream: np.random.RandomState
              ) -> np.ndarray:
    """Neighbors that cancel but for a small rest."""
    changed = drawn.copy().reshape(-1)
    half = changed.size // 2
    changed[half:2 * half] = -changed[:half] * (1.0 + 1e-3 * stream.randn(half))
    return changed.reshape(drawn.shape)


def _coarse(drawn: np.ndarray, dtype: str, stream: np.random.RandomState) -> np.ndarray:
    """Around a number whose ULP is half of the spread: few distinct values are left."""
    return np.asarray(0.78125 * 2.0 ** (FLOAT_FORMATS[dtype].precision - 1) + drawn)


def _one_large(drawn: np.ndarray, dtype: str, stream: np.random.RandomState
               ) -> np.ndarray:
    changed = drawn * 0.01
    if changed.ndim:
        changed[..., 0] = 8.0
    return changed


RECIPES = (
    Recipe("as declared", "the subgraph's own distribution", _scaled(1.0)),
    Recipe("small", "a tenth of the declared range", _scaled(0.1)),
    Recipe("steep", "four times the declared range", _scaled(4.0)),
    Recipe("cancellation by offset", "10 with a spread of 0.1: differences cancel",
           _offset(10.0, 0.1)),
    Recipe("coarse grid", "around a number whose ULP is half of the spread: few "
           "distinct values", _coarse),
    Recipe("cancellation by pairs", "each value with nearly its negative", _opposite),
    Recipe("subnormals", "at and below the smallest normal number", _subnormal),
    Recipe("edge of overflow", "up to half of the largest finite number", _edge),
    Recipe("edge of overflow of squares", "squares are at the largest finite number",
           _root_edge),
    Recipe("all magnitudes", "magnitudes from 2^-8 to 16", _magnitudes),
    Recipe("one large among small", "one value of 8 in each row of values near 0",
           _one_large),
    Recipe("large fan-in", "sums of 1024 values as declared", _scaled(1.0), True),
    Recipe("large fan-in, nearly equal", "sums of 1024 values within 1 %",
           _offset(1.0, 0.01), True),
)


def times(recipe: Recipe, factor: float) -> Recipe:
    """Return a recipe whose numbers are a factor larger, finite ones kept finite."""

    def change(drawn: np.ndarray, dtype: str, stream: np.random.RandomState
               ) -> np.ndarray:
        made = recipe.change(drawn, dtype, stream)
        form = FLOAT_FORMATS[dtype]
        most = (2.0 - 2.0 ** (1 - form.precision)) * 2.0 ** form.emax
        with np.errstate(over="ignore"):
            scaled = np.clip(made * factor, -most, most)
        return np.where(np.isfinite(made), scaled, made)

    return Recipe(f"{recipe.name}, times {factor:g}",
                  f"{recipe.words}; times {factor:g}", change, recipe.wide)


def inputs_of(built: BuiltCase, recipe: Recipe, seed: int, sets: int
              ) -> dict[str, np.ndarray]:
    """Return input -> storage [sets, ...]; weights keep their declared range.

    Args:
        built: whose inputs.
        recipe: how they are made.
        seed: of the first set.
        sets: how many.
    """
    found = {}
    for feed in worker_built.feeds(built):
        rows = []
        for index in range(sets):
            drawn = draw(feed, feed.shape, seed + index)
            stream = np.random.RandomState([seed & 0xFFFFFFFF, index])
            if feed.role == "data" and feed.dtype in FLOAT_FORMATS:
                drawn = recipe.change(drawn, feed.dtype, stream)
            rows.append(round_to(drawn, feed.dtype))
        found[feed.name] = np.stack(rows)
    return found


def wide_shapes(chain: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return shapes with few rows and a long reduced axis, () where not known."""
    try:
        subgraph = graphs.load(chain)
    except GraphError:
        return ()
    desk = {item.name: item.desk for item in subgraph.inputs}
    if chain == "attention":
        return tuple((name, (1, 1, _WIDE_LENGTH // 2, shape[-1]))
                     for name, shape in desk.items())
    if chain == "matmul_add_layernorm":
        _, outer = desk["w"]
        return (("x", (4, _WIDE_LENGTH)), ("w", (_WIDE_LENGTH, outer)))
    last = desk["x"][-1]
    return tuple((name, tuple(
        _WIDE_LENGTH if axis == last else 4 for axis in shape))
        for name, shape in desk.items())
