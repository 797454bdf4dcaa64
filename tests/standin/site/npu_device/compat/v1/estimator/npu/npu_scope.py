"""Stand-in."""

from standin_adapter.scopes import (  # noqa: F401
    disable_autofuse,
    keep_dtype_scope,
    without_npu_compile_scope,
)
