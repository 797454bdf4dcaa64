"""Every op family against TensorFlow's kernels: dtype, shape and near values."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.compare.dtypes import FLOAT_FORMATS, round_to, widen
from ge_harness.interpreter.eager import EAGER
from ge_harness.interpreter.evaluate import evaluate_tensors
from ge_harness.interpreter.policy import FP64
from tests.ge_harness.interpreter.tensorflow_run import run, skip_where_missing

pytestmark = pytest.mark.tf
DTYPES = ("float16", "bfloat16", "float32", "float64")
# |found - TensorFlow| allowed, relative to 1 + |TensorFlow|.
ALLOWED = {"float16": 0.02, "bfloat16": 0.12, "float32": 1e-4, "float64": 1e-9}
SIGNED, POSITIVE = (-2.0, 2.0), (0.2, 2.0)


def drawn(shape, dtype, spread, seed):
    random = np.random.RandomState(seed)
    if dtype in FLOAT_FORMATS:
        return round_to(random.uniform(*spread, size=shape), dtype)
    return random.randint(1 if spread == POSITIVE else -9, 9, shape).astype(dtype)


def check(build, shapes, dtype, spread=SIGNED, dtypes=None):
    dtypes = dtypes or [dtype] * len(shapes)
    arrays = [drawn(shape, kind, spread, 21 + i)
              for i, (shape, kind) in enumerate(zip(shapes, dtypes))]
    with skip_where_missing():
        record, names, expected = run(build, arrays, dtypes)
    feeds = {f"x{i}": array for i, array in enumerate(arrays)}
    for policy in (FP64, EAGER):
        found = evaluate_tensors(record, feeds, names, policy)
        for name, array in zip(names, expected):
            near(found[name], array, ALLOWED.get(dtype, 1e-4), policy)


def near(tensor, expected, allowed, policy):
    assert tensor.array.shape == expected.shape
    is_float = tensor.dtype in FLOAT_FORMATS
    if policy is EAGER or not is_float:
        assert tensor.array.dtype == expected.dtype
    if not is_float:
        np.testing.assert_array_equal(tensor.array, expected)
        return
    other = widen(expected, tensor.dtype)
    same = tensor.array if policy is FP64 else widen(tensor.array, tensor.dtype)
    error = np.abs(same - other) / (1 + np.abs(other))
    assert np.all((error <= allowed) | (same == other) | (
        np.isnan(same) & np.isnan(other)))


ONE = ("negative", "abs", "square", "sqrt", "exp", "log", "log1p", "expm1", "tanh",
       "erf", "erfc", "sigmoid", "sign", "floor", "ceil", "rint", "round", "sin", "cos",
       "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "atanh", "lgamma",
       "reciprocal", "rsqrt", "is_nan", "is_inf", "is_finite", "softplus", "softsign")
ONE_NN = ("relu", "relu6", "elu", "selu", "leaky_relu", "softmax", "log_softmax",
          "l2_loss")
TWO = ("add", "subtract", "multiply", "divide", "maximum", "minimum",
       "squared_difference", "pow", "floordiv", "floormod", "atan2", "divide_no_nan",
       "multiply_no_nan", "xlogy", "xdivy", "equal", "not_equal", "less", "less_equal",
       "greater", "greater_equal")


def function(tf, name):
    for module in (tf.math, tf.compat.v1, tf.nn):
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(name)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_function_of_one_tensor(dtype, name):
    top = 0.9 if name in ("asin", "acos", "atanh") else 2.0
    check(lambda tf, x: function(tf, name)(x), [(5, 7)], dtype, (0.2, top))


@pytest.mark.parametrize("name", ONE_NN)
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_activation(dtype, name):
    check(lambda tf, x: getattr(tf.nn, name)(x), [(5, 7)], dtype)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("dtype", DTYPES + ("int32", "int64"))
def test_a_function_of_two_tensors_broadcasts(dtype, name):
    check(lambda tf, x, y: function(tf, name)(x, y), [(5, 7), (7,)], dtype, POSITIVE)


def integer_ops(tf, x, y):
    v1 = tf.compat.v1
    return [v1.div(x, y), v1.floordiv(x, y), tf.math.floormod(x, y),
            v1.truncatediv(x, y), v1.truncatemod(x, y), -x, tf.abs(x), tf.sign(x),
            tf.bitwise.bitwise_and(x, y), tf.bitwise.bitwise_or(x, y),
            tf.bitwise.bitwise_xor(x, y), tf.bitwise.invert(x)]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integer_arithmetic_is_exact_for_every_sign(dtype):
    x = np.arange(-9, 10, dtype=dtype).reshape(-1, 1)
    y = np.array([-5, -3, -1, 1, 2, 4], dtype).reshape(1, -1)
    record, names, expected = run(integer_ops, [x, y], [dtype] * 2)
    found = evaluate_tensors(record, {"x0": x, "x1": y}, names, FP64)
    for name, array in zip(names, expected):
        np.testing.assert_array_equal(found[name].array, array)


@pytest.mark.parametrize("axis", [None, 0, -1, [0, 2], []], ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", DTYPES + ("int32",))
def test_a_reduction(dtype, name, axis):
    check(lambda tf, x: [getattr(tf, f"reduce_{name}")(x, axis),
                         getattr(tf, f"reduce_{name}")(x, axis, True)],
          [(3, 4, 5)], dtype, (0.5, 1.2))


def scans(tf, x):
    math = tf.math
    return [math.cumsum(x, 0), math.cumsum(x, 1, True), math.cumsum(x, -1, False, True),
            math.cumsum(x, -1, True, True), math.cumprod(x, 1)]


def moments(tf, x):
    return [*tf.nn.moments(x, [-1]), tf.math.reduce_std(x, -1),
            tf.math.reduce_variance(x, 0), tf.norm(x, axis=1)]


def extremes(tf, x):
    return [tf.argmax(x, 1), tf.argmin(x, 0, output_type=tf.int32)]


def logic(tf, x):
    math = tf.math
    return [tf.reduce_any(x > 0, 1), tf.reduce_all(x > 0), math.logical_not(x > 0),
            math.logical_and(x > 0, x < 1), math.logical_or(x > 1, x < 0),
            math.logical_xor(x > 0, x > 1)]


def shapes(tf, x):
    return [tf.shape(x), tf.size(x), tf.rank(x), *tf.compat.v1.shape_n([x, x]),
            tf.zeros_like(x), tf.ones_like(x), tf.fill([2, 3], x[0, 0, 0]),
            tf.shape(x, out_type=tf.int64)]


def ranges(tf, x):
    return [tf.range(1.0, 5.5, 0.5), tf.range(3, 20, 4), tf.range(9, 0, -2),
            tf.linspace(0.0, 1.0, 5), tf.math.invert_permutation([2, 0, 1]),
            tf.range(0)]


def indexing(tf, x):
    return [x[1], x[:, ::2], x[..., 1:3], x[tf.newaxis, :, 1, ::-1],
            x[-1, ..., tf.newaxis], x[:, 1:, :3], x[2:0:-1], x[0:0], x[1:2, -3:-1],
            tf.slice(x, [0, 1, 2], [-1, 2, 3])]


def gathers(tf, x):
    return [tf.gather(x, [2, 0], axis=0), tf.gather(x, [[1, 0], [3, 3]], axis=1),
            tf.gather_nd(x, [[0, 1], [2, 3]]), tf.reverse(x, [0, 2]),
            tf.roll(x, [1, -2], [0, 2]), tf.linalg.band_part(x, 1, 0)]


def batch_gather(tf, x):
    return tf.gather(x, [[1, 0], [3, 3], [0, 0]], axis=1, batch_dims=1)


def pads(tf, x):
    widths = [[1, 0], [0, 2], [1, 1]]
    return [tf.pad(x, widths), tf.pad(x, widths, "REFLECT"),
            tf.pad(x, widths, "SYMMETRIC"),
            tf.pad(x, widths, constant_values=tf.cast(2.0, x.dtype))]


def joins(tf, x):
    return [tf.concat([x, x], 1), tf.concat([x, x + x], -1), tf.stack([x, x], 1),
            tf.stack([x, x], -1), *tf.unstack(x, axis=1), *tf.split(x, 2, 1),
            *tf.split(x, [1, -1, 2], 2), tf.tile(x, [2, 1, 3]),
            tf.broadcast_to(x, [2, 3, 4, 5])]


def reshapes(tf, x):
    return [tf.transpose(x, [2, 0, 1]), tf.reshape(x, [-1, 10]),
            tf.expand_dims(x, -1), tf.expand_dims(x, 1), tf.squeeze(x[:1]),
            tf.squeeze(x[:1], [0]), tf.identity(x), tf.stop_gradient(x),
            *tf.identity_n([x, x])]


def choices(tf, x):
    v1 = tf.compat.v1
    return [v1.where(x > 0, x, -x), v1.where(tf.constant([True, False, True]), x, -x),
            tf.clip_by_value(x, tf.cast(-0.5, x.dtype), tf.cast(0.5, x.dtype)),
            tf.add_n([x, x, x]), tf.one_hot([1, 0, 3], 4, dtype=x.dtype),
            tf.one_hot([[1], [2]], 3, x[0, 0, 0], x[0, 0, 1], axis=1),
            v1.where(x > 0)]


def select_v2(tf, x):
    where = getattr(tf, "where_v2", tf.where)
    return where(x[:, :1] > 0, x, -x[0])


def losses(tf, x):
    labels = tf.constant(2, shape=[3, 4])
    return [tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x),
            tf.nn.softmax_cross_entropy_with_logits(
                labels=tf.nn.softmax(x), logits=x)]


def checks(tf, x):
    return [tf.debugging.check_numerics(x, "m"), tf.identity(x)]


def bitcast(tf, x):
    whole = {2: tf.int16, 4: tf.int32, 8: tf.int64}[x.dtype.size]
    return tf.bitcast(tf.bitcast(x, whole), x.dtype)


def gelu(tf, x):
    return [tf.nn.gelu(x, True), tf.nn.gelu(x, False)]


CUBE = (scans, moments, extremes, logic, shapes, ranges, indexing, gathers,
        batch_gather, pads, joins, reshapes, choices, select_v2, losses, checks,
        bitcast, gelu)


@pytest.mark.parametrize("build", CUBE, ids=lambda build: build.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_family_on_a_cube(dtype, build):
    check(build, [(3, 4, 5)], dtype)


PRODUCTS = {
    "matrices": (lambda tf, a, b: tf.matmul(a, b), (3, 5), (5, 4)),
    "both transposed": (lambda tf, a, b: tf.matmul(a, b, True, True), (5, 3), (4, 5)),
    "batches that broadcast": (lambda tf, a, b: tf.matmul(a, b), (2, 1, 3, 5),
                               (7, 5, 4)),
    "batches, right transposed": (
        lambda tf, a, b: tf.matmul(a, b, transpose_b=True), (2, 3, 5), (2, 4, 5)),
    "batches, left transposed": (
        lambda tf, a, b: tf.matmul(a, b, transpose_a=True), (2, 5, 3), (2, 5, 4)),
    "an empty inner axis": (lambda tf, a, b: tf.matmul(a, b), (3, 0), (0, 4)),
    "bias": (lambda tf, a, b: tf.nn.bias_add(a, b), (2, 3, 4), (4,)),
    "bias, channels first": (lambda tf, a, b: tf.nn.bias_add(a, b, "NCHW"),
                             (2, 3, 4, 4), (3,)),
}
EQUATIONS = {
    "bqhd,bkhd->bhqk": ((2, 3, 4, 5), (2, 6, 4, 5)), "ij,jk->ik": ((2, 3), (3, 4)),
    "...ij,...jk->...ik": ((5, 2, 3), (5, 3, 4)), "abc,cd->abd": ((2, 3, 4), (4, 5)),
    "ab,cd->abcd": ((2, 3), (4, 5)), "abc,ade->abce": ((2, 3, 4), (2, 5, 6)),
    "ij,ij->": ((3, 4), (3, 4)), "ijk,i->k": ((3, 4, 5), (3,)),
    "...a,ab->...b": ((2, 3, 4), (4, 5)), "ij->ji": ((2, 3),), "ijk->k": ((2, 3, 4),),
    "ii->i": ((3, 3),), "...ij->...": ((2, 3, 4),),
}


@pytest.mark.parametrize("case", sorted(PRODUCTS))
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_product(dtype, case):
    build, left, right = PRODUCTS[case]
    check(build, [left, right], dtype)


@pytest.mark.parametrize("equation", sorted(EQUATIONS))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_an_einsum(dtype, equation):
    check(lambda tf, *xs: tf.einsum(equation, *xs), EQUATIONS[equation], dtype)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_batch_normalization_in_training(dtype, layout):
    shape = (2, 3, 4, 5) if layout == "NHWC" else (2, 5, 3, 4)
    check(lambda tf, x, a, b: list(tf.compat.v1.nn.fused_batch_norm(
        x, a, b, data_format=layout)), [shape, (5,), (5,)], dtype,
        dtypes=[dtype, "float32", "float32"])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_batch_normalization_in_use(dtype):
    check(lambda tf, x, a, b, mean, spread: tf.compat.v1.nn.fused_batch_norm(
        x, a, b, mean, spread, is_training=False)[0],
        [(2, 3, 4, 5), (5,), (5,), (5,), (5,)], dtype, POSITIVE,
        [dtype] + ["float32"] * 4)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_convolution_and_pools(dtype, padding):
    check(lambda tf, x, k: [
        tf.compat.v1.nn.conv2d(x, k, [1, 2, 1, 1], padding),
        tf.compat.v1.nn.conv2d(
            x, k, [1, 1, 1, 1], padding, dilations=[1, 2, 2, 1]),
        tf.compat.v1.nn.max_pool(x, [1, 2, 3, 1], [1, 2, 2, 1], padding),
        tf.compat.v1.nn.avg_pool(x, [1, 2, 3, 1], [1, 2, 2, 1], padding)],
        [(2, 7, 6, 3), (3, 2, 3, 4)], dtype)


def gradients(tf, x):
    v1, nn, math = tf.compat.v1, tf.nn, tf.math
    outputs = (tf.tanh(x), tf.sigmoid(x), nn.relu(x), nn.relu6(x), tf.sqrt(x),
               v1.rsqrt(x), math.reciprocal(x), nn.softmax(x), nn.elu(x),
               nn.softplus(x), nn.softsign(x), math.erf(x), tf.reduce_mean(x * x[0]),
               nn.bias_add(x, x[0]), tf.matmul(x, x, transpose_b=True))
    return [v1.gradients(output, x)[0] for output in outputs]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gradients(dtype):
    check(gradients, [(4, 5)], dtype, POSITIVE)
