from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import ge_harness
from ge_harness import toolkit

ROOT = Path(__file__).resolve().parents[2]


def test_the_package_offers_the_toolkit():
    assert ge_harness.bit_equal(np.float16([1]), np.float16([1]))
    assert ge_harness.ulp_diff(np.float16([1]), np.float16([1.001])).tolist() == [1]
    assert ge_harness.error_stats(np.float16([1]), np.array([1.0]))["ulp"]["max"] == 0
    assert set(toolkit.__all__) >= {"bit_equal", "ulp_diff", "error_stats",
                                    "fp64_reference"}


def test_the_reference_is_handed_to_the_interpreter(monkeypatch):
    asked = []

    def evaluate(graph, inputs, outputs=None):
        asked.append((graph, inputs, outputs))
        return {"y": np.zeros(1)}

    import ge_harness.interpreter.evaluate as module
    monkeypatch.setattr(module, "fp64_reference", evaluate)
    assert list(toolkit.fp64_reference("graph", {"x": 1}, ["y:0"])) == ["y"]
    assert asked == [("graph", {"x": 1}, ["y:0"])]


def test_importing_the_toolkit_loads_neither_tensorflow_nor_interpreter():
    code = ("import sys, ge_harness.toolkit\n"
            "print([n for n in sys.modules if n in ('tensorflow', 'numba') or "
            "n.startswith('ge_harness.interpreter')])")
    found = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE,
                           text=True, cwd=str(ROOT))
    assert found.stdout.strip() == "[]"
