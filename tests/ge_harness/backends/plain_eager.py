"""Graphs for the eager tests, with what plain TensorFlow eager calls give for them.

As a program: `python plain_eager.py FOLDER` writes for each case of `CASES` NAME.pb
(the graph), NAME.json (its ends) and NAME.npz (inputs and plain results; bfloat16 as
bits).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]


def _mixed(tf, x):
    """Several outputs, list inputs, list and type attributes, shapes, bitcasts."""
    first, second = tf.split(x, 2, axis=1)
    joined = tf.concat([second, first, second], axis=0)
    padded = tf.pad(joined, [[1, 0], [0, 2]])
    values, indices = tf.math.top_k(padded, k=2)
    return {
        "picked": padded[1:, ::2], "values": values, "indices": indices,
        "turned": tf.transpose(tf.reshape(joined, [3, -1, 2]), [1, 2, 0]),
        "stacked": tf.stack(tf.unstack(first, axis=1), axis=0),
        "where": tf.where(joined > 0, joined, -joined),
        "any": tf.reduce_any(joined > 1, axis=0), "cast": tf.cast(joined, tf.bfloat16),
    }


def _numbers(tf, x):
    """Kernels whose bits depend on how they are called."""
    weights = tf.constant(np.linspace(-1, 1, 24).reshape(4, 6).astype(
        x.dtype.as_numpy_dtype))
    y = tf.matmul(x, weights)
    mean = tf.reduce_mean(y, axis=[-1], keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(y, mean), axis=[-1],
                              keepdims=True)
    return {
        "norm": (y - mean) * tf.math.rsqrt(variance + y.dtype.as_numpy_dtype(1e-3)),
        "soft": tf.nn.softmax(y), "tanh": tf.tanh(y), "exp": tf.exp(y),
        "sum": tf.reduce_sum(y, axis=0), "power": tf.pow(tf.abs(y), y),
    }


def _bfloat16(tf, x):
    return {"y": x * x + x, "back": tf.cast(x, tf.float32), "sum": tf.reduce_sum(x)}


def _scalars(tf, x):
    """F06: the same graph in either order of the two constants."""
    zero, minus = (tf.constant(np.array(value, np.float32)) for value in (0.0, -0.0))
    return {"z": x + zero, "y": x + minus}


def _scalars_turned(tf, x):
    minus, zero = (tf.constant(np.array(value, np.float32)) for value in (-0.0, 0.0))
    return {"y": x + minus, "z": x + zero}


def _checked(tf, x):
    """F08: raises for what the test feeds, so it has no plain result."""
    return {"y": tf.compat.v1.debugging.check_numerics(x, "found it", name="guard")}


def _asserted(tf, x):
    assertion = tf.raw_ops.Assert(
        condition=tf.reduce_all(x > 0), data=[x], summarize=3, name="guard")
    with tf.control_dependencies([] if tf.executing_eagerly() else [assertion]):
        return {"y": x * 2.0}


def _unused_guard(tf, x):
    """A guard that no output depends on is not executed, as in a session."""
    tf.compat.v1.debugging.check_numerics(x, "not reached", name="guard")
    return {"y": x + x}


def _no_kernel(tf, x):
    """Cholesky takes float16 by its definition and has no CPU kernel for it."""
    return {"y": tf.linalg.cholesky(x)}


_RANDOM = np.random.RandomState(7)
CASES = {
    "mixed": (_mixed, "float32", _RANDOM.standard_normal((3, 4)), True),
    "numbers32": (_numbers, "float32", _RANDOM.standard_normal((5, 4)), True),
    "numbers16": (_numbers, "float16", _RANDOM.standard_normal((5, 4)), True),
    "bfloat16": (_bfloat16, "bfloat16", _RANDOM.standard_normal(9), True),
    "scalars": (_scalars, "float32", np.array([0.0, -0.0]), False),
    "scalars_turned": (_scalars_turned, "float32", np.array([0.0, -0.0]), False),
    "checked": (_checked, "float32", np.array([1.0, np.nan]), False),
    "asserted": (_asserted, "float32", np.array([1.0, -1.0]), False),
    "unused_guard": (_unused_guard, "float32", np.array([1.0, np.nan]), False),
    "no_kernel": (_no_kernel, "float16", np.eye(2), False),
}


def main(folder):
    """Write every case."""
    sys.path.insert(0, str(ROOT))
    from ge_harness.backends import tf_loader

    tf = tf_loader.load()
    tf_loader.start(tf, 2)
    for name, (function, dtype, x, has_plain) in CASES.items():
        array = np.asarray(x).astype(getattr(tf, dtype).as_numpy_dtype)
        graph = tf.Graph()
        with graph.as_default():
            fed = tf.compat.v1.placeholder(array.dtype, array.shape, name="x")
            ends = function(tf, fed)
        plain = {}
        if has_plain:
            plain = {key: tf_loader.from_tf_array(value)
                     for key, value in function(tf, tf.constant(array)).items()}
        _write(folder, name, graph, ends, dtype, tf_loader.from_tf_array(array), plain)


def _write(folder, name, graph, ends, dtype, x, plain):
    (folder / f"{name}.pb").write_bytes(
        graph.as_graph_def().SerializeToString(deterministic=True))
    described = {key: [end.name, list(end.shape.as_list()), end.dtype.name]
                 for key, end in ends.items()}
    (folder / f"{name}.json").write_text(json.dumps([dtype, described]))
    np.savez(str(folder / f"{name}.npz"), x=x, **{
        f"plain_{key}": value for key, value in plain.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
