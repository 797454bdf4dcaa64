"""Stand-in for tests, not Huawei's npu_bridge: computes on the CPU."""

from standin_adapter import loading as _loading

__version__ = "1.15.0+standin"
_loading.bridge()
