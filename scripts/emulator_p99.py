"""Fused against eager on the emulator over many seeds: P99 against float64.

Run it from the root of a checkout with a Python that has TensorFlow (for building the
graphs; it is not run):

    python scripts/emulator_p99.py                       both chains, 1,000 seeds, 910b
    python scripts/emulator_p99.py layernorm --sets=200 --chip=950

Eager is the chip's own kernels operator by operator (base line nodewise). The ratio is
of the P99 ULP errors of all seeds together, fused / eager, with the interval of a
bootstrap that resamples whole seeds, both sides together (as experiment B does).
EMULATED: what the model says, measured on no device.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from dumps import graphdef
from ge_harness.backends.emulator import front, pipeline
from ge_harness.backends.emulator.execute import execute_plan
from ge_harness.backends.emulator.ir import KernelPlan
from ge_harness.backends.emulator.options import from_plan
from ge_harness.backends.emulator.params import parse
from ge_harness.compare.dtypes import round_to
from ge_harness.experiments.statistics import (
    bootstrap_p99,
    histogram,
    quantile_of,
    ulp_errors,
)
from ge_harness.interpreter.evaluate import fp64_reference
from ge_harness.records.ge import GeRequest
from ge_harness.records.run import Environment
from ge_harness.switches.ge_plan import plan_ge
from ge_harness.switches.ge_setting import ge_setting
from ge_harness.worker import built
from graphs.build import build_graph
from graphs.built import BuildOptions
from graphs.inputs import draw
from graphs.source import resolve

FLAGS = {"elementwise_chain": "--enable_autofuse=true",
         "layernorm": "--enable_autofuse=true;--autofuse_enable_pass=reduce"}


def main() -> int:
    """Measure the chains asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chain", nargs="*", default=[], metavar="SUBGRAPH")
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--chip", choices=("910b", "950"), default="910b")
    parser.add_argument("--dtype", default="float16")
    parser.add_argument("--param", action="append", default=[])
    args = parser.parse_args()
    import tensorflow as tf

    for name in args.chain or FLAGS:
        _measure(tf.compat.v1, name, args)
    return 0


def _measure(tf: Any, name: str, args: argparse.Namespace) -> None:
    graph = build_graph(tf, resolve(name), BuildOptions(
        dtype=args.dtype, check_kernels=False))
    case = built.record(graph, name, "", Environment("", ""))
    definition = graphdef.parse(graph.graph_def)
    flags = FLAGS.get(name, FLAGS["layernorm"])
    plan = plan_ge(ge_setting({"autofuse_flags": flags, "opt_level": "O3"}, (), ()),
                   "tf1", "/job", GeRequest(chip=args.chip))
    source = front.build(definition, case.inputs, case.outputs)
    sides = (pipeline.compile_graph(source, from_plan(plan, args.chip)).plan,
             pipeline.compile_nodewise(source, args.chip).plan)
    names = {port.spec.name: port.tensor for port in case.inputs}
    counts: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    params = parse(args.param)
    for seed in range(args.sets):
        inputs = {feed.name: round_to(draw(feed, feed.shape, seed), feed.dtype)
                  for feed in graph.inputs}
        truth = fp64_reference(
            definition, {names[key]: value for key, value in inputs.items()},
            [port.tensor for port in case.outputs])
        for held, side in zip(counts, sides):
            held.append(_errors(side, inputs, truth, case, params))
    _report(name, sides[0], counts, args)


def _errors(plan: KernelPlan, inputs: dict[str, np.ndarray], truth: Any, case: Any,
            params: Any) -> np.ndarray:
    """Return the histogram of the ULP errors of every output of one seed."""
    got = execute_plan(plan, inputs, params)
    return histogram(np.concatenate([
        ulp_errors(got[port.spec.name], truth[port.tensor], port.spec.dtype).ravel()
        for port in case.outputs]))


def _report(name: str, plan: KernelPlan, counts: tuple[list[np.ndarray], ...],
            args: argparse.Namespace) -> None:
    fused, eager = (np.stack(each) for each in counts)
    ends = [quantile_of(each.sum(axis=0), 0.99) for each in (fused, eager)]
    found = bootstrap_p99(fused, eager, 0, float(ends[0] / ends[1]))
    worse = int(np.count_nonzero(
        quantile_of(fused, 0.99) > quantile_of(eager, 0.99)))
    print(f"EMULATED {name} {args.dtype} {args.chip}, {args.sets} seeds, "
          f"{len(plan.regions)} fused of {len(plan.kernels)} kernels: P99 against "
          f"float64 {ends[0]:.4g} ULP fused, {ends[1]:.4g} ULP eager; ratio "
          f"{found.ratio:.4f}, 95 % interval {found.low:.4f} to {found.high:.4f}; "
          f"fused is worse in {worse} of {args.sets} seeds", flush=True)


if __name__ == "__main__":
    sys.exit(main())
