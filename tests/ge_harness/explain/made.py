"""Cases on disk whose candidate is worked out by plain NumPy, not by the model."""

from __future__ import annotations

import dataclasses

import numpy as np

from dumps import graphdef
from ge_harness.explain.explain import Sides
from ge_harness.interpreter.eager import EAGER
from ge_harness.interpreter.evaluate import evaluate
from ge_harness.interpreter.value import Tensor, rounded, values
from ge_harness.records.tensor import Case, Port, TensorSpec
from tests.ge_harness.interpreter.graph_builder import graph, node, placeholder

SHAPE = (40, 100)


def chain(dtype):
    """Return y = (x * a + b) * a."""
    return graph(*[placeholder(name, dtype) for name in "xab"],
                 node("p", "Mul", "x", "a", T=dtype),
                 node("s", "AddV2", "p", "b", T=dtype),
                 node("y", "Mul", "s", "a", T=dtype))


def case(folder, made, dtype, sets=1, shape=SHAPE):
    """Write graph and inputs; return the case and the inputs set by set."""
    graphdef.write(made, folder / "graph.pb")
    names = [each.name for each in made.nodes if each.op == "Placeholder"]
    drawn = [{name: rounded(np.random.RandomState(97 * i + j).normal(size=shape), dtype)
              for j, name in enumerate(names)} for i in range(sets)]
    paths = []
    for name in names:
        stacked = np.stack([each[name] for each in drawn])
        paths.append(str(folder / f"{name}.npy"))
        np.save(paths[-1], stacked if sets > 1 else stacked[0], allow_pickle=False)
    ports = tuple(Port(TensorSpec(name, shape, dtype), f"{name}:0") for name in names)
    out = (Port(TensorSpec("y", shape, dtype), "y:0"),)
    return Case("made", dtype, 0, str(folder / "graph.pb"), ports, out, tuple(paths),
                sets), drawn


def unrounded(feeds, dtype):
    """Return the chain in float32 with one rounding at its end."""
    x, a, b = (values(Tensor(feeds[name], dtype), "float32") for name in "xab")
    return rounded((x * a + b) * a, dtype)


def sides(folder, dtype="float16", sets=1, shape=SHAPE, candidate=unrounded):
    """Return what is explained: op-by-op rounding against `candidate`."""
    made = chain(dtype)
    built, drawn = case(folder, made, dtype, sets, shape)
    stored = {}
    for name, function in (
            ("base", lambda feeds: evaluate(made, feeds, ["y"], EAGER)["y"]),
            ("candidate", lambda feeds: candidate(feeds, dtype))):
        arrays = [function(feeds) for feeds in drawn]
        stored[name] = str(folder / f"{name}.npy")
        np.save(stored[name], np.stack(arrays) if sets > 1 else arrays[0],
                allow_pickle=False)
    return Sides(built, (stored["candidate"],), {"eager": (stored["base"],)},
                 tensorflow="2.21.0")


def with_noise(asked, count, seed=5):
    """Flip the last bit of `count` elements of the candidate, in place on disk."""
    path = asked.candidate[0]
    array = np.load(path, allow_pickle=False)
    bits = array.view(f"u{array.dtype.itemsize}").reshape(-1)
    places = np.random.RandomState(seed).choice(bits.size, count, replace=False)
    bits[places] ^= bits.dtype.type(1)
    np.save(path, bits.view(array.dtype).reshape(array.shape), allow_pickle=False)
    return dataclasses.replace(asked), places
