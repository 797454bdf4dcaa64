"""The backend that docs/writing_a_backend.md shows is a whole one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dumps.graphdef import write
from ge_harness.records.run import RunRequest, RunSuccess
from ge_harness.records.tensor import Case, Port, TensorSpec
from ge_harness.worker import backend_lookup, launch
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder

PAGE = Path(__file__).resolve().parents[1] / "docs" / "writing_a_backend.md"
NAME = "shown_backend:RoundedBackend"


def test_the_backend_of_the_page_runs_in_a_worker(tmp_path, monkeypatch):
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (tmp_path / "shown_backend.py").write_text(shown[0], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(backend_lookup.TEST_VARIABLE, NAME)
    write(graph(placeholder("x", "float16"), const("k", 0.1, "float16"),
                node("y", "Mul", "x", "k")), tmp_path / "graph.pb")
    x = np.array([1.0, 3.0, 1000.0], np.float16)
    np.save(str(tmp_path / "x.npy"), x)
    case = Case("shown", "float16", 0, str(tmp_path / "graph.pb"),
                (Port(TensorSpec("x", (3,), "float16"), "x:0"),),
                (Port(TensorSpec("y", (3,), "float16"), "y:0"),),
                (str(tmp_path / "x.npy"),))
    done = launch.launch([RunRequest(case, NAME, timeout_s=60.0)], tmp_path / "jobs")[0]
    assert isinstance(done, RunSuccess), done
    assert done.repeatable
    assert done.environment.route == "NumPy, op by op"
    assert np.array_equal(np.load(done.output_paths[0]), x * np.float16(0.1))
