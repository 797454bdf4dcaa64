"""What the tests of graphs share: TensorFlow's v1 interface, a way to run a build."""

from __future__ import annotations

import os

import numpy as np
import pytest

from graphs.inputs import draw


@pytest.fixture(scope="session")
def tf():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow", reason="TensorFlow is not here")
    v1 = tensorflow.compat.v1
    v1.logging.set_verbosity("ERROR")
    return v1


@pytest.fixture(scope="session")
def run(tf):
    """Run a built graph in a v1 session without Grappler; output name -> array."""

    def _run(built, values=None, seed=0):
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(tf.GraphDef.FromString(built.graph_def), name="")
        config = tf.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        feed = {}
        for end in built.inputs:
            value = (values or {}).get(end.name)
            if value is None:
                value = draw(end, end.shape, seed)
            kind = tf.as_dtype(end.dtype).as_numpy_dtype
            feed[end.tensor] = np.asarray(value).astype(kind)
        with tf.Session(graph=graph, config=config) as session:
            arrays = session.run([end.tensor for end in built.outputs], feed)
        return {end.name: array for end, array in zip(built.outputs, arrays)}

    return _run


@pytest.fixture(scope="session")
def ops(tf):
    """Return (op, name) of every node of a built graph, in order."""
    return lambda built: [(node.op, node.name) for node in tf.GraphDef.FromString(
        built.graph_def).node]
