"""What an experiment at paper size takes, said before it is begun."""

from __future__ import annotations

from typing import Sequence

# (multiply-adds of one execution, elements of its largest tensor, executions) at paper
# size. Source: mission.md, experiments A to D; shapes of the graph files.
_WORK = {
    "A": (8 * 2048 * 4096 * 4096, 8 * 2048 * 4096, 2000),
    "B": (16384 * 4096 * 4096, 16384 * 4096, 4000),
    "C1": (0, 1024 * 1024, 16),
    "C2": (0, 16384, 4000),
    "C3": (0, 1024 * 1024, 16),
    "D": (0, 4096 * 4096, 400),
}
# Multiply-adds and elements a second on two cores; fp16 products are scalar in
# TensorFlow 1.15 and 2.6. Source: reference xla_cpu.md section 6.
_FAST, _SLOW, _ELEMENTS = 40e9, 0.2e9, 50e6
_BYTES_AN_ELEMENT = 2 + 8 + 8


def paper(ids: Sequence[str], dtype: str) -> str:
    """Return a sentence with the estimated time and memory.

    Args:
        ids: the experiments.
        dtype: of the inputs.
    """
    parts = []
    for name in ids:
        products, elements, executions = _WORK.get(name, (0, 0, 0))
        quick = executions * (products / _FAST + elements / _ELEMENTS) / 3600
        slow = executions * (products / _SLOW + elements / _ELEMENTS) / 3600
        memory = 4 * elements * _BYTES_AN_ELEMENT / 2**30
        parts.append(f"{name} {quick:.1f} h (TensorFlow 2.21) to {slow:.0f} h (1.15 "
                     f"and 2.6, {dtype} products), {memory:.1f} GiB of memory")
    return "--size=paper, estimated: " + "; ".join(parts) + "; resumable with --resume"
