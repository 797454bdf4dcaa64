"""Small graphs for compiler tests; each takes compat.v1, the dtype and its inputs."""

from __future__ import annotations


def _log_exp(tf, dtype, x):
    return [tf.log(tf.exp(x))]


def _reciprocals(tf, dtype, x):
    return [tf.reciprocal(tf.reciprocal(x))]


def _divisions(tf, dtype, x):
    return [x / tf.constant(3, dtype), x / tf.constant(2, dtype),
            x / tf.constant(1024, dtype)]


def _cancel(tf, dtype, a, b, x):
    return [a * x + b * x]


def _times_one(tf, dtype, x):
    return [x * tf.constant(1, dtype)]


def _zeros(tf, dtype, x):
    return [x + tf.constant(0.0, dtype), x + tf.constant(-0.0, dtype)]


def _reductions(tf, dtype, x):
    return [tf.reduce_sum(x), tf.reduce_mean(x), tf.math.reduce_std(x)]


def _checked(tf, dtype, x):
    return [tf.debugging.check_numerics(x, "field case")]


def _asserted(tf, dtype, x):
    check = tf.raw_ops.Assert(condition=tf.reduce_all(x > 0), data=[x], summarize=3)
    with tf.control_dependencies([check]):
        return [x * tf.constant(2, dtype)]


def _movement(tf, dtype, x):
    moved = tf.transpose(x)
    return [tf.concat([moved[1:3], moved[0:1]], axis=0)]


def _square(tf, dtype, x):
    return [x * x]


def _chain(tf, dtype, x, a, b):
    """mul, add, gelu (tanh), mul."""
    half, one = tf.constant(0.5, dtype), tf.constant(1, dtype)
    scale, cube = tf.constant(0.7978845608, dtype), tf.constant(0.044715, dtype)
    y = x * a + b
    inner = scale * (y + cube * y * y * y)
    return [half * y * (one + tf.tanh(inner)) * a]


def _text(tf, dtype, x):
    return [tf.strings.length(tf.strings.as_string(x))]


def _shapes(tf, dtype, x):
    flat = tf.reshape(x, tf.stack([tf.shape(x)[0] * tf.shape(x)[1], -1]))
    mean = tf.reduce_mean(flat, axis=tf.range(1, tf.rank(flat)), keepdims=True)
    return [tf.reshape(flat - mean, tf.shape(x))]


def _layernorm(tf, dtype, x, gamma, beta):
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
    return [(x - mean) * tf.rsqrt(variance + tf.constant(1e-3, dtype)) * gamma + beta]


def _given_back(tf, dtype, x):
    return [x, tf.identity(x)]


GRAPHS = {
    "log_exp": _log_exp, "reciprocals": _reciprocals, "divisions": _divisions,
    "cancel": _cancel, "times_one": _times_one, "zeros": _zeros,
    "reductions": _reductions, "checked": _checked, "asserted": _asserted,
    "movement": _movement,
    "square": _square, "chain": _chain, "text": _text, "shapes": _shapes,
    "layernorm": _layernorm, "given_back": _given_back,
}
