from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_harness.backends.eager import EagerBackend
from ge_harness.records.run import FailureKind, RunFailure, RunRequest, RunSuccess
from ge_harness.records.tensor import Case, Port, TensorSpec
from ge_harness.worker import environment, launch

PROGRAM = Path(__file__).with_name("plain_eager.py")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of graphs and plain results, made once in a process of its own."""
    folder = tmp_path_factory.mktemp("plain")
    variables = dict(environment.prepare(os.environ, {}, 2).variables)
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder)], env=variables, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert done.returncode == 0, done.stdout.decode()[-3000:]
    return folder


@pytest.fixture
def run_eager(made, tmp_path):
    def run(name, x=None, **fields):
        dtype, ends = json.loads((made / f"{name}.json").read_text())
        arrays = np.load(str(made / f"{name}.npz"), allow_pickle=False)
        given = arrays["x"] if x is None else x
        np.save(str(tmp_path / "x.npy"), given)
        case = Case(
            subgraph=name, variant="", seed=0, graph_path=str(made / f"{name}.pb"),
            inputs=(Port(TensorSpec("x", given.shape, dtype), "x:0"),),
            outputs=tuple(Port(TensorSpec(key, tuple(shape), kind), tensor)
                          for key, (tensor, shape, kind) in ends.items()),
            input_paths=(str(tmp_path / "x.npy"),))
        result = launch.launch(
            [RunRequest(case, "eager", timeout_s=120, **fields)], tmp_path / "jobs")[0]
        if isinstance(result, RunFailure):
            return result, {}
        return result, {port.spec.name: np.load(path) for port, path in zip(
            case.outputs, result.output_paths)}

    return run


@pytest.mark.tf
@pytest.mark.parametrize("name", ["mixed", "numbers32", "numbers16", "bfloat16"])
def test_node_by_node_equals_plain_eager_calls_bit_for_bit(made, run_eager, name):
    result, outputs = run_eager(name)
    assert isinstance(result, RunSuccess), result.message
    assert result.repeatable
    plain = np.load(str(made / f"{name}.npz"), allow_pickle=False)
    for key, found in outputs.items():
        wanted = plain[f"plain_{key}"]
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert found.tobytes() == wanted.tobytes(), key


@pytest.mark.tf
@pytest.mark.parametrize("name", ["scalars", "scalars_turned"])
def test_minus_zero_is_not_taken_for_zero_in_either_order(run_eager, name):
    _, outputs = run_eager(name)
    assert np.signbit(outputs["y"]).tolist() == [False, True]
    assert np.signbit(outputs["z"]).tolist() == [False, False]
    assert outputs["y"].tolist() == outputs["z"].tolist() == [0.0, 0.0]


@pytest.mark.tf
def test_a_numerics_check_that_fails_names_op_and_node(run_eager):
    result, _ = run_eager("checked")
    assert result.kind is FailureKind.RUN
    assert "op CheckNumerics, node 'guard'" in result.message
    assert "found it" in result.message
    good, outputs = run_eager("checked", np.array([1, 2], np.float32))
    assert isinstance(good, RunSuccess)
    assert outputs["y"].tolist() == [1, 2]


@pytest.mark.tf
def test_an_assertion_behind_a_control_input_is_honored(run_eager):
    result, _ = run_eager("asserted")
    assert result.kind is FailureKind.RUN
    assert "op Assert, node 'guard'" in result.message
    _, outputs = run_eager("asserted", np.array([1, 2], np.float32))
    assert outputs["y"].tolist() == [2, 4]


@pytest.mark.tf
def test_what_no_output_depends_on_is_not_executed(run_eager):
    result, outputs = run_eager("unused_guard")
    assert isinstance(result, RunSuccess)
    assert outputs["y"][0] == 2


@pytest.mark.tf
def test_an_op_without_kernel_is_unavailable_and_named(run_eager):
    result, _ = run_eager("no_kernel")
    assert result.kind is FailureKind.UNAVAILABLE
    assert "op Cholesky" in result.message


@pytest.mark.tf
def test_pools_and_choices_are_recorded_as_tensorflow_has_them(run_eager):
    result, _ = run_eager("bfloat16", threads=1)
    assert dict(result.environment.threads) == {
        "environment": 1, "tensorflow inter_op": 1, "tensorflow intra_op": 1}
    assert result.environment.route == "eager, node by node"
    assert dict(result.sent)["grappler"] == "off"
    assert dict(result.sent)["onednn"] == result.environment.onednn


@pytest.mark.tf
def test_a_polluted_environment_changes_nothing(run_eager, monkeypatch):
    clean, _ = run_eager("numbers32")
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit")
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    polluted, _ = run_eager("numbers32", cold=True)
    assert polluted.output_hashes == clean.output_hashes
    assert "TF_XLA_FLAGS" in dict(polluted.environment.removed)
    assert polluted.environment.onednn == clean.environment.onednn


@pytest.mark.tf
def test_a_graph_file_that_is_none_is_a_named_failure(made, run_eager):
    good = (made / "scalars.pb").read_bytes()
    try:
        (made / "scalars.pb").write_bytes(b"\xff" * 40)
        result, _ = run_eager("scalars")
    finally:
        (made / "scalars.pb").write_bytes(good)
    assert result.kind is FailureKind.BUILD
    assert "not a binary GraphDef" in result.message


def test_probe_answers_without_importing_tensorflow():
    code = ("import sys; sys.path.insert(0, sys.argv[1]);"
            "from ge_harness.backends.eager import EagerBackend;"
            "p = EagerBackend().probe();"
            "print(bool(p.reason), 'tensorflow' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code, str(PROGRAM.parents[3])],
                          stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().split() == ["True", "False"]


def test_the_label_says_that_eager_is_not_the_truth():
    assert "not truth" in EagerBackend.label
