"""A set of switches as files that the compiler and its adapters read.

Source: reference: ge_optimization.md sections 3 to 5; tf_adapter.md sections 4.1 to
4.4; autofuse_flags.md section 7; xla_cpu.md sections 2 and 3.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Sequence

from ge_harness.bisect.knobs import apply
from ge_harness.errors import NoRoomError, UsageError
from ge_harness.records.bisection import BisectFile, BisectFiles
from ge_harness.records.ge import GeRequest
from ge_harness.records.switch import Switch, SwitchSetting
from ge_harness.switches import grappler_options, xla_flags
from ge_harness.switches.autofuse_keys import DFX_FLAGS, FLAGS
from ge_harness.switches.fusion_switch import parse_fusion_switch, write_fusion_switch
from ge_harness.switches.ge_options import TF1
from ge_harness.switches.ge_plan import plan_ge
from ge_harness.worker.arrays import DISK_FULL

NAMES: Mapping[str, str] = {
    "fusion_switch_cfg": "fusion_switch.cfg",
    "optimization_switch": "optimization_switch.txt",
    "autofuse_flags": "autofuse_flags.sh",
    "autofuse_dfx_flags": "autofuse_dfx_flags.sh",
    "skip_node_names_cfg": "skip_node_names.cfg",
    "session_config": "session_config.py",
    "xla_flags": "xla_flags.sh",
}
"""Field of `BisectFiles` -> name of its file."""


@dataclass(frozen=True)
class Written:
    """The files of one setting.

    Attributes:
        files: the files.
        variables: variables that a process with this setting needs, sorted.
    """

    files: BisectFiles
    variables: tuple[tuple[str, str], ...]


def write(backend: str, setting: SwitchSetting, off: Sequence[Switch], folder: Path,
          chip: str = "") -> Written:
    """Write the files of a setting with switches off into a folder.

    Args:
        backend: name of the backend.
        setting: of the run with nothing more switched off.
        off: the switches.
        folder: made where it is missing.
        chip: for the checks of AutoFuse's strings.

    Raises:
        SwitchError: a switch that cannot be sent.
        UsageError: the folder cannot be written.
        NoRoomError: the disk is full.
    """
    whole = apply(setting, off)
    if backend == "xla":
        texts, variables = _xla(whole)
    elif backend == "grappler":
        texts, variables = _grappler(whole), {}
    else:
        texts, variables = _ge(whole, folder, chip)
    found = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for field, text in texts.items():
            path = folder / NAMES[field]
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
            found[field] = BisectFile(str(path), text)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise NoRoomError(f"{folder}: no room left on the disk") from error
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error
    return Written(BisectFiles(**found), tuple(sorted(variables.items())))


def _xla(setting: SwitchSetting) -> tuple[dict[str, str], dict[str, str]]:
    flags = xla_flags.compose(setting, "", "")
    if not flags:
        return {}, {}
    return {
        "xla_flags": f"export XLA_FLAGS={shlex.quote(flags)}\n",
        "session_config": "import os\n\n# Before XLA is first used in the process.\n"
                          f"os.environ[\"XLA_FLAGS\"] = {flags!r}\n",
    }, {"XLA_FLAGS": flags}


def _grappler(setting: SwitchSetting) -> dict[str, str]:
    named = {each.name: each for each in grappler_options.OPTIMIZERS}
    states = [(each.name, False) for each in setting.off]
    states += [(each.name, True) for each in setting.on]
    if not states:
        return {}
    session, function = [], []
    for name, on in states:
        optimizer = named[name]
        option = optimizer.option or name
        state = on != optimizer.inverted
        value = repr(state) if optimizer.inverted else (
            f"RewriterConfig.{'ON' if on else 'OFF'}")
        session.append(f"rewrite.{option} = {value}")
        function.append(f"    {option!r}: {state},")
    return {"session_config": "\n".join((
        "# TensorFlow 1, or a compat.v1 session: `config` is the session's ConfigProto",
        "from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig",
        "rewrite = config.graph_options.rewrite_options", *session, "",
        "# TensorFlow 2, tf.function",
        "tf.config.optimizer.set_experimental_options({", *function, "})", ""))}


def _ge(setting: SwitchSetting, folder: Path, chip: str
        ) -> tuple[dict[str, str], dict[str, str]]:
    plan = plan_ge(setting, TF1, str(folder), GeRequest(chip=chip))
    options = dict(plan.options)
    variables = dict(plan.environment)
    flags, dfx = variables.get(FLAGS, ""), variables.get(DFX_FLAGS, "")
    texts: dict[str, str] = {}
    lines: list[str] = []
    switch = str(options.get("optimization_switch", ""))
    if switch:
        texts["optimization_switch"] = switch + "\n"
        lines.append(_line("optimization_switch", switch))
    file = _switch_file(setting, dict(plan.files).get(
        str(options.get("fusion_switch_file", "")), ""))
    if file:
        texts["fusion_switch_cfg"] = file
    if "fusion_switch_file" in options:
        lines.append(_line("fusion_switch_file", str(folder / NAMES[
            "fusion_switch_cfg"])))
    skip = next((text for path, text in plan.files
                 if path.endswith("skip_node_names.cfg")), "")
    if skip:
        texts["skip_node_names_cfg"] = skip
    kept = {}
    for field, name, text in (("autofuse_flags", FLAGS, flags),
                              ("autofuse_dfx_flags", DFX_FLAGS, dfx)):
        if text:
            texts[field] = f"export {name}={shlex.quote(text)}\n"
            lines.append(f"os.environ[{name!r}] = {text!r}")
            kept[name] = text
    if lines:
        texts["session_config"] = "\n".join((
            "# `custom_op` is the entry NpuOptimizer of the session's config:",
            "# rewrite = config.graph_options.rewrite_options",
            "# custom_op = rewrite.custom_optimizers.add()",
            "# custom_op.name = 'NpuOptimizer'",
            "# The variables must be set before GE starts.",
            "import os", "", *lines, ""))
    return texts, kept


def _switch_file(setting: SwitchSetting, sent: str) -> str:
    """Return the switch file: what is sent, and passes of the fusion engine by name."""
    states: dict[str, dict[str, bool]] = {"graph_fusion": {}, "ub_fusion": {}}
    if sent:
        read = parse_fusion_switch(sent, "fusion_switch.cfg")
        states = {"graph_fusion": dict(read.graph), "ub_fusion": dict(read.ub)}
    for switch in setting.off:
        if switch.family in states:
            states[switch.family][switch.name] = False
    if not any(states.values()):
        return ""
    return write_fusion_switch(states["graph_fusion"], states["ub_fusion"])


def _line(option: str, text: str) -> str:
    return f"custom_op.parameter_map[{option!r}].s = {text.encode('utf-8')!r}"
