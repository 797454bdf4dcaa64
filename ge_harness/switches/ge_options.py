"""The options of GE as the TensorFlow adapters take them, checked before they do.

A wrong key is ignored by the adapter without a word, a wrong type reads as the default
and some wrong values abort the process, so everything is checked here first.

Source: reference: tf_adapter.md sections 0, 4 and 5 (hicann/tensorflow 82957b92).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, Mapping, Union

from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.report.plain import printable

OptionValue = Union[bool, int, str]
Options = Dict[str, OptionValue]

TF1 = "tf1"
TF2_SESSION = "tf2_session"
TF2_NATIVE = "tf2_native"
ROUTES = (TF1, TF2_SESSION, TF2_NATIVE)
"""npu_bridge on TensorFlow 1.15; npu_device with v1 sessions; npu_device itself."""

FORBIDDEN_CLOSE = "forbidden_close_pass:on"

PRECISION_V1 = (
    "force_fp32", "allow_fp32_to_fp16", "force_fp16", "must_keep_origin_dtype",
    "allow_mix_precision", "cube_fp16in_fp32out", "allow_mix_precision_fp16",
    "allow_mix_precision_bf16", "allow_fp32_to_bf16")
PRECISION_V2 = (
    "fp16", "origin", "cube_fp16in_fp32out", "mixed_float16", "mixed_bfloat16",
    "cube_hif8", "mixed_hif8")


@dataclass(frozen=True)
class Option:
    """One option of an adapter.

    Attributes:
        name: as the adapter spells it.
        arm: "b", "i" or "s": the arm of the AttrValue on the session routes and the
            Python type on the native one.
        allowed: the values taken; empty for any.
        low: least value of a number without a list.
        high: greatest value of such a number, -1 for none.
        level: where it takes effect: "init" (once per process), "session", "both", or
            "adapter" (never sent to GE).
        ge_name: GE's own name, "" where it is not known or not sent.
        routes: the routes that have it.
        bad: what a wrong value would do: "raise", "abort", "ge" (an E-code), "silent".
    """

    name: str
    arm: str
    allowed: tuple[OptionValue, ...] = ()
    low: int = 0
    high: int = -1
    level: str = "session"
    ge_name: str = ""
    routes: tuple[str, ...] = ROUTES
    bad: str = "ge"


_SESSION = (TF1, TF2_SESSION)
_ALL = (
    Option("use_off_line", "b", level="adapter", routes=_SESSION, bad="silent"),
    Option("mix_compile_mode", "b", level="adapter", routes=_SESSION, bad="silent"),
    Option("graph_run_mode", "i", (0, 1), level="both", ge_name="ge.graphRunMode",
           bad="abort"),
    Option("iterations_per_loop", "i", low=1, level="adapter", routes=_SESSION,
           bad="abort"),
    Option("session_device_id", "i", routes=_SESSION, bad="abort"),
    Option("frozen_variable", "b", level="adapter", routes=_SESSION, bad="silent"),
    Option("variable_placement", "s", ("Device", "Host"), level="adapter",
           routes=_SESSION, bad="abort"),
    Option("oo_level", "s", ("O1", "O3"), level="both", ge_name="ge.oo.level"),
    Option("oo_constant_folding", "b", level="init", ge_name="ge.oo.constantFolding",
           bad="silent"),
    Option("optimization_switch", "s", level="both", ge_name="ge.optimizationSwitch",
           bad="silent"),
    Option("fusion_switch_file", "s", level="both", ge_name="ge.fusionSwitchFile"),
    Option("buffer_optimize", "s", ("l2_optimize", "off_optimize"), routes=_SESSION,
           bad="abort"),
    Option("enable_small_channel", "i", (0, 1), routes=_SESSION),
    Option("enable_scope_fusion_passes", "s", level="both"),
    Option("topo_sorting_mode", "i", (0, 1, 2, 3), ge_name="ge.topoSortingMode"),
    Option("aicore_num", "s", level="both"),
    Option("precision_mode", "s", PRECISION_V1, level="init",
           ge_name="ge.exec.precision_mode", bad="raise"),
    Option("precision_mode_v2", "s", PRECISION_V2, level="init",
           ge_name="ge.exec.precision_mode_v2", bad="raise"),
    Option("modify_mixlist", "s", level="both", bad="raise"),
    Option("op_precision_mode", "s", level="both"),
    Option("customize_dtypes", "s", level="init"),
    Option("op_select_implmode", "s", (
        "high_precision", "high_performance", "high_precision_for_all",
        "high_performance_for_all"), level="both", bad="abort"),
    Option("optypelist_for_implmode", "s", level="both", bad="abort"),
    Option("deterministic", "i", (0, 1), level="init", ge_name="ge.deterministic"),
    Option("jit_compile", "s", ("true", "false", "auto"), ge_name="ge.jit_compile",
           bad="raise"),
    Option("shape_generalization_mode", "s", ("STRICT", "FULL", "ADAPTIVE"),
           level="adapter", bad="raise"),
    Option("compile_dynamic_mode", "b", bad="raise"),
    Option("op_compiler_cache_mode", "s", ("enable", "disable", "force"), level="init",
           ge_name="ge.op_compiler_cache_mode"),
    Option("op_compiler_cache_dir", "s", level="init"),
    Option("graph_compiler_cache_dir", "s"),
    Option("debug_dir", "s", level="init"),
    Option("export_compile_stat", "i", (0, 1, 2), level="init",
           ge_name="ge.exportCompileStat", bad="raise"),
    Option("op_debug_level", "i", (0, 1, 2, 3, 4), level="init"),
    Option("op_debug_config", "s", level="init"),
    Option("enable_dump", "b", bad="silent"),
    Option("enable_dump_debug", "b", bad="silent"),
    Option("dump_path", "s", bad="raise"),
    Option("dump_step", "s", bad="raise"),
    Option("dump_mode", "s", ("input", "output", "all"), bad="abort"),
    Option("dump_debug_mode", "s", ("all", "aicore_overflow", "atomic_overflow"),
           bad="abort"),
    Option("dump_data", "s", ("tensor", "stats"), level="init", bad="raise"),
    Option("dump_layer", "s", bad="silent"),
    Option("quant_dumpable", "s", ("0", "1")),
    Option("enable_exception_dump", "i", (0, 1, 2), level="init", bad="raise"),
    Option("profiling_mode", "b", level="init", routes=_SESSION, bad="raise"),
    Option("profiling_options", "s", level="init", routes=_SESSION),
    Option("static_memory_policy", "i", (0, 1, 2, 3, 4), level="init",
           routes=_SESSION),
    Option("memory_optimization_policy", "s", ("MemoryPriority",), routes=_SESSION,
           bad="silent"),
    Option("variable_use_1g_huge_page", "i", (0, 1, 2), level="both", routes=_SESSION,
           bad="raise"),
    Option("atomic_clean_policy", "i", (0, 1), routes=_SESSION),
    Option("input_fusion_size", "i", high=33554432, bad="silent"),
    Option("external_weight", "b", bad="silent"),
    Option("all_tensor_not_empty", "b", bad="silent"),
    Option("input_batch_cpy", "b", level="both", bad="silent"),
    Option("stream_sync_timeout", "i", low=-1, level="init"),
    Option("event_sync_timeout", "i", low=-1, level="init"),
    Option("graph_exec_timeout", "i", level="init", routes=_SESSION),
    Option("op_wait_timeout", "i", level="init", routes=_SESSION),
    Option("op_execute_timeout", "i", level="init", routes=_SESSION),
)
OPTIONS: dict[str, Option] = {one.name: one for one in _ALL}

PATHS = frozenset((
    "customize_dtypes", "debug_dir", "dump_path", "graph_compiler_cache_dir",
    "modify_mixlist", "op_compiler_cache_dir", "op_debug_config", "op_precision_mode"))
"""Options whose value is a file or folder."""

NOT_EXPOSED = {
    "ge.oo.deadCodeElimination": "switch SwitchDeadBranchElimination, CondRemovePass "
    "and SymbolicCondRemovePass off by name",
    "ge.disableOptimizations": "switch the passes off by name, e.g. "
    "--disable-pass=ConstantFoldingPass",
    "ge.build_inner_model": "nothing on these routes sends it",
}
"""Options of GE that no TensorFlow adapter sends, and the way round."""

REFUSED = {
    "aoe_mode": "it tunes behind the harness' back",
    "work_path": "it belongs to tuning",
    "soc_config": "leave it unset",
    "auto_tune_mode": "GE answers E10060 or E10001",
    "npu_optimizer": "the harness adds the optimizer itself",
}
"""Adapter keys that the harness does not send."""


def parse_option(name: str, text: str, route: str) -> OptionValue:
    """Return the value of an option written as text, in the type the adapter wants.

    Args:
        name: name of the option.
        text: its value; "true"/"false" (or 1/0) for a switch.
        route: one of `ROUTES`.

    Raises:
        UnknownNameError: no such option; the adapter would ignore it silently.
        SwitchError: not sent on this route, or a value outside the list.
    """
    option = _option(name, route)
    value: OptionValue = text
    if option.arm == "b":
        words = {"true": True, "1": True, "false": False, "0": False}
        if text.lower() not in words:
            raise SwitchError(f"{name} takes true or false, found {text!r}")
        value = words[text.lower()]
    elif option.arm == "i":
        if re.fullmatch(r"[+-]?[0-9]{1,18}", text) is None:
            raise SwitchError(f"{name} takes a whole number, found "
                              f"{printable(text, 80)!r}")
        value = int(text)
    check_option(name, value, route)
    return value


def check_option(name: str, value: OptionValue, route: str) -> None:
    """Refuse what the adapter would ignore, misread, abort on or pass on to an E-code.

    Raises:
        UnknownNameError: no such option.
        SwitchError: wrong type, wrong value or not on this route.
    """
    option = _option(name, route)
    wanted = {"b": bool, "i": int, "s": str}[option.arm]
    if type(value) is not wanted:
        raise SwitchError(f"{name} takes {wanted.__name__}, found "
                          f"{type(value).__name__}: the adapter would read its default")
    allowed = _allowed(option, route)
    if allowed and value not in allowed:
        shown = ", ".join(str(one) for one in allowed)
        raise SwitchError(f"{name} takes one of {shown}; found {value!r}"
                          f"{_CONSEQUENCE.get(option.bad, '')}")
    if option.arm == "i" and not allowed and isinstance(value, int) and (
            value < option.low or -1 < option.high < value):
        limit = "or more" if option.high < 0 else f"to {option.high}"
        raise SwitchError(f"{name} takes {option.low} {limit}, found {value}"
                          f"{_CONSEQUENCE.get(option.bad, '')}")
    if isinstance(value, str) and not is_text(value):
        raise SwitchError(f"{name}: a control character, or bytes that are no text, in "
                          "its value")
    if name == "dump_step" and not _are_steps(str(value)):
        raise SwitchError(f"dump_step takes at most 100 steps or ranges joined by '|', "
                          f"as in 0|5|10-20; found {printable(str(value), 80)!r}")


def _are_steps(text: str) -> bool:
    parts = text.split("|")
    found = [re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", part) for part in parts]
    return len(parts) <= 100 and all(
        match is not None and (match[2] is None or int(match[1]) < int(match[2]))
        for match in found)


def is_text(value: str) -> bool:
    """Say whether a value is UTF-8 without control characters."""
    return not any(ord(c) < 0x20 or ord(c) == 0x7f or 0xd800 <= ord(c) < 0xe000
                   for c in value)


_CONSEQUENCE = {
    "abort": " (the adapter would abort the process)",
    "silent": " (the adapter would ignore it silently)",
}


def _allowed(option: Option, route: str) -> tuple[OptionValue, ...]:
    if route == TF2_NATIVE and option.name == "topo_sorting_mode":
        return (0, 1)
    return option.allowed


def _option(name: str, route: str) -> Option:
    if route not in ROUTES:
        raise UnknownNameError("route", route, ROUTES)
    if name in NOT_EXPOSED:
        raise SwitchError(f"no TensorFlow adapter sends {name}; {NOT_EXPOSED[name]}")
    if name in REFUSED:
        raise SwitchError(f"{name} is not sent: {REFUSED[name]}")
    by_ge_name = {one.ge_name: one for one in _ALL if one.ge_name}
    option = OPTIONS.get(name) or by_ge_name.get(name)
    if option is None:
        raise UnknownNameError("option of the TensorFlow adapter", name, OPTIONS)
    if route not in option.routes:
        raise SwitchError(f"{name} is not an option of the route {route}")
    return option


def canonical_name(name: str, route: str) -> str:
    """Return the adapter's name of an option given by that or by GE's name.

    Raises:
        UnknownNameError: no such option.
        SwitchError: not sent on this route.
    """
    return _option(name, route).name


def check_together(options: Mapping[str, OptionValue], route: str) -> None:
    """Refuse combinations that the adapter or GE refuses, or that leave the device.

    Raises:
        SwitchError: the combination cannot be run.
    """
    for name, value in options.items():
        check_option(name, value, route)
    if options.get("precision_mode") and options.get("precision_mode_v2"):
        raise SwitchError("precision_mode and precision_mode_v2 exclude each other "
                          "(E10056): give one of them")
    mixed = ("allow_mix_precision", "allow_mix_precision_fp16",
             "allow_mix_precision_bf16", "mixed_float16", "mixed_bfloat16",
             "mixed_hif8")
    if options.get("modify_mixlist") and not (
            options.get("precision_mode") in mixed
            or options.get("precision_mode_v2") in mixed):
        raise SwitchError("modify_mixlist needs a mixed precision mode (one of "
                          f"{', '.join(mixed)})")
    if options.get("optypelist_for_implmode") and not options.get("op_select_implmode"):
        raise SwitchError("optypelist_for_implmode needs op_select_implmode (the "
                          "adapter would abort the process)")
    if options.get("enable_dump") and options.get("enable_dump_debug"):
        raise SwitchError("enable_dump and enable_dump_debug exclude each other "
                          "(E10001)")
    if options.get("enable_dump") and not options.get("dump_path"):
        raise SwitchError("enable_dump needs dump_path, an existing folder")
    if options.get("use_off_line") is False:
        raise SwitchError("use_off_line=false runs the whole graph on the host CPU; "
                          "for that take --backend=eager")


def as_ge_options(options: Mapping[str, OptionValue], route: str) -> dict[str, str]:
    """Return what GE should hold of the options, by GE's names, for the read-back.

    The adapter's own token is at the end of the switch, as GE will show it.

    Args:
        options: adapter options as sent.
        route: one of `ROUTES`.
    """
    held = {}
    for name, value in options.items():
        option = OPTIONS[name]
        if not option.ge_name:
            continue
        text = str(value)
        if name == "oo_constant_folding":
            text = "true" if value else "false"
        elif name == "jit_compile":
            text = {"true": "1", "false": "0", "auto": "2"}[text]
        held[option.ge_name] = text
    switch = str(options.get("optimization_switch", ""))
    if route == TF2_NATIVE:
        held["ge.optimizationSwitch"] = switch + FORBIDDEN_CLOSE
    else:
        held["ge.optimizationSwitch"] = ";".join(
            part for part in (switch, FORBIDDEN_CLOSE) if part)
    return held
