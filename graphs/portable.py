"""Makes a GraphDef of a newer TensorFlow readable by an older one, where that is safe.

An op that gained an attribute writes it out even at its default. TensorFlow 1.15 then
refuses the node and later ones ignore the attribute, whatever it says. Dropping one at
the value that means "as before" changes nothing; any other value is refused by name.
"""

from __future__ import annotations

from typing import Any

from graphs.errors import GraphUnsupportedError
from graphs.function import op_def

# Attribute -> the value that means what the op did before it had the attribute.
# Source: the defaults in the op registrations of TensorFlow 1.15.5, 2.6.5 and 2.21.0,
# compared over the ops that 1.15.5 has. Types: 1 float32, 3 int32, 8 complex64.
_AS_BEFORE: dict[str, Any] = {
    "grad_a": False, "grad_b": False, "grad_x": False, "grad_y": False,
    "exponential_avg_factor": 1.0, "explicit_paddings": [], "narrow_range": False,
    "bad_indices_policy": b"", "sparse_gradient": False, "perturb_singular": False,
    "Treal": 1, "Tcomplex": 8, "Tsegmentids": 3, "Tk": 3, "index_type": 3,
    "debug_name": b"", "allowed_devices": [],
}


def drop_new_defaults(tf: Any, graph_def: Any) -> None:
    """Drop attributes that this TensorFlow does not know and that say nothing new.

    Args:
        tf: tensorflow.compat.v1.
        graph_def: changed in place.

    Raises:
        GraphUnsupportedError: this TensorFlow does not know an op, or an attribute
            that does say something.
    """
    known: dict[str, set[str]] = {}
    for node in graph_def.node:
        if node.op not in known:
            known[node.op] = {a.name for a in op_def(tf, node.op).attr}
        for name in sorted(set(node.attr) - known[node.op]):
            if name in _AS_BEFORE and _value(node.attr[name]) == _AS_BEFORE[name]:
                del node.attr[name]
            elif not name.startswith("_"):
                raise GraphUnsupportedError(
                    f"TensorFlow {tf.__version__} does not know attribute {name!r} of "
                    f"op {node.op!r} (node {node.name!r})", subject=node.name)


def _value(attr: Any) -> Any:
    kind = attr.WhichOneof("value")
    if kind == "list":
        return [item for _, items in attr.list.ListFields() for item in items]
    return getattr(attr, kind) if kind in ("b", "i", "f", "s", "type") else None
