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


@pytest.mark.parametrize("text", [
    '{"grid": {"id": ["C1"]}, "timeout_s": NaN}',
    '{"grid": {"id": ["C1"]}, "timeout_s": Infinity}',
    '{"grid": {"id": ["C1"]}, "timeout_s": 1e300}',
    '{"grid": {"id": ["C1"]}, "parallel": true}',
    '{"grid": {"id": ["C1"]}, "parallel": 100000}',
    '{"grid": {"id": ["C1"], "id": ["D"]}}',
    '{"grid": {"id": ["--plan=plan.json"]}}', '{"grid": {"id": ["F"]}}',
    '{"grid": {"id": ["C1"], "plan": ["plan.json"]}}',
    '{"grid": {"id": ["C1"], "seed=1 --out": ["x"]}}',
    '{"grid": {"id": ["C1"]}, "options": ["--resume=elsewhere"]}',
    '{"grid": {"id": ["C1"]}, "options": ["D"]}',
    '{"grid": {"id": ["C1"], "xla-flags": ["a\\u0000b"]}}',
    '{"grid": {"id": ["C1"], "xla-flags": ["\\ud800"]}}',
    json.dumps({"grid": {"id": ["C1"], **{
        key: [str(place) for place in range(100)] for key in ("seed", "sets", "a")}}}),
    '{"grid": ' * 100000], ids=lambda text: text[:60])
def test_a_plan_that_would_run_something_else_is_refused(tmp_path, text):
    with pytest.raises(PlanError):
        sweep.read_plan(_plan(tmp_path, text))


def test_a_cell_of_a_plan_that_changed_is_another_cell(tmp_path):
    plan = {"grid": {"id": ["C1"], "backend": ["xla"]}, "options": ["--sets=2"]}
    before = sweep.read_plan(_plan(tmp_path, plan))[0].name
    assert sweep.read_plan(_plan(tmp_path, plan))[0].name == before
    plan["options"] = ["--sets=4"]
    assert sweep.read_plan(_plan(tmp_path, plan))[0].name != before


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
