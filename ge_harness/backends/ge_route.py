"""Which adapter of Ascend serves which TensorFlow, and how it is brought up.

The adapter is imported once, in a worker that has its environment already; an import
that failed cannot be tried again in the same process.

Source: reference: tf_adapter.md sections 1, 2 and 5.1; tf_adapter_examples.md sections
3 to 5.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ge_harness.backends.base import BackendFailure
from ge_harness.records.run import FailureKind
from ge_harness.report.plain import printable
from ge_harness.switches.ge_options import TF1, TF2_SESSION

ADAPTERS = {TF1: "npu_bridge", TF2_SESSION: "npu_device"}
"""Package of each route."""

SPOKEN = {TF1: "v1 session, npu_bridge", TF2_SESSION: "v1 session, npu_device"}
_LOADER = re.compile(r"\S+: cannot open shared object file[^\n]*|undefined symbol: \S+")
# TensorFlow itself says that CUDA is not here; that is not the adapter's trouble.
_CUDA = re.compile(r"lib(cu|nv|tensorrt)[a-z_]*\.so")
_LOG_TAIL_BYTES = 65536


def route_of(version: str) -> str:
    """Return the route of a TensorFlow version; TensorFlow 1's for all but 2.x."""
    return TF2_SESSION if version.startswith("2.") else TF1


def start_adapter(tf: Any, route: str, log_path: Path) -> None:
    """Import the adapter and prove that its library is active.

    Args:
        tf: TensorFlow, imported just now, no graph built yet.
        route: `TF1` or `TF2_SESSION`.
        log_path: the worker's log, for what the loader printed.

    Raises:
        BackendFailure: it does not import, or TensorFlow does not have its ops, so that
            a session would silently run on the host CPU.
    """
    name = ADAPTERS[route]
    try:
        _import(route)
    except (ImportError, AttributeError, KeyError, OSError, RuntimeError, SyntaxError,
            TypeError, ValueError, tf.errors.OpError) as error:
        raise BackendFailure(
            FailureKind.UNAVAILABLE, f"{name} does not import: "
            f"{type(error).__name__}: {printable(str(error), 300)}"
            f"{_meaning(str(error))}{_loader_words(log_path)}; 'doctor --backend=ge' "
            "checks what it needs"
        ) from error
    if not plugin_loaded():
        raise BackendFailure(
            FailureKind.NOT_OFFLOADED, f"{name} imports but its library did not "
            "register GeOp with TensorFlow: the graph would run on the host CPU "
            "without a word; 'doctor --backend=ge' checks what it needs")


def plugin_loaded() -> bool:
    """Say whether TensorFlow's own registry of ops holds the adapter's GeOp."""
    from tensorflow.core.framework import op_def_pb2

    try:
        from tensorflow.python.client import pywrap_tf_session as library
    except ImportError:
        from tensorflow.python import pywrap_tensorflow as library
    ops = op_def_pb2.OpList()
    ops.ParseFromString(library.TF_GetBuffer(library.TF_GetAllOpList()))
    return any(op.name == "GeOp" for op in ops.op)


def _import(route: str) -> None:
    if route == TF1:
        # Plain: npu_init would change every session of the process.
        import npu_bridge  # noqa: F401

        return
    import npu_device

    npu_device.compat.enable_v1()


def _meaning(text: str) -> str:
    """Return what an import error of the adapters really says, "" for nothing more."""
    if "_npu_device_backends" in text or "npu_bridge_handle" in text:
        return (" [its native library did not load, whatever the text says of imports: "
                "source <cann>/set_env.sh, check LD_LIBRARY_PATH]")
    if "hccl" in text:
        return " [CANN's Python is not on PYTHONPATH: source <cann>/set_env.sh]"
    return ""


def _loader_words(log_path: Path) -> str:
    """Return what the dynamic loader printed, "" for nothing.

    The adapter prints it and then raises an ImportError about something else.
    """
    try:
        with log_path.open("rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - _LOG_TAIL_BYTES))
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ""
    found = [words for words in _LOADER.findall(text) if not _CUDA.search(words)]
    return f" ({printable(found[-1].strip(), 200)})" if found else ""
