"""What a run through the adapter must have done, read from what the stand-in saw.

Written from reference: tf_adapter.md alone. `faults` is empty for a good run; each
mutant of the backend must have at least one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ge_harness.records.run import Mode, RunFailure
from tests.standin import drive

if str(drive.SITE) not in sys.path:
    sys.path.append(str(drive.SITE))
from standin_adapter import keys

# Section 7.1: set, and set before the first import.
SET = {"JOB_ID": r"[A-Za-z]\w{0,127}", "RANK_SIZE": "1", "RANK_ID": "0",
       "ASCEND_DEVICE_ID": r"\d+", "ASCEND_SLOG_PRINT_TO_STDOUT": "0",
       "TF_CPP_MIN_LOG_LEVEL": "0", "CUDA_VISIBLE_DEVICES": "-1",
       "ENABLE_HF32_EXECUTION": "0", "DUMP_GE_GRAPH": "[12]"}
OWN_FOLDERS = ("ASCEND_WORK_PATH", "ASCEND_PROCESS_LOG_PATH", "DUMP_GRAPH_PATH")
UNSET = ("RANK_TABLE_FILE", "CM_CHIEF_IP", "CM_CHIEF_PORT", "CM_WORKER_IP", "TF_CONFIG",
         "HELP_CLUSTER", "POD_NAME", "AOE_MODE", "PROFILING_MODE", "NPU_COLLECT_PATH",
         "ASCEND_GE_PY_PASS_PATH", "ENABLE_FORCE_V2_CONTROL", "OP_NO_REUSE_MEM",
         "MIN_COMPILE_RESOURCE_USAGE_CTRL", "IGNORE_INFER_ERROR",
         "ENABLE_NETWORK_ANALYSIS_DEBUG")
_OFF, _NO_MEM_OPT, _L0 = 2, 1, -1


def faults(done, *, autofuse="", literal=()):
    """Return what is wrong with a run, one sentence each.

    Args:
        done: the job.
        autofuse: the AUTOFUSE_FLAGS that its worker must have, "" for unset.
        literal: op types that GE must have been given.
    """
    if isinstance(done.result, RunFailure):
        return [f"{done.result.kind.value}: {done.result.message}"]
    found = []
    for snapshot in done.events("snapshot"):
        found += _environment(snapshot["environment"], done, autofuse)
    for config in done.events("config"):
        found += _config(config, done.folder)
    found += _calls(done)
    found += _graphs(done, bool(autofuse), literal)
    found += [f"warned: {event['text']}" for event in done.events("warning")]
    found += [f"not proved: {effect.evidence}" for effect in done.result.effects
              if effect.switch.family == "ge_option" and effect.status != "proved"]
    return found


def _environment(have, done, autofuse):
    found = [f"{name}={have.get(name)!r} at import" for name, pattern in SET.items()
             if re.fullmatch(pattern, have.get(name, "")) is None]
    found += [f"{name} is set at import" for name in UNSET if name in have]
    found += [f"{name}={have.get(name)!r} is not a folder of the job"
              for name in OWN_FOLDERS if not _inside(have.get(name), done.folder)]
    if have.get("AUTOFUSE_FLAGS", "") != autofuse:
        found.append(f"AUTOFUSE_FLAGS={have.get('AUTOFUSE_FLAGS')!r} at import")
    request = done.result.request
    level = have.get("DUMP_GRAPH_LEVEL", "")
    if request.mode is Mode.WHOLE and request.want_dumps:
        found += [f"DUMP_GRAPH_LEVEL={level!r} hides {name}"
                  for name in ("PreRunBegin", "AutofuseOptimize_Entry",
                               "AutoFuser_AfterLowering", "Build")
                  if level != "1" and not any(
                      part and part in name for part in level.split("|"))]
    return found


def _inside(path, folder):
    return bool(path) and str(Path(path)).startswith(f"{folder}/")


def _config(config, folder):
    entries = config["entries"]
    found = []
    for key, (arm, value) in entries.items():
        if key not in keys.KEYS:
            found.append(f"the adapter has no key {key}")
        elif keys.KEYS[key].arm != arm:
            found.append(f"{key} came through .{arm}")
        elif key in ("op_compiler_cache_dir", "debug_dir", "dump_path",
                     "fusion_switch_file") and not _inside(value, folder):
            found.append(f"{key}={value!r} is not in the job's folder")
    if config["optimizers"] != ["NpuOptimizer"]:
        found.append(f"optimizers {config['optimizers']}")
    if not config["allow_soft_placement"]:
        found.append("soft placement is off")
    if config["remapping"] != _OFF:
        found.append("remapping is not off")
    if config["memory_optimization"] != _NO_MEM_OPT:
        found.append("memory optimization is not off")
    if not config["disable_meta_optimizer"] or config["opt_level"] != _L0:
        found.append("TensorFlow rewrites the graph first")
    wanted = {"oo_level": ("O1", "O3"), "precision_mode_v2": ("origin",),
              "deterministic": (1,), "export_compile_stat": (2,),
              "jit_compile": ("true",), "graph_run_mode": (0,)}
    found += [f"{key} is {entries.get(key, [None, None])[1]!r}"
              for key, allowed in wanted.items()
              if entries.get(key, [None, None])[1] not in allowed]
    if not ("op_compiler_cache_dir" in entries
            or entries.get("op_compiler_cache_mode", [None, ""])[1] == "disable"):
        found.append("kernels are cached in the home folder")
    return found


def _calls(done):
    packages = [event["package"] for event in done.events("import")]
    found = []
    if len(packages) != 1:
        found.append(f"adapters imported: {packages}")
    if done.events("npu_init"):
        found.append("npu_init changes every session of the process")
    if done.events("open"):
        found.append("npu_device.open freezes the options before the session")
    pids = {event["pid"] for event in done.journal}
    if len(pids) > 1:
        found.append(f"{len(pids)} processes")
    return found


def _graphs(done, autofuse, literal):
    builds, runs = done.events("build"), done.events("run")
    if not builds or not runs:
        return ["the numbers came from the host: the adapter built or ran nothing"]
    given = [op for build in builds for op in build["ops"]]
    found = [f"GE was not given the {op} of the graph but {given}"
             for op in literal if op not in given]
    stages = {stage for build in builds for stage in build["stages"]}
    opened = any(stage.startswith("Autofuse") for stage in stages)
    if opened != autofuse:
        found.append(f"the gate of AutoFuse was {'open' if opened else 'closed'}")
    return found
