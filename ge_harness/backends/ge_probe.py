"""Whether GE can be run here: the checks, in order, each with what was found.

Nothing of TensorFlow, the adapter or CANN is imported into this process. A check whose
precondition failed is skipped and says so.

Source: reference: tf_adapter.md section 8; tf_adapter_examples.md section 9.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Callable, Mapping, Tuple

from ge_harness.backends.base import Probe
from ge_harness.backends.ge_machine import Machine
from ge_harness.report.plain import printable
from ge_harness.switches.ge_environment import REMOVED

Row = Tuple[str, str, str, str]
"""(what, found, "ok" | "warn" | "fail" | "skip", how to mend it)."""

_FREE_BYTES = 2 * 1024 ** 3
_CONTROL = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
_DRIVER = "/usr/local/Ascend/driver"
_TF = """
import json, sys
import numpy, tensorflow as tf
import google.protobuf
print(json.dumps({"tf": tf.__version__, "numpy": numpy.__version__,
                  "protobuf": google.protobuf.__version__,
                  "flags": tf.sysconfig.get_compile_flags()}))
"""
_LIBRARIES = """
import ctypes
for name in ("libascend_hal.so", "libascendcl.so", "libge_runner.so"):
    ctypes.CDLL(name)
"""
_RUNTIME = """
import json, os
import acl
code = acl.init()
assert code == 0, "acl.init gave %s" % code
count, code = acl.rt.get_device_count()
assert code == 0 and count > 0, "device count %s, code %s" % (count, code)
device = int(os.environ.get("ASCEND_DEVICE_ID", "0"))
code = acl.rt.set_device(device)
assert code == 0, "set_device(%d) gave %s" % (device, code)
acl.rt.reset_device(device)
acl.finalize()
print(json.dumps({"devices": count, "device": device}))
"""
_COMPILER = "import te, tbe, pandas, decorator, sympy, scipy, attr, psutil"
_REGISTERED = """
from tensorflow.core.framework import op_def_pb2
try:
    from tensorflow.python.client import pywrap_tf_session as lib
except ImportError:
    from tensorflow.python import pywrap_tensorflow as lib
ops = op_def_pb2.OpList()
ops.ParseFromString(lib.TF_GetBuffer(lib.TF_GetAllOpList()))
assert "GeOp" in {op.name for op in ops.op}, "GeOp is not among TensorFlow's ops"
"""
_TESTED = {"1.15": (("1.18.5", "1.21.6"), ((3, 7),)),
           "2.6": (("1.19.5", "1.23.5", "1.23.0"), ((3, 7), (3, 8), (3, 9)))}


def probe_ge(machine: Machine) -> Probe:
    """Run every check; never raises."""
    checks = _Checks(machine)
    rows = tuple(checks.all_rows())
    failed = [row for row in rows if row[2] == "fail"]
    if failed:
        more = f" ({len(failed) - 1} more)" if len(failed) > 1 else ""
        return Probe(False, f"{failed[0][0]}: {failed[0][1]}{more}", rows)
    return Probe(True, f"{checks.adapter} on TensorFlow {machine.tensorflow()}", rows)


def quick_probe(machine: Machine) -> Probe:
    """Say whether a run is worth trying: the adapter is here and fits this Python.

    Imports nothing and starts no process. `probe_ge` looks at everything; a run proves
    the rest, offload first of all.
    """
    checks = _Checks(machine)
    rows = [("platform", *checks._platform()[1:]),
            (_TITLES["pair"], *checks._pair()[1:])]
    found = machine.has_module(checks.adapter)
    rows.append((_TITLES["adapter"], *checks._row(
        found, f"{checks.adapter} {'found' if found else 'not found'}",
        f"install the {checks.adapter} wheel; 'doctor --backend=ge' checks the rest"
    )[1:]))
    failed = [row for row in rows if row[2] == "fail"]
    reason = "; ".join(f"{row[0]}: {row[1]}" for row in failed) or (
        f"{checks.adapter} on TensorFlow {machine.tensorflow()}")
    return Probe(not failed, reason, tuple(rows))


def probe_active(machine: Machine) -> Probe:
    """Say whether the adapter is here, imports and is active in TensorFlow.

    Starts processes only where the adapter can be found at all.
    """
    quick = quick_probe(machine)
    if not quick.usable:
        return quick
    checks = _Checks(machine)
    row = checks._plugin()
    rows = (*quick.checks, (_TITLES["plugin"], *row[1:]))
    if row[2] == "fail":
        return Probe(False, f"{_TITLES['plugin']}: {row[1]}", rows)
    return Probe(True, quick.reason, rows)


class _Checks:
    """The checks of one machine; each method gives a row."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.family = ".".join(machine.tensorflow().split(".")[:2])
        self.adapter = "npu_bridge" if self.family == "1.15" else "npu_device"
        self.failed: set[str] = set()

    def all_rows(self) -> list[Row]:
        rows = []
        for name, needs, step in self._steps():
            if needs in self.failed:
                rows.append((_TITLES[name], "not looked at", "skip",
                             f"mend first: {_TITLES[needs]}"))
                self.failed.add(name)
                continue
            row = step()
            if row[2] == "fail":
                self.failed.add(name)
            rows.append((_TITLES[name], *row[1:]))
        return rows

    def _steps(self) -> tuple[tuple[str, str, Callable[[], Row]], ...]:
        """Return (name, the check it needs, what does it)."""
        return (
            ("platform", "", self._platform), ("pair", "", self._pair),
            ("tensorflow", "pair", self._tensorflow),
            ("cann", "", self._cann), ("version", "cann", self._version),
            ("ops", "cann", self._ops), ("driver", "", self._driver),
            ("nodes", "", self._nodes), ("smi", "nodes", self._smi),
            ("id", "nodes", self._device_id), ("libraries", "cann", self._libraries),
            ("runtime", "libraries", self._runtime),
            ("hccl", "cann", self._collective), ("compiler", "cann", self._compiler),
            ("adapter", "pair", self._adapter),
            ("plugin", "adapter", self._plugin), ("clean", "", self._clean),
            ("disk", "", self._disk))

    def _row(self, good: bool, found: str, mend: str, bad: str = "fail") -> Row:
        return ("", printable(found, 300), "ok" if good else bad, "" if good else mend)

    def _platform(self) -> Row:
        system, machine = self.machine.platform()
        return self._row(
            system == "Linux" and machine in ("x86_64", "aarch64"),
            f"{system} {machine}", "GE needs Linux on x86_64 or aarch64")

    def _pair(self) -> Row:
        version = self.machine.tensorflow()
        python = ".".join(str(part) for part in self.machine.python())
        found = f"Python {python}, TensorFlow {version or 'not found'}"
        tested = _TESTED.get(self.family)
        return self._row(
            tested is not None and self.machine.python() in tested[1], found,
            "take TensorFlow 1.15 on Python 3.7, or 2.6.5 on Python 3.7 to 3.9; the "
            "adapters exist for these only")

    def _tensorflow(self) -> Row:
        answer = self.machine.child(_TF)
        if not answer.ok:
            mend = ("pin protobuf below 3.21" if "Descriptors cannot" in answer.text
                    else "reinstall TensorFlow, or build it on aarch64")
            return self._row(False, f"does not import: {answer.text}", mend)
        numpy, flags = str(answer.data.get("numpy")), answer.data.get("flags", [])
        found = (f"TensorFlow {answer.data.get('tf')}, numpy {numpy}, protobuf "
                 f"{answer.data.get('protobuf')}")
        if "-D_GLIBCXX_USE_CXX11_ABI=0" not in flags:
            return self._row(False, found + ", new C++ ABI", "the adapter wheel is "
                             "built with the old ABI; take a TensorFlow that is too")
        protobuf = str(answer.data.get("protobuf"))
        if re.match(r"3\.(1?\d|20)\.", protobuf) is None:
            return self._row(False, found, "pin protobuf below 3.21", "warn")
        tested = _TESTED[self.family][0]
        return self._row(numpy in tested, found, f"numpy {numpy} is not tried with "
                         f"this TensorFlow; tried: {', '.join(tested)}", "warn")

    def _cann(self) -> Row:
        missing = []
        for name in ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH"):
            value = self.machine.environ.get(name, "")
            if not value:
                missing.append(f"{name} is not set")
            elif not self.machine.path(value).is_dir():
                missing.append(f"{name}={value} is no folder")
        home = self.machine.environ.get("ASCEND_HOME_PATH", "")
        return self._row(not missing, "; ".join(missing) or home,
                         "source <cann>/set_env.sh in this shell first")

    def _version(self) -> Row:
        home = self.machine.path(self.machine.environ["ASCEND_HOME_PATH"])
        opp = self.machine.path(self.machine.environ["ASCEND_OPP_PATH"])
        for pattern_root, pattern in (
                (opp, "version.info"), (home, "*-linux/ascend_toolkit_install.info"),
                (home, "share/info/*/version.info")):
            for path in sorted(pattern_root.glob(pattern)):
                version = _version_in(path)
                if version:
                    return self._row(True, f"CANN {version}", "")
        return self._row(False, "cannot read the version of CANN",
                         "results then carry no CANN version", "warn")

    def _ops(self) -> Row:
        opp = self.machine.path(self.machine.environ["ASCEND_OPP_PATH"])
        lists = [opp / middle / "framework" / "tensorflow" / "npu_supported_ops.json"
                 for middle in ("built-in", "framework/built-in")]
        lists.append(opp / "framework/built-in/tensorflow/npu_supported_ops.json")
        found = [path for path in lists if path.is_file()]
        return self._row(bool(found), "npu_supported_ops.json "
                         + ("found" if found else "not found"),
                         "install the ops package of the chip (mandatory since CANN "
                         "8.5.0)")

    def _driver(self) -> Row:
        path = self.machine.path(f"{_DRIVER}/version.info")
        version = _version_in(path)
        return self._row(bool(version), f"driver {version}" if version
                         else f"no version in {_DRIVER}/version.info",
                         "install the driver, or mount it into the container")

    def _nodes(self) -> Row:
        numbered = sorted(path for path in self.machine.path("/dev").glob("davinci*")
                          if path.name[7:].isdigit())
        control = [self.machine.path(name) for name in _CONTROL]
        absent = [path.name for path in control if not path.exists()]
        if not numbered or absent:
            return self._row(False, "no " + ", ".join(
                ([] if numbered else ["davinci<N>"]) + absent) + " in /dev",
                "this machine has no NPU, or the container lacks its device nodes")
        locked = [path.name for path in numbered + control
                  if not self.machine.usable(path)]
        return self._row(not locked, "no permission on " + ", ".join(locked) if locked
                         else f"{len(numbered)} device nodes",
                         "add the user to the driver's group")

    def _smi(self) -> Row:
        answer = self.machine.command(["npu-smi", "info", "-m"], 30.0)
        return self._row(answer.ok, "npu-smi answers" if answer.ok else answer.text,
                         "put npu-smi on PATH (it comes with the driver)", "warn")

    def _device_id(self) -> Row:
        text = self.machine.environ.get("ASCEND_DEVICE_ID", "")
        if text and not text.isdigit():
            return self._row(False, f"ASCEND_DEVICE_ID={text!r}",
                             "it takes a logical id, 0 or more")
        nodes = {path.name[7:] for path in self.machine.path("/dev").glob("davinci*")
                 if path.name[7:].isdigit()}
        visible = self.machine.environ.get("ASCEND_RT_VISIBLE_DEVICES", "")
        count = len(visible.split(",")) if visible else len(nodes)
        found = f"logical id {text or '0'} of {count}" + (
            f" (ASCEND_RT_VISIBLE_DEVICES={visible})" if visible else "")
        if visible and not set(visible.replace(" ", "").split(",")) <= nodes:
            return self._row(False, f"{found}; not all of them are in /dev",
                             "ASCEND_RT_VISIBLE_DEVICES lists devices that are not "
                             "here; it takes the numbers of /dev/davinci<N>", "warn")
        return self._row(int(text or 0) < count, found,
                         "choose one of the visible logical ids")

    def _libraries(self) -> Row:
        answer = self.machine.child(_LIBRARIES, 60.0)
        return self._row(answer.ok, "libascend_hal, libascendcl, libge_runner load"
                         if answer.ok else answer.text, "check LD_LIBRARY_PATH")

    def _runtime(self) -> Row:
        answer = self.machine.child(_RUNTIME)
        if not answer.ok and "EJ0001" in answer.text:
            return self._row(False, answer.text, "another process holds the device; "
                             "wait 10 s after it ends and try again")
        return self._row(answer.ok, f"device {answer.data.get('device')} of "
                         f"{answer.data.get('devices')} opens" if answer.ok
                         else answer.text, "107001 or EE1001 mean a wrong device id, "
                         "507033 a device that does not open")

    def _collective(self) -> Row:
        answer = self.machine.child("import hccl", 60.0)
        return self._row(answer.ok, "hccl imports" if answer.ok else answer.text,
                         "CANN's Python is not on PYTHONPATH")

    def _compiler(self) -> Row:
        answer = self.machine.child(_COMPILER)
        return self._row(answer.ok, "te and tbe import" if answer.ok else answer.text,
                         "install pandas decorator sympy scipy attrs psutil; without "
                         "them the compile fails with E40020")

    def _adapter(self) -> Row:
        answer = self.machine.child(f"import {self.adapter}")
        return self._row(answer.ok, f"{self.adapter} imports" if answer.ok
                         else answer.text,
                         f"install the {self.adapter} wheel of this CANN, with "
                         "--no-deps")

    def _plugin(self) -> Row:
        start = (f"import {self.adapter}\n" if self.adapter == "npu_bridge" else
                 "import npu_device\nimport npu_device.compat\n"
                 "npu_device.compat.enable_v1()\n")
        answer = self.machine.child(start + _REGISTERED)
        return self._row(answer.ok, "GeOp is registered" if answer.ok else answer.text,
                         "the adapter imports but its library did not register; graphs "
                         "would run on the host CPU without a word")

    def _clean(self) -> Row:
        there = sorted(name for name in REMOVED if self.machine.environ.get(name))
        return self._row(not there, ("set: " + ", ".join(there)) if there
                         else "no variable that changes results",
                         "the harness takes them out of its workers", "warn")

    def _disk(self) -> Row:
        if not self.machine.usable(Path()):
            return self._row(False, "this folder cannot be written",
                             "go to another folder, or give each run --out=DIR", "warn")
        try:
            free = self.machine.free_bytes(".")
        except OSError as error:
            return self._row(False, str(error), "choose another working folder")
        return self._row(free >= _FREE_BYTES, f"{free // 1024 ** 2} MB free here",
                         "dumps and kernel caches need about 2 GB", "warn")


_TITLES: Mapping[str, str] = {
    "": "", "platform": "platform", "pair": "Python and TensorFlow",
    "tensorflow": "TensorFlow imports", "cann": "CANN environment",
    "version": "CANN version", "ops": "ops package", "driver": "driver",
    "nodes": "device nodes", "smi": "npu-smi", "id": "device id",
    "libraries": "native libraries", "runtime": "runtime",
    "hccl": "collective Python", "compiler": "op compiler Python",
    "adapter": "adapter imports", "plugin": "adapter active",
    "clean": "clean environment", "disk": "free space",
}


def _version_in(path: Path) -> str:
    try:
        text = path.read_bytes()[:65536].decode("utf-8", "replace")
    except OSError:
        return ""
    match = re.search(r"^\s*\w*[Vv]ersion\s*=\s*\[?([^\]\r\n]{1,60})", text,
                      re.MULTILINE)
    return printable(match.group(1).strip(), 60) if match else ""
