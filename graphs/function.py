"""Inlines function calls of a GraphDef, so that a backend sees one flat graph.

Done on the GraphDef itself: TensorFlow's own inlining is a Grappler pass, and building
a subgraph must not run one.
"""

from __future__ import annotations

from typing import Any

from graphs.errors import GraphError, GraphUnsupportedError
from graphs.graph_def import split, tensor_name

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
# Reads that a function lists as side effects although dropping one changes nothing.
_PURE = ("ReadVariableOp", "ResourceGather", "VarIsInitializedOp", "Identity", "NoOp")
_DEEPEST = 64
_LARGEST = 200_000


def op_def(tf: Any, op: str) -> Any:
    """Return TensorFlow's definition of an op.

    Raises:
        GraphUnsupportedError: this TensorFlow has no such op.
    """
    graph = tf.Graph()
    getter = getattr(graph, "op_def_for_type", None) or graph._get_op_def
    try:
        return getter(op)
    except (RuntimeError, KeyError, LookupError, tf.errors.OpError) as error:
        raise GraphUnsupportedError(
            f"TensorFlow {tf.__version__} has no op {op!r}", subject=op) from error


def output_count(tf: Any, node: Any) -> int:
    """Return how many tensors a node gives."""
    return sum(_length(node, argument) for argument in op_def(tf, node.op).output_arg)


def _length(node: Any, argument: Any) -> int:
    if argument.number_attr:
        return int(node.attr[argument.number_attr].i)
    if argument.type_list_attr:
        return len(node.attr[argument.type_list_attr].list.type)
    return 1


def inline(tf: Any, graph_def: Any) -> tuple[Any, dict[str, str]]:
    """Return the GraphDef without function calls, and where their outputs went.

    Args:
        tf: tensorflow.compat.v1.
        graph_def: any GraphDef.

    Returns:
        A flat GraphDef, and a dict from "call:index" to the tensor that replaced it.

    Raises:
        GraphError: functions that call themselves, or that unfold without end.
    """
    moved: dict[str, str] = {}
    for _ in range(_DEEPEST):
        library = {f.signature.name: f for f in graph_def.library.function}
        if not any(_callee(node, library) for node in graph_def.node):
            flat = type(graph_def)()
            flat.CopyFrom(graph_def)
            flat.ClearField("library")
            return flat, moved
        graph_def = _Pass(tf, graph_def, library).run(moved)
    raise GraphError(f"functions call one another more than {_DEEPEST} deep; recursion "
                     "cannot be inlined")


def _callee(node: Any, library: dict[str, Any]) -> str:
    """Return the function that a node calls, "" where it calls none."""
    if node.op in library:
        return str(node.op)
    if node.op not in CALLS:
        return ""
    name = str(node.attr["f"].func.name)
    return name if name in library else ""


def _circle(name: str) -> GraphError:
    return GraphError(f"nodes read one another in a circle, at {name!r}", subject=name)


class _Pass:
    """Replaces every call of the top level by the nodes of its function, once."""

    def __init__(self, tf: Any, graph_def: Any, library: dict[str, Any]) -> None:
        self._tf = tf
        self._old = graph_def
        self._library = library
        self._new = type(graph_def)()
        self._new.versions.CopyFrom(graph_def.versions)
        self._new.library.CopyFrom(graph_def.library)
        self._outputs: dict[str, str] = {}
        self._controls: dict[str, list[str]] = {}

    def run(self, moved: dict[str, str]) -> Any:
        """Return the rewritten GraphDef; `moved` is brought up to date."""
        for node in self._old.node:
            callee = _callee(node, self._library)
            if callee:
                self._expand(node, self._library[callee])
            else:
                self._new.node.add().CopyFrom(node)
        for node in self._new.node:
            renewed: list[str] = []
            for reference in node.input:
                renewed += [r for r in self._renew(reference) if not (
                    r.startswith("^") and r in renewed)]
            del node.input[:]
            node.input.extend(renewed)
        for before, after in moved.items():
            moved[before] = self._follow(after)
        for before in self._outputs:
            moved.setdefault(before, self._follow(before))
        return self._new

    def _follow(self, tensor: str) -> str:
        passed = {tensor}
        while tensor in self._outputs:
            tensor = self._outputs[tensor]
            if tensor in passed:
                raise _circle(tensor)
            passed.add(tensor)
        return tensor

    def _renew(self, reference: str) -> list[str]:
        node, index = split(reference)
        if index < 0:
            return [f"^{name}" for name in self._heads(node)]
        tensor = f"{node}:{index}"
        if tensor not in self._outputs:
            return [reference]
        tensor = self._follow(tensor)
        return [tensor[:-2] if tensor.endswith(":0") else tensor]

    def _heads(self, node: str, passed: tuple[str, ...] = ()) -> list[str]:
        """Return the nodes that stand for `node` where it is waited for."""
        if node not in self._controls:
            return [node]
        if node in passed:
            raise _circle(node)
        return sorted({h for head in self._controls[node]
                       for h in self._heads(head, (*passed, node))})

    def _expand(self, call: Any, function: Any) -> None:
        data = [ref for ref in call.input if not ref.startswith("^")]
        control = [ref for ref in call.input if ref.startswith("^")]
        arguments = [argument.name for argument in function.signature.input_arg]
        if len(arguments) != len(data):
            raise GraphError(f"node {call.name!r} gives {len(data)} inputs to function "
                             f"{function.signature.name!r}, which takes "
                             f"{len(arguments)}", subject=call.name)
        if len(self._new.node) + len(function.node_def) > _LARGEST:
            raise GraphError(f"functions unfold to more than {_LARGEST} nodes, at "
                             f"{call.name[:80]!r}", subject=call.name)
        local = dict(zip(arguments, data))
        inner = {node.name: node for node in function.node_def}
        for node in function.node_def:
            new = self._new.node.add()
            new.CopyFrom(node)
            new.name = f"{call.name}/{node.name}"
            del new.input[:]
            new.input.extend(self._inner(ref, call.name, local, inner)
                             for ref in node.input)
            new.input.extend(c for c in control if c not in new.input)
            self._bind(new, call)
        self._close(call, function, local, inner)

    def _bind(self, node: Any, call: Any) -> None:
        for key in list(node.attr):
            placeholder = node.attr[key].placeholder
            if placeholder and placeholder in call.attr:
                node.attr[key].CopyFrom(call.attr[placeholder])

    def _inner(self, reference: str, call: str, local: dict[str, str],
               inner: dict[str, Any]) -> str:
        """Return a function body's input string as one of the outer graph."""
        if reference.startswith("^"):
            name = reference[1:]
            if name in local:
                return "^" + split(local[name])[0]
            return f"^{call}/{name}"
        parts = reference.split(":")
        if parts[0] in local and parts[0] not in inner:
            return local[parts[0]]
        if parts[0] not in inner:
            raise GraphError(f"function called by {call!r} reads {parts[0]!r}, which "
                             "is not there", subject=call)
        index = 0
        if len(parts) == 3:
            index = self._offset(inner[parts[0]], parts[1]) + int(parts[2])
        return f"{call}/{parts[0]}:{index}" if index else f"{call}/{parts[0]}"

    def _offset(self, node: Any, output: str) -> int:
        """Return the flat index of the first tensor of a named output."""
        if node.op in self._library:
            arguments = self._library[node.op].signature.output_arg
        else:
            arguments = op_def(self._tf, node.op).output_arg
        offset = 0
        for argument in arguments:
            if argument.name == output:
                return offset
            offset += _length(node, argument)
        raise GraphError(f"op {node.op!r} of node {node.name!r} has no output "
                         f"{output!r}", subject=node.name)

    def _close(self, call: Any, function: Any, local: dict[str, str],
               inner: dict[str, Any]) -> None:
        """Point the call's outputs at the body; keep its side effects attached."""
        effects = sorted(f"{call.name}/{node}" for node in set(
            function.control_ret.values()) if self._acts(inner.get(node), 0))
        heads = []
        for index, argument in enumerate(function.signature.output_arg):
            tensor = tensor_name(self._inner(
                function.ret[argument.name], call.name, local, inner))
            if effects:
                tensor = self._hold(f"{call.name}/output_{index}", tensor, argument,
                                    effects, call)
            self._outputs[f"{call.name}:{index}"] = tensor
            heads.append(split(tensor)[0])
        self._controls[call.name] = sorted(set(effects or heads))

    def _acts(self, node: Any, depth: int) -> bool:
        """Say whether a function's control output does more than read."""
        if node is None or node.op in _PURE or depth > _DEEPEST:
            return False
        callee = _callee(node, self._library)
        if not callee:
            return True
        body = self._library[callee]
        nodes = {n.name: n for n in body.node_def}
        return any(self._acts(nodes.get(n), depth + 1)
                   for n in body.control_ret.values())

    def _hold(self, name: str, tensor: str, argument: Any, effects: list[str],
              call: Any) -> str:
        node = self._new.node.add()
        node.name, node.op = name, "Identity"
        node.input.append(tensor)
        node.input.extend(f"^{effect}" for effect in effects)
        node.attr["T"].type = argument.type
        if argument.type_attr:
            node.attr["T"].CopyFrom(call.attr[argument.type_attr])
        return f"{name}:0"
