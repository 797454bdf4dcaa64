"""Runs a graph of tests in TensorFlow, kernel by kernel, without any optimizer."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from dumps import graphdef

BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
# What TensorFlow says where this stack has no kernel, dtype or argument for a case.
MISSING = ("No OpKernel", "has DataType", "not in list of allowed", "no attribute",
           "Could not find device for node", "not supported", "Subscript not",
           "only supports NHWC")


def tensorflow():
    """Return (tensorflow, its v1 interface)."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    return tf, tf.compat.v1


def stored(array):
    """Return an array as the interpreter takes it: bfloat16 as its bits."""
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def as_tensorflow(tf, array, dtype):
    """Return storage as TensorFlow takes it."""
    return array.view(tf.bfloat16.as_numpy_dtype) if dtype == "bfloat16" else array


def run(build, arrays, dtypes):
    """Build and run a graph.

    Args:
        build: (v1 module, *placeholders) -> tensor or list of tensors.
        arrays: one a placeholder, bfloat16 as bits.
        dtypes: TensorFlow's name of each.

    Returns:
        (GraphDef record, output names, output arrays with bfloat16 as bits).
    """
    tf, v1 = tensorflow()
    graph = tf.Graph()
    with graph.as_default():
        ends = [v1.placeholder(dtype, array.shape, name=f"x{i}")
                for i, (array, dtype) in enumerate(zip(arrays, dtypes))]
        outputs = build(tf, *ends)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    config = v1.ConfigProto(
        intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    feeds = {end: as_tensorflow(tf, array, dtype)
             for end, array, dtype in zip(ends, arrays, dtypes)}
    with v1.Session(graph=graph, config=config) as session:
        found = session.run(outputs, feeds)
    record = graphdef.parse(graph.as_graph_def().SerializeToString())
    return record, [out.name for out in outputs], [
        stored(np.asarray(array)) for array in found]


@contextlib.contextmanager
def skip_where_missing():
    """Skip a test whose op or dtype this TensorFlow lacks, with what it says."""
    try:
        yield
    except Exception as error:
        text = str(error).replace("\n", " ")
        if not any(word in text for word in MISSING):
            raise
        pytest.skip(f"not in this TensorFlow: {text[:120]}")


def bits(array):
    """Return an array's bits as unsigned integers."""
    array = np.ascontiguousarray(array)
    return array.view(BITS[array.dtype.itemsize])


def is_nan(array, dtype):
    """Return where stored values of a float dtype are NaN."""
    if dtype == "bfloat16":
        return (array & 0x7FFF) > 0x7F80
    return np.isnan(array) if dtype.startswith("float") else np.zeros(
        array.shape, bool)


def differing(found, expected, dtype):
    """Return where bits differ, NaN of any payload being one."""
    nan = is_nan(found, dtype) & is_nan(expected, dtype)
    return (bits(found).reshape(found.shape)
            != bits(expected).reshape(expected.shape)) & ~nan
