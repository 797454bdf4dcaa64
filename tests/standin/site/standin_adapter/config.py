"""Reads a session config as GetAttrOptimizePass does, and fails as that does.

A wrong value raises (R), aborts (A), is left to GE (G), is warned of (W) or is silently
another value (S), each as its row in reference tf_adapter.md section 4.4 says.
"""

from __future__ import annotations

import os
import re

from standin_adapter import keys, state


class RaisedError(Exception):
    """A status that TensorFlow turns into an InvalidArgumentError."""


def entry(config):
    """Return the parameter_map of the NpuOptimizer entry, None where there is none."""
    if config is None:
        return None
    for custom in config.graph_options.rewrite_options.custom_optimizers:
        if custom.name == "NpuOptimizer":
            return custom.parameter_map
    return None


def arms(parameters):
    """Return {key: [arm, value]} as written, for the journal."""
    found = {}
    for key, attr in parameters.items():
        arm = attr.WhichOneof("value")
        value = getattr(attr, arm) if arm else None
        found[key] = [arm, value.decode("utf-8", "replace")
                      if isinstance(value, bytes) else value
                      if isinstance(value, (bool, int, float, type(None))) else "?"]
    return found


def read(parameters):
    """Return {key: value} of the keys that are present and known.

    Reading the wrong arm gives that type's zero, as protobuf does. A key that the
    adapter does not have is not seen at all.

    Raises:
        RaisedError: a value that the adapter itself refuses.
    """
    found = {}
    for key in sorted(parameters):
        if key in keys.KEYS:
            arm = keys.KEYS[key].arm
            value = getattr(parameters[key], arm)
            found[key] = value.decode("utf-8") if arm == "s" else value
    _typed_text(parameters)
    _routing(found)
    _optimization(found)
    _precision(found)
    _compile(found, parameters)
    _dump(found)
    _memory(found)
    return found


def _typed_text(parameters):
    for key in ("jit_compile", "shape_generalization_mode"):
        if key in parameters and parameters[key].WhichOneof("value") != "s":
            raise RaisedError(
                f"The data type of {key} is invalid. Expected string type.")


def _routing(found):
    if found.get("graph_run_mode", 1) > 1:
        state.fatal("graph_run_mode value must be 0 or 1")
    if found.get("iterations_per_loop", 1) < 1:
        state.fatal("iterator_per_loop should be int and must >= 1")
    if found.get("session_device_id", 0) < 0:
        state.fatal("session_device_id must be nonnegative integer.")
    if found.get("graph_max_parallel_model_num", 1) < 1:
        raise RaisedError("graph_max_parallel_model_num must be >= 1")
    if found.get("variable_placement", "Device") not in ("Device", "Host"):
        state.fatal("variable_placement should be one of the list:[Device, Host]")
    dynamic = [key for key in ("input_shape", "dynamic_dims", "dynamic_node_type")
               if key in found]
    if dynamic and len(dynamic) < 3:
        state.fatal("input_shape, dynamic_dims and dynamic_node_type should use "
                    "together.")
    if dynamic and found.get("mix_compile_mode"):
        state.fatal("dynamic config can not use with mix compile.")
    if dynamic and found.get("compile_dynamic_mode"):
        raise RaisedError("compile_dynamic_mode can not be used with input_shape")


def _optimization(found):
    if found.get("buffer_optimize", "l2_optimize") not in (
            "l2_optimize", "off_optimize"):
        state.fatal("buffer_optimize should be one of the list:['l2_optimize', "
                    "'off_optimize']")


def _precision(found):
    if "precision_mode" in found and "precision_mode_v2" in found:
        raise RaisedError("'precision_mode' and 'precision_mode_v2' can not be "
                          "assigned at the same time.")
    for key, allowed in sorted(keys.PRECISION.items()):
        _one_of(found, key, allowed)
    mixed = (found.get("precision_mode") in keys.MIXED
             or found.get("precision_mode_v2") in keys.MIXED)
    if found.get("modify_mixlist") and not mixed:
        raise RaisedError("modify_mixlist is assigned, please ensure that "
                          "precision_mode is a mixed mode.")
    if found.get("op_select_implmode", "") not in (
            "", "high_precision", "high_performance", "high_precision_for_all",
            "high_performance_for_all"):
        state.fatal("op_select_implmode value is invalid")
    if found.get("optypelist_for_implmode") and not found.get("op_select_implmode"):
        state.fatal("when use optypelist_for_implmode, op_select_implmode must be set.")


def _one_of(found, key, allowed):
    if key in found and found[key] not in allowed:
        raise RaisedError("option {} value '{}' is invalid, it should be one of the "
                          "list:[{}]".format(key, found[key], ", ".join(allowed)))


def _compile(found, parameters):
    _one_of(found, "jit_compile", ("true", "false", "auto"))
    _one_of(found, "shape_generalization_mode", ("STRICT", "FULL", "ADAPTIVE"))
    stat = parameters.get("export_compile_stat") if (
        "export_compile_stat" in parameters) else None
    if stat is not None:
        if stat.WhichOneof("value") != "i":
            del found["export_compile_stat"]
        elif found["export_compile_stat"] not in (0, 1, 2):
            raise RaisedError("export_compile_stat value is invalid, should be 0, 1, 2")
    for key in keys.TRUE_FALSE:
        if key in parameters and parameters[key].WhichOneof("value") != "b":
            del found[key]
    if found.get("aoe_mode", "") not in ("", "1", "2", "4"):
        raise RaisedError("aoe_mode should be one of the list:['1', '2', '4']")


def _dump(found):
    if found.get("dump_data", "tensor") not in ("tensor", "stats"):
        raise RaisedError("dump_data should be 'tensor' or 'stats'.")
    if found.get("dump_debug_mode", "all") not in (
            "all", "aicore_overflow", "atomic_overflow"):
        state.fatal("dump debug mode should be one of the list:[all, aicore_overflow, "
                    "atomic_overflow]")
    if found.get("enable_exception_dump", 2) not in (0, 1, 2):
        raise RaisedError("enable_exception_dump should be 0, 1 or 2")
    if not (found.get("enable_dump") or found.get("enable_dump_debug")):
        return
    path = found.get("dump_path", "")
    if not path:
        raise RaisedError("if use dump function, dump_path must be set.")
    if not os.path.isdir(path):
        raise RaisedError(f"the path {path} is not directory.")
    if not os.access(path, os.R_OK | os.W_OK):
        raise RaisedError(f"the path {path} does't have read, write permissions.")
    if found.get("enable_dump"):
        _dump_step(found.get("dump_step", ""))
        if found.get("dump_mode", "output") not in ("input", "output", "all"):
            state.fatal("dump mode should be one of the list:[input, output, all]")


def _dump_step(text):
    parts = text.split("|") if text else []
    good = len(parts) <= 100
    for part in parts:
        match = re.match(r"(\d+)(?:-(\d+))?\Z", part)
        good = good and match is not None and (
            match.group(2) is None or int(match.group(1)) < int(match.group(2)))
    if not good:
        raise RaisedError("dump_step string style is error, correct example: "
                          "'0|5|10|50-100.'")


def _memory(found):
    if found.get("variable_use_1g_huge_page", 0) not in (0, 1, 2):
        raise RaisedError("variable_use_1g_huge_page should be 0, 1 or 2")
    size = found.get("input_fusion_size", 0)
    if not 0 <= size <= 33554432:
        state.say("W", f"input_fusion_size {size} is clamped")
        found["input_fusion_size"] = min(max(size, 0), 33554432)
