"""The options of a NpuOptimizer entry: reference tf_adapter.md sections 4.2 and 4.4."""

from __future__ import annotations

from collections import namedtuple

# arm: member of AttrValue. level: where it takes effect: "init", "both", "session",
# "pass", "graph". names: as GE holds it. default: text sent when the key is absent,
# None for not sent. Text of a bool is 1 or 0.
Key = namedtuple("Key", "arm level names default")

_V1 = ("force_fp32", "allow_fp32_to_fp16", "force_fp16", "must_keep_origin_dtype",
       "allow_mix_precision", "cube_fp16in_fp32out", "allow_mix_precision_fp16",
       "allow_mix_precision_bf16", "allow_fp32_to_bf16")
_V2 = ("fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16",
       "cube_hif8", "mixed_hif8")
PRECISION = {"precision_mode": _V1, "precision_mode_v2": _V2}
MIXED = ("allow_mix_precision", "allow_mix_precision_fp16", "allow_mix_precision_bf16",
         "mixed_float16", "mixed_bfloat16", "mixed_hif8")

KEYS = {
    # routing and loop
    "use_off_line": Key("b", "pass", (), "1"),
    "mix_compile_mode": Key("b", "pass", (), "0"),
    "graph_run_mode": Key("i", "both", ("ge.graphRunMode", "graph_run_mode"), "1"),
    "iterations_per_loop": Key("i", "pass", (), "1"),
    "enable_data_pre_proc": Key("b", "pass", (), "0"),
    "session_device_id": Key("i", "session", ("ge.session_device_id",), None),
    "graph_max_parallel_model_num": Key("i", "graph", (), "1"),
    "job": Key("s", "pass", (), "localhost"),
    "task_index": Key("i", "pass", (), "0"),
    "variable_placement": Key("s", "pass", (), "Device"),
    "frozen_variable": Key("b", "pass", (), "0"),
    # optimization
    "oo_level": Key("s", "both", ("ge.oo.level", "oo_level"), "O3"),
    "oo_constant_folding": Key("b", "init", ("ge.oo.constantFolding",), "true"),
    "optimization_switch": Key("s", "both", ("ge.optimizationSwitch",), ""),
    "fusion_switch_file": Key("s", "both", ("ge.fusionSwitchFile",), ""),
    "buffer_optimize": Key("s", "session", ("ge.bufferOptimize",), "l2_optimize"),
    "enable_small_channel": Key("i", "session", ("ge.enableSmallChannel",), "0"),
    "enable_scope_fusion_passes": Key(
        "s", "init", ("ge.exec.enableScopeFusionPasses",), ""),
    "topo_sorting_mode": Key(
        "i", "session", ("ge.topoSortingMode", "topo_sorting_mode"), ""),
    "aicore_num": Key("s", "both", ("ge.aicoreNum",), ""),
    "auto_multistream_parallel_mode": Key(
        "s", "session", ("ge.autoMultistreamParallelMode",), ""),
    "all_tensor_not_empty": Key("b", "session", ("ge.allTensorNotEmpty",), "0"),
    # precision and determinism
    "precision_mode": Key(
        "s", "init", ("ge.exec.precision_mode", "precision_mode"), None),
    "precision_mode_v2": Key(
        "s", "init", ("ge.exec.precision_mode_v2", "precision_mode_v2"), None),
    "modify_mixlist": Key("s", "both", ("ge.exec.modify_mixlist",), ""),
    "op_precision_mode": Key("s", "both", ("ge.exec.op_precision_mode",), ""),
    "customize_dtypes": Key("s", "init", ("ge.customizeDtypes",), ""),
    "op_select_implmode": Key("s", "both", ("ge.opSelectImplmode",), ""),
    "optypelist_for_implmode": Key("s", "both", ("ge.optypelistForImplmode",), ""),
    "deterministic": Key("i", "init", ("ge.deterministic",), "0"),
    # compile, caches, statistics
    "jit_compile": Key("s", "session", ("ge.jit_compile",), "2"),
    "shape_generalization_mode": Key("s", "pass", (), "STRICT"),
    "compile_dynamic_mode": Key("b", "session", ("ge.compile_dynamic_mode",), "1"),
    "op_compiler_cache_mode": Key(
        "s", "init", ("ge.op_compiler_cache_mode", "op_compiler_cache_mode"), ""),
    "op_compiler_cache_dir": Key(
        "s", "init", ("ge.op_compiler_cache_dir", "op_compiler_cache_dir"), ""),
    "debug_dir": Key("s", "init", ("ge.debugDir", "debug_dir"), ""),
    "graph_compiler_cache_dir": Key(
        "s", "session", ("ge.graph_compiler_cache_dir",), None),
    "export_compile_stat": Key("i", "init", ("ge.exportCompileStat",), "1"),
    "op_debug_level": Key("i", "init", ("ge.opDebugLevel",), "0"),
    "op_debug_config": Key("s", "init", ("ge.exec.opDebugConfig",), ""),
    "soc_config": Key("s", "init", ("soc_config",), None),
    "aoe_mode": Key("s", "init", ("ge.aoe_mode", "aoe_mode"), ""),
    "work_path": Key("s", "init", ("ge.tuningPath", "work_path"), "./"),
    # dump
    "enable_dump": Key("b", "session", ("ge.exec.enableDump",), "0"),
    "enable_dump_debug": Key("b", "session", ("ge.exec.enableDumpDebug",), "0"),
    "dump_path": Key("s", "session", ("ge.exec.dumpPath",), ""),
    "dump_step": Key("s", "session", ("ge.exec.dumpStep",), ""),
    "dump_mode": Key("s", "session", ("ge.exec.dumpMode",), "output"),
    "dump_debug_mode": Key("s", "session", ("ge.exec.dumpDebugMode",), "all"),
    "dump_data": Key("s", "init", ("ge.exec.dumpData", "dump_data"), "tensor"),
    "dump_layer": Key("s", "session", ("ge.exec.dumpLayer",), ""),
    "quant_dumpable": Key("s", "session", ("ge.quant_dumpable",), ""),
    "enable_exception_dump": Key(
        "i", "init", ("ge.exec.enable_exception_dump",), "2"),
    # profiling
    "profiling_mode": Key("b", "init", ("ge.exec.profilingMode",), "0"),
    "profiling_options": Key("s", "init", ("ge.exec.profilingOptions",), ""),
    # memory and transfer
    "variable_memory_max_size": Key("s", "session", (), None),
    "graph_memory_max_size": Key("s", "session", (), None),
    "static_memory_policy": Key("i", "init", ("ge.exec.staticMemoryPolicy",), "0"),
    "memory_optimization_policy": Key(
        "s", "session", ("ge.exec.memoryOptimizationPolicy",), ""),
    "variable_use_1g_huge_page": Key("i", "both", ("ge.variableUse1gHugePage",), "0"),
    "atomic_clean_policy": Key("i", "session", ("ge.exec.atomicCleanPolicy",), "0"),
    "external_weight": Key("b", "session", ("ge.externalWeight",), None),
    "input_fusion_size": Key("i", "session", ("ge.exec.input_fusion_size",), "131072"),
    "input_batch_cpy": Key("b", "both", ("ge.inputBatchCpy",), "0"),
    "stream_sync_timeout": Key("i", "init", ("stream_sync_timeout",), "-1"),
    "event_sync_timeout": Key("i", "init", ("event_sync_timeout",), "-1"),
    "graph_exec_timeout": Key("i", "init", ("ge.exec.graphExecTimeout",), "600000"),
    "hccl_timeout": Key("i", "init", ("ge.exec.hcclExecuteTimeOut",), None),
    "op_wait_timeout": Key("i", "init", ("ge.exec.opWaitTimeout",), None),
    "op_execute_timeout": Key("i", "init", ("ge.exec.opExecuteTimeout",), None),
    # dynamic shapes
    "input_shape": Key("s", "graph", ("ge.inputShape",), ""),
    "dynamic_dims": Key("s", "graph", ("ge.dynamicDims",), ""),
    "dynamic_node_type": Key("i", "graph", ("ge.dynamicNodeType",), "-1"),
    # legacy, refused by GE
    "auto_tune_mode": Key("s", "init", ("ge.autoTuneMode",), None),
}
# Written into the process-wide map only when present, so an earlier session's value
# stays: reference tf_adapter.md section 4.2.
LEAKING = ("precision_mode", "precision_mode_v2", "oo_constant_folding",
           "export_compile_stat", "aicore_num", "op_debug_level", "oo_level",
           "optimization_switch")
TRUE_FALSE = ("oo_constant_folding",)
JIT = {"true": "1", "false": "0", "auto": "2"}
EMPTY = {"b": False, "i": 0, "s": ""}


def text(key, value):
    """Return an option's value as GE gets it."""
    if key in TRUE_FALSE:
        return "true" if value else "false"
    if isinstance(value, bool):
        return "1" if value else "0"
    if key == "jit_compile":
        return JIT[value]
    return str(value)
