"""Single functions on a backend: the case that is written, tables, memory, limits."""

from __future__ import annotations

import numpy as np
import pytest

from dumps import graphdef
from ge_harness.explain import kernels as kernels_module
from ge_harness.explain.kernels import KernelLimitError, Kernels
from ge_harness.explain.policy import product_node, sum_node
from ge_harness.interpreter.eager import EAGER
from ge_harness.interpreter.evaluate import evaluate
from ge_harness.records.run import (
    Environment,
    FailureKind,
    RunFailure,
    RunRequest,
    RunSuccess,
)
from ge_harness.records.tensor import Case
from tests.ge_harness.interpreter.graph_builder import node

REQUEST = RunRequest(Case("s", "", 0, "", (), (), ()), "xla")


@pytest.fixture
def backend(monkeypatch):
    """Run cases with the interpreter in the place of a backend; return what ran."""
    ran = []

    def launch(requests, folder):
        case = requests[0].case
        ran.append(requests[0])
        feeds = {port.tensor: np.load(path, allow_pickle=False)
                 for port, path in zip(case.inputs, case.input_paths)}
        found = evaluate(graphdef.read(case.graph_path), feeds, ["y:0"], EAGER)["y:0"]
        assert tuple(found.shape) == case.outputs[0].spec.shape
        path = str(folder / "y.npy")
        np.save(path, found, allow_pickle=False)
        return [RunSuccess(requests[0], (path,), (), True, "", (), (), (), (), 0.0,
                           Environment("3", "1"))]

    monkeypatch.setattr(kernels_module.launch, "launch", launch)
    return ran


def draw(*shape):
    return np.random.RandomState(1).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(3, 7), (1024,), (), (0, 4), (2, 3, 1025)])
def test_a_function_keeps_shape_and_values(tmp_path, backend, shape):
    x = draw(*shape) if shape else np.float32(0.5)
    found = Kernels(REQUEST, tmp_path)(node("n", "Neg", "a", T="float32"), "float32",
                                       [np.asarray(x)])
    assert found.tobytes() == np.asarray(-x).tobytes()
    assert found.shape == shape
    assert backend[0].case.inputs[0].spec.shape[0] % 1024 == 0
    assert not backend[0].want_dumps


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_16_bit_function_is_one_table_whatever_the_arguments(
        tmp_path, backend, dtype):
    kernels = Kernels(REQUEST, tmp_path)
    for seed in range(3):
        x = np.random.RandomState(seed).randint(-50, 50, (4, 5)).astype(np.float32)
        found = kernels(node("n", "Neg", "a", T="float32"), dtype, [x])
        assert found.tolist() == (-x).tolist()
    assert kernels.runs == len(backend) == 1
    assert backend[0].case.inputs[0].spec.shape == (65536,)


def test_the_same_arguments_run_once_and_others_again(tmp_path, backend):
    kernels = Kernels(REQUEST, tmp_path)
    asked = node("n", "Exp", "a", T="float32")
    for x in (draw(5), draw(5), draw(6)):
        kernels(asked, "float32", [x])
    assert kernels.runs == 2


def test_sums_and_products_have_the_shapes_of_their_node(tmp_path, backend):
    kernels = Kernels(REQUEST, tmp_path)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    found = kernels(sum_node((0, 2)), "float32", [x])
    np.testing.assert_array_equal(found, x.sum(axis=(0, 2), keepdims=True))
    left, right = draw(5, 3), draw(3, 4)
    for turned in (False, True):
        asked, operands = product_node(
            node("m", "MatMul", "a", "b", transpose_a=False, transpose_b=turned),
            left, right)
        found = kernels(asked, "float32", operands)
        np.testing.assert_allclose(found, left @ right, rtol=1e-5)
        assert operands[1].shape == ((4, 3) if turned else (3, 4))
    asked, operands = product_node(
        node("m", "BatchMatMulV2", "a", "b", adj_x=True, adj_y=False), draw(2, 5, 3),
        draw(2, 3, 4))
    assert kernels(asked, "float32", operands).shape == (2, 5, 4)


def test_a_function_the_backend_refuses_is_not_tried_again(tmp_path, monkeypatch):
    tries = []

    def launch(requests, folder):
        tries.append(1)
        return [RunFailure(requests[0], FailureKind.COMPILE, "no", 1, "")]

    monkeypatch.setattr(kernels_module.launch, "launch", launch)
    kernels = Kernels(REQUEST, tmp_path)
    for x in (draw(3), draw(4)):
        with pytest.raises(KernelLimitError):
            kernels(node("n", "Exp", "a", T="float32"), "float32", [x])
    assert len(tries) == 1


def test_runs_are_limited(tmp_path, backend):
    kernels = Kernels(REQUEST, tmp_path, max_runs=1)
    asked = node("n", "Exp", "a", T="float32")
    kernels(asked, "float32", [draw(3)])
    with pytest.raises(KernelLimitError):
        kernels(asked, "float32", [draw(4)])
    kernels(asked, "float32", [draw(3)])
