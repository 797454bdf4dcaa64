"""Time one emulated execution beside NumPy's float32 matrix product of the same shapes.

Run it from the root of a checkout with a Python that has TensorFlow (for building the
graphs; it is not run):

    python scripts/bench_emulator.py                    every subgraph at desk size
    python scripts/bench_emulator.py --paper            ffn_front [8,2048,4096] float16
    python scripts/bench_emulator.py --paper --rows=512 the same with fewer rows

Limits: desk size under 5 s; paper size within 3 times the product and 16 GiB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import graphs
from dumps import graphdef
from ge_harness.backends.emulator import front, pipeline
from ge_harness.backends.emulator.execute import execute_plan
from ge_harness.backends.emulator.ir import KernelPlan
from ge_harness.backends.emulator.options import from_plan
from ge_harness.backends.emulator.params import parse
from ge_harness.compare.dtypes import round_to
from ge_harness.records.ge import GeRequest
from ge_harness.records.run import Environment
from ge_harness.switches.ge_plan import plan_ge
from ge_harness.switches.ge_setting import ge_setting
from ge_harness.worker import built
from graphs.build import build_graph
from graphs.built import BuildOptions, BuiltGraph
from graphs.inputs import draw
from graphs.source import resolve

FLAGS = "--enable_autofuse=true;--autofuse_enable_pass=reduce"


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--chip", choices=("910b", "950"), default="910b")
    parser.add_argument("--param", action="append", default=[])
    args = parser.parse_args()
    import tensorflow as tf

    params = parse(args.param)
    if args.paper:
        options = BuildOptions(
            dtype="float16", size="paper", check_kernels=False,
            shapes=(("x", (8, args.rows, 4096)),))
        _paper(tf.compat.v1, options, args.chip, params)
        return 0
    for name in graphs.names():
        plan, inputs = _case(tf.compat.v1, name, BuildOptions(check_kernels=False),
                             args.chip)
        start = time.perf_counter()
        execute_plan(plan, inputs, params)
        print(f"{name:28s} {time.perf_counter() - start:7.3f} s  "
              f"{len(plan.regions)} fused of {len(plan.kernels)} kernels", flush=True)
    return 0


def _paper(tf: Any, options: BuildOptions, chip: str, params: Any) -> None:
    plan, inputs = _case(tf, "ffn_front", options, chip)
    left = inputs["x"].astype(np.float32).reshape(-1, 4096)
    right = inputs["w"].astype(np.float32)
    start = time.perf_counter()
    np.matmul(left, right)
    product = time.perf_counter() - start
    del left, right
    start = time.perf_counter()
    execute_plan(plan, inputs, params)
    whole = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2 ** 20
    print(f"x {list(inputs['x'].shape)} {inputs['x'].dtype}: product {product:.2f} s, "
          f"emulated {whole:.2f} s, ratio {whole / product:.2f}, peak {peak:.1f} GiB")


def _case(tf: Any, name: str, options: BuildOptions, chip: str
          ) -> tuple[KernelPlan, dict[str, np.ndarray]]:
    """Return the plan of a shipped subgraph and its inputs."""
    graph: BuiltGraph = build_graph(tf, resolve(name), options)
    case = built.record(graph, name, "", Environment("", ""))
    asked = ge_setting({"autofuse_flags": FLAGS, "opt_level": "O3"}, (), ())
    compile_options = from_plan(plan_ge(asked, "tf1", "/job", GeRequest(chip=chip)),
                                chip)
    source = front.build(graphdef.parse(graph.graph_def), case.inputs, case.outputs)
    plan = pipeline.compile_graph(source, compile_options).plan
    return plan, {feed.name: round_to(draw(feed, feed.shape, 1), feed.dtype)
                  for feed in graph.inputs}


if __name__ == "__main__":
    sys.exit(main())
