"""Reads a SavedModel: one signature of it, variables frozen to constants.

The v1 loader is used because it reads the SavedModels of TensorFlow 1 and 2 under both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphs.errors import GraphError
from graphs.function import inline
from graphs.graph_def import prune, split
from graphs.port_name import safe
from graphs.source import first_line

_DEFAULT = "serving_default"
_TAG = "serve"


def read(tf: Any, path: Path, signature: str) -> tuple[
        Any, dict[str, str], dict[str, str]]:
    """Read one signature.

    Args:
        tf: tensorflow.compat.v1.
        path: the folder.
        signature: its name, "" for "serving_default" or the only one there is.

    Returns:
        GraphDef (functions inlined, variables frozen), then inputs and outputs as
        dicts from the signature's key to "node:index".

    Raises:
        GraphError: not a SavedModel, no such signature, or its values cannot be read.
    """
    tags = _tags(path)
    with tf.Graph().as_default() as graph, tf.Session(
            graph=graph, config=_plain_config(tf)) as session:
        try:
            meta = tf.saved_model.loader.load(session, tags, str(path))
        except (OSError, ValueError, RuntimeError, LookupError, TypeError,
                tf.errors.OpError) as error:
            raise GraphError(f"{path}: TensorFlow {tf.__version__} cannot load it: "
                             f"{first_line(error)}", subject=str(path)) from error
        chosen = _signature(path, meta.signature_def, signature)
        inputs, outputs = _ports(path, chosen.inputs), _ports(path, chosen.outputs)
        flat, moved = inline(tf, graph.as_graph_def())
        outputs = {key: moved.get(tensor, tensor) for key, tensor in outputs.items()}
        roots = {split(t)[0] for t in [*inputs.values(), *outputs.values()]}
        flat = prune(flat, sorted(roots))
        _freeze(tf, session, flat)
    return flat, inputs, outputs


def _plain_config(tf: Any) -> Any:
    config = tf.ConfigProto(intra_op_parallelism_threads=1,
                            inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def _tags(path: Path) -> list[str]:
    """Return the tags of the graph to load: those with "serve", else the first."""
    from google.protobuf import (  # type: ignore[import-untyped] # no stubs
        message,
        text_format,
    )
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    try:
        if (path / "saved_model.pb").is_file():
            saved.ParseFromString((path / "saved_model.pb").read_bytes())
        else:
            text = (path / "saved_model.pbtxt").read_text(encoding="utf-8")
            text_format.Parse(text, saved)
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError, OSError,
            RuntimeError) as error:
        raise GraphError(f"{path}: not a SavedModel: {first_line(error)}",
                         subject=str(path)) from error
    sets = [list(meta.meta_info_def.tags) for meta in saved.meta_graphs]
    if not sets:
        raise GraphError(f"{path}: found no graph in saved_model.pb, expected a "
                         "SavedModel", subject=str(path))
    return next((tags for tags in sets if _TAG in tags), sets[0])


def _signature(path: Path, signatures: Any, name: str) -> Any:
    known = tuple(sorted(key for key in signatures if not key.startswith("__")))
    if not name:
        name = _DEFAULT if _DEFAULT in known else known[0] if len(known) == 1 else ""
    if name in signatures:
        return signatures[name]
    found = f"no signature {name!r}" if name else "several signatures or none"
    raise GraphError(f"{path}: {found}; known: {', '.join(known) or 'none'}; choose "
                     "with --signature", subject=name, known=known)


def _ports(path: Path, infos: Any) -> dict[str, str]:
    for key in sorted(infos):
        if not infos[key].name:
            raise GraphError(f"{path}: {key!r} is a sparse or composite tensor, "
                             "expected a dense one", subject=key)
    return {key: infos[key].name for key in sorted(infos)}


def _freeze(tf: Any, session: Any, flat: Any) -> None:
    """Replace variables and their reads by constants, in place."""
    nodes = {node.name: node for node in flat.node}
    handles = {name: node for name, node in nodes.items() if node.op == "VarHandleOp"}
    old = {name: node for name, node in nodes.items()
           if node.op in ("VariableV2", "Variable")}
    if not handles and not old:
        return
    with session.graph.as_default():
        fetched = {name: tf.raw_ops.ReadVariableOp(
            resource=session.graph.get_tensor_by_name(f"{name}:0"),
            dtype=node.attr["dtype"].type) for name, node in handles.items()}
    fetched.update({name: session.graph.get_tensor_by_name(f"{name}:0")
                    for name in old})
    try:
        values = session.run(fetched)
    except tf.errors.OpError as error:
        raise GraphError(f"a variable has no value: {first_line(error)}") from error
    for name, value in values.items():
        _to_constant(tf, nodes[name], value)
    _reads_to_identities(flat, nodes, set(handles))


def _to_constant(tf: Any, node: Any, value: Any) -> None:
    dtype = node.attr["dtype"].type
    node.op = "Const"
    del node.input[:]
    node.attr.clear()
    node.attr["dtype"].type = dtype
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, dtype=dtype))


def _reads_to_identities(flat: Any, nodes: dict[str, Any], handles: set[str]) -> None:
    for node in flat.node:
        if node.op == "Identity" and _root(node, nodes) in handles:
            node.attr["T"].type = nodes[_root(node, nodes)].attr["dtype"].type
        elif node.op == "ReadVariableOp" and _root(node, nodes) in handles:
            dtype = node.attr["dtype"].type
            node.op = "Identity"
            node.attr.clear()
            node.attr["T"].type = dtype
    for node in list(flat.node):
        if node.op == "ResourceGather" and _root(node, nodes) in handles:
            _gather(flat, node)


def _root(node: Any, nodes: dict[str, Any]) -> str:
    """Return the node that a handle comes from, through Identities."""
    name = split(node.input[0])[0] if node.input else ""
    for _ in range(len(nodes)):
        if name not in nodes or nodes[name].op != "Identity":
            break
        name = split(nodes[name].input[0])[0]
    return name


def _gather(flat: Any, node: Any) -> None:
    params, indices = node.attr["dtype"].type, node.attr["Tindices"].type
    axis = flat.node.add()
    axis.name = f"{node.name}/{safe('axis')}"
    axis.op = "Const"
    axis.attr["dtype"].type = 3
    axis.attr["value"].tensor.dtype = 3
    axis.attr["value"].tensor.tensor_shape.SetInParent()
    axis.attr["value"].tensor.int_val.append(0)
    controls = [ref for ref in node.input if ref.startswith("^")]
    data = [ref for ref in node.input if not ref.startswith("^")]
    del node.input[:]
    node.input.extend([*data, axis.name, *controls])
    batch_dims = node.attr["batch_dims"].i
    node.op = "GatherV2"
    node.attr.clear()
    node.attr["Tparams"].type = params
    node.attr["Tindices"].type = indices
    node.attr["Taxis"].type = 3
    node.attr["batch_dims"].i = batch_dims
