"""The environment of a worker: what is taken out, what is set, what is recorded.

Taking out is a deny-list of variables that can change a result or hide one: everything
else (paths, licences, proxies, allocators) stays as the user has it. Every removal is
recorded with its value.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping

from ge_harness.records.run import Environment

# Read when first used and not at import, so it may be set in a forked worker.
# Source: reference xla_cpu.md section 2. TF_ENABLE_ONEDNN_OPTS is not one of them.
LATE = frozenset(("XLA_FLAGS",))

# Source: reference xla_cpu.md sections 2, 3, 6; tf_adapter.md sections 7.1 to 7.3. TF_
# holds 150 names (TF_XLA_FLAGS, TF_ENABLE_ONEDNN_OPTS, TF_DETERMINISTIC_OPS, ...).
_DENIED_PREFIXES = (
    "TF_", "TENSORFLOW_", "XLA_", "TPU_", "ITEX_", "DNNL_", "ONEDNN_", "OMP_", "GOMP_",
    "KMP_", "MKL_", "BLIS_", "NUMEXPR_", "VECLIB_", "CUDNN_", "CUBLAS_", "HIP_",
    "DUMP_GE_", "DUMP_GRAPH_", "AUTOFUSE_", "EXPERIMENTAL_", "CM_CHIEF_", "CM_WORKER_",
    "NPU_", "PYTORCH_", "TORCHINDUCTOR_", "EIGEN_",
)
_DENIED = frozenset((
    "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS", "PYTHONHASHSEED", "PYTHONOPTIMIZE",
    "RANK_TABLE_FILE", "RANK_SIZE", "RANK_ID", "JOB_ID", "HELP_CLUSTER", "POD_NAME",
    "AOE_MODE", "PROFILING_MODE", "PROFILING_OPTIONS", "ASCEND_GE_PY_PASS_PATH",
    "ENABLE_FORCE_V2_CONTROL", "MIN_COMPILE_RESOURCE_USAGE_CTRL", "OP_NO_REUSE_MEM",
    "IGNORE_INFER_ERROR", "ENABLE_NETWORK_ANALYSIS_DEBUG", "ENABLE_HF32_EXECUTION",
    "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", "ENABLE_ACLNN", "FUSION_TENSOR_SIZE",
    "GE_USE_STATIC_MEMORY", "PRINT_MODEL", "PARA_DEBUG_PATH", "MAX_COMPILE_CORE_NUMBER",
    "MULTI_THREAD_COMPILE", "TE_PARALLEL_COMPILER",
    "ASCEND_OP_COMPILE_SAVE_KERNEL_META", "ASCEND_CACHE_PATH", "DEVICE_ID",
))
# Terraform's, not TensorFlow's; may hold secrets, so neither taken out nor recorded.
_FOREIGN = re.compile(
    r"TF_(VAR|CLI|TOKEN|HTTP|REGISTRY|STATE|PLUGIN|CLOUD|ACC)_.*|"
    r"TF_(LOG|LOG_PATH|LOG_CORE|LOG_PROVIDER|DATA_DIR|WORKSPACE|INPUT|IN_AUTOMATION)")
# Not taken out, recorded where they are set.
_WATCHED = frozenset((
    "OPENBLAS_CORETYPE", "LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX",
    "ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "ASCEND_DEVICE_ID",
    "ASCEND_RT_VISIBLE_DEVICES", "LC_ALL", "LANG",
))
# Changes while a process runs and means nothing to a worker; would part warm workers.
_PASSING = frozenset(("PYTEST_CURRENT_TEST",))
# Instruction sets that change which kernel or which contraction is used.
_FLAGS = re.compile(
    r"sse4_[12]|ssse3|fma4?|f16c|avx\w*|amx\w*|asimd\w*|fphp|bf16|i8mm|sve\w*|neon")


@dataclass(frozen=True)
class WorkerEnvironment:
    """The variables a worker starts with.

    Attributes:
        variables: every variable, sorted (name, value).
        removed: what was taken out, with the value it had, sorted.
    """

    variables: tuple[tuple[str, str], ...]
    removed: tuple[tuple[str, str], ...]

    @property
    def at_import(self) -> tuple[tuple[str, str], ...]:
        """What TensorFlow may read when it is imported: the key of a warm worker."""
        return tuple(pair for pair in self.variables if pair[0] not in LATE)


def prepare(have: Mapping[str, str], extra: Mapping[str, str],
            threads: int) -> WorkerEnvironment:
    """Return the environment of a worker.

    Args:
        have: the variables of this process.
        extra: what the backend adds; it wins over everything.
        threads: size of every pool that a variable controls.
    """
    kept = {name: value for name, value in have.items()
            if not denied(name) and name not in _PASSING}
    removed = {name: value for name, value in have.items() if denied(name)}
    kept.update(_fixed(threads))
    kept.update(extra)
    return WorkerEnvironment(
        tuple(sorted(kept.items())), tuple(sorted(removed.items())))


def denied(name: str) -> bool:
    """Return whether a variable is taken out before a worker starts."""
    return (name in _DENIED or name.startswith(_DENIED_PREFIXES)) and (
        _FOREIGN.fullmatch(name) is None)


def _fixed(threads: int) -> dict[str, str]:
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
             "NUMEXPR_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    fixed = {name: str(threads) for name in pools}
    fixed.update(
        PYTHONHASHSEED="0", CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="0",
        PYTHONUNBUFFERED="1", PYTHONIOENCODING="utf-8:backslashreplace")
    return fixed


def recorded(have: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the variables of a worker that can change a result, sorted."""
    return tuple(sorted((name, value) for name, value in have.items()
                        if denied(name) or name in _WATCHED))


def describe(removed: tuple[tuple[str, str], ...],
             threads: tuple[tuple[str, int], ...], route: str) -> Environment:
    """Return what this process runs on; TensorFlow only where it is imported already.

    Args:
        removed: what was taken out before this process started.
        threads: (pool, size) pairs as the backend set them.
        route: how the backend executed.
    """
    import numpy as np

    model, flags = cpu()
    tensorflow = sys.modules.get("tensorflow")
    bridge = sys.modules.get("npu_bridge") or sys.modules.get("npu_device")
    onednn = ""
    if tensorflow is not None and hasattr(tensorflow, "__version__"):
        from ge_harness.backends import tf_loader

        onednn = tf_loader.onednn(tensorflow)
    return Environment(
        python=platform.python_version(), numpy=np.__version__,
        tensorflow=str(getattr(tensorflow, "__version__", "")),
        npu_bridge=str(getattr(bridge, "__version__", "")), cann=_cann(),
        platform=f"{platform.system()} {platform.machine()}", cpu_model=model,
        cpu_flags=flags, variables=recorded(os.environ), removed=removed,
        threads=threads, route=route, onednn=onednn)


def cpu(path: str = "/proc/cpuinfo") -> tuple[str, tuple[str, ...]]:
    """Return the name of the processor and its instruction sets, if known."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor(), ()
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip().lower(), value.strip())
    model = fields.get("model name") or fields.get("cpu part") or platform.processor()
    words = (fields.get("flags") or fields.get("features") or "").split()
    return model, tuple(sorted({word for word in words if _FLAGS.fullmatch(word)}))


def _cann() -> str:
    """Return the version of the Ascend toolkit, "" where there is none."""
    home = os.environ.get("ASCEND_HOME_PATH", "")
    if not home:
        return ""
    for name in ("version.info", "runtime/version.info", "opp/version.info"):
        try:
            text = (Path(home) / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        match = re.search(r"(?im)^\s*version\s*=\s*\[?([\w.\-]+)", text)
        if match is not None:
            return match[1]
    return ""
