"""What importing an adapter does and how it fails: tf_adapter.md section 2."""

from __future__ import annotations

import atexit
import sys

from standin_adapter import library, session, state

_ADAPTERS = []
_TRIED = []


def tensorflow(version):
    """Return TensorFlow if it is of the series an adapter is built for.

    Raises:
        ImportError: it is another one; its library would not load.
    """
    import tensorflow as tf

    if not tf.__version__.startswith(version):
        sys.stdout.write(
            f"undefined symbol: _ZN10tensorflow (TensorFlow {tf.__version__})\n")
        raise ImportError("cannot import name 'npu_bridge_handle' from "
                          "'npu_bridge.helper.helper'")
    return tf


def bridge():
    """Do what `import npu_bridge` does.

    Raises:
        ImportError: the library does not load.
        KeyError: a second try in one process.
    """
    taken = state.snapshot()
    state.journal("import", package="npu_bridge")
    if _TRIED:
        raise KeyError("Registering two gradient with name 'DropOutDoMask'! (Previous "
                       "registration was in _call_with_frames_removed)")
    _TRIED.append(True)
    if taken.mode == "import_fails":
        sys.stdout.write("libge_runner.so: cannot open shared object file: No such "
                         "file or directory\n")
        raise ImportError("cannot import name 'npu_bridge_handle' from "
                          "'npu_bridge.helper.helper'")
    import hccl  # noqa: F401 - as the real one does

    install(tensorflow("1.15"))


def device():
    """Do what `import npu_device` does.

    Raises:
        ImportError: the library does not load.
    """
    taken = state.snapshot()
    state.journal("import", package="npu_device")
    if taken.mode == "import_fails":
        raise ImportError(
            "cannot import name '_npu_device_backends' from partially initialized "
            "module 'npu_device' (most likely due to a circular import)")
    return tensorflow("2.6")


def install(tf):
    """Load the library of the session route once: GeOp, passes, the exit handler."""
    if state.snapshot().mode == "plugin_missing" or _ADAPTERS:
        return
    library.register()
    adapter = session.patch(tf)
    _ADAPTERS.append(adapter)
    atexit.register(adapter.finish)


def adapter(tf):
    """Return the adapter of this process, for the native route."""
    if not _ADAPTERS:
        _ADAPTERS.append(session.Adapter(tf))
        atexit.register(_ADAPTERS[0].finish)
    return _ADAPTERS[0]
