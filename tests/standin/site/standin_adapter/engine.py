"""GE of this process: started once, holds options, refuses what GE refuses.

Reference: tf_adapter.md sections 0, 3, 4.2 to 4.4, 5.3, 10.
"""

from __future__ import annotations

import json
import os
import time

from standin_adapter import keys, state

CLOSING = "forbidden_close_pass:on"


class GeError(Exception):
    """An answer of GE with its code.

    Attributes:
        at_init: it came at GE's start, not at the build of a graph.
    """

    def __init__(self, code, text, at_init=True):
        self.at_init = at_init
        Exception.__init__(self, f"{code}: {text}")


def _invalid(parameter, value, reason):
    return GeError(
        "E10001",
        f"Value {value} for parameter {parameter} is invalid. Reason: {reason}")


class Engine:
    """The one GE of a process.

    Attributes:
        options: GE's init options by its own names, fixed by the first start.
        users: sessions that hold it.
    """

    def __init__(self):
        self.options = None
        self.users = 0
        self.running = False
        self.sessions = 0
        self._static = {}

    def start(self, found):
        """Start GE with the init options of a session config.

        Raises:
            GeError: it does not start.
        """
        for key in keys.LEAKING:
            if key in found:
                self._static[key] = found[key]
        merged = dict(found)
        merged.update(self._static)
        self.begin(global_options(merged), {
            key: merged[key] for key in keys.PRECISION if key in merged})

    def begin(self, options, precision):
        """Start GE; a second start with other options is ignored with a warning.

        Raises:
            GeError: it does not start.
        """
        _environment_checks()
        _misbehave()
        if len(precision) > 1:
            raise GeError("E10056", "The parameters precision_mode and "
                          "precision_mode_v2 can not be set at the same time.")
        if self.options is not None:
            if options != self.options:
                changed = sorted(name for name in set(options) | set(self.options)
                                 if options.get(name) != self.options.get(name))
                state.say("W", "GE is initialized already; other options are ignored: "
                          + ", ".join(changed))
            self.running = True
            return
        check(options)
        self.options = options
        self.running = True
        state.journal("init", options=options)

    def session(self, options):
        """Make a GE session and return its id.

        Raises:
            GeError: an option is invalid.
        """
        check(options)
        if options.get("ge.exec.enableDump") == "1" and (
                options.get("ge.exec.enableDumpDebug") == "1"):
            raise _invalid("enable_dump_debug", "1",
                           "enable_dump and enable_dump_debug exclude each other.")
        self.users += 1
        self.sessions += 1
        state.journal("session", options=options, id=self.sessions - 1)
        return self.sessions - 1

    def leave(self):
        """Give a session back; returns True when GE ends with it."""
        self.users -= 1
        if self.users <= 0 and self.running:
            self.running = False
            return True
        return False


ENGINE = Engine()


def closing(user):
    """Return an optimization_switch as the session route sends it."""
    return f"{user};{CLOSING}" if user else CLOSING


def global_options(found):
    """Return GE's init options for the options of a session config."""
    return _level(found, ("init", "both"))


def session_options(found):
    """Return GE's session options for the options of a session config."""
    options = _level(found, ("session", "both"))
    if found.get("graph_run_mode", 1) == 0:
        options["ge.enableSmallChannel"] = "1"
    if found.get("jit_compile") == "true" and (
            found.get("shape_generalization_mode", "STRICT") == "STRICT"):
        options["ge.compile_dynamic_mode"] = keys.text(
            "compile_dynamic_mode", found.get("compile_dynamic_mode", False))
    return options


def _level(found, levels):
    options = {}
    for key, row in keys.KEYS.items():
        if row.level not in levels:
            continue
        value = keys.text(key, found[key]) if key in found else row.default
        if key == "optimization_switch":
            value = closing(value)
        if value is not None:
            for name in row.names:
                options[name] = value
    return options


def _environment_checks():
    taken = state.snapshot()
    device = taken.get("ASCEND_DEVICE_ID") or taken.get("DEVICE_ID")
    if device and not device.isdigit():
        state.fatal("ASCEND_DEVICE_ID is invalid, should be int, such as 0, 1, 2.")
    if not device:
        state.say("W", "no device id is given, device 0 is used")
    job = state.snapshot().get("JOB_ID")
    if not job:
        state.say("W", "can not find Environment variable : JOB_ID")
    if len(job) > 128:
        raise GeError("E10051", "The job id is too long.")
    if state.snapshot().get("RANK_TABLE_FILE") and state.snapshot().get("CM_CHIEF_IP"):
        state.say("E", "RANK_TABLE_FILE and CM_CHIEF_IP are both set")
    if state.snapshot().get("AOE_MODE", "") not in ("", "1", "2", "4"):
        raise GeError("E10001", "aoe_mode should be one of the list:['1', '2', '4']")


def _misbehave():
    mode = state.snapshot().mode
    if mode == "abort":
        state.fatal("[GePlugin] Tdt host init failed, tdt error code : 1")
    if mode == "hang":
        state.journal("hang")
        while True:
            time.sleep(60)
    if mode == "e10001":
        raise _invalid("oo_level", "O0", "The value must be O1 or O3.")
    if mode == "no_device":
        raise GeError("EE1001", "The argument is invalid. Reason: invalid device, set "
                      "device=0, valid device range is [0, 0)")


def check(options):
    """Check options as GE does at its start and at that of a session.

    Raises:
        GeError: a value that GE refuses.
    """
    level = options.get("ge.oo.level")
    if level is not None and level not in ("O1", "O3"):
        raise _invalid("oo_level", level, "The value must be O1 or O3.")
    if "ge.autoTuneMode" in options:
        raise _invalid("ge.autoTuneMode", options["ge.autoTuneMode"],
                       "The option is not supported.")
    if options.get("ge.topoSortingMode", "") not in ("", "0", "1", "2", "3"):
        raise _invalid("topo_sorting_mode", options["ge.topoSortingMode"],
                       "The value must be 0, 1, 2 or 3.")
    for name, allowed in (
            ("ge.graphRunMode", ("0", "1")),
            ("ge.deterministic", ("0", "1")),
            ("ge.opDebugLevel", ("", "0", "1", "2", "3", "4")),
            ("ge.op_compiler_cache_mode", ("", "enable", "disable", "force")),
            ("ge.exec.staticMemoryPolicy", ("0", "1", "2", "3", "4"))):
        if options.get(name, allowed[0]) not in allowed:
            raise GeError("E40022", f"The parameter {name} has an invalid value "
                          f"{options[name]}.")
    folder = options.get("ge.op_compiler_cache_dir", "")
    if folder and not os.path.isdir(folder):
        raise GeError("E40023", f"The path {folder} is invalid.")
    if not re_cores(options.get("ge.aicoreNum", "")):
        raise GeError("E20103", "The core number is invalid.")
    switch_file(options.get("ge.fusionSwitchFile", ""))
    for token in bad_tokens(options.get("ge.optimizationSwitch", "")):
        state.say("W", f"[Oo][SetPassSwitch] Invalid token format: {token}")


def re_cores(text):
    """Return whether a core limit is empty or numbers joined by a bar."""
    return not text or all(part.isdigit() for part in text.split("|"))


def switch_file(path):
    """Return the {group: {pass: on|off}} of a fusion switch file.

    Raises:
        GeError: it cannot be opened (E21001) or read (E21002).
    """
    if not path:
        return {}
    try:
        with open(path) as file:
            text = file.read()
    except OSError as error:
        raise GeError("E21001", f"Failed to open file [{path}]. Reason: {error}",
                      at_init=False)
    try:
        groups = json.loads(text)["Switch"]
        for group in groups.values():
            for value in group.values():
                if value not in ("on", "off"):
                    raise ValueError(f"value {value!r} is neither on nor off")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GeError("E21002", f"Failed to read or parse file [{path}]. Reason: "
                      f"{error}", at_init=False)
    return groups


def bad_tokens(text):
    """Return the tokens of an optimization_switch that GE drops with a warning."""
    return [token for token in text.split(";") if token not in pass_tokens(text)]


def pass_tokens(text):
    """Return {token: (pass, on)} of the well-formed tokens."""
    found = {}
    for token in text.split(";"):
        name, colon, value = token.partition(":")
        if name and colon and value in ("on", "off"):
            found[token] = (name, value == "on")
    return found


def switched(options):
    """Return {pass: on} of the optimization_switch, without the closing one."""
    pairs = pass_tokens(options.get("ge.optimizationSwitch", "")).values()
    return {name: on for name, on in pairs if name != "forbidden_close_pass"}
