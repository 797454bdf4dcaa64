"""Library functions written out into the graph that calls them."""

from __future__ import annotations

import dataclasses

from dumps.graphdef import AttrValue, FunctionDef, GraphDef, NodeDef
from ge_harness.interpreter.errors import EvaluationError

_CALLS = ("PartitionedCall", "StatefulPartitionedCall", "RemoteCall")
_DEEPEST = 32
_LARGEST = 200_000

# Ops whose results have names that do not all stand for one tensor at the same index.
# A body refers to "node:result:i"; a result that is not listed starts at 0.
_RESULT_OFFSETS = {
    "FusedBatchNorm": ("y", "batch_mean", "batch_variance", "reserve_space_1",
                       "reserve_space_2"),
    "FusedBatchNormV2": ("y", "batch_mean", "batch_variance", "reserve_space_1",
                         "reserve_space_2"),
    "FusedBatchNormV3": ("y", "batch_mean", "batch_variance", "reserve_space_1",
                         "reserve_space_2", "reserve_space_3"),
    "BroadcastGradientArgs": ("r0", "r1"),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "TopKV2": ("values", "indices"),
    "Unique": ("y", "idx"),
    "Moments": ("mean", "variance"),
}


def inline_functions(graph: GraphDef) -> GraphDef:
    """Return the graph with every call of a library function replaced by its body.

    Names of the body get the call's name in front. Gradients and attributes of the
    library are dropped with it.

    Raises:
        EvaluationError: recursion, a function that is not in the library, or a body
            that refers to something it does not have.
    """
    library = {function.name: function for function in graph.functions}
    nodes = graph.nodes
    for _ in range(_DEEPEST):
        if not any(_called(node, library) for node in nodes):
            return GraphDef(nodes, (), graph.extra)
        nodes = _one_level(nodes, library)
        if len(nodes) > _LARGEST:
            raise EvaluationError(f"functions grow beyond {_LARGEST} nodes")
    raise EvaluationError(f"functions call one another more than {_DEEPEST} deep")


def _called(node: NodeDef, library: dict[str, FunctionDef]) -> FunctionDef | None:
    if node.op in library:
        return library[node.op]
    if node.op not in _CALLS:
        return None
    target = node.attr("f")
    name = target.name if target is not None else ""
    if name not in library:
        raise EvaluationError(
            f"node {node.name!r} calls function {name!r}, which the graph's library "
            "lacks", node.name)
    return library[name]


def _one_level(nodes: tuple[NodeDef, ...],
               library: dict[str, FunctionDef]) -> tuple[NodeDef, ...]:
    out: list[NodeDef] = []
    renamed: dict[str, list[str]] = {}
    for node in nodes:
        function = _called(node, library)
        if function is None:
            out.append(node)
            continue
        body, results = _body(node, function)
        out += body
        renamed[node.name] = results
    return tuple(_rewire(node, renamed) for node in out)


def _body(call: NodeDef, function: FunctionDef) -> tuple[list[NodeDef], list[str]]:
    """Return the nodes of one call and where its results come from."""
    data = [name for name in call.inputs if not name.startswith("^")]
    control = tuple(name for name in call.inputs if name.startswith("^"))
    if len(data) != len(function.inputs):
        raise EvaluationError(
            f"node {call.name!r} gives function {function.name!r} {len(data)} inputs, "
            f"expected {len(function.inputs)}", call.name)
    arguments = dict(zip((arg.name for arg in function.inputs), data))
    ops = {node.name: node.op for node in function.nodes}
    target = call.attr("f") if call.op in _CALLS else None
    bound = dict(target.attrs if target is not None else call.attrs)

    def resolve(text: str) -> str:
        return _resolve(text, call.name, arguments, ops)

    body = []
    for node in function.nodes:
        inputs = tuple(resolve(text) for text in node.inputs) + control
        attrs = tuple((key, _bind(value, bound)) for key, value in node.attrs)
        body.append(dataclasses.replace(
            node, name=f"{call.name}/{node.name}", inputs=inputs, attrs=attrs))
    returns = dict(function.returns)
    results = []
    for result in function.outputs:
        if result.name not in returns:
            raise EvaluationError(
                f"function {function.name!r} does not say where its result "
                f"{result.name!r} comes from", call.name)
        results.append(resolve(returns[result.name]))
    extra = [f"^{call.name}/{node}" for _, node in function.control_returns]
    done = NodeDef(f"{call.name}/done", "NoOp", tuple(
        [f"^{name}" for name in _names(results)] + extra))
    return [*body, done], results


def _resolve(text: str, call: str, arguments: dict[str, str],
             ops: dict[str, str]) -> str:
    """Translate an input as a function body writes it."""
    if text.startswith("^"):
        name = text[1:]
        if name in arguments:
            return "^" + arguments[name].split(":")[0].lstrip("^")
        return f"^{call}/{name}"
    if text in arguments:
        return arguments[text]
    parts = text.split(":")
    if parts[0] not in ops or len(parts) not in (1, 2, 3):
        raise EvaluationError(
            f"the function called by {call!r} reads {text!r}, which it lacks", call)
    if len(parts) < 3:
        return f"{call}/{text}"
    names = _RESULT_OFFSETS.get(ops[parts[0]], ())
    offset = names.index(parts[1]) if parts[1] in names else 0
    try:
        index = int(parts[2]) + offset
    except ValueError as error:
        raise EvaluationError(
            f"the function called by {call!r} reads {text!r}, expected "
            "'node:result:index'", call) from error
    return f"{call}/{parts[0]}:{index}" if index else f"{call}/{parts[0]}"


def _bind(value: AttrValue, bound: dict[str, AttrValue]) -> AttrValue:
    """Return an attribute with a placeholder replaced by the call's value."""
    if value.kind != "placeholder":
        return value
    return bound.get(str(value.value), value)


def _rewire(node: NodeDef, renamed: dict[str, list[str]]) -> NodeDef:
    if not any(_base(name) in renamed for name in node.inputs):
        return node
    inputs = []
    for text in node.inputs:
        base = _base(text)
        if base not in renamed:
            inputs.append(text)
        elif text.startswith("^"):
            inputs.append(f"^{base}/done")
        else:
            inputs.append(_result(text, renamed, node.name))
    return dataclasses.replace(node, inputs=tuple(inputs))


def _result(text: str, renamed: dict[str, list[str]], reader: str) -> str:
    """Follow a call's result to what gives it, through calls that give calls."""
    for _ in range(_DEEPEST):
        results = renamed.get(_base(text))
        if results is None:
            return text
        index = text.rpartition(":")[2]
        number = int(index) if ":" in text and index.isdigit() else 0
        if number >= len(results):
            raise EvaluationError(
                f"node {reader!r} reads {text!r}, which the function does not give",
                reader)
        text = results[number]
    raise EvaluationError(f"functions pass {text!r} around in a circle", reader)


def _base(text: str) -> str:
    name, colon, index = text.lstrip("^").rpartition(":")
    return name if colon and index.isdigit() else text.lstrip("^")


def _names(ports: list[str]) -> list[str]:
    return sorted({_base(port) for port in ports})
