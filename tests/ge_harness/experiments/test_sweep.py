from __future__ import annotations

import json

import pytest

from ge_harness.errors import PlanError
from ge_harness.experiment.store import RunFolder
from ge_harness.experiments import sweep


def _plan(tmp_path, text):
    path = tmp_path / "plan.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return str(path)


def test_a_grid_becomes_one_cell_a_combination(tmp_path):
    cells = sweep.read_plan(_plan(tmp_path, {
        "grid": {"id": ["C1", "D"], "backend": ["xla"], "dtype": ["float16", ""]},
        "options": ["--sets=2"]}))
    assert [cell.words for cell in cells] == [
        ("C1", "--backend=xla", "--dtype=float16", "--sets=2"),
        ("C1", "--backend=xla", "--sets=2"),
        ("D", "--backend=xla", "--dtype=float16", "--sets=2"),
        ("D", "--backend=xla", "--sets=2")]
    assert len({cell.name for cell in cells}) == 4


@pytest.mark.parametrize("text", [
    "{", "[]", {"grid": {}}, {"grid": {"id": "C1"}}, {"grid": {"id": [1]}},
    {"grid": {"id": ["C1"]}, "more": 1}, {"grid": {"id": ["C1"]}, "parallel": 0},
    {"grid": {"id": ["C1"]}, "options": "x"}, {"grid": {"id": ["C1"]}, "timeout_s": 0}],
    ids=str)
def test_a_plan_that_is_none_is_refused_with_its_place(tmp_path, text):
    path = _plan(tmp_path, text)
    with pytest.raises(PlanError) as caught:
        sweep.read_plan(path)
    assert caught.value.path == path


def test_a_cell_that_cannot_run_takes_no_other_with_it(tmp_path):
    for each in ("inputs", "jobs"):
        (tmp_path / each).mkdir()
    cells = sweep.read_plan(_plan(tmp_path, {"grid": {
        "id": ["C1"], "backend": ["nothing", "none"]}}))
    reports, skipped = sweep.run(cells, RunFolder(tmp_path), lambda text: None)
    assert reports == []
    assert len(skipped) == 2
    assert "exit status 2: ge_harness: no backend named" in skipped[0]
    assert "no backend named" in (tmp_path / f"{cells[0].name}.log").read_text()
