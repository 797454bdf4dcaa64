"""Chains that several graph files share: constants, GELU, softmax, layer norm.

Every function is handed tf = tensorflow.compat.v1 and adds nodes to the default graph.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

EPSILON = 1e-5


def constant(tf: Any, value: Any, like: Any) -> Any:
    """Return a Const of the dtype of `like`.

    Never a Python float: TensorFlow's eager scalar cache takes 0.0 and -0.0 for one
    number, and a NumPy array of the right dtype is rounded once, here.

    Args:
        tf: tensorflow.compat.v1.
        value: number or nested list of numbers.
        like: tensor or dtype.
    """
    dtype = tf.as_dtype(getattr(like, "dtype", like))
    return tf.constant(np.array(value).astype(dtype.as_numpy_dtype), dtype=dtype)


def gelu(tf: Any, x: Any, form: str) -> Any:
    """Return GELU(x) from primitives.

    Args:
        tf: tensorflow.compat.v1.
        x: [...] float tensor.
        form: "tanh" (the approximation of BERT and GPT-2) or "erf" (exact).

    Returns:
        [...] of the dtype of `x`.
    """
    half, one = constant(tf, 0.5, x), constant(tf, 1.0, x)
    if form == "erf":
        return half * x * (one + tf.erf(x * constant(tf, math.sqrt(0.5), x)))
    inner = x + constant(tf, 0.044715, x) * (x * x * x)
    bent = tf.tanh(constant(tf, math.sqrt(2.0 / math.pi), x) * inner)
    return half * x * (one + bent)


def softmax(tf: Any, x: Any, form: str) -> Any:
    """Return softmax over the last axis.

    Args:
        tf: tensorflow.compat.v1.
        x: [..., n] float tensor.
        form: "primitives" (max, subtract, exp, sum, divide) or "own" (one Softmax op).
    """
    if form == "own":
        return tf.nn.softmax(x)
    raised = tf.exp(x - tf.reduce_max(x, axis=-1, keepdims=True))
    return raised / tf.reduce_sum(raised, axis=-1, keepdims=True)


def layer_norm(tf: Any, x: Any, gain: Any, bias: Any) -> Any:
    """Return layer norm over the last axis, from primitives.

    Args:
        tf: tensorflow.compat.v1.
        x: [..., n] float tensor.
        gain: [n] of the same dtype.
        bias: [n] of the same dtype.
    """
    centered = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centered), axis=-1, keepdims=True)
    scale = tf.rsqrt(variance + constant(tf, EPSILON, x))
    return centered * scale * gain + bias


def layer_norm_own(tf: Any, x: Any, gain: Any, bias: Any) -> Any:
    """Return layer norm over the last axis through FusedBatchNormV3.

    TensorFlow has no layer norm op of its own; Keras uses this one, rows as channels.

    Args:
        tf: tensorflow.compat.v1.
        x: [rows, n] float tensor of known shape.
        gain: [n] of the same dtype.
        bias: [n] of the same dtype.
    """
    rows, width = x.shape.as_list()
    turned = tf.reshape(tf.transpose(x, (1, 0)), (1, width, 1, rows))
    normed = tf.raw_ops.FusedBatchNormV3(
        x=turned, scale=tf.constant(np.ones(rows, np.float32)),
        offset=tf.constant(np.zeros(rows, np.float32)),
        mean=tf.constant(np.zeros(0, np.float32)),
        variance=tf.constant(np.zeros(0, np.float32)),
        epsilon=EPSILON, data_format="NHWC", is_training=True)[0]
    back = tf.transpose(tf.reshape(normed, (width, rows)), (1, 0))
    return back * gain + bias
