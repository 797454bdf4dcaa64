"""The only place that imports TensorFlow, and what all its backends share.

TensorFlow 1.15, 2.6 and 2.21 differ in where things are; the differences end here and
in `tf_nodes`, whose functions are offered here too.

`installed` and `probe` run in the parent and import nothing; everything else runs in
a worker.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ge_harness.backends.base import BackendFailure, Probe
from ge_harness.backends.tf_nodes import constant_array, execute_node, trace_node
from ge_harness.errors import UnavailableError
from ge_harness.records.run import FailureKind

__all__ = [
    "compat_v1", "constant_array", "execute_node", "failure_of", "first_line",
    "from_tf_array", "installed", "load", "major_minor", "onednn", "pools", "probe",
    "read_graph_def", "session_config", "start", "to_tf_array", "trace_node",
]

_FOLDER = re.compile(
    r"(tensorflow|tensorflow_cpu|tensorflow_intel|tensorflow_aarch64|"
    r"tensorflow_cpu_aws|tensorflow_gpu|tf_nightly\w*|intel_tensorflow)"
    r"-(?P<version>[^-]+)\.(dist-info|egg-info)", re.IGNORECASE)
_ABSENT = "TensorFlow is not installed in this Python"
# What TensorFlow 2.21 puts before the message of a kernel.
_HEADING = "Graph execution error"
_PLACES = ("Detected at node", "  ", "\t", "<stack traces unavailable>")
_WRAPPER = re.compile(r"^(\{\{function_node [^}]*\}\} ?)+")


def installed() -> str:
    """Return the version of the TensorFlow here, "unknown", or "" where there is none.

    Reads folder names only: nothing is imported (Python 3.7 has no
    importlib.metadata).
    """
    try:
        spec = importlib.util.find_spec("tensorflow")
    except (ImportError, ValueError, AttributeError):
        return ""
    if spec is None:
        return ""
    for root in _roots(spec.origin):
        try:
            names = sorted(entry.name for entry in root.iterdir())
        except OSError:
            continue
        for name in names:
            match = _FOLDER.fullmatch(name)
            if match is not None:
                return match["version"]
    return "unknown"


def _roots(origin: str | None) -> list[Path]:
    """Return the folders in which the distribution of the module may be recorded."""
    first = [Path(origin).parent.parent] if origin else []
    return first + [Path(entry) for entry in sys.path if entry]


def probe() -> Probe:
    """Say whether TensorFlow is here; never raises and imports nothing."""
    version = installed()
    if not version:
        return Probe(False, _ABSENT, (
            ("TensorFlow", "not found", "fail", "pip install 'ge-harness[tf]'"),))
    return Probe(True, f"TensorFlow {version}", (("TensorFlow", version, "ok", ""),))


def load() -> Any:
    """Import TensorFlow without its warnings and return the module.

    Touches no op, so that a process may still be forked and XLA_FLAGS still be set.

    Raises:
        UnavailableError: it is absent or does not import; the text says why.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import tensorflow
        except ImportError as error:
            raise UnavailableError(_why(error)) from error
        except TypeError as error:  # protobuf too new for TensorFlow 1.15
            raise UnavailableError(_why(error)) from error
    _silence(tensorflow)
    return tensorflow


def compat_v1(tf: Any) -> Any:
    """Return `tensorflow.compat.v1`, which is the same surface on every stack."""
    return tf.compat.v1


def major_minor(tf: Any) -> tuple[int, int]:
    """Return the version as two numbers, e.g. (2, 6)."""
    parts = re.findall(r"\d+", str(tf.__version__))
    return int(parts[0]), int(parts[1])


def _why(error: BaseException) -> str:
    text = str(error).strip().split("\n")[0]
    if "Descriptors cannot" in text:
        return f"TensorFlow does not import: {text} Pin protobuf below 3.21."
    if getattr(error, "name", None) == "tensorflow":
        return f"{_ABSENT}; pip install 'ge-harness[tf]'"
    return f"TensorFlow does not import: {type(error).__name__}: {text}"


def _silence(tf: Any) -> None:
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)


def start(tf: Any, threads: int) -> tuple[tuple[str, int], ...]:
    """Make ready for eager execution: pools pinned, Grappler off.

    Must come before the first op of the process, and with the same number when it is
    called again. On TensorFlow 1.15 eager execution becomes the default of the process;
    sessions go on working inside `tf.Graph().as_default()`.

    Args:
        tf: what `load` returned.
        threads: size of the intra-op and of the inter-op pool.

    Returns:
        (pool, size) pairs as TensorFlow says it has them.
    """
    if not tf.executing_eagerly():
        tf.compat.v1.enable_eager_execution(config=session_config(tf, threads))
    threading = tf.config.threading
    if threading.get_intra_op_parallelism_threads() != threads:
        threading.set_intra_op_parallelism_threads(threads)
    if threading.get_inter_op_parallelism_threads() != threads:
        threading.set_inter_op_parallelism_threads(threads)
    # Else TensorFlow 1.15 sends an op that has no CPU kernel to its XLA_CPU device.
    tf.config.set_soft_device_placement(False)
    tf.config.optimizer.set_jit(False)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    return pools(tf)


def pools(tf: Any) -> tuple[tuple[str, int], ...]:
    """Return (pool, size) pairs as TensorFlow says it has them."""
    threading = tf.config.threading
    return (("tensorflow inter_op", int(threading.get_inter_op_parallelism_threads())),
            ("tensorflow intra_op", int(threading.get_intra_op_parallelism_threads())))


def session_config(tf: Any, threads: int) -> Any:
    """Return a ConfigProto with both pools pinned, Grappler and auto-jit off.

    A backend that is about Grappler or auto-jit changes the options it wants.
    """
    v1 = tf.compat.v1
    config = v1.ConfigProto(intra_op_parallelism_threads=threads,
                            inter_op_parallelism_threads=threads,
                            allow_soft_placement=True, device_count={"GPU": 0})
    optimizer = config.graph_options.optimizer_options
    optimizer.opt_level = v1.OptimizerOptions.L0
    optimizer.global_jit_level = v1.OptimizerOptions.OFF
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def to_tf_array(tf: Any, array: np.ndarray, dtype: str) -> np.ndarray:
    """Return an array that TensorFlow takes as `dtype`.

    Args:
        tf: what `load` returned.
        array: [...] storage of `dtype` (uint16 bits for bfloat16).
        dtype: NumPy's name, or "bfloat16".

    Returns:
        [...] C order, never a Python or NumPy scalar: TensorFlow's cache of eager
        scalars takes -0.0 for 0.0.
    """
    ordered = np.ascontiguousarray(array).reshape(np.shape(array))
    if dtype == "bfloat16" and ordered.dtype == np.uint16:
        return np.asarray(ordered.view(tf.bfloat16.as_numpy_dtype))
    return ordered


def from_tf_array(array: Any) -> np.ndarray:
    """Return an output of TensorFlow as plain NumPy, bfloat16 as its uint16 bits.

    Args:
        array: [...] a NumPy array or scalar, or an eager tensor.
    """
    plain: np.ndarray = np.asarray(array.numpy() if hasattr(array, "numpy") else array)
    if plain.dtype.name == "bfloat16":
        plain = np.ascontiguousarray(plain).reshape(plain.shape)
        return np.asarray(plain.view(np.uint16))
    return plain


def read_graph_def(tf: Any, path: str) -> Any:
    """Read a binary GraphDef.

    Raises:
        BackendFailure: the file is missing or no GraphDef.
    """
    decode_error = importlib.import_module("google.protobuf.message").DecodeError
    graph_def = tf.compat.v1.GraphDef()
    try:
        graph_def.ParseFromString(Path(path).read_bytes())
    except OSError as error:
        raise BackendFailure(
            FailureKind.BUILD, f"cannot read the graph {path}: {error.strerror}"
        ) from error
    except decode_error as error:
        raise BackendFailure(
            FailureKind.BUILD, f"{path} is not a binary GraphDef: {error}") from error
    return graph_def


def first_line(error: BaseException) -> str:
    """Return the first line of what an exception of TensorFlow says.

    TensorFlow 2.6 and newer put a heading and the places where the node was made before
    it; those are passed over.
    """
    text = str(getattr(error, "message", "") or error).strip()
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > 1 and lines[0].startswith(_HEADING):
        lines = [line for line in lines[1:] if not line.startswith(_PLACES)] or lines
    return _WRAPPER.sub("", lines[0] if lines else "") or type(error).__name__


def failure_of(tf: Any, error: BaseException, where: str) -> BackendFailure:
    """Return the named failure for an exception of TensorFlow.

    Args:
        tf: what `load` returned.
        error: an OpError, or what op functions raise instead (TypeError, ValueError).
        where: the op and node, or the step, for the message.
    """
    text = first_line(error)
    kind = FailureKind.RUN
    if isinstance(error, tf.errors.ResourceExhaustedError):
        kind = FailureKind.OUT_OF_MEMORY
    elif (isinstance(error, (tf.errors.NotFoundError, tf.errors.UnimplementedError))
          or "Could not satisfy device specification" in text):
        kind = FailureKind.UNAVAILABLE
        text = f"TensorFlow {tf.__version__} has no kernel for it here: {text}"
    return BackendFailure(kind, f"{where}: {text}")


def onednn(tf: Any) -> str:
    """Return whether oneDNN kernels are in use: "on", "off" or "not built in"."""
    try:
        from tensorflow.python.util import _pywrap_util_port as port
    except ImportError:
        return "not built in"
    return "on" if port.IsMklEnabled() else "off"
