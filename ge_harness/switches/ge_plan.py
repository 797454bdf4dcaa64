"""From the switches of a run to what is really sent to GE.

`plan_ge` is pure: it reads and writes nothing. The worker makes the folders, writes the
files, sets the environment and builds the session config from what it returns.

Source: reference: ge_optimization.md; tf_adapter.md sections 0, 4, 5 and 7.
"""

from __future__ import annotations

from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.records.ge import GePlan, GeRequest
from ge_harness.records.switch import SwitchSetting
from ge_harness.switches import pass_switch
from ge_harness.switches.autofuse_config import (
    AutofuseConfig,
    pair_warnings,
    read_config,
    why_nothing_fuses,
)
from ge_harness.switches.autofuse_flags import check_flags
from ge_harness.switches.autofuse_keys import (
    BLACKLIST,
    DFX_FLAGS,
    FLAGS,
    LIFTING,
    SKIP_FILE,
)
from ge_harness.switches.fusion_switch import (
    ALL,
    GRAPH,
    UB,
    fresh_file_name,
    write_fusion_switch,
    write_optimization_switch,
)
from ge_harness.switches.ge_environment import DumpPolicy, ge_environment
from ge_harness.switches.ge_level import (
    EXPLICIT_GRAPH,
    EXPLICIT_UB,
    LevelRecipe,
    level_recipe,
)
from ge_harness.switches.ge_options import (
    PATHS,
    ROUTES,
    TF2_NATIVE,
    Options,
    as_ge_options,
    canonical_name,
    check_together,
    parse_option,
)
from ge_harness.switches.skip_node_names import SkipNodeNames, write_skip

FAMILY_AUTOFUSE = "autofuse"
FAMILY_OPTION = "ge_option"
PRESET = "preset"
"""`SwitchSetting.values` holds AUTOFUSE_FLAGS and AUTOFUSE_DFX_FLAGS under the family
"autofuse", adapter options (by the adapter's or GE's name) and `PRESET` under
"ge_option"."""

_NODEWISE_NOTE = (
    "node-wise base line: one operator a session run, level O1, AUTOFUSE_FLAGS unset; "
    "it is a base line, not the level O0")


def plan_ge(setting: SwitchSetting, route: str, job_dir: str,
            request: GeRequest | None = None) -> GePlan:
    """Return what a run sends to GE.

    Args:
        setting: level, passes on and off, and values; see `PRESET` for their families.
        route: "tf1", "tf2_session" or "tf2_native".
        job_dir: the job's own folder, absolute.
        request: what else is wanted.

    Raises:
        SwitchError: something asked for cannot be sent, or would not do what it says.
        UnknownNameError: a pass, option, level, preset or route nobody knows.
    """
    if route not in ROUTES:
        raise UnknownNameError("route", route, ROUTES)
    return _Planner(setting, route, job_dir, request or GeRequest()).plan()


class _Planner:
    """One setting on its way to a plan."""

    def __init__(self, setting: SwitchSetting, route: str, job_dir: str,
                 request: GeRequest) -> None:
        self.setting = setting
        self.route = route
        self.job_dir = job_dir
        self.request = request
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.files: list[tuple[str, str]] = []
        self.given = self._values(FAMILY_OPTION)
        self.strings = self._values(FAMILY_AUTOFUSE)
        preset = self.given.pop(PRESET, "") or request.preset
        self.asked_level = setting.level
        if request.nodewise:
            self.asked_level, preset = "O1", ""
            self.strings = {}
            self.notes.append(_NODEWISE_NOTE)
        self.preset = preset
        self.recipe: LevelRecipe = level_recipe(self.asked_level, preset, route)
        self.notes += self.recipe.notes

    def plan(self) -> GePlan:
        choices = self._choices()
        flags, dfx = self._autofuse(choices)
        options = self._options(choices)
        self._say_what_is_inert(flags, dfx, options)
        environment = ge_environment(
            self.job_dir, self.request.device, flags, dfx,
            DumpPolicy(self.request.graph_dumps, self.request.collect))
        held = as_ge_options(options, self.route)
        if self.request.collect:
            self.notes.append("diagnostic run: NPU_COLLECT_PATH takes over the dump "
                              "paths; its numbers are not compared")
        return GePlan(
            self.route, self.recipe.level, tuple(sorted(options.items())),
            tuple(sorted(held.items())), tuple(sorted(environment.variables.items())),
            tuple(sorted(environment.removed.items())), environment.folders,
            tuple(self.files), not self.request.grappler, self._asked(),
            self._sent(options, held, flags, dfx), tuple(self.warnings),
            tuple(self.notes))

    def _values(self, family: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for value in self.setting.values:
            if value.switch.family != family:
                continue
            if value.switch.name in found:
                raise SwitchError(f"{value.switch.name} is given twice")
            found[value.switch.name] = value.value
        if family == FAMILY_AUTOFUSE:
            for name in found:
                if name not in (FLAGS, DFX_FLAGS):
                    raise UnknownNameError("AutoFuse variable", name,
                                           (FLAGS, DFX_FLAGS))
        return found

    def _choices(self) -> list[pass_switch.PassChoice]:
        level = self.recipe.level
        found = [pass_switch.choose(one, False, level, self.route)
                 for one in self.setting.off]
        if not self.request.nodewise:
            found += [pass_switch.choose(one, True, level, self.route)
                      for one in self.setting.on]
        states: dict[tuple[str, str, str], bool] = {}
        for choice in found:
            key = (choice.mechanism, choice.kind, choice.name)
            if states.setdefault(key, choice.on) != choice.on:
                raise SwitchError(f"{choice.name} is switched both on and off")
            self.warnings += choice.warnings
        return found

    def _switch_states(self, choices: list[pass_switch.PassChoice]
                       ) -> list[tuple[str, bool]]:
        """The recipe's names, then the user's, whose word counts."""
        own = {choice.name: choice.on for choice in choices
               if choice.mechanism == pass_switch.OPTIMIZATION_SWITCH}
        states = [(name, False) for name in self.recipe.off if name not in own]
        states += sorted(own.items())
        off = frozenset(name for name, on in states if not on)
        self.warnings += pass_switch.pair_warnings(off)
        return states

    def _options(self, choices: list[pass_switch.PassChoice]) -> Options:
        options: Options = {
            "graph_run_mode": 0, "precision_mode_v2": "origin", "deterministic": 1,
            "jit_compile": "true", "op_compiler_cache_mode": "enable",
            "op_compiler_cache_dir": f"{self.job_dir}/cache", "export_compile_stat": 2,
        }
        if self.route != TF2_NATIVE:
            options["use_off_line"] = True
        options.update(self._dump_options())
        options["oo_level"] = self.recipe.level
        options.update(self.recipe.options)
        given = self._given_options()
        if "precision_mode" in given and "precision_mode_v2" not in given:
            del options["precision_mode_v2"]
        options.update(given)
        switch = write_optimization_switch(
            self._switch_states(choices), end=self.route == TF2_NATIVE)
        if switch:
            options["optimization_switch"] = switch
            if self.route == TF2_NATIVE:
                self.warnings.append(
                    "optimization_switch is not dependable on the native npu_device "
                    "route: the session's own value may hide it at compile time")
        path = self._switch_file(choices)
        if path:
            options["fusion_switch_file"] = path
        check_together(options, self.route)
        self._warn_of_precision(options)
        return options

    def _given_options(self) -> Options:
        reserved = {"oo_level": "--opt-level", "optimization_switch": "--enable-pass "
                    "and --disable-pass", "fusion_switch_file": "--disable-pass"}
        given: Options = {}
        for written, text in self.given.items():
            name = canonical_name(written, self.route)
            if name in reserved:
                raise SwitchError(f"{name} is written by the harness; use "
                                  f"{reserved[name]}")
            given[name] = parse_option(name, text, self.route)
            if name in PATHS and not text.startswith("/"):
                raise SwitchError(_relative(name, text))
        return given

    def _dump_options(self) -> Options:
        if not self.request.data_dump:
            return {}
        return {"enable_dump": True, "dump_path": f"{self.job_dir}/dump",
                "dump_step": "0", "dump_mode": "all",
                "dump_data": self.request.data_dump}

    def _switch_file(self, choices: list[pass_switch.PassChoice]) -> str:
        states: dict[str, dict[str, bool]] = {GRAPH: {}, UB: {}}
        if self.recipe.all_off:
            states[GRAPH].update(dict.fromkeys((ALL, *EXPLICIT_GRAPH), False))
            states[UB].update(dict.fromkeys((ALL, *EXPLICIT_UB), False))
        for choice in choices:
            if choice.mechanism == pass_switch.FUSION_SWITCH_FILE:
                states[choice.kind][choice.name] = choice.on
        if not states[GRAPH] and not states[UB]:
            return ""
        text = write_fusion_switch(states[GRAPH], states[UB])
        path = f"{self.job_dir}/{fresh_file_name(text)}"
        self.files.append((path, text))
        return path

    def _autofuse(self, choices: list[pass_switch.PassChoice]) -> tuple[str, str]:
        """Return both AutoFuse strings, with what --disable-pass adds to them."""
        flags = self.strings.get(FLAGS, "")
        dfx = self.strings.get(DFX_FLAGS, "")
        wanted = [choice for choice in choices if choice.mechanism in
                  (pass_switch.AUTOFUSE, pass_switch.SKIP_NODE)]
        if wanted and self.request.nodewise:
            wanted = []
        if wanted and not read_config(flags, dfx).enabled:
            names = ", ".join(choice.name for choice in wanted)
            raise SwitchError(f"{names} acts on AutoFuse, which is off; open it with "
                              "--autofuse-flags='--enable_autofuse=true'")
        for choice in wanted:
            if choice.name == LIFTING:
                dfx = _add(dfx, LIFTING, "true")
            elif choice.name == BLACKLIST:
                flags = _add(flags, BLACKLIST, "all")
        path = self._skip_file(wanted)
        if path:
            dfx = _add(dfx, SKIP_FILE, path)
        check_flags(flags, FLAGS, self.request.chip)
        check_flags(dfx, DFX_FLAGS, self.request.chip)
        skip = read_config(flags, dfx).skip_file
        if skip and not skip.startswith("/"):
            raise SwitchError(_relative(SKIP_FILE, skip))
        return flags, dfx

    def _skip_file(self, wanted: list[pass_switch.PassChoice]) -> str:
        names = [choice.name for choice in wanted
                 if choice.mechanism == pass_switch.SKIP_NODE]
        if not names:
            return ""
        text = write_skip(SkipNodeNames(
            tuple(sorted({name[5:] for name in names if name.startswith("type:")})),
            tuple(sorted({name for name in names if not name.startswith("type:")}))))
        path = f"{self.job_dir}/skip_node_names.cfg"
        if {";", "="} & set(path):
            raise SwitchError(
                f"the run's folder {self.job_dir!r} holds ';' or '=', which "
                f"{DFX_FLAGS} cannot carry, and {names[0]!r} goes through it; give "
                "another folder with --out=DIR")
        self.files.append((path, text))
        return path

    def _say_what_is_inert(self, flags: str, dfx: str, options: Options) -> None:
        if not flags and not dfx:
            return
        config: AutofuseConfig = read_config(flags, dfx)
        tokens = str(options.get("optimization_switch", "")).split(";")
        pass_on = None
        if "AutoFusePass:on" in tokens:
            pass_on = True
        elif "AutoFusePass:off" in tokens:
            pass_on = False
        reasons = why_nothing_fuses(config, self.recipe.level, pass_on)
        if reasons:
            self.warnings.insert(0, "AutoFuse will fuse nothing in this run: "
                                 + "; ".join(reasons))
        self.warnings += pair_warnings(flags, dfx)
        if self.asked_level == "O0" and config.enabled:
            self.warnings.append(
                "O0 is meant to run with AUTOFUSE_FLAGS unset: with the gate open the "
                "preparation of the graph for AutoFuse still runs and can change it")
        if config.enabled and self.request.chip == "910b":
            if self.request.bfloat16:
                self.warnings.append(
                    "every floating-point input is bfloat16, and on 910B AutoFuse "
                    "fuses no bfloat16 computation: expect nothing to be fused")
            else:
                self.notes.append("on 910B AutoFuse fuses no bfloat16 computation")

    def _warn_of_precision(self, options: Options) -> None:
        mode = options.get("precision_mode_v2") or options.get("precision_mode")
        if mode not in ("origin", "must_keep_origin_dtype"):
            self.warnings.append(
                f"precision mode {mode} lets GE change dtypes; differences then need "
                "not come from passes (origin keeps them)")

    def _asked(self) -> tuple[tuple[str, str], ...]:
        asked = [("opt-level", self.setting.level or "default")]
        if self.preset:
            asked.append((PRESET, self.preset))
        asked += [(f"{one.family}:{one.name}", "off") for one in self.setting.off]
        asked += [(f"{one.family}:{one.name}", "on") for one in self.setting.on]
        asked += [(one.switch.name, one.value) for one in self.setting.values
                  if one.switch.name != PRESET]
        if self.request.nodewise:
            asked.append(("mode", "nodewise"))
        return tuple(sorted(asked))

    def _sent(self, options: Options, held: dict[str, str], flags: str,
              dfx: str) -> tuple[tuple[str, str], ...]:
        sent = {name: _text(value) for name, value in options.items()}
        sent["ge.optimizationSwitch (with the adapter's own token)"] = held[
            "ge.optimizationSwitch"]
        sent[FLAGS] = flags or "(unset)"
        sent[DFX_FLAGS] = dfx or "(unset)"
        return tuple(sorted(sent.items()))


def _add(text: str, key: str, value: str) -> str:
    """Return a flag string with one more entry, refusing a second word on its key."""
    entry = f"{key}={value}"
    entries = [part for part in text.split(";") if part]
    for part in entries:
        if part == entry:
            return text
        if part.partition("=")[0] == key:
            raise SwitchError(f"the flags say {part!r} and a switch needs {entry!r}; "
                              "give one of them")
    return ";".join([*entries, entry])


def _relative(name: str, path: str) -> str:
    return (f"{name}={path}: give an absolute path; the worker runs in a folder of its "
            "own and would not find this one")


def _text(value: bool | int | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
