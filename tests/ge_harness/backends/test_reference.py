"""The reference backend: float64 out, and failures with their kind."""

from __future__ import annotations

import numpy as np
import pytest

from dumps.graphdef import write
from ge_harness.backends.base import BackendFailure
from ge_harness.backends.reference import ReferenceBackend
from ge_harness.backends.table import BACKENDS
from ge_harness.records.run import FailureKind, RunRequest
from ge_harness.records.tensor import Case, Port, TensorSpec
from tests.ge_harness.interpreter.graph_builder import (
    const,
    graph,
    node,
    placeholder,
)


def request(path, outputs=(("y", "y:0", "bfloat16"),)):
    ports = tuple(Port(TensorSpec(name, (None,), dtype), tensor)
                  for name, tensor, dtype in outputs)
    case = Case("made", "", 0, str(path),
                (Port(TensorSpec("in", (None,), "bfloat16"), "x:0"),), ports, ())
    return RunRequest(case, "reference")


def compiled(tmp_path, *nodes):
    path = tmp_path / "graph.pb"
    write(graph(placeholder("x", "bfloat16"), *nodes), path)
    return ReferenceBackend().compile(request(path), tmp_path)


BITS = {"in": np.array([0x3F80, 0x4049], np.uint16)}


def test_it_is_in_the_table_and_usable_without_tensorflow():
    backend = BACKENDS.load("reference")()
    assert backend.probe().usable
    assert backend.name == "reference"


def test_float_outputs_come_as_float64(tmp_path):
    ready = compiled(tmp_path, const("k", 0x3DCD, "bfloat16"),
                     node("y", "Mul", "x", "k"))
    found = ready.execute(BITS)["y"]
    assert ready.float64_outputs
    assert found.dtype == np.float64
    assert found.tolist() == [0.10009765625, 3.140625 * 0.10009765625]
    assert ready.evidence().route == "float64, node by node, NumPy"


def test_a_check_that_fails_is_a_run_failure(tmp_path):
    ready = compiled(tmp_path, node("l", "Log", "x"),
                     node("y", "CheckNumerics", "l", message=b"bad"))
    with pytest.raises(BackendFailure, match="CheckNumerics node 'y'") as caught:
        ready.execute({"in": np.array([0xBF80], np.uint16)})
    assert caught.value.kind is FailureKind.RUN


def test_an_unknown_op_is_a_build_failure(tmp_path):
    ready = compiled(tmp_path, node("y", "Wish", "x"))
    with pytest.raises(BackendFailure, match="no op 'Wish'") as caught:
        ready.execute(BITS)
    assert caught.value.kind is FailureKind.BUILD


def test_a_file_that_is_no_graph_is_a_build_failure(tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes(b"not a graph")
    with pytest.raises(BackendFailure) as caught:
        ReferenceBackend().compile(request(path), tmp_path)
    assert caught.value.kind is FailureKind.BUILD
