from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from ge_harness.errors import UnknownNameError, UsageError
from ge_harness.records.run import FailureKind, RunFailure, RunSuccess
from ge_harness.worker import backend_lookup, launch, supervise
from ge_harness.worker.job_folder import JobFolder
from tests import fakes

ROOT = Path(__file__).resolve().parents[3]


def _folder(result):
    path = result.log_path if isinstance(result, RunFailure) else (
        str(Path(result.output_paths[0]).parent))
    return JobFolder(Path(path).parent)


def _alive(pid):
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def _gone(pid, within_s=10.0):
    deadline = time.monotonic() + within_s
    while _alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_outputs_hashes_and_environment_of_a_run_are_recorded(run_script):
    result = run_script(sets=2, repeat=3)
    assert isinstance(result, RunSuccess)
    expected = np.array([[0, 1, 2], [1, 1, 2]], np.float32)
    np.testing.assert_array_equal(np.load(result.output_paths[0]), expected)
    hashes = [hashlib.md5(row.tobytes()).hexdigest() for row in expected]
    assert result.output_hashes == tuple((h,) for h in hashes for _ in range(3))
    assert result.repeatable
    assert result.environment.python == ".".join(map(str, sys.version_info[:3]))
    assert result.environment.numpy == np.__version__
    assert ("OMP_NUM_THREADS", "2") in result.environment.variables
    assert ("environment", 2) in result.environment.threads
    assert result.environment.route == "script"


def test_a_single_set_keeps_the_shape_of_its_port(run_script):
    result = run_script()
    assert np.load(result.output_paths[0]).shape == (3,)


def test_bfloat16_travels_as_its_bits(run_script):
    result = run_script(dtype="bfloat16")
    array = np.load(result.output_paths[0])
    assert array.dtype == np.uint16
    assert array.tolist() == [0, 1, 2]


def test_the_thread_count_of_the_request_pins_the_pools(run_script):
    result = run_script(threads=5)
    assert ("OMP_NUM_THREADS", "5") in result.environment.variables


def test_outputs_that_do_not_repeat_are_kept_aside(run_script):
    result = run_script({"1": ["flip"]}, sets=3)
    assert not result.repeatable
    kept = _folder(result).differing_dir / "set1_repeat1" / "y.npy"
    # Set 1 is executed by calls 3 and 4; the call's number is added.
    np.testing.assert_array_equal(np.load(str(kept)), [1 + 4, 1 + 4, 2 + 4])
    np.testing.assert_array_equal(np.load(result.output_paths[0])[1], [4, 4, 5])
    assert any("set 1, repeat 1" in note for note in result.notes)


@pytest.mark.parametrize(("action", "kind", "status", "words"), [
    (["abort"], FailureKind.CRASH, -signal.SIGABRT, "something is wrong in here"),
    (["exit", 3], FailureKind.CRASH, 3, "status 3"),
    (["exit", 137], FailureKind.KILLED, 137, "SIGKILL"),
    (["exit", 0], FailureKind.GARBAGE, 0, "left no outcome"),
    (["kill", 9], FailureKind.KILLED, -9, "SIGKILL"),
    (["kill", 15], FailureKind.KILLED, -15, "SIGTERM"),
    (["kill", 11], FailureKind.CRASH, -11, "SIGSEGV"),
    (["memory"], FailureKind.OUT_OF_MEMORY, 0, "MemoryError"),
    (["error", "boo"], FailureKind.RUN, 0, "KeyError: 'boo'"),
    (["raise", "not_offloaded", "stayed"], FailureKind.NOT_OFFLOADED, 0, "stayed"),
    (["shape", [7]], FailureKind.GARBAGE, 0, "float32[7], expected float32[3]"),
    (["outcome", "{"], FailureKind.GARBAGE, 0, "not JSON"),
    (["outcome", "{\"schema\": \"ge_harness/outcome/1\"}"], FailureKind.GARBAGE, 0,
     "found kind None"),
], ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else None)
def test_each_way_to_fail_has_its_own_name(run_script, action, kind, status, words):
    result = run_script({"0": action})
    assert isinstance(result, RunFailure)
    assert (result.kind, result.exit_code) == (kind, status)
    assert words in result.message
    assert "\n" not in result.message
    assert Path(result.log_path).is_file()


def test_an_unexpected_exception_leaves_its_trace_in_the_log_only(run_script, capfd):
    result = run_script({"0": ["error", "boo"]})
    assert "Traceback" in Path(result.log_path).read_text()
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err


def test_garbage_on_standard_output_disturbs_nothing(run_script, capfd):
    result = run_script({"*": ["print", "{\"status\": 1}"]})
    assert isinstance(result, RunSuccess)
    assert b"\xff\x00\x1b[31m" in _folder(result).log_path.read_bytes()
    assert capfd.readouterr().out == ""


def test_a_run_over_its_limit_is_killed_with_its_grandchildren(run_script, tmp_path):
    started = time.monotonic()
    result = run_script({"0": ["grandchild", str(tmp_path / "pid")]}, timeout_s=1.0)
    assert result.kind is FailureKind.TIMEOUT
    assert "--timeout" in result.message
    assert time.monotonic() - started < 10
    assert _gone(int((tmp_path / "pid").read_text()))
    assert "in _grandchild" in Path(result.log_path).read_text()


def test_a_crash_in_a_later_set_keeps_the_finished_sets(run_script):
    result = run_script({"7": ["abort"]}, sets=9)
    assert result.kind is FailureKind.CRASH
    assert "7 of 9 sets are finished" in result.message
    kept = np.load(str(_folder(result).outputs_dir / "y.npy"))
    np.testing.assert_array_equal(kept[:, 0], np.arange(7))


def test_no_room_for_the_outputs_is_disk_full(run_script):
    result = run_script({"0": ["limit", 4096]}, sets=5000)
    assert result.kind is FailureKind.DISK_FULL
    assert "sets are finished" in result.message


def test_a_full_disk_is_a_named_failure_and_the_others_go_on(tmp_path, monkeypatch):
    small = tmp_path / "small"
    small.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(small)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if mount.returncode:
        pytest.skip("may not mount a small file system here")
    try:
        monkeypatch.setenv(backend_lookup.TEST_VARIABLE, fakes.NAME)
        large = fakes.scripted_case(tmp_path / "large", 2, 200_000)
        little = fakes.scripted_case(tmp_path / "little")
        monkeypatch.setattr("shutil.copyfile", None)  # inputs are linked, not copied
        first, second = launch.launch(
            [fakes.scripted_request(large), fakes.scripted_request(little)],
            small / "jobs")
        assert first.kind is FailureKind.DISK_FULL
        assert second.kind is FailureKind.DISK_FULL
        (small / "jobs" / "000-tests.fakes-ScriptedBackend-whole" / "outputs"
         / "y.npy").unlink()
        third = launch.launch([fakes.scripted_request(little)], small / "jobs")[0]
        assert isinstance(third, RunSuccess)
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_file_in_the_way_of_the_folder_is_a_usage_error(run_script, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match="--out=DIR"):
        run_script(root=tmp_path / "taken")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_a_usage_error(run_script, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(UsageError, match="--out=DIR"):
        run_script(root=tmp_path / "closed" / "jobs")


@pytest.mark.parametrize("name", [
    "it's \"quoted\"", "with space", "new\nline", "grün-文", "-dash", "%s{0}$HOME"])
def test_odd_folder_names_work(run_script, tmp_path, name):
    result = run_script(root=tmp_path / name)
    assert isinstance(result, RunSuccess)
    assert np.load(result.output_paths[0]).tolist() == [0, 1, 2]


def test_a_failure_in_an_odd_folder_is_still_one_line(run_script, tmp_path):
    failed = run_script({"1": ["abort"]}, sets=2, root=tmp_path / "a\nb\x1b[31m")
    assert failed.kind is FailureKind.CRASH
    assert failed.message.isprintable()
    assert Path(failed.log_path).is_file()


def test_an_existing_job_folder_is_never_used_again(run_script):
    first, second = run_script(), run_script()
    assert first.output_paths != second.output_paths
    assert Path(first.output_paths[0]).is_file()


def test_a_missing_input_fails_alone(tmp_path, monkeypatch):
    request = fakes.scripted_request(fakes.scripted_case(tmp_path / "case"))
    (tmp_path / "case" / "x.npy").unlink()
    good = fakes.scripted_request(fakes.scripted_case(tmp_path / "good"))
    monkeypatch.setenv(backend_lookup.TEST_VARIABLE, fakes.NAME)
    bad, fine = launch.launch([request, good], tmp_path / "jobs")
    assert bad.kind is FailureKind.BUILD
    assert "x.npy" in bad.message
    assert isinstance(fine, RunSuccess)


def test_an_input_that_is_no_array_is_named(tmp_path, run_script):
    case = fakes.scripted_case(tmp_path / "bad")
    (tmp_path / "bad" / "x.npy").write_bytes(b"no array at all")
    result = launch.launch([fakes.scripted_request(case)], tmp_path / "jobs")[0]
    assert result.kind is FailureKind.BUILD
    assert "input 'x'" in result.message


def test_a_switch_the_backend_cannot_send_never_starts_a_worker(run_script):
    result = run_script(options={"refuse": "no such switch 'fuson'"})
    assert result.kind is FailureKind.INVALID_SWITCH
    assert "fuson" in result.message
    assert result.exit_code is None


def test_a_backend_that_is_not_built_yet_is_unavailable(run_script):
    result = run_script(backend="ge")
    assert result.kind is FailureKind.UNAVAILABLE


def test_an_unknown_backend_is_the_callers_mistake(run_script):
    with pytest.raises(UnknownNameError, match="'xla'"):
        run_script(backend="xal")


def test_a_module_named_in_a_request_is_not_imported(run_script, monkeypatch):
    monkeypatch.delenv(backend_lookup.TEST_VARIABLE)
    with pytest.raises(UnknownNameError):
        run_script()
    monkeypatch.setenv(backend_lookup.TEST_VARIABLE, fakes.NAME)
    with pytest.raises(UnknownNameError):
        run_script(backend="os:system")


def test_result_changing_variables_are_taken_out_and_recorded(run_script, monkeypatch):
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=2")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    result = run_script({"0": ["variable", "TF_XLA_FLAGS"]})
    assert "TF_XLA_FLAGS=None" in result.message
    removed = dict(run_script().environment.removed)
    assert removed["TF_XLA_FLAGS"] == "--tf_xla_auto_jit=2"
    assert removed["OMP_NUM_THREADS"] == "7"


def test_outputs_are_kept_where_the_evidence_cannot_be_read(run_script):
    result = run_script({"evidence": ["error", "a dump nobody understands"]})
    assert isinstance(result, RunSuccess)
    assert np.load(result.output_paths[0]).tolist() == [0, 1, 2]
    assert any("a dump nobody understands" in note for note in result.notes)


def test_a_backend_may_still_refuse_when_it_sees_the_evidence(run_script):
    result = run_script({"evidence": ["raise", "unknown_switch", "no pass 'fuson'"]})
    assert result.kind is FailureKind.UNKNOWN_SWITCH


def test_a_worker_that_does_not_end_is_ended_and_its_result_kept(
        run_script, monkeypatch, tmp_path):
    monkeypatch.setattr(supervise, "_GOODBYE_S", 0.5)
    result = run_script({"*": ["linger"]})
    assert isinstance(result, RunSuccess)


def _pair(tmp_path, scripts, **fields):
    """Requests of one configuration: one script text, case i begins at set i."""
    requests = []
    for index in range(scripts.pop("count")):
        case = fakes.scripted_case(tmp_path / f"case{index}")
        start = np.load(case.input_paths[0])
        start[0] = index
        np.save(case.input_paths[0], start)
        requests.append(fakes.scripted_request(case, scripts, **fields))
    return requests


def _pid(result):
    return next(note for note in result.notes if note.startswith("process "))


def test_runs_of_one_configuration_share_a_process(tmp_path, run_script):
    shared = launch.launch(_pair(tmp_path, {"count": 3}), tmp_path / "jobs")
    assert len({_pid(result) for result in shared}) == 1
    alone = launch.launch(_pair(tmp_path, {"count": 2}, cold=True), tmp_path / "jobs")
    assert len({_pid(result) for result in alone}) == 2


def test_other_configurations_get_a_process_of_their_own(tmp_path, run_script):
    one = _pair(tmp_path, {"count": 2})
    two = _pair(tmp_path, {"count": 1}, threads=3)
    three = _pair(tmp_path, {"count": 1}, options={"variable": "a"})
    results = launch.launch(one + two + three, tmp_path / "jobs")
    assert len({_pid(result) for result in results}) == 3


def test_after_a_death_the_unfinished_are_done_one_by_one(tmp_path, run_script):
    requests = _pair(tmp_path, {"count": 4, "1": ["abort"]})
    seen = []
    results = launch.launch(requests, tmp_path / "jobs",
                            on_progress=lambda *step: seen.append(step))
    kinds = [getattr(result, "kind", None) for result in results]
    assert kinds == [None, FailureKind.CRASH, None, None]
    assert [result.request for result in results] == requests
    assert [done for done, _, _ in seen] == [1, 2, 3, 4]
    assert {total for _, total, _ in seen} == {4}


def test_a_limit_in_a_shared_process_is_counted_for_each_run(tmp_path, run_script):
    requests = _pair(tmp_path, {"count": 4, "*": ["sleep", 0.8]}, repeat=1,
                     timeout_s=2.5)
    results = launch.launch(requests, tmp_path / "jobs")
    assert len({_pid(result) for result in results}) == 1


def test_after_a_run_that_took_too_long_the_others_are_done(tmp_path, run_script):
    requests = _pair(tmp_path, {"count": 2, "0": ["sleep", 60]}, timeout_s=2.0)
    first, second = launch.launch(requests, tmp_path / "jobs")
    assert first.kind is FailureKind.TIMEOUT
    assert isinstance(second, RunSuccess)


def _parent(tmp_path, tail):
    """Start another process that launches a run which starts a grandchild."""
    code = textwrap.dedent(f"""
        import os, sys, time
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from tests import fakes
        from ge_harness.worker import launch
        root = Path({str(tmp_path)!r})
        sleepy = {{"1": ["grandchild", str(root / "pid")]}}
        case = fakes.scripted_case(root / "first")
        later = fakes.scripted_case(root / "case", 2)
        requests = [fakes.scripted_request(case, cold=True),
                    fakes.scripted_request(later, sleepy, cold=True)]
        try:
            launch.launch(requests, root / "jobs")
        except KeyboardInterrupt:
            sys.exit({tail})
    """)
    variables = dict(os.environ, **{backend_lookup.TEST_VARIABLE: fakes.NAME})
    process = subprocess.Popen([sys.executable, "-c", code], env=variables)
    deadline = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline, "the run never began"
        time.sleep(0.02)
    return process, int((tmp_path / "pid").read_text())


def test_an_interrupt_ends_the_workers_and_keeps_what_is_done(tmp_path):
    process, grandchild = _parent(tmp_path, 42)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 42
    assert _gone(grandchild)
    done = [JobFolder(path) for path in sorted((tmp_path / "jobs").iterdir())]
    assert isinstance(done[0].read_outcome(), RunSuccess)
    assert not done[1].outcome_path.exists()
    assert np.load(str(done[1].outputs_dir / "y.npy")).shape == (1, 3)


def test_a_worker_does_not_outlive_a_killed_parent(tmp_path):
    process, grandchild = _parent(tmp_path, 42)
    children = subprocess.run(
        ["ps", "-o", "ppid=", "-p", str(grandchild)], stdout=subprocess.PIPE,
        check=False).stdout.decode()
    if not children.strip():
        pytest.skip("no ps here")
    worker = int(children)
    process.kill()
    process.wait(20)
    gone = _gone(worker)
    os.kill(grandchild, signal.SIGKILL)
    assert gone
