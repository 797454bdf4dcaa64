"""What the compiler tests share: the stack, and inputs of the field cases."""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.backends import tf_loader


def f32(*values):
    return np.array(values, np.float32)


FIELD = {
    "log_exp": {"x": f32(88, 89, 200, -200)},
    "reciprocals": {"x": f32(3, 7, 49, 0.1, 41, 5)},
    "divisions": {"x": f32(1, 2, 5, 7, 10, 11)},
    "cancel": {"a": f32(1e20), "b": f32(-1e20), "x": f32(1e10)},
    "times_one": {"x": f32(1e-45, 1e-40, -1e-40, -0.0, 2e-38)},
    "zeros": {"x": f32(0.0, -0.0)},
    "reductions": {"x": np.full((3, 2), 10000, np.float16)},
    "checked": {"x": f32(1, np.nan)},
    "asserted": {"x": f32(-1)},
    "square": {"x": f32(1, 1e-30, 3.3)},
    "text": {"x": f32(1, 2)},
}


@pytest.fixture(scope="session")
def stack():
    """Return (major, minor) of the TensorFlow here, without importing it."""
    version = tf_loader.installed()
    if not version:
        pytest.skip("TensorFlow is not installed")
    return tuple(int(part) for part in version.split(".")[:2])


@pytest.fixture(scope="session")
def has_fma():
    """Say whether this processor contracts a multiplication and an addition."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123
            return " fma " in file.read()
    except OSError:
        pytest.skip("no /proc/cpuinfo to read instruction sets from")
