"""The table of experiments. Listing it imports none of them."""

from __future__ import annotations

from ge_harness.registry import Entry, Registry

_PACKAGE = "ge_harness.experiments"
EXPERIMENTS = Registry("experiment", {
    "A": Entry(f"{_PACKAGE}.determinism:run", "determinism of the compiler itself"),
    "B": Entry(f"{_PACKAGE}.chains:run", "accumulated error: fused against eager"),
    "C1": Entry(f"{_PACKAGE}.instruction:run",
                "instruction selection: tensor times scalar"),
    "C2": Entry(f"{_PACKAGE}.accumulation:run", "accumulation order of a sum"),
    "C3": Entry(f"{_PACKAGE}.iteration:run", "iterative algorithms: rsqrt and div"),
    "D": Entry(f"{_PACKAGE}.movement:run", "pure movement is bit-exact"),
    "E": Entry(f"{_PACKAGE}.training:run", "end-to-end training"),
})
