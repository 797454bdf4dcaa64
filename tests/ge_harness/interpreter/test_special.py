"""The error function against 60-digit arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.interpreter import special

mpmath = pytest.importorskip("mpmath", reason="mpmath, the 60-digit witness, is absent")
RANGES = ((1e-300, 1e-3), (1e-3, 0.5), (0.5, 1.0), (1.0, 4.0), (4.0, 6.0), (6.0, 26.5))


def worst_ulp(function, truth, points):
    found, worst = function(points), 0.0
    with mpmath.workdps(60):
        for point, value in zip(points, found):
            exact = truth(mpmath.mpf(float(point)))
            ulp = mpmath.mpf(2) ** max(mpmath.floor(mpmath.log(abs(exact), 2)) - 52,
                                       -1074)
            worst = max(worst, float(abs(mpmath.mpf(float(value)) - exact) / ulp))
    return worst


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["positive", "negative"])
def test_erf_is_within_1_5_ulp_and_erfc_within_2(low, high, sign):
    points = sign * np.random.RandomState(7).uniform(low, high, 300)
    assert worst_ulp(special.erf, mpmath.erf, points) <= 1.5
    assert worst_ulp(special.erfc, mpmath.erfc, points) <= 2.0


def test_the_borders_of_its_pieces_are_seamless():
    borders = np.concatenate([np.arange(0.5, 4.01, 0.25), [5.9, 6.0]])
    points = np.concatenate([np.nextafter(borders, 0), borders,
                             np.nextafter(borders, 9)])
    assert worst_ulp(special.erfc, mpmath.erfc, points) <= 2.0
    assert worst_ulp(special.erf, mpmath.erf, points) <= 1.5


def test_special_values_come_out_as_the_limits_say():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 40.0, -40.0])
    erf, erfc = special.erf(x), special.erfc(x)
    assert erf[:4].tolist() == [0.0, 0.0, 1.0, -1.0]
    assert np.signbit(erf[1])
    assert not np.signbit(erf[0])
    assert erfc[:4].tolist() == [1.0, 1.0, 0.0, 2.0]
    assert np.isnan(erf[4])
    assert np.isnan(erfc[4])
    assert erf[5] == pytest.approx(1.1283791670955126e-310, rel=1e-10)
    assert erfc[6] == 0.0
    assert erfc[7] == 2.0


def test_a_scalar_and_an_empty_array_keep_their_shape():
    assert special.erf(np.float64(0.25)).shape == ()
    assert special.erfc(np.zeros((0, 3))).shape == (0, 3)
