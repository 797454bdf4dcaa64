from __future__ import annotations

import numpy as np

from ge_harness.experiments import paired


def _compare(candidate, eager, truth):
    sides = {"candidate": candidate, "eager": eager}
    return paired.compare({name: np.array(side, np.float16)
                           for name, side in sides.items()},
                          np.array(truth, np.float64), "float16", 0)


def test_outputs_without_a_number_have_no_power():
    nan = [[np.nan, np.nan], [np.nan, np.nan]]
    found = _compare(nan, nan, nan)
    assert "no element is finite" in found.powerless("eager")
    empty = np.zeros((2, 0))
    assert "no element is finite" in _compare(empty, empty, empty).powerless("eager")


def test_one_set_has_no_power_and_two_have():
    one = [[1.0, 2.0]]
    assert "one input set" in _compare(one, one, one).powerless("eager")
    assert _compare(one * 2, one * 2, one * 2).powerless("eager") == ""


def test_elements_that_changed_kind_need_no_interval():
    found = _compare([[np.inf]], [[1.0]], [[1.0]])
    assert found.worse("eager")
    assert found.powerless("eager") == ""
