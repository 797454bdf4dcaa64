"""Plans made by hand, so that execution is tested without the compile side."""

from __future__ import annotations

import numpy as np

from dumps.graphdef import AttrValue
from ge_harness.backends.emulator import values
from ge_harness.backends.emulator.execute import execute_plan
from ge_harness.backends.emulator.ir import (
    AscGraph,
    AscRegion,
    Desc,
    KernelPlan,
    Node,
    Port,
)
from ge_harness.backends.emulator.params import parse
from ge_harness.interpreter.value import Tensor
from tests.ge_harness.interpreter.graph_builder import attr

GE_ONLY = ("Muls", "Adds", "Gelu", "LayerNorm", "SoftmaxV2")


def op(name, kind, inputs, dtype, shape, *, more=(), **attrs):
    """Return an operator; inputs are names or (name, index)."""
    ports = tuple(Port(*each) if isinstance(each, tuple) else Port(each)
                  for each in inputs.split()) if isinstance(inputs, str) else inputs
    found = {"T": dtype, **attrs}
    listed = tuple((key, value if isinstance(value, AttrValue) else attr(value))
                   for key, value in sorted(found.items()))
    tf_kind = "" if kind in GE_ONLY or (kind == "MatMul" and len(ports) == 3) else kind
    outs = (Desc(dtype, tuple(shape)), *more)
    return Node(name, kind, tf_kind, ports, attrs=listed, outputs=outs)


def constant(name, numbers, dtype):
    """Return a Const node."""
    storage = "uint16" if dtype == "bfloat16" else dtype
    return values.make_const(name, Tensor(np.asarray(numbers, storage), dtype), ("", 0))


def region(nodes, stores, consts=(), *, low=False, scalars=(), attr_scalars=()):
    """Return a fused kernel of one AscGraph around operators."""
    given = {node.name for node in nodes}
    read = dict.fromkeys(port for node in nodes for port in node.inputs
                         if port.node not in given)
    literal = tuple(Port(name) for name in scalars)
    static = tuple(Port(node.name) for node in consts
                   if node.outputs[0].dtype == "int32")
    loads = tuple(port for port in read if port not in literal + static)
    ports = tuple(Port(name) for name in stores)
    graph = AscGraph("g", ("pointwise",), tuple(nodes), loads, literal, static, ports,
                     attr_scalars, low)
    return AscRegion("autofuse_0", "AscBackend", ("pointwise",), (graph,), loads, ports,
                     tuple(consts))


def plan(inputs, kernels, outputs, consts=(), chip="910b"):
    """Return a plan.

    Args:
        inputs: name -> (array, dtype).
        kernels: operators and regions in order.
        outputs: names of nodes.
        consts: Const nodes.
        chip: "910b" or "950".
    """
    descs = {Port(name): Desc(dtype, array.shape)
             for name, (array, dtype) in inputs.items()}
    for kernel in kernels:
        nodes = [kernel] if isinstance(kernel, Node) else [
            node for graph in kernel.graphs for node in graph.nodes]
        for node in nodes:
            for index, desc in enumerate(node.outputs):
                descs[Port(node.name, index)] = desc
    return KernelPlan(
        chip, tuple((name, Port(name), descs[Port(name)]) for name in inputs),
        tuple(consts), tuple(kernels), tuple((name, Port(name)) for name in outputs),
        tuple(sorted(descs.items())))


def run(inputs, kernels, outputs, consts=(), *, chip="910b", settings=()):
    """Return the outputs of a plan made and run, as a list."""
    made = plan(inputs, kernels, outputs, consts, chip)
    found = execute_plan(made, {name: array for name, (array, _) in inputs.items()},
                         parse(settings))
    return [found[name] for name in outputs]


def one(kind, *arrays, dtype="float16", chip="910b", settings=(), fused=False,
        consts=(), out=None, **attrs):
    """Return the result of one operator, single or alone in a fused kernel."""
    names = [f"x{i}" for i in range(len(arrays))]
    shape = out if out is not None else np.broadcast(*arrays).shape
    node = op("y", kind, " ".join([*names, *[c.name for c in consts]]), dtype, shape,
              **attrs)
    inputs = {name: (np.asarray(a), dtype) for name, a in zip(names, arrays)}
    kernels = [region([node], ["y"], consts)] if fused else [node]
    return run(inputs, kernels, ["y"], consts, chip=chip, settings=settings)[0]
