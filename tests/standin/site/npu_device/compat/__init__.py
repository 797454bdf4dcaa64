"""Stand-in: enable_v1 and v1."""

from npu_device.compat import v1  # noqa: F401
from standin_adapter.native import enable_v1  # noqa: F401
