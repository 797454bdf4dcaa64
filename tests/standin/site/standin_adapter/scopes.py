"""The scopes that write node attributes: reference tf_adapter.md section 4.6."""

from __future__ import annotations

import contextlib


@contextlib.contextmanager
def _scope(name, **value):
    import tensorflow as tf

    attr = tf.compat.v1.AttrValue(**value)
    with tf.compat.v1.get_default_graph()._attr_scope({name: attr}):
        yield


def disable_autofuse():
    """Nodes made inside are not lowered into an autofused kernel."""
    return _scope("_disable_autofuse_scope", b=True)


def keep_dtype_scope():
    """Nodes made inside keep their dtype under mixed precision."""
    return _scope("_keep_dtype", i=1)


def without_npu_compile_scope():
    """Nodes made inside stay on the host."""
    return _scope("_without_npu_compile", b=True)
