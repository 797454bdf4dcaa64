"""Small kernels, one for each thing a parameter can change.

`python -m tests.ge_harness.backends.emulator.probes tests/data/emulator_numerics`
writes the two tables that tests compare with; a change in them is read in review.
"""

from __future__ import annotations

import hashlib
import pathlib
import sys

import numpy as np

from ge_harness.backends.emulator.params import PARAMETERS, shown
from ge_harness.interpreter.value import rounded
from tests.ge_harness.backends.emulator.plans import (
    constant,
    one,
    op,
    region,
    run,
)

_LENGTH = 800


def _draw(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape)


X, Y, B = (_draw(seed, _LENGTH).astype(np.float32) for seed in (1, 2, 3))
ROWS = _draw(4, 8, 5000).astype(np.float32)
COLUMNS = _draw(5, 200, 8).astype(np.float32)
K = np.float32(0.7)
LAST = [constant("axis", [1], "int32")]
FIRST = [constant("axis", [0], "int32")]
TINY = np.full(4, 1e-40, np.float32)


def _half(*arrays):
    return [np.asarray(x).astype(np.float16) for x in arrays]


def _norm(dtype):
    def probe(chip, settings):
        parts = {"x": ROWS[:, :500] * 3, "g": B[:500], "b": Y[:500]}
        inputs = {name: (rounded(array, dtype), dtype)
                  for name, array in parts.items()}
        node = op("y", "LayerNorm", "x g b", dtype, (8, 500), begin_norm_axis=1,
                  epsilon=1e-5)
        return run(inputs, [node], ["y"], chip=chip, settings=settings)[0]

    return probe


def _tie(chip, settings):
    """A layer norm whose results are 1 + 2^-8 and -1 + 2^-8: one is a tie."""
    signs = np.resize(np.array([1, -1], np.float32), (1, 64))
    parts = {"x": signs, "g": np.ones(64), "b": np.full(64, 2.0 ** -8)}
    inputs = {name: (rounded(array.astype(np.float32), "bfloat16"), "bfloat16")
              for name, array in parts.items()}
    node = op("y", "LayerNorm", "x g b", "bfloat16", (1, 64), begin_norm_axis=1,
              epsilon=0.0)
    return run(inputs, [node], ["y"], chip=chip, settings=settings)[0]


def _cast(source, target, *, fused):
    def probe(chip, settings):
        nodes = [op("c", "Cast", "x", target, X.shape, DstT=target, SrcT=source)]
        if fused:
            nodes.append(op("y", "Mul", "c c", target, X.shape))
        kernels = [region(nodes, [nodes[-1].name])] if fused else nodes
        x = X if target != "int8" else np.full_like(X, np.float32(0.9999))
        return run({"x": (x, source)}, kernels, [nodes[-1].name], chip=chip,
                   settings=settings)[0]

    return probe


def _chain(dtype):
    def probe(chip, settings):
        names = dict(zip("xyb", [(x.astype(dtype), dtype) for x in (X, Y, B)]))
        nodes = [op("m", "Mul", "x y", dtype, X.shape),
                 op("s", "AddV2", "m b", dtype, X.shape)]
        return run(names, [region(nodes, ["s"])], ["s"], chip=chip,
                   settings=settings)[0]

    return probe


def _scaled(chip, settings):
    """A product with a literal, then a sum."""
    k = constant("k", K, "float32")
    nodes = [op("m", "Mul", "x k", "float32", X.shape),
             op("s", "AddV2", "m b", "float32", X.shape)]
    kernel = region(nodes, ["s"], [k], scalars=("k",))
    return run({"x": (X, "float32"), "b": (B, "float32")}, [kernel], ["s"], [k],
               chip=chip, settings=settings)[0]


def _muls(*, fused):
    def probe(chip, settings):
        node = op("y", "Muls", "x", "float32", X.shape, value=1 / 3)
        kernels = [region([node], ["y"], attr_scalars=(("y", "value", 1 / 3),))
                   ] if fused else [node]
        return run({"x": (X, "float32")}, kernels, ["y"], chip=chip,
                   settings=settings)[0]

    return probe


def _of(kind, *arrays, dtype="float32", fused=False, out=None, consts=(), **attrs):
    def probe(chip, settings):
        held = _half(*arrays) if dtype == "float16" else arrays
        return one(kind, *held, dtype=dtype, chip=chip, settings=settings,
                   fused=fused, out=out, consts=consts, **attrs)

    return probe


POSITIVE = np.abs(X) + np.float32(0.01)
PROBES = {
    "add16": _of("AddV2", X, Y, dtype="float16"),
    "mul32": _of("Mul", X, Y),
    "scalar32": _of("Mul", X, K),
    "exp16": _of("Exp", X, dtype="float16"),
    "exp32": _of("Exp", X),
    "div16": _of("RealDiv", X, Y, dtype="float16"),
    "div32": _of("RealDiv", X, Y),
    "sqrt32": _of("Sqrt", POSITIVE),
    "ln32": _of("Log", POSITIVE),
    "rsqrt32": _of("Rsqrt", POSITIVE),
    "tanh32": _of("Tanh", X),
    "erf32": _of("Erf", X),
    "gelu32": _of("Gelu", X),
    "pow32": _of("Pow", POSITIVE, np.full_like(X, np.float32(1.7))),
    "apart16": _of("SquaredDifference", X, Y, dtype="float16"),
    "softmax16": _of("Softmax", ROWS[:, :300], dtype="float16"),
    "sum32": _of("Sum", ROWS, out=(8,), consts=LAST),
    "outer32": _of("Sum", COLUMNS, out=(8,), consts=FIRST),
    "mean32": _of("Mean", ROWS[:, :787], out=(8,), consts=LAST),
    "norm32": _norm("float32"),
    "normb16": _norm("bfloat16"),
    "tie_b16": _tie,
    "matmul32": _of("MatMul", ROWS[:, :100], ROWS.T[:100].copy(), out=(8, 8)),
    "int8": _cast("float32", "int8", fused=False),
    "nan": _of("Maximum", np.array([np.nan, 1], np.float32), B[:2]),
    "tiny_div": _of("RealDiv", TINY, np.ones(4, np.float32)),
    "tiny_add": _of("AddV2", TINY, TINY),
    "over16": _of("Mul", np.full(4, 6e4), np.full(4, 6e4), dtype="float16"),
    "f_chain16": _chain("float16"),
    "f_chain32": _chain("float32"),
    "f_scaled32": _scaled,
    "f_cast": _cast("float32", "float16", fused=True),
    "f_muls": _muls(fused=True),
    "f_div32": _of("RealDiv", X, Y, fused=True),
    "f_rsqrt32": _of("Rsqrt", POSITIVE, fused=True),
    "f_tanh32": _of("Tanh", X, fused=True),
    "f_erf32": _of("Erf", X, fused=True),
    "f_gelu32": _of("Gelu", X, fused=True),
    "f_pow32": _of("Pow", POSITIVE, np.full_like(X, np.float32(1.7)), fused=True),
    "f_sum32": _of("Sum", ROWS, out=(8,), consts=LAST, fused=True),
    "f_outer32": _of("Sum", COLUMNS, out=(8,), consts=FIRST, fused=True),
    "f_short32": _of("Sum", ROWS[:, :20], out=(8,), consts=LAST, fused=True),
}
"""Name -> function of chip and settings; "f_" are fused kernels."""

CHIPS = ("910b", "950")
COMBINED = (
    "r_tile=512", "r_tile=64,tile_combine=tree", "r_cores=8,r_tile=256",
    "r_tile=1024,eager_reduce_order=pairwise", "matmul_accum=split_k,matmul_k_cores=4",
    "fma_contraction=true,fused_round_at=operators",
    "div_form=newton2,subnormals=keep")
_NUMBERS = {"matmul_k_tile": ("64",), "ub_bytes": ("12000",), "noise_seed": ("4",),
            "matmul_k_cores": ("4",), "num_vector_cores": ("4",)}


def settings():
    """Return every single setting that differs from the model, and some together."""
    found = []
    for name, parameter in PARAMETERS.items():
        texts = parameter.values or _NUMBERS.get(name) or parameter.alternatives
        found += [f"{name}={text}" for text in texts
                  if text != shown(name, parameter.default)]
    return (*found, *COMBINED)


def effects():
    """Return lines "chip, setting, probes whose bits change", tab separated."""
    lines = []
    for chip in CHIPS:
        base = {name: probe(chip, ()).tobytes() for name, probe in PROBES.items()}
        for setting in settings():
            moved = [name for name, probe in PROBES.items()
                     if probe(chip, setting.split(",")).tobytes() != base[name]]
            lines.append("\t".join([chip, setting, " ".join(moved) or "-"]))
    return lines


def digests():
    """Return lines "chip, setting, probe, hash", matrix products left out."""
    lines = []
    for chip in CHIPS:
        for setting in ("", "div_accuracy=noise,exp_accuracy=noise,ln_accuracy=noise",
                        "rsqrt_form=newton2,div_form=newton3,r_tile=512",
                        "fma_contraction=true,muls_equals_mul=false"):
            for name, probe in PROBES.items():
                if name == "matmul32":
                    continue
                content = probe(chip, [x for x in setting.split(",") if x])
                found = hashlib.sha256(np.ascontiguousarray(content).tobytes())
                lines.append("\t".join([chip, setting or "-", name,
                                        found.hexdigest()[:16]]))
    return lines


def main(folder):
    """Write both files anew, for review."""
    for name, lines in (("effects", effects()), ("digests", digests())):
        path = pathlib.Path(folder) / f"{name}.tsv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
