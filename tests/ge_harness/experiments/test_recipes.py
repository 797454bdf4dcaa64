"""Recipes for inputs: at other magnitudes, finite numbers stay finite."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.compare.dtypes import round_to, widen
from ge_harness.experiments.recipes import RECIPES, times

DRAWN = np.random.RandomState(0).uniform(-1.0, 1.0, (8, 16))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
@pytest.mark.parametrize("factor", [0.0625, 16.0, 2.0**100])
def test_a_recipe_at_another_magnitude_makes_finite_numbers(recipe, dtype, factor):
    made = times(recipe, factor).change(DRAWN.copy(), dtype, np.random.RandomState(1))
    assert made.shape == DRAWN.shape
    assert np.isfinite(widen(round_to(made, dtype), dtype)).all()


def test_a_factor_scales_the_numbers_of_the_recipe():
    recipe = RECIPES[0]
    made = times(recipe, 4.0).change(DRAWN, "float32", np.random.RandomState(1))
    np.testing.assert_array_equal(made, DRAWN * 4.0)
    assert "times 4" in times(recipe, 4.0).name
