from __future__ import annotations

import pytest

from ge_harness.backends.ge_machine import ChildAnswer, Machine
from ge_harness.backends.ge_probe import probe_ge, quick_probe

_GOOD_TF = {"tf": "1.15.5", "numpy": "1.18.5", "protobuf": "3.19.6",
            "flags": ["-D_GLIBCXX_USE_CXX11_ABI=0"]}


class FakeMachine(Machine):
    """An Ascend host on which everything works, unless a test breaks something."""

    def __init__(self, root, **broken):
        for name in ("davinci0", "davinci1", "davinci_manager", "devmm_svm",
                     "hisi_hdc"):
            (root / "dev").mkdir(exist_ok=True)
            (root / "dev" / name).write_text("")
        opp = root / "opp" / "built-in" / "framework" / "tensorflow"
        opp.mkdir(parents=True)
        (opp / "npu_supported_ops.json").write_text("{}")
        (root / "opp" / "version.info").write_text("Version=9.0.0\n")
        (root / "home").mkdir()
        driver = root / "usr/local/Ascend/driver"
        driver.mkdir(parents=True)
        (driver / "version.info").write_text("Version=25.0.rc1\n")
        environ = {"ASCEND_HOME_PATH": "/home", "ASCEND_OPP_PATH": "/opp"}
        environ.update(broken.pop("environ", {}))
        super().__init__(environ, str(root))
        self.broken = broken
        self.snippets = []

    def platform(self):
        return self.broken.get("platform", ("Linux", "aarch64"))

    def python(self):
        return self.broken.get("python", (3, 7))

    def tensorflow(self):
        return self.broken.get("tensorflow", "1.15.5")

    def has_module(self, name):
        return self.broken.get("module", True) and name == "npu_bridge"

    def free_bytes(self, path):
        return self.broken.get("free", 10 * 1024 ** 3)

    def usable(self, path):
        return path.name != self.broken.get("locked", "none")

    def command(self, words, limit_s=0.0):
        code = words[-1]
        self.snippets.append(code)
        for part, text in self.broken.get("fails", {}).items():
            if part in code:
                return ChildAnswer(False, text, {})
        data = _GOOD_TF if "get_compile_flags" in code else {"devices": 2, "device": 0}
        return ChildAnswer(True, "", {**data, **self.broken.get("data", {})})


def _statuses(probe):
    return {row[0]: row[2] for row in probe.checks}


def test_a_whole_ascend_host_is_usable(tmp_path):
    probe = probe_ge(FakeMachine(tmp_path))
    assert probe.usable, probe.reason
    assert probe.reason == "npu_bridge on TensorFlow 1.15.5"
    assert set(_statuses(probe).values()) == {"ok"}
    found = {row[0]: row[1] for row in probe.checks}
    assert found["CANN version"] == "CANN 9.0.0"
    assert found["driver"] == "driver 25.0.rc1"


@pytest.mark.parametrize(("check", "broken"), [
    ("platform", {"platform": ("Darwin", "arm64")}),
    ("Python and TensorFlow", {"tensorflow": "2.21.0"}),
    ("Python and TensorFlow", {"python": (3, 11)}),
    ("Python and TensorFlow", {"tensorflow": ""}),
    ("TensorFlow imports", {"fails": {"get_compile_flags": "Descriptors cannot be"}}),
    ("TensorFlow imports", {"data": {"flags": ["-D_GLIBCXX_USE_CXX11_ABI=1"]}}),
    ("CANN environment", {"environ": {"ASCEND_OPP_PATH": ""}}),
    ("CANN environment", {"environ": {"ASCEND_OPP_PATH": "/nowhere"}}),
    ("device nodes", {"locked": "davinci1"}),
    ("device id", {"environ": {"ASCEND_DEVICE_ID": "2"}}),
    ("device id", {"environ": {"ASCEND_DEVICE_ID": "zero"}}),
    ("device id", {"environ": {"ASCEND_DEVICE_ID": "1",
                               "ASCEND_RT_VISIBLE_DEVICES": "1"}}),
    ("native libraries", {"fails": {"CDLL": "libascend_hal.so: cannot open"}}),
    ("runtime", {"fails": {"import acl": "set_device(0) gave 507033"}}),
    ("collective Python", {"fails": {"import hccl": "No module named 'hccl'"}}),
    ("op compiler Python", {"fails": {"import te": "No module named 'te'"}}),
    ("adapter imports", {"fails": {"import npu_bridge": "npu_bridge_handle"}}),
    ("adapter active", {"fails": {"GeOp": "GeOp is not among TensorFlow's ops"}}),
], ids=lambda value: str(value)[:60])
def test_each_thing_that_breaks_is_the_check_that_fails(tmp_path, check, broken):
    probe = probe_ge(FakeMachine(tmp_path, **broken))
    assert not probe.usable
    assert _statuses(probe)[check] == "fail"
    assert probe.reason.startswith(check)
    assert all(row[3] for row in probe.checks if row[2] == "fail")


@pytest.mark.parametrize(("check", "broken"), [
    ("TensorFlow imports", {"data": {"numpy": "1.24.0"}}),
    ("TensorFlow imports", {"data": {"protobuf": "4.24.4"}}),
    ("TensorFlow imports", {"data": {"protobuf": "3.21.0"}}),
    ("device id", {"environ": {"ASCEND_RT_VISIBLE_DEVICES": "0,7"}}),
    ("free space", {"locked": ""}),
    ("npu-smi", {"fails": {"-m": "npu-smi: not found"}}),
    ("clean environment", {"environ": {"RANK_TABLE_FILE": "/x"}}),
    ("free space", {"free": 1000}),
])
def test_what_is_only_odd_is_a_warning(tmp_path, check, broken):
    probe = probe_ge(FakeMachine(tmp_path, **broken))
    assert probe.usable
    assert _statuses(probe)[check] == "warn"


@pytest.mark.parametrize("path", ["dev/davinci_manager", "opp/built-in/framework/"
                                  "tensorflow/npu_supported_ops.json",
                                  "usr/local/Ascend/driver/version.info"])
def test_a_missing_file_fails_its_check(tmp_path, path):
    machine = FakeMachine(tmp_path)
    (tmp_path / path).unlink()
    assert not probe_ge(machine).usable


def test_of_several_visible_devices_each_can_be_chosen(tmp_path):
    probe = probe_ge(FakeMachine(tmp_path, environ={
        "ASCEND_RT_VISIBLE_DEVICES": "1,0", "ASCEND_DEVICE_ID": "1"}))
    assert probe.usable
    found = {row[0]: row[1] for row in probe.checks}
    assert found["device id"].startswith("logical id 1 of 2")


def test_what_depends_on_a_failed_check_is_skipped_and_names_it(tmp_path):
    machine = FakeMachine(tmp_path, tensorflow="2.21.0")
    rows = {row[0]: row for row in probe_ge(machine).checks}
    assert rows["adapter imports"][2] == "skip"
    assert rows["adapter active"][3] == "mend first: adapter imports"
    assert not any("npu_" in code for code in machine.snippets)


def test_control_characters_of_a_version_file_stay_out(tmp_path):
    machine = FakeMachine(tmp_path)
    (tmp_path / "opp" / "version.info").write_bytes(b"Version=\x1b[31m9\xff\n")
    found = {row[0]: row[1] for row in probe_ge(machine).checks}
    assert "\x1b" not in found["CANN version"]


def test_a_quick_look_starts_no_process(tmp_path):
    machine = FakeMachine(tmp_path)
    assert quick_probe(machine).usable
    assert machine.snippets == []
    (tmp_path / "more").mkdir()
    assert "npu_bridge not found" in quick_probe(
        FakeMachine(tmp_path / "more", module=False)).reason


def test_a_child_that_hangs_or_is_missing_is_an_answer():
    machine = Machine({})
    assert "took longer" in machine.child("import time\ntime.sleep(9)", 0.5).text
    assert not machine.command(["no-such-program-of-ours"]).ok
    answer = machine.child("print('noise'); print('{\"a\": 1}')", 20)
    assert (answer.ok, answer.data) == (True, {"a": 1})
    assert machine.child("raise SystemExit('why')", 20).text == "why"
