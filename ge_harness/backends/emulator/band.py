"""The band of the uncertain parameters: how far their other values move the outputs."""

from __future__ import annotations

from typing import Mapping

import numpy as np

from ge_harness.backends.emulator.execute import execute_plan
from ge_harness.backends.emulator.ir import KernelPlan
from ge_harness.backends.emulator.params import EmulatorParams, ensemble
from ge_harness.compare.dtypes import FLOAT_FORMATS
from ge_harness.compare.ulp import ulp_diff

_HEAD = "EMULATED band: "


def spread(plan: KernelPlan, inputs: Mapping[str, np.ndarray], params: EmulatorParams,
           found: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Run every alternative of the uncertain parameters and compare.

    Args:
        plan: the kernels.
        inputs: of the first input set.
        params: the model's parameters; what was set by hand is not varied.
        found: outputs under `params`.

    Returns:
        A sentence for each alternative that moves an output, and one on the rest.
    """
    notes, silent = [], []
    for label, member in ensemble(params):
        if label == "model":
            continue
        other = execute_plan(plan, inputs, member)
        said = [text for name in sorted(found)
                for text in _moved(plan, name, found[name], other[name])]
        if said:
            notes.append(f"{_HEAD}{label}: {'; '.join(said)}")
        else:
            silent.append(label)
    if silent:
        notes.append(f"{_HEAD}no output moves under {', '.join(silent)}")
    return tuple(notes)


def _moved(plan: KernelPlan, name: str, one: np.ndarray, other: np.ndarray
           ) -> list[str]:
    if one.tobytes() == other.tobytes():
        return []
    dtype = dict(plan.descs)[dict(plan.outputs)[name]].dtype
    differ = int(np.count_nonzero(one != other))
    if dtype not in FLOAT_FORMATS:
        return [f"{name}: {differ} of {one.size} elements"]
    distance = ulp_diff(one, other, dtype=dtype)
    return [f"{name}: {differ} of {one.size} elements, at most {int(distance.max())} "
            "ULP"]
