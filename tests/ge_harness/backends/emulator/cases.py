"""Graphs for tests of the compile side, made without TensorFlow, and how to compile."""

from __future__ import annotations

import numpy as np

from ge_harness.backends.emulator import front, pipeline
from ge_harness.backends.emulator.options import from_plan
from ge_harness.interpreter.graph import Graph, parse_port
from ge_harness.records.ge import GeRequest
from ge_harness.records.tensor import Port, TensorSpec
from ge_harness.switches.ge_plan import plan_ge
from ge_harness.switches.ge_setting import ge_setting
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder

GATE = "--enable_autofuse=true"
REDUCE = GATE + ";--autofuse_enable_pass=reduce"


def ports(definition, outputs):
    """Return the case's ports: every placeholder, and the outputs given by name."""
    fed = [Port(TensorSpec(each.name, each.attr("shape"), each.attr("dtype")),
                f"{each.name}:0") for each in definition.nodes
           if each.op == "Placeholder"]
    wanted = [Port(TensorSpec(name.replace(":", "_"), (), ""), name)
              for name in outputs]
    return fed, wanted


def ge_graph(definition, *outputs):
    """Return the graph under GE's names; by default the sinks are the outputs."""
    names = outputs or [name for name in Graph(definition).sinks()
                        if Graph(definition).nodes[name].op != "Placeholder"]
    fed, wanted = ports(definition, list(names))
    assert all(parse_port(port.tensor) for port in wanted)
    return front.build(definition, fed, wanted)


def options(flags="", chip="910b", *, dfx="", level="", off=(), on=(), **values):
    """Return the options that these switches come to."""
    setting = ge_setting({"autofuse_flags": flags, "autofuse_dfx_flags": dfx,
                          "opt_level": level, **values}, off, on)
    plan = plan_ge(setting, "tf1", "/job", GeRequest(chip=chip))
    return from_plan(plan, chip)


def compiled(definition, flags="", chip="910b", *, outputs=(), **more):
    """Return the compilation of a GraphDef under switches."""
    return pipeline.compile_graph(ge_graph(definition, *outputs),
                                  options(flags, chip, **more))


def fused(compilation):
    """Return the types of the original operators of each fused kernel."""
    return [tuple(each.type for part in region.graphs for each in part.nodes)
            for region in compilation.plan.regions]


def left(compilation):
    """Return the types of the operators that keep their original kernel."""
    return [kernel.type for kernel in compilation.plan.kernels
            if not hasattr(kernel, "graphs")]


def codes(compilation):
    """Return the rejection codes of a compilation."""
    return {each.code for each in compilation.rejections}


def mul_add_relu(dtype="float16", shape=(8, 64)):
    """Worked example 1."""
    names = [placeholder(name, dtype, shape) for name in "xyb"]
    return graph(*names, node("m", "Mul", "x", "y", T=dtype),
                 node("s", "Add", "m", "b", T=dtype), node("z", "Relu", "s", T=dtype))


def exp_sub(dtype="float16", *, follow=False):
    """Worked example 2."""
    nodes = [placeholder("x", dtype, (8, 64)), placeholder("m", dtype, (8, 1)),
             node("d", "Sub", "x", "m", T=dtype), node("e", "Exp", "d", T=dtype)]
    if follow:
        nodes += [placeholder("w", dtype, (8, 64)), node("f", "Mul", "e", "w", T=dtype)]
    return graph(*nodes)


def softmax(dtype="float16", shape=(8, 64)):
    """Worked example 3."""
    return graph(
        placeholder("x", dtype, shape), const("axis", [-1], "int32"),
        node("max", "Max", "x", "axis", keep_dims=True, T=dtype),
        node("sub", "Sub", "x", "max", T=dtype), node("exp", "Exp", "sub", T=dtype),
        node("sum", "Sum", "exp", "axis", keep_dims=True, T=dtype),
        node("y", "RealDiv", "exp", "sum", T=dtype))


def layer_norm(dtype="float16", shape=(8, 64)):
    """Worked example 4."""
    eps = 1e-5 if dtype != "bfloat16" else 0x3728
    return graph(
        placeholder("x", dtype, shape), placeholder("gain", dtype, shape[-1:]),
        placeholder("bias", dtype, shape[-1:]), const("axis", [-1], "int32"),
        const("eps", eps, dtype),
        node("mean", "Mean", "x", "axis", keep_dims=True, T=dtype),
        node("d", "Sub", "x", "mean", T=dtype), node("sq", "Square", "d", T=dtype),
        node("var", "Mean", "sq", "axis", keep_dims=True, T=dtype),
        node("ve", "AddV2", "var", "eps", T=dtype), node("r", "Rsqrt", "ve", T=dtype),
        node("n", "Mul", "d", "r", T=dtype), node("g", "Mul", "n", "gain", T=dtype),
        node("y", "AddV2", "g", "bias", T=dtype))


def mean_difference(dtype="float16"):
    """Worked example 5."""
    return graph(
        placeholder("x", dtype, (8, 64)), const("axis", [-1], "int32"),
        node("mean", "Mean", "x", "axis", keep_dims=True, T=dtype),
        node("y", "Sub", "x", "mean", T=dtype))


def two_chains(dtype="float16"):
    """Worked example 6."""
    return graph(
        placeholder("x", dtype, (8, 64)),
        node("a", "Abs", "x", T=dtype), node("b", "Neg", "a", T=dtype),
        node("c", "Relu", "x", T=dtype), node("d", "Tanh", "c", T=dtype))


def seven_addends(dtype="float16", *, neighbor=False):
    """Worked example 8."""
    names = [f"x{i}" for i in range(7)]
    nodes = [placeholder(name, dtype, (8, 64)) for name in names]
    nodes.append(node("s", "AddN", *names, T=dtype, N=7))
    if neighbor:
        nodes.append(node("y", "Relu", "s", T=dtype))
    return graph(*nodes)


def cast_pair(*, neighbors=True):
    """fp32 -> fp16 -> fp32 between operators."""
    nodes = [placeholder("x", "float32", (8, 64))]
    start = "x"
    if neighbors:
        nodes.append(node("a", "Sin", "x", T="float32"))
        start = "a"
    nodes += [
        node("c1", "Cast", start, SrcT="float32", DstT="float16"),
        node("c2", "Cast", "c1", SrcT="float16", DstT="float32"),
        node("y", "Cos", "c2", T="float32")]
    return graph(*nodes)


def zeros(shape, dtype="float32"):
    """Return zeros in the storage of a dtype."""
    return np.zeros(shape, "uint16" if dtype == "bfloat16" else dtype)
