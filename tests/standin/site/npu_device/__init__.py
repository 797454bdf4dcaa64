"""Stand-in for tests, not Huawei's npu_device: computes on the CPU."""

from standin_adapter import loading as _loading

__version__ = "2.6.5+standin"
_loading.device()

from npu_device import compat  # noqa: E402, F401
from standin_adapter.native import global_options, open  # noqa: E402, F401
