"""The environment of a GE worker: what is set, what is taken out, and why.

Pure functions; the worker applies what they return before its first import of
TensorFlow or the adapter, since many variables are read once.

Source: reference: tf_adapter.md section 7; tf_adapter_examples.md section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from ge_harness.errors import SwitchError

STAGES = ("PreRunBegin", "AfterInfershape", "OptimizeOriginalGraph",
          "AutofuseOptimize", "AutoFuser", "Build")
"""Stage names dumped; GE's own short list leaves the AutoFuse stages out."""

FOLDERS = ("plog", "work", "graphs", "dump", "cache")
"""Folders of a GE job that must exist before the worker starts."""

REMOVED: dict[str, str] = {
    "RANK_TABLE_FILE": "switches collective mode on",
    "CM_CHIEF_IP": "switches collective mode on",
    "CM_CHIEF_PORT": "switches collective mode on",
    "CM_CHIEF_DEVICE": "switches collective mode on",
    "CM_WORKER_IP": "switches collective mode on",
    "CM_WORKER_SIZE": "switches collective mode on",
    "HELP_CLUSTER": "switches collective mode on",
    "POD_NAME": "switches collective mode on",
    "TF_CONFIG": "a parameter server task skips the start of GE",
    "AOE_MODE": "tunes behind the harness' back",
    "PROFILING_MODE": "profiles behind the harness' back",
    "PROFILING_OPTIONS": "profiles behind the harness' back",
    "ASCEND_GE_PY_PASS_PATH": "loads passes of the user into GE",
    "NPU_COLLECT_PATH": "takes over every dump path",
    "ENABLE_FORCE_V2_CONTROL": "changes the compiled graph",
    "OP_NO_REUSE_MEM": "changes the compiled graph",
    "MIN_COMPILE_RESOURCE_USAGE_CTRL": "changes the compiled graph",
    "IGNORE_INFER_ERROR": "hides errors",
    "ENABLE_NETWORK_ANALYSIS_DEBUG": "hides errors",
    "DEVICE_ID": "old form of ASCEND_DEVICE_ID, a physical id",
    "ASCEND_OP_COMPILE_SAVE_KERNEL_META": "compiles with debug options",
    "ASCEND_CACHE_PATH": "shares a kernel cache between runs",
    "AUTOFUSE_FLAGS": "set only where the run asks for it",
    "AUTOFUSE_DFX_FLAGS": "set only where the run asks for it",
}
"""Variables taken out of the worker's environment, and why."""


@dataclass(frozen=True)
class GeEnvironment:
    """The environment of one worker.

    Attributes:
        variables: what is set.
        removed: what is taken out, with the reason.
        folders: folders that must exist, absolute.
    """

    variables: dict[str, str]
    removed: dict[str, str]
    folders: tuple[str, ...]


@dataclass(frozen=True)
class DumpPolicy:
    """What GE is asked to write.

    Attributes:
        graphs: graph dumps of the stages that matter, without weights.
        collect: take NPU_COLLECT_PATH too: a diagnostic run, whose numbers are never
            compared.
        logs: log level 1 (info) instead of 3 (errors), to collect evidence.
    """

    graphs: bool = True
    collect: bool = False
    logs: bool = False


def ge_environment(job_dir: str, device: int = 0, flags: str = "", dfx: str = "",
                   dump: DumpPolicy | None = None) -> GeEnvironment:
    """Return the environment of a GE worker.

    Args:
        job_dir: the job's own folder, absolute.
        device: logical id of the device.
        flags: value of AUTOFUSE_FLAGS, "" to leave it unset.
        dfx: value of AUTOFUSE_DFX_FLAGS, "" to leave it unset.
        dump: what is dumped; everything but collecting by default.

    Raises:
        SwitchError: a device id below 0.
    """
    if device < 0:
        raise SwitchError(f"the device id is 0 or more, found {device}")
    policy = dump or DumpPolicy()
    variables = {
        "ASCEND_DEVICE_ID": str(device), "JOB_ID": "geharness", "RANK_ID": "0",
        "RANK_SIZE": "1", "ASCEND_GLOBAL_LOG_LEVEL": "1" if policy.logs else "3",
        "ASCEND_SLOG_PRINT_TO_STDOUT": "0",
        "ASCEND_PROCESS_LOG_PATH": f"{job_dir}/plog",
        "ASCEND_WORK_PATH": f"{job_dir}/work", "ENABLE_HF32_EXECUTION": "0",
        "TE_PARALLEL_COMPILER": "8", "TF_CPP_MIN_LOG_LEVEL": "0",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    if policy.graphs:
        variables.update(graph_dump_variables(f"{job_dir}/graphs"))
    if policy.collect:
        variables["NPU_COLLECT_PATH"] = f"{job_dir}/collect"
    strings = {"AUTOFUSE_FLAGS": flags, "AUTOFUSE_DFX_FLAGS": dfx}
    variables.update({name: text for name, text in strings.items() if text})
    removed = {name: why for name, why in REMOVED.items() if name not in variables}
    if not policy.graphs:
        removed.update(dict.fromkeys(
            graph_dump_variables(""), "no graph dumps are wanted"))
    folders = FOLDERS + (("collect",) if policy.collect else ())
    return GeEnvironment(variables, removed,
                         tuple(f"{job_dir}/{name}" for name in folders))


def graph_dump_variables(folder: str) -> dict[str, str]:
    """Return the variables that make GE dump the stages of `STAGES` into `folder`.

    DUMP_GE_GRAPH=2 leaves weights out and keeps the named attributes GraphOptions,
    SessionOptions and GlobalOptions, which prove what GE really holds.
    """
    return {"DUMP_GE_GRAPH": "2", "DUMP_GRAPH_LEVEL": "|".join(STAGES),
            "DUMP_GRAPH_FORMAT": "ge_proto|onnx", "DUMP_GRAPH_PATH": folder}
