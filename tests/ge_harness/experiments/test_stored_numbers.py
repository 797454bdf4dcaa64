"""The numbers of C2, C3 and D are those of the stored arrays, by plain NumPy.

Nothing of ge_harness computes here but the experiment itself.
"""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.experiments import accumulation, iteration, movement
from tests.ge_harness.experiments.benches import bench

pytestmark = pytest.mark.tf


def _line(array):
    """Return fp16 as places on the ordered line of representable numbers."""
    bits = array.view(np.int16).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


def _ulp_errors(array, truth):
    """Return |a - r| in ULP of the unrounded reference, of fp16's own exponents."""
    exponent = np.maximum(np.floor(np.log2(np.abs(truth))), -14)
    return (np.abs(array.astype(np.float64) - truth) / 2.0 ** (exponent - 10)).ravel()


def test_the_matrix_of_c2_is_that_of_the_stored_sums(tmp_path):
    report = accumulation.run(bench(tmp_path, "emulator", sets=40, repeat=3))
    tiles = report.table.columns[1:]
    stored = {tile: np.load(str(tmp_path / report.artifacts[f"many {tile}"][0]))
              for tile in tiles}
    truth = np.load(str(tmp_path / report.artifacts["reference"][0]))
    for row in report.table.rows:
        for tile, cell in zip(tiles, row[1:]):
            apart = np.abs(_line(stored[row[0]]) - _line(stored[tile]))
            assert cell == f"{apart.max()} ({(apart > 0).mean():.3g})"
    rows = {row[0]: row for row in report.more_tables[0].rows}
    for tile in tiles:
        errors = _ulp_errors(stored[tile], truth)
        assert rows[tile][1] == errors.size == 40
        assert rows[tile][2] == pytest.approx(errors.mean(), rel=1e-12)
        assert rows[tile][4] == pytest.approx(errors.max(), rel=1e-12)


def test_the_errors_of_c3_are_those_of_the_stored_outputs(tmp_path):
    report = iteration.run(bench(tmp_path, "emulator"))
    rows = {(row[0], row[1]): dict(zip(report.table.columns, row))
            for row in report.table.rows}
    names = {"framework default": "candidate", "forced Newton 2": "newton2",
             "forced Newton 3": "newton3", "eager TensorFlow": "eager"}
    for function in ("rsqrt", "div"):
        truth = np.load(str(tmp_path / report.artifacts[f"{function} reference"][0]))
        for side, artifact in names.items():
            stored = np.load(str(
                tmp_path / report.artifacts[f"{function} {artifact}"][0]))
            errors = np.sort(_ulp_errors(stored, truth))
            row = rows[function, side]
            assert row["elements"] == errors.size
            assert row["mean ULP"] == pytest.approx(errors.mean(), rel=1e-12)
            place = int(np.ceil(0.99 * errors.size)) - 1
            assert row["P99 ULP"] == pytest.approx(errors[place], rel=1e-12)
            assert row["max ULP"] == pytest.approx(errors[-1], rel=1e-12)
            assert row["share <= 0.5"] == (errors <= 0.5).mean()


def test_the_ticks_of_d_are_those_of_the_stored_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(movement, "COMBINED", ("transpose_concat",))
    monkeypatch.setattr(movement, "SINGLE", ())
    report = movement.run(bench(tmp_path, "emulator", dtype="float16"))
    for number, row in enumerate(report.table.rows):
        sides = [[np.load(str(tmp_path / path)).tobytes()
                  for path in report.artifacts[f"{number} {side}"]]
                 for side in ("candidate", "eager")]
        assert (row[4] == "yes") == (sides[0] == sides[1])
