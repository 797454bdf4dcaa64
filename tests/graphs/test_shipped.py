"""Every shipped subgraph built and run once on this TensorFlow, in all it declares."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import graphs
from graphs.build import BuildOptions, build_graph
from graphs.inputs import draw
from graphs.source import resolve

pytestmark = pytest.mark.tf
_ERF = np.vectorize(math.erf, otypes=[float])
# Greatest |found - truth| / (1 + |truth|) that rounding every op can cost here.
_ALLOWED = {"float16": 0.02, "bfloat16": 0.15, "float32": 3e-5}


def cases():
    for name in graphs.names():
        subgraph = graphs.load(name)
        for dtype in subgraph.dtypes:
            for values in itertools.product(*[v for _, v in subgraph.variants]):
                variants = tuple(zip([n for n, _ in subgraph.variants], values))
                yield name, dtype, variants


CASES = list(cases())


def build(tf, name, dtype, variants, **more):
    try:
        return build_graph(tf, resolve(name), BuildOptions(
            dtype=dtype, variants=variants, **more))
    except graphs.GraphUnsupportedError as error:
        if dtype != "bfloat16":
            raise
        return pytest.skip(str(error))


def gelu_of(x, form):
    if form == "erf":
        return 0.5 * x * (1 + _ERF(x / math.sqrt(2)))
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def soft(x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def norm(x, gain, bias):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(
        x.var(-1, keepdims=True) + 1e-5) * gain + bias


def slices(x, slice):
    width = x.shape[1]
    part = x[:, width // 4:width // 4 + width // 2]
    return part if slice == "plain" else part[::2]


def splits(x, parts):
    width = x.shape[1]
    cuts = [width // 3, 2 * (width // 3)] if parts == "equal" else [1, width - 1]
    return dict(zip(("first", "second", "third"), np.split(x, cuts, axis=1)))


FORMULAS = {
    "abs_relu_exp": lambda x: np.exp(abs(x)),
    "attention": lambda q, k, v, softmax: soft(
        q @ np.swapaxes(k, -1, -2) / 4.0) @ v,
    "broadcast": lambda x: np.repeat(x, 5, axis=1),
    "broadcast_mul": lambda x, scalar, s=0.7: x * 0.7,
    "concat": lambda x, y, z, axis: np.concatenate(
        [x, y, z], axis=1 if axis == "last" else 0),
    "div": lambda x, y: x / y,
    "elementwise_chain": lambda x, a, b, c, gelu: gelu_of(x * a + b, gelu) * c,
    "ffn_front": lambda x, w, b, gain, bias, gelu: gelu_of(
        norm(x @ w + b, gain, bias), gelu),
    "gelu": lambda x, gelu: gelu_of(x, gelu),
    "layernorm": lambda x, gain, bias, layernorm: norm(x, gain, bias),
    "matmul_add_layernorm": lambda x, w, b, gain, bias: norm(x @ w + b, gain, bias),
    "reduce_sum": lambda x, tile: x.sum(-1),
    "reshape": lambda x: x.reshape(31, -1),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "scalar_mul": lambda x, scalar, s=0.7: x * 0.7,
    "slice": slices,
    "slice_broadcast_concat": lambda x, b: np.concatenate(
        [x[:, 16:49], np.repeat(b, len(x), axis=0)], axis=1),
    "softmax": lambda x, softmax: soft(x),
    "split": splits,
    "split_transpose_concat": lambda x: np.concatenate(
        [part.T for part in np.split(x, 3, axis=1)], axis=1),
    "transpose": lambda x, order: np.transpose(x, [int(axis) for axis in order]),
    "transpose_concat": lambda x, y: np.concatenate(
        [np.transpose(x, (0, 2, 1)), y], axis=-1),
}


def test_every_shipped_subgraph_has_a_formula_here():
    assert set(FORMULAS) == set(graphs.names())


@pytest.mark.parametrize(("name", "dtype", "variants"), CASES, ids=lambda v: str(v))
def test_it_builds_runs_and_is_near_its_formula(tf, run, name, dtype, variants):
    built = build(tf, name, dtype, variants)
    assert built.graph_def == build(tf, name, dtype, variants).graph_def
    assert built.variant.startswith(f"{dtype}/desk")
    kind = tf.as_dtype(dtype).as_numpy_dtype
    fed = {end.name: draw(end, end.shape, 5).astype(kind) for end in built.inputs}
    found = run(built, fed)
    wide = {key: value.astype(np.float64) for key, value in fed.items()}
    truth = FORMULAS[name](**wide, **dict(variants))
    truth = truth if isinstance(truth, dict) else {built.outputs[0].name: truth}
    assert list(found) == list(truth)
    for end in built.outputs:
        array, right = found[end.name], truth[end.name]
        assert array.shape == end.shape == right.shape
        assert array.dtype.name == end.dtype == dtype
        if "D" in built.claims:
            assert np.array_equal(array.astype(np.float64), right)
            continue
        error = abs(array.astype(np.float64) - right) / (1 + abs(right))
        allowed = _ALLOWED[dtype] * (100 if name == "reduce_sum" else 1)
        assert error.max() < allowed, (error.max(), allowed)


@pytest.mark.parametrize("name", graphs.names())
def test_every_extra_shape_builds_and_runs(tf, run, name):
    for label, shapes in graphs.load(name).shapes:
        built = build(tf, name, "float16", (), shapes=shapes)
        found = run(built)
        for end in built.outputs:
            assert found[end.name].shape == end.shape, label


@pytest.mark.parametrize("name", graphs.names())
def test_paper_size_builds_without_running(tf, name):
    built = build(tf, name, "float16", (), size="paper")
    declared = {item.name: item.paper or item.desk for item in graphs.load(name).inputs}
    assert {end.name: end.shape for end in built.inputs}.items() <= declared.items()
    assert len(built.graph_def) < 20000
