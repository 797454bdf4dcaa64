"""Whether XLA's switches took effect (cases: F09).

XLA ignores a pass name it does not have. So the same graph is compiled once more in a
fork with the default flags: a name that occurs in neither its dumps nor the catalogue
is unknown; one that has a dump there and none in the run is proved to be off.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import mmap
import re
import shutil
from pathlib import Path
from typing import Any, Callable, NamedTuple

from dumps import hlo_passes
from ge_harness import catalogue
from ge_harness.backends import forked, tf_loader, xla_dumps
from ge_harness.backends.base import BackendFailure
from ge_harness.records.run import FailureKind, RunRequest
from ge_harness.records.switch import (
    Switch,
    SwitchEffect,
    SwitchSetting,
    SwitchValue,
)
from ge_harness.switches import xla_flags, xla_pass_names
from ge_harness.switches.xla_pass_names import in_dumps

_PROBE_TIMEOUT_S = 60.0


class Default(NamedTuple):
    """What the default flags make of the same graph.

    Attributes:
        dumps: its dumps.
        code: digests of its optimized programs.
        problem: why there is nothing to compare with, "" where there is.
    """

    dumps: xla_dumps.Dumps
    code: tuple[tuple[str, str], ...]
    problem: str = ""


def check_start(tf: Any, setting: SwitchSetting, job_dir: Path) -> None:
    """Let XLA start with the flags in a fork, without dumps.

    Raises:
        BackendFailure: XLA does not know a flag, does not take its value, or died.
    """
    if not setting.values:
        return
    flags = xla_flags.compose(setting, "", str(tf.__version__))
    end = forked.run(lambda: smallest_compilation(tf), {"XLA_FLAGS": flags},
                     job_dir / "xla_start.txt", _PROBE_TIMEOUT_S)
    wrong = xla_flags.complaints(end.log)
    if wrong:
        text = "; ".join(f"--{name}: {why}{_near_flag(tf, name, why)}"
                         for name, why in wrong)
        raise BackendFailure(
            FailureKind.INVALID_SWITCH, f"XLA refuses its flags: {text}")
    if end.status != 0:
        names = ", ".join(f"--{item.switch.name}={item.value}"
                          for item in setting.values)
        how = "took too long" if end.status is None else f"ended with {end.status}"
        raise BackendFailure(
            FailureKind.INVALID_SWITCH,
            f"XLA does not start with {names}: a compilation of x + x {how}; its log "
            "is xla_start.txt in the job's folder")


def smallest_compilation(tf: Any) -> None:
    """Compile x + x, so that XLA reads its flags."""
    if tf_loader.major_minor(tf)[0] >= 2:
        import numpy as np

        add = tf.function(lambda x: x + x, jit_compile=True, autograph=False)
        add(tf.constant(np.zeros(2, np.float32)))
        return
    from tensorflow.python.compiler.xla import xla

    with tf.Graph().as_default():
        given = tf.compat.v1.placeholder("float32", [2])
        out = xla.compile(lambda x: x + x, [given])
        with tf.compat.v1.Session() as session:
            session.run(out, {given: [0.0, 0.0]})


def compile_default(request: RunRequest, version: str, job_dir: Path,
                    run_once: Callable[[], None]) -> Default | None:
    """Compile the case with default flags in a fork; None where nothing needs it.

    Args:
        request: the run.
        version: version of TensorFlow.
        job_dir: the job's folder; the dumps go to an "xla_default_..." beside it.
        run_once: compiles and executes the case.
    """
    setting = request.setting
    if not setting.off and not setting.values:
        return None
    root = job_dir.parent / f"xla_default_{_key(request, version)}"
    folder, done = root / "dumps", root / "done"
    problem = ""
    if not done.exists():
        shutil.rmtree(str(root), ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        flags = " ".join(xla_flags.dump_flags(str(folder), version))
        end = forked.run(run_once, {"XLA_FLAGS": flags}, root / "log.txt",
                         request.timeout_s)
        if end.status == 0:
            done.write_text("compiled with default flags\n")
        else:
            problem = ("the graph does not compile with default flags either (status "
                       f"{end.status}; {root.name}/log.txt)")
    dumps = xla_dumps.read(folder)
    if dumps.modules:
        problem = ""
    return Default(dumps, xla_dumps.code(folder), problem or dumps.problem)


def _key(request: RunRequest, version: str) -> str:
    """Return what tells one graph, mode and TensorFlow from another, in 12 digits.

    Runs of one graph with many sets of switches lie side by side and share what the
    default flags make of it.
    """
    case = request.case
    told = (version, request.mode.value, request.threads, request.options, case.inputs,
            case.outputs)
    digest = hashlib.sha256(repr(told).encode("utf-8"))
    with contextlib.suppress(OSError):
        digest.update(Path(case.graph_path).read_bytes())
    return digest.hexdigest()[:12]


def refuse_unknown(tf: Any, setting: SwitchSetting, default: Default | None) -> None:
    """Refuse names of passes that this XLA does not have.

    Raises:
        BackendFailure: such a name, with the nearest one that exists.
    """
    if default is None or default.problem:
        return
    seen = hlo_passes.pass_names(default.dumps.modules)
    for switch in setting.off:
        if in_dumps(switch.name) in seen or is_known(tf, switch.name):
            continue
        listed = xla_pass_names.of_version(str(tf.__version__)) or frozenset()
        near = xla_flags.nearest_pass(switch.name, seen | listed)
        hint = f" Did you mean {near!r}?" if near else ""
        raise BackendFailure(
            FailureKind.UNKNOWN_SWITCH,
            f"unknown HLO pass {switch.name!r}: the dumps of this graph without the "
            f"switch do not name it among {len(seen)} passes and pipelines, and XLA "
            f"would silently ignore it.{hint}")


def is_known(tf: Any, name: str) -> bool:
    """Say whether this TensorFlow has an HLO pass, whatever the graph.

    A TensorFlow without a list of its own is asked by its library's strings, which may
    miss short names, for passes of the catalogue.
    """
    listed = xla_pass_names.of_version(str(tf.__version__))
    if listed is not None:
        return name in listed
    return (catalogue.lookup("hlo_pass", name) is not None
            and bool(library_names(tf, re.escape(name))))


def library_names(tf: Any, pattern: str) -> tuple[str, ...]:
    """Return the whole strings of TensorFlow's library that a pattern matches, sorted.

    Takes up to some seconds; for messages only.
    """
    expression = re.compile(b"\\0(" + pattern.encode() + b")(?=\\0)")
    root = Path(_package_file(tf)).parent
    for name in ("libtensorflow_cc.so.2", "python/_pywrap_tensorflow_internal.so"):
        path = root / name
        if not path.is_file():
            continue
        with path.open("rb") as file, mmap.mmap(
                file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = {match[1].decode() for match in expression.finditer(content)}
        if found:
            return tuple(sorted(found))
    return ()


def _package_file(tf: Any) -> str:
    for name in ("tensorflow_core", "tensorflow"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin and Path(
                spec.origin).with_name("python").is_dir():
            return spec.origin
    return str(tf.__file__)


def _near_flag(tf: Any, name: str, why: str) -> str:
    if "not know" not in why:
        return ""
    near = xla_flags.nearest_flag(name, library_names(tf, "xla_[a-z0-9_]+"))
    return f" (did you mean --{near}?)" if near and near != name else ""


def effects(setting: SwitchSetting, default: Default | None,
            run: xla_dumps.Dumps | None) -> tuple[SwitchEffect, ...]:
    """Say of each switch what became of it.

    Args:
        setting: the switches.
        default: what the default flags gave, None where no switch was asked for.
        run: the dumps of the run, None where none were asked for.
    """
    if default is None:
        return ()
    found = [_pass_effect(switch, default, run) for switch in setting.off]
    alone = len(setting.off) + len(setting.values) == 1
    found += [_flag_effect(item, default, run, alone=alone)
              for item in setting.values]
    return tuple(found)


def _pass_effect(switch: Switch, default: Default,
                 run: xla_dumps.Dumps | None) -> SwitchEffect:
    def effect(status: str, evidence: str) -> SwitchEffect:
        return SwitchEffect(switch, "off", status, evidence)

    if default.problem:
        return effect("unproved", default.problem)
    name = in_dumps(switch.name)
    ran = name in hlo_passes.ran_names(default.dumps.modules)
    changed = name in xla_dumps.changed_names(default.dumps)
    if not ran:
        named = name in hlo_passes.pass_names(default.dumps.modules)
        how = ("named as next, but without a dump of its own: it changes nothing in "
               "this graph" if named else
               "a pass of this XLA, but with nothing to do in this graph")
        return effect("no_target", f"with default flags {how}")
    what = "changes" if changed else "has a dump, but changes nothing in"
    if run is None or run.problem:
        why = "no dumps were asked for" if run is None else run.problem
        return effect("unproved", f"with default flags it {what} this graph; of the "
                      f"run itself {why}")
    if name in hlo_passes.ran_names(run.modules):
        return effect("unproved", "it was switched off, but its dump is still there")
    where = default.dumps.folder.parent.name
    return effect("proved", f"with default flags it {what} this graph ({where}); the "
                  "run's own dumps have no file after it")


def _flag_effect(item: SwitchValue, default: Default, run: xla_dumps.Dumps | None, *,
                 alone: bool) -> SwitchEffect:
    def effect(status: str, evidence: str) -> SwitchEffect:
        return SwitchEffect(item.switch, item.value, status,
                            f"XLA started with it; {evidence}")

    if default.problem:
        return effect("unproved", default.problem)
    if run is None or run.problem:
        why = "no dumps were asked for" if run is None else run.problem
        return effect("unproved", f"of the run itself {why}")
    listed = _debug_option(run.folder, item.switch.name)
    own = xla_dumps.code(run.folder)
    if own != default.code:
        differs = f"{listed}the optimized code differs from that of the default flags"
        if alone:
            return effect("proved", differs)
        return effect("unproved", f"{differs}, but other switches were given with it")
    if listed:
        return effect("no_target", f"{listed}the optimized code is that of the default "
                      "flags")
    return effect("unproved", "the optimized code is that of the default flags; what "
                  "it does while running cannot be seen in dumps")


def _debug_option(folder: Path, name: str) -> str:
    """Return what TensorFlow 2.21 lists of a flag beside its dumps, "" if nothing."""
    for path in sorted(folder.glob("*.debug_options"))[:1]:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return f"debug_options lists {value.strip()[:40]}; "
    return ""
