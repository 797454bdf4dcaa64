"""Values of a graph that are known before it runs.

Constants, and the integers computed from constants and from shapes, which are fixed in
a case. They are computed by a v1 Session without any optimizer, on every stack.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ge_harness.backends import node_walk, tf_loader, tf_nodes
from ge_harness.backends.base import BackendFailure
from ge_harness.records.run import FailureKind
from ge_harness.records.tensor import Port

_OF_SHAPE = frozenset(("Shape", "ShapeN", "Size", "Rank"))
# Floating ops that a compiler must evaluate itself: their arguments decide the shape.
_COUNTED = frozenset(("Range", "LinSpace"))
_RANDOM = ("Random", "Multinomial", "TruncatedNormal", "StatelessRandom", "Stateless")


def find(tf: Any, steps: Sequence[node_walk.Step], inputs: Sequence[Port],
         threads: int) -> dict[str, np.ndarray]:
    """Return "node:index" -> array for every tensor known without running.

    Args:
        tf: TensorFlow.
        steps: the nodes in order.
        inputs: the fed ports, their shapes fixed.
        threads: size of the thread pools.

    Raises:
        BackendFailure: an integer computation failed; the message says what.
    """
    known: dict[str, np.ndarray] = {}
    wanted: list[str] = []
    graph = _graph(tf, steps, inputs)
    reached: set[str] = set()
    for step in steps:
        node = step.node
        if node.op == "Const":
            known[f"{node.name}:0"] = tf_nodes.constant_array(tf, node)
            reached.add(f"{node.name}:0")
            continue
        outputs = graph.get_operation_by_name(node.name).outputs
        names = [f"{node.name}:{index}" for index in range(len(outputs))]
        if node.op in _OF_SHAPE:
            known.update(_shape_values(tf, graph, node, outputs))
            reached.update(name for name in names if name in known)
        elif _computable(node, step.sources, outputs, reached):
            reached.update(names)
            wanted += names
    if wanted:
        known.update(_evaluate(tf, graph, known, wanted, threads))
    return known


def is_floating(array: np.ndarray) -> bool:
    """Say whether an array holds floating-point numbers, bfloat16 included."""
    return array.dtype.kind in "fc" or array.dtype.name == "bfloat16"


def strip(node: Any) -> Any:
    """Return a copy of a NodeDef without placement and private attributes."""
    copy = type(node)()
    copy.CopyFrom(node)
    copy.device = ""
    for name in [name for name in copy.attr if name.startswith("_")]:
        del copy.attr[name]
    return copy


def _graph(tf: Any, steps: Sequence[node_walk.Step], inputs: Sequence[Port]) -> Any:
    graph_def = tf.compat.v1.GraphDef()
    graph_def.node.extend(strip(step.node) for step in steps)
    used = {name for step in steps for name in step.sources}
    graph = tf.Graph()
    with graph.as_default():
        given = {port.tensor: tf.compat.v1.placeholder(
            port.spec.dtype, port.spec.shape) for port in inputs}
        try:
            tf.graph_util.import_graph_def(
                graph_def, name="", input_map={
                    name: tensor for name, tensor in given.items() if name in used})
        except (ValueError, TypeError, KeyError, tf.errors.OpError) as error:
            raise BackendFailure(
                FailureKind.BUILD, f"TensorFlow {tf.__version__} does not take the "
                f"graph: {tf_loader.first_line(error)}") from error
    return graph


def _computable(node: Any, sources: Sequence[str], outputs: Sequence[Any],
                reached: set[str]) -> bool:
    if not outputs or not sources or any(name not in reached for name in sources):
        return False
    if node.op.startswith(_RANDOM):
        return False
    whole = all(output.dtype.is_integer or output.dtype.is_bool for output in outputs)
    return whole or node.op in _COUNTED


def _shape_values(tf: Any, graph: Any, node: Any,
                  outputs: Sequence[Any]) -> dict[str, np.ndarray]:
    found = {}
    tensors = list(graph.get_operation_by_name(node.name).inputs)
    for index, output in enumerate(outputs):
        shape = tensors[index].shape
        if not shape.is_fully_defined():
            continue
        value = {"Size": shape.num_elements(), "Rank": shape.rank}.get(
            node.op, shape.as_list())
        found[f"{node.name}:{index}"] = np.array(value, output.dtype.as_numpy_dtype)
    return found


def _evaluate(tf: Any, graph: Any, known: dict[str, np.ndarray], wanted: list[str],
              threads: int) -> dict[str, np.ndarray]:
    config = tf_loader.session_config(tf, threads)
    try:
        with tf.compat.v1.Session(graph=graph, config=config) as session:
            values = session.run(wanted, dict(known))
    except tf.errors.OpError as error:
        raise BackendFailure(
            FailureKind.BUILD, "the integers of the graph cannot be computed: "
            f"{tf_loader.first_line(error)}") from error
    return {name: np.asarray(value) for name, value in zip(wanted, values)}
