"""Every shipped subgraph of this TensorFlow: reference and eager policy against it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import graphs
from dumps import graphdef
from ge_harness.compare.dtypes import round_to, widen
from ge_harness.interpreter.eager import eager_policy
from ge_harness.interpreter.evaluate import evaluate, fp64_reference
from graphs.build import BuildOptions, build_graph
from graphs.inputs import draw
from graphs.source import resolve
from tests.ge_harness.interpreter.tensorflow_run import (
    as_tensorflow,
    stored,
    tensorflow,
)

pytestmark = pytest.mark.tf
# Greatest |found - truth| / (1 + |truth|) that rounding every op can cost.
ALLOWED = {"float16": 0.03, "bfloat16": 0.2, "float32": 5e-5}


def cases():
    for name in graphs.names():
        subgraph = graphs.load(name)
        for dtype in subgraph.dtypes:
            for values in itertools.product(*[v for _, v in subgraph.variants]):
                yield name, dtype, tuple(zip([n for n, _ in subgraph.variants], values))


def run_in_tensorflow(built, inputs):
    tf, v1 = tensorflow()
    definition = v1.GraphDef()
    definition.ParseFromString(built.graph_def)
    graph = tf.Graph()
    with graph.as_default():
        v1.import_graph_def(definition, name="")
    config = v1.ConfigProto(intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with v1.Session(graph=graph, config=config) as session:
        found = session.run(
            [port.tensor for port in built.outputs],
            {port.tensor: as_tensorflow(tf, inputs[port.name], port.dtype)
             for port in built.inputs})
    return [stored(np.asarray(array)) for array in found]


@pytest.mark.parametrize(("name", "dtype", "variants"), list(cases()), ids=str)
def test_a_shipped_subgraph_is_evaluated(name, dtype, variants):
    tf, v1 = tensorflow()
    try:
        built = build_graph(v1, resolve(name), BuildOptions(
            dtype=dtype, variants=variants))
    except graphs.GraphUnsupportedError as error:
        pytest.skip(str(error))
    inputs = {port.name: round_to(draw(port, port.shape, 0), port.dtype)
              for port in built.inputs}
    record = graphdef.parse(built.graph_def)
    feeds = {port.tensor: inputs[port.name] for port in built.inputs}
    wanted = [port.tensor for port in built.outputs]
    expected = run_in_tensorflow(built, inputs)
    truth = fp64_reference(record, feeds, wanted)
    eager = evaluate(record, feeds, wanted, eager_policy(tf.__version__))
    for port, array in zip(built.outputs, expected):
        exact, rounded = truth[port.tensor], eager[port.tensor]
        assert exact.dtype == np.float64
        assert (rounded.dtype, rounded.shape) == (array.dtype, array.shape)
        for found in (widen(array, port.dtype), widen(rounded, port.dtype)):
            error = np.abs(found - exact) / (1 + np.abs(exact))
            assert error.max() <= ALLOWED[dtype]
        if name in MOVEMENT:
            assert rounded.tobytes() == array.tobytes()


MOVEMENT = ("broadcast", "concat", "reshape", "slice", "slice_broadcast_concat",
            "split", "split_transpose_concat", "transpose", "transpose_concat",
            "scalar_mul", "broadcast_mul", "div")
