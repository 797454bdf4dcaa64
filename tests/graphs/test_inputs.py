from __future__ import annotations

import numpy as np
import pytest

from graphs.built import Feed
from graphs.distribution import (
    KINDS,
    Booleans,
    Integers,
    LogUniform,
    Normal,
    Uniform,
    Values,
    default_for,
)
from graphs.errors import GraphError
from graphs.inputs import draw
from graphs.subgraph import Input


def feed(name="x", distribution=None, dtype="float32"):
    return Feed(name, f"{name}:0", (4,), dtype, distribution or default_for(dtype))


def test_the_stream_is_frozen():
    found = draw(feed("x", Normal()), (3,), 7)
    stream = np.random.RandomState([7, 0, 2363233923])
    assert found.tolist() == stream.standard_normal(3).tolist()


def test_the_same_seed_and_name_give_the_same_numbers_and_others_do_not():
    first = draw(feed("x"), (100,), 3)
    assert np.array_equal(first, draw(feed("x"), (100,), 3))
    assert not np.array_equal(first, draw(feed("x"), (100,), 4))
    assert not np.array_equal(first, draw(feed("w"), (100,), 3))
    assert not np.array_equal(first, draw(feed("x"), (100,), 3 + 2**32))
    assert draw(feed("x"), (100,), -1).shape == (100,)


def test_a_longer_input_begins_with_the_shorter_one():
    assert np.array_equal(draw(feed("x"), (100,), 3)[:10], draw(feed("x"), (10,), 3))


@pytest.mark.parametrize(("kind", "low", "high"), [
    (Uniform(0.01, 100.0), 0.01, 100.0), (LogUniform(1e-3, 1e3), 1e-3, 1e3),
    (Integers(-3, 5), -3, 4), (Booleans(0.25), 0, 1)], ids=str)
def test_numbers_stay_within_their_distribution(kind, low, high):
    found = draw(feed("x", kind), (5000,), 0)
    assert found.dtype == np.float64
    assert found.min() >= low
    assert found.max() <= high
    assert len(np.unique(found)) > 1


def test_integers_are_whole_and_reach_both_ends():
    found = draw(feed("x", Integers(-3, 5)), (5000,), 0)
    assert sorted(set(found.tolist())) == [-3, -2, -1, 0, 1, 2, 3, 4]


def test_a_normal_has_its_mean_and_deviation():
    found = draw(feed("x", Normal(2.0, 0.5)), (20000,), 0)
    assert abs(found.mean() - 2.0) < 0.02
    assert abs(found.std() - 0.5) < 0.02


def test_values_are_taken_exactly_and_from_the_start_again():
    kind = Values((1e-45, -0.0, float("nan")))
    found = draw(Input("x", (4,), distribution=kind), (2, 2), 99)
    assert found.shape == (2, 2)
    assert found[0, 0] == 1e-45
    assert np.signbit(found[0, 1])
    assert np.isnan(found[1, 0])
    assert found[1, 1] == 1e-45


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)], ids=str)
@pytest.mark.parametrize("kind", [Normal(), Uniform(), LogUniform(), Integers(),
                                  Booleans(), Values((1.0, 2.0))], ids=str)
def test_every_distribution_draws_every_shape(kind, shape):
    assert draw(feed("x", kind), shape, 1).shape == shape
    assert isinstance(kind, KINDS)


def test_foreign_ports_get_numbers_of_their_kind():
    assert default_for("bool") == Booleans()
    assert default_for("uint8") == Integers()
    assert default_for("bfloat16") == Normal()


def test_a_distribution_nobody_knows_is_named():
    with pytest.raises(GraphError, match="input 'x'"):
        draw(feed("x", distribution="normal"), (1,), 0)
