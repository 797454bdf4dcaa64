from __future__ import annotations

import signal

import pytest

from ge_harness.records.run import FailureKind
from ge_harness.worker import child, post_mortem
from ge_harness.worker.post_mortem import End


@pytest.mark.parametrize(("log", "end", "kind", "words"), [
    ("F0000 parse_flags.cc:1] Unknown flag in XLA_FLAGS: --xla_no_such_flag=1\n",
     End(1), FailureKind.INVALID_SWITCH, "--xla_no_such_flag=1"),
    ("2026 F parse.cc:240] Unknown flags in XLA_FLAGS: --xla_no_such_flag=1 \n",
     End(-6), FailureKind.INVALID_SWITCH, "--xla_no_such_flag=1"),
    ("terminate called after throwing an instance of 'std::bad_alloc'\n",
     End(-6), FailureKind.OUT_OF_MEMORY, "std::bad_alloc"),
    ("x: No space left on device\n", End(1), FailureKind.DISK_FULL, "No space"),
    ("", End(-9, oom_kills=1), FailureKind.OUT_OF_MEMORY, "kernel"),
    ("std::bad_alloc was seen and survived\n", End(-9), FailureKind.KILLED, "SIGKILL"),
    ("", End(137), FailureKind.KILLED, "SIGKILL"),
    ("", End(-2), FailureKind.KILLED, "SIGINT"),
    ("No space left on device\n", End(-9, timed_out=True), FailureKind.TIMEOUT, "7 s"),
    ("", End(child.EXIT_DISK_FULL), FailureKind.DISK_FULL, "--out=DIR"),
    ("fine\n", End(0), FailureKind.GARBAGE, "last words: fine"),
    ("", End(3), FailureKind.CRASH, "status 3"),
    ("check failed: x\nFatal Python error: Aborted\n\nThread 0x1:\n  File y\n",
     End(-6), FailureKind.CRASH, "last words: check failed: x"),
    ("", End(-64), FailureKind.CRASH, "signal 64"),
    ("", End(None), FailureKind.CRASH, "no outcome"),
], ids=range(15))
def test_each_death_has_its_name(tmp_path, log, end, kind, words):
    path = tmp_path / "log.txt"
    path.write_text(log)
    found, text = post_mortem.diagnose(end, path, 7.0)
    assert found is kind
    assert words in text


def test_a_disk_without_room_explains_a_crash(tmp_path, monkeypatch):
    monkeypatch.setattr(post_mortem, "_FULL_BYTES", 2 ** 70)
    found, _ = post_mortem.diagnose(End(-signal.SIGBUS), tmp_path / "log.txt", 1.0)
    assert found is FailureKind.DISK_FULL


def test_only_the_end_of_a_huge_log_is_read(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(b"start\n" + b"\xff" * (1 << 20) + b"\nlast\n")
    tail = post_mortem.tail(path)
    assert "start" not in tail
    assert post_mortem.last_words(tail) == "last"
    assert post_mortem.tail(tmp_path / "none") == ""


def test_the_kernels_counter_of_kills_is_a_number():
    assert post_mortem.oom_kills() >= 0
